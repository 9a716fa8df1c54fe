"""A TLS client that makes its own records' way to the kernel: the ClientHello in two writes, the Finished late."""

import argparse
import socket
import ssl
import time


def options_of():
    """Read the options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connect", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--ca", required=True)
    parser.add_argument("--name", default="server.example")
    parser.add_argument("--source-port", type=int, default=0)
    parser.add_argument("--first-piece", type=int, default=0, help="write so many bytes of the hello, then the rest")
    parser.add_argument("--finish-after", type=float, default=0, metavar="SECONDS",
                        help="think so long about the server's certificate")  # fmt: skip
    return parser.parse_args()


def main():
    """Ask once."""
    options = options_of()
    host, port = options.connect.rsplit(":", 1)
    context = ssl.create_default_context(cafile=options.ca)
    received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = context.wrap_bio(received, to_send, server_hostname=options.name)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if options.source_port:
            plain.bind(("", options.source_port))
        plain.connect((host.strip("[]"), int(port)))
        hello_sent = done = False
        while not done:
            try:
                connection.do_handshake()
                done = True
            except ssl.SSLWantReadError:
                pass
            if hello_sent and to_send.pending:
                time.sleep(options.finish_after)
            data = to_send.read()
            if not hello_sent and options.first_piece:
                plain.send(data[: options.first_piece])
                data = data[options.first_piece :]
            plain.sendall(data)
            hello_sent = True
            if not done:
                received.write(plain.recv(65536))
        connection.write(b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n")
        plain.sendall(to_send.read())
        while True:
            try:
                print(connection.read(65536).split(b"\r\n")[0].decode(), flush=True)
                break
            except ssl.SSLWantReadError:
                received.write(plain.recv(65536))


if __name__ == "__main__":
    main()
