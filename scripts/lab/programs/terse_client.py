"""A client that says what it is told to, waits for an answer to each, then holds its peace and closes."""

import argparse
import contextlib
import socket
import time


def main():
    """Make one connection."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connect", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--hold", type=float, default=0, metavar="SECONDS")
    parser.add_argument("words", nargs="*", help="bytes to send, with escapes as in Python")
    options = parser.parse_args()
    host, port = options.connect.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as plain:
        for word in options.words:
            plain.sendall(word.encode("latin-1").decode("unicode_escape").encode("latin-1"))
            plain.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                plain.recv(4096)
        time.sleep(options.hold)


if __name__ == "__main__":
    main()
