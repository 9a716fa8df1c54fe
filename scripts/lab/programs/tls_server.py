"""A TLS server with one thread a connection, late where its options say so: in accepting, reading or answering.

It answers every request with one small page and waits for the client to close, unless told to close first.
"""

import argparse
import contextlib
import socket
import ssl
import struct
import threading
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
TCP_REPAIR = 19


def options_of(arguments=None):
    """Read the options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--tls", choices=("1.2", "1.3"), help="only this version")
    parser.add_argument("--backlog", type=int, default=128)
    parser.add_argument("--accept-after", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--read-after", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--slow", action="append", default=[], metavar="NAME=SECONDS",
                        help="finding the certificate for this server name takes so long")  # fmt: skip
    parser.add_argument("--receive-buffer", type=int)
    parser.add_argument("--defer-accept", type=int)
    parser.add_argument("--fast-open", type=int)
    parser.add_argument("--delay-acks", action="store_true", help="let the kernel delay ACKs from the first byte on")
    parser.add_argument("--reset-after-hello", action="store_true", help="read once, then close with RST")
    parser.add_argument("--close-first", action="store_true", help="close after the answer")
    parser.add_argument("--close-at", type=float, metavar="EPOCH", help="close at this time, whatever the peer does")
    parser.add_argument("--vanish-after", type=float, metavar="SECONDS",
                        help="after the handshake, forget the connection, as a host that crashes")  # fmt: skip
    return parser.parse_args(arguments)


def context_of(options):
    """Make the TLS context."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key)
    context.set_alpn_protocols(["http/1.1"])
    if options.tls:
        context.minimum_version = context.maximum_version = ssl.TLSVersion[f"TLSv{options.tls.replace('.', '_')}"]
    slow = dict(one.split("=") for one in options.slow)
    if slow:
        context.sni_callback = lambda _connection, name, _context: time.sleep(float(slow.get(name, 0)))
    return context


def serve(accepted, context, options):
    """Serve one connection to its end."""
    if options.delay_acks:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    time.sleep(options.read_after)
    if options.reset_after_hello:
        accepted.recv(65536)
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()
        return
    with contextlib.suppress(OSError), context.wrap_socket(accepted, server_side=True) as connection:
        if options.vanish_after is not None:
            time.sleep(options.vanish_after)
            connection.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            return
        while connection.recv(65536):
            connection.sendall(ANSWER)
            if options.close_first:
                return
            if options.close_at is not None:
                time.sleep(max(0.0, options.close_at - time.time()))
                return


def main():
    """Accept connections until killed."""
    options = options_of()
    context = context_of(options)
    host, port = options.listen.rsplit(":", 1)
    host = host.strip("[]")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if options.receive_buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer)
    if options.defer_accept:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, options.defer_accept)
    if options.fast_open:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, options.fast_open)
    listener.bind((host, int(port)))
    listener.listen(options.backlog)
    print("listening", flush=True)
    time.sleep(options.accept_after)
    while True:
        accepted, _ = listener.accept()
        threading.Thread(target=serve, args=(accepted, context, options), daemon=True).start()


if __name__ == "__main__":
    main()
