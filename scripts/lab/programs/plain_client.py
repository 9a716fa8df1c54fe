"""A client of a plaintext HTTP server that takes its time before its requests and between them."""

import argparse
import socket
import time

REQUEST = b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n"


def main():
    """Ask after each of the waits given, then wait once more and close."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connect", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("waits", nargs="*", type=float, metavar="SECONDS")
    parser.add_argument("--hold", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    host, port = options.connect.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as connection:
        for wait in options.waits:
            time.sleep(wait)
            connection.sendall(REQUEST)
            connection.recv(4096)
        time.sleep(options.hold)


if __name__ == "__main__":
    main()
