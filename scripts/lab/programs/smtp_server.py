"""A small SMTP server with STARTTLS (RFC 3207); late with its greeting or with STARTTLS where told so."""

import argparse
import contextlib
import socket
import ssl
import threading
import time


class Session:
    """One SMTP connection."""

    def __init__(self, connection, context, options):
        self.connection, self.context, self.options = connection, context, options

    def say(self, line):
        """Send one reply."""
        self.connection.sendall(line.encode() + b"\r\n")

    def lines(self):
        """Yield the client's lines; a line is read to its end and no further, for TLS may follow it."""
        line = b""
        while byte := self.connection.recv(1):
            line += byte
            if line.endswith(b"\n"):
                yield line.decode().strip()
                line = b""

    def run(self):
        """Greet and answer until the client leaves."""
        time.sleep(self.options.banner_after)
        self.say("220 mail.example ESMTP")
        in_message = secure = False
        for line in self.lines():
            verb = line.split(" ")[0].upper()
            if in_message:
                if line == ".":
                    in_message = False
                    self.say("250 2.0.0 Ok: queued")
            elif verb == "EHLO":
                self.say("250-mail.example\r\n250-8BITMIME\r\n" + ("250 SIZE 1000000" if secure else "250 STARTTLS"))
            elif verb == "STARTTLS":
                time.sleep(self.options.starttls_after)
                self.say("220 2.0.0 Ready to start TLS")
                self.connection = self.context.wrap_socket(self.connection, server_side=True)
                secure = True
            elif verb == "DATA":
                in_message = True
                self.say("354 End data with <CR><LF>.<CR><LF>")
            elif verb == "QUIT":
                self.say("221 2.0.0 Bye")
                break
            else:
                self.say("250 2.0.0 Ok")
        self.connection.close()


def main():
    """Accept connections until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--banner-after", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--starttls-after", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    host, port = options.listen.rsplit(":", 1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key)
    listener = socket.create_server((host, int(port)))
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, context, options), daemon=True).start()


def serve(connection, context, options):
    """Serve one connection; a client that goes away is no news."""
    with contextlib.suppress(OSError):
        Session(connection, context, options).run()


if __name__ == "__main__":
    main()
