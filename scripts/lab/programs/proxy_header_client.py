"""A TLS client that sends a PROXY protocol header of version 2 first, as a load balancer does."""

import argparse
import socket
import ssl
import struct

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
VERSION2_PROXY, TCP_OVER_IPV4 = 0x21, 0x11


def main():
    """Ask once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connect", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--ca", required=True)
    parser.add_argument("--name", default="server.example")
    options = parser.parse_args()
    host, port = options.connect.rsplit(":", 1)
    addresses = socket.inet_aton("198.51.100.7") + socket.inet_aton(host) + struct.pack("!HH", 51234, int(port))
    header = SIGNATURE + struct.pack("!BBH", VERSION2_PROXY, TCP_OVER_IPV4, len(addresses)) + addresses
    with socket.create_connection((host, int(port))) as plain:
        plain.sendall(header)
        context = ssl.create_default_context(cafile=options.ca)
        with context.wrap_socket(plain, server_hostname=options.name) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\nHost: server.example\r\n\r\n")
            print(connection.recv(4096).split(b"\r\n")[0].decode(), flush=True)


if __name__ == "__main__":
    main()
