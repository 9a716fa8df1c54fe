"""A TLS client: connects, says hello, asks once, closes; late, silent or abrupt where its options say so."""

import argparse
import socket
import ssl
import struct
import sys
import time

REQUEST = b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n"


def options_of():
    """Read the options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connect", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--name", default="server.example")
    parser.add_argument("--ca", required=True)
    parser.add_argument("--tls", choices=("1.2", "1.3"), help="only this version")
    parser.add_argument("--source-port", type=int, default=0)
    parser.add_argument("--hello-after", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--resolve", metavar="NAME", help="look this name up between connecting and the hello")
    parser.add_argument("--alpn-bytes", type=int, default=0, help="make the hello longer by about so many")
    parser.add_argument("--request-after", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--hold", type=float, default=0, metavar="SECONDS", help="stay idle after the answer")
    parser.add_argument("--close-at", type=float, metavar="EPOCH", help="close at this time, whatever the peer does")
    parser.add_argument("--wait-for-close", action="store_true", help="close only after the server has")
    parser.add_argument("--keep-alive", type=int, metavar="SECONDS")
    parser.add_argument("--reset", action="store_true", help="close with RST")
    parser.add_argument("--silent", action="store_true", help="never say hello")
    parser.add_argument("--timeout", type=float, default=20)
    parser.add_argument("--user-timeout", type=int, metavar="MILLISECONDS")
    return parser.parse_args()


def context_of(options):
    """Make the TLS context."""
    context = ssl.create_default_context(cafile=options.ca)
    protocols = [f"example/{number:08d}" for number in range(options.alpn_bytes // 17)]
    context.set_alpn_protocols([*protocols, "http/1.1"])
    if options.tls:
        context.minimum_version = context.maximum_version = ssl.TLSVersion[f"TLSv{options.tls.replace('.', '_')}"]
    return context


def talk(plain, context, options):
    """Do what there is to do on a connection."""
    time.sleep(options.hello_after)
    if options.resolve:
        print(socket.getaddrinfo(options.resolve, 443)[0][4][0], flush=True)
    if options.silent:
        return plain
    connection = context.wrap_socket(plain, server_hostname=options.name)
    print(connection.version(), flush=True)
    time.sleep(options.request_after)
    connection.sendall(REQUEST)
    print(connection.recv(65536).split(b"\r\n")[0].decode() or "closed", flush=True)
    if options.wait_for_close:
        connection.recv(65536)
    time.sleep(options.hold if options.close_at is None else max(0.0, options.close_at - time.time()))
    return connection


def main():
    """Make one connection and say how it went."""
    options = options_of()
    context = context_of(options)
    host, port = options.connect.rsplit(":", 1)
    host = host.strip("[]")
    plain = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if options.keep_alive:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, options.keep_alive)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, options.keep_alive)
    if options.user_timeout:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, options.user_timeout)
    if options.reset:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if options.source_port:
        plain.bind(("", options.source_port))
    plain.settimeout(options.timeout)
    connection = plain
    try:
        plain.connect((host, int(port)))
        connection = talk(plain, context, options)
    except OSError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        sys.exit(1)
    finally:
        connection.close()


if __name__ == "__main__":
    main()
