"""A server without TLS: it answers a ClientHello in plain HTTP, SOCKS5 as SOCKS5 does, and nothing else."""

import argparse
import contextlib
import socket
import threading

BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 12\r\nConnection: close\r\n\r\nBad request\n"


def serve(connection):
    """Serve one connection until the client leaves."""
    with connection, contextlib.suppress(OSError):
        while data := connection.recv(65536):
            if data[:2] == b"\x16\x03":
                connection.sendall(BAD_REQUEST)
                return
            if data == b"\x05\x01\0":
                connection.sendall(b"\x05\0")
            elif data[:3] == b"\x05\x01\0":
                connection.sendall(b"\x05\0\0\x01" + bytes(6))


def main():
    """Accept connections until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT")
    host, port = parser.parse_args().listen.rsplit(":", 1)
    listener = socket.create_server((host, int(port)))
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
