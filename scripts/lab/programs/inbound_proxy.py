"""The inbound side of a small service mesh: accepts, finds out whether the client speaks TLS, answers requests.

A connection is looked at without taking bytes from it until the first byte shows what it is; after ten seconds of
silence it is given up. The main thread accepts and hands sockets to two workers by their epoll sets.
"""

import argparse
import select
import socket
import ssl
import sys
import threading
import time

DETECT_S = 10.0
TICK_S = 1.0
TLS_HANDSHAKE = 0x16
ANSWER = b"HTTP/1.1 204 No Content\r\nX-Influxdb-Version: 1.8.10\r\n\r\n"
STARTED = time.monotonic()


def log(level, span, text):
    """Write a line that begins with the seconds since the start."""
    since, thread = time.monotonic() - STARTED, threading.current_thread().name
    sys.stdout.write(f"[{since:12.6f}s] {level:>5} {thread} {span}: {text}\n")
    sys.stdout.flush()


class Connection:
    """One accepted connection."""

    def __init__(self, accepted, context, span):
        self.socket, self.span = accepted, span
        self.deadline = time.monotonic() + DETECT_S
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.detected = self.secure = False


class Worker(threading.Thread):
    """Serves the connections that the main thread put into its epoll set."""

    def __init__(self, name):
        super().__init__(name=name, daemon=True)
        self.epoll = select.epoll()
        self.connections = {}

    def adopt(self, connection):
        """Take a connection over; called by the main thread."""
        self.connections[connection.socket.fileno()] = connection
        self.epoll.register(connection.socket.fileno(), select.EPOLLIN | select.EPOLLRDHUP)

    def run(self):
        """Wait for events and for the deadlines of silent connections."""
        while True:
            undetected = [one.deadline for one in list(self.connections.values()) if not one.detected]
            until = min([time.monotonic() + TICK_S, *undetected])
            for fd, _ in self.epoll.poll(max(0.0, until - time.monotonic())):
                connection = self.connections[fd]
                try:
                    self.progress(connection)
                except (OSError, ssl.SSLError) as error:
                    self.close(connection, "INFO", f"Connection closed error={error}")
            for connection in list(self.connections.values()):
                if not connection.detected and time.monotonic() >= connection.deadline:
                    self.close(connection, "INFO", "Connection closed error=TLS detection timed out")

    def progress(self, connection):
        """Read what came and answer it."""
        if not connection.detected:
            first = connection.socket.recv(16, socket.MSG_PEEK)
            if not first:
                raise ConnectionError("closed by the client")
            if first[0] != TLS_HANDSHAKE:
                raise ConnectionError("not TLS")
            connection.detected = True
        data = connection.socket.recv(16384)
        if not data:
            self.close(connection, "DEBUG", "Connection closed")
            return
        connection.incoming.write(data)
        try:
            if not connection.secure:
                connection.tls.do_handshake()
                connection.secure = True
            request = connection.tls.read(16384)
            if b"\r\n\r\n" in request:
                connection.tls.write(ANSWER)
        except ssl.SSLWantReadError:
            pass
        if connection.outgoing.pending:
            connection.socket.send(connection.outgoing.read())

    def close(self, connection, level, text):
        """Log why, forget the connection and close it."""
        log(level, connection.span, text)
        del self.connections[connection.socket.fileno()]
        self.epoll.unregister(connection.socket.fileno())
        connection.socket.close()


def main():
    """Read the options and run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True)
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    options = parser.parse_args()
    host, port = options.listen.rsplit(":", 1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key)
    context.set_alpn_protocols(["http/1.1"])
    workers = [Worker(f"worker-{number}") for number in (1, 2)]
    for worker in workers:
        worker.start()
    listener = socket.create_server((host, int(port)))
    listener.setblocking(False)
    epoll = select.epoll()
    epoll.register(listener.fileno(), select.EPOLLIN)
    threading.current_thread().name = "main"
    log("INFO", "inbound", f"listening on {host}:{port}")
    accepted = 0
    while True:
        if not epoll.poll(5.0):
            continue
        taken, peer = listener.accept()
        taken.setblocking(False)
        span = f"inbound:accept{{client.addr={peer[0]}:{peer[1]} target.addr={host}:{port}}}"
        workers[accepted % len(workers)].adopt(Connection(taken, context, span))
        accepted += 1


if __name__ == "__main__":
    main()
