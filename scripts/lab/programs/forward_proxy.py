"""A forward proxy for HTTP CONNECT (RFC 9110 9.3.6) and SOCKS5 (RFC 1928); late with its answer where told so."""

import argparse
import contextlib
import socket
import struct
import threading
import time

SOCKS5 = 5
NO_AUTHENTICATION = 0
ATYP_IPV4, ATYP_DOMAIN = 1, 3


def read_exactly(connection, count):
    """Read so many bytes."""
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise ConnectionError("closed early")
        data += chunk
    return data


def read_connect(connection):
    """Read a CONNECT request; return its target and what to answer."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read_exactly(connection, 1)
    host, port = head.split(b" ")[1].decode().rsplit(":", 1)
    return (host, int(port)), b"HTTP/1.1 200 Connection established\r\n\r\n"


def read_socks5(connection):
    """Go through the SOCKS5 greeting and request; return its target and what to answer."""
    _, methods = read_exactly(connection, 2)
    read_exactly(connection, methods)
    connection.sendall(bytes((SOCKS5, NO_AUTHENTICATION)))
    _, _, _, kind = read_exactly(connection, 4)
    if kind == ATYP_DOMAIN:
        host = read_exactly(connection, read_exactly(connection, 1)[0]).decode()
    else:
        host = socket.inet_ntoa(read_exactly(connection, 4))
    (port,) = struct.unpack("!H", read_exactly(connection, 2))
    return (host, port), bytes((SOCKS5, 0, 0, ATYP_IPV4)) + bytes(6)


def pump(source, sink):
    """Carry bytes one way to the end."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def serve(connection, upstream_address, read, answer_after):
    """Serve one client; every name leads to the one upstream."""
    with connection, contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _, answer = read(connection)
        time.sleep(answer_after)
        with socket.create_connection(upstream_address) as upstream:
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(answer)
            back = threading.Thread(target=pump, args=(upstream, connection))
            back.start()
            pump(connection, upstream)
            back.join()


def main():
    """Accept connections until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--upstream", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--socks5", action="store_true")
    parser.add_argument("--answer-after", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    host, port = options.listen.rsplit(":", 1)
    upstream_host, upstream_port = options.upstream.rsplit(":", 1)
    read = read_socks5 if options.socks5 else read_connect
    listener = socket.create_server((host, int(port)))
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        arguments = (connection, (upstream_host, int(upstream_port)), read, options.answer_after)
        threading.Thread(target=serve, args=arguments, daemon=True).start()


if __name__ == "__main__":
    main()
