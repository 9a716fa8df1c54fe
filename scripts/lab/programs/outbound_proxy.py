"""The outbound side of a small service mesh: takes plain connections of the local application, gives them TLS.

The main thread accepts, connects on and hands both sockets to a worker by putting them into the worker's epoll set.
Each worker waits on its own set and looks routes up in a cache; a stale route is renewed under a lock that the
policy thread holds for as long as the control plane takes to answer it. Nothing here knows that it will be late.
"""

import argparse
import datetime
import errno
import select
import socket
import ssl
import sys
import threading
import time

EDGE = select.EPOLLET | select.EPOLLRDHUP
ROUTE_LIFE_S = {"worker-1": 300.0, "worker-2": 240.0, "worker-3": 8.0}
"""Jittered, so that the workers do not all renew at once."""
POLICY_EVERY_S = 7.0
TICK_S = 0.5


def log(level, span, text):
    """Write a line with an RFC 3339 stamp."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    sys.stdout.write(f"{stamp} {level:>5} {threading.current_thread().name} {span}: {text}\n")
    sys.stdout.flush()


class Pair:
    """A connection of the application and the TLS connection that carries it on."""

    def __init__(self, application, upstream, context, name, span):
        self.application, self.upstream, self.span = application, upstream, span
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname=name)
        self.connected = self.secure = self.closed = False
        self.waiting = b""


class Worker(threading.Thread):
    """Serves the pairs whose sockets the main thread put into its epoll set."""

    def __init__(self, name, routes):
        super().__init__(name=name, daemon=True)
        self.epoll = select.epoll()
        self.routes = routes
        self.pairs = {}
        self.route_until = time.monotonic() + ROUTE_LIFE_S[name]

    def adopt(self, pair):
        """Called by the main thread: from here on the worker's epoll set tells of both sockets."""
        self.pairs[pair.upstream.fileno()] = self.pairs[pair.application.fileno()] = pair
        self.epoll.register(pair.upstream.fileno(), select.EPOLLIN | select.EPOLLOUT | EDGE)
        self.epoll.register(pair.application.fileno(), select.EPOLLIN | EDGE)

    def run(self):
        """Renew the route when it is stale, and wait for events."""
        while True:
            if time.monotonic() > self.route_until:
                with self.routes:
                    self.route_until = time.monotonic() + 300.0
            for fd, _ in self.epoll.poll(TICK_S):
                pair = self.pairs.get(fd)
                if pair is not None and not pair.closed:
                    self.handle(pair, fd)

    def handle(self, pair, fd):
        """Act on an event of either socket of a pair."""
        try:
            if fd == pair.application.fileno():
                pair.waiting += read_all(pair.application)[0]
            else:
                self.progress(pair)
            if pair.secure and pair.waiting:
                pair.tls.write(pair.waiting)
                pair.waiting = b""
                flush(pair)
        except (OSError, ssl.SSLError) as error:
            self.close(pair, "WARN", f"Connection closed error={error.strerror or error}")

    def progress(self, pair):
        """Act on an event of the TLS connection."""
        if not pair.connected:
            failure = pair.upstream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if failure:
                raise OSError(failure, errno.errorcode[failure])
            pair.connected = True
            log("DEBUG", pair.span, "Connected; starting TLS")
            handshake(pair)
        data, ended = read_all(pair.upstream)
        pair.incoming.write(data)
        if not pair.secure:
            if ended and not data:
                raise ConnectionError("unexpected end of file")
            if not handshake(pair):
                return
            pair.secure = True
            log("DEBUG", pair.span, f"TLS established version={pair.tls.version()}")
        try:
            answer = pair.tls.read(65536)
        except ssl.SSLWantReadError:
            return
        pair.application.sendall(answer)
        if not answer or ended or b"\r\n\r\n" in answer:
            self.close(pair, "INFO", "Connection closed")

    def close(self, pair, level, text):
        """Log why and close both connections."""
        log(level, pair.span, text)
        pair.closed = True
        for connection in (pair.upstream, pair.application):
            del self.pairs[connection.fileno()]
            self.epoll.unregister(connection.fileno())
            connection.close()


def read_all(connection):
    """Return all that can be read now, and whether the peer has closed."""
    data = b""
    while True:
        try:
            chunk = connection.recv(16384)
        except BlockingIOError:
            return data, False
        if not chunk:
            return data, True
        data += chunk


def flush(pair):
    """Send what TLS has to say."""
    pair.upstream.send(pair.outgoing.read())


def handshake(pair):
    """Go on with the handshake; return whether it is complete."""
    try:
        pair.tls.do_handshake()
    except ssl.SSLWantReadError:
        return False
    finally:
        if pair.outgoing.pending:
            flush(pair)
    return True


class Policy(threading.Thread):
    """Asks the control plane for the routes now and then, and holds the routes while it waits for the answer."""

    def __init__(self, control_plane, routes):
        super().__init__(name="policy", daemon=True)
        self.control_plane, self.routes = control_plane, routes

    def run(self):
        """Renew the routes whenever their time has come."""
        epoll = select.epoll()
        connection = socket.create_connection(self.control_plane)
        connection.setblocking(False)
        epoll.register(connection.fileno(), select.EPOLLIN | select.EPOLLRDHUP)
        span = f"policy{{addr={self.control_plane[0]}:{self.control_plane[1]}}}"
        asked = time.monotonic() + POLICY_EVERY_S
        while True:
            epoll.poll(max(0.0, asked - time.monotonic()))
            if time.monotonic() < asked:
                continue
            with self.routes:
                log("DEBUG", span, "Renewing routes")
                connection.send(b"GET /routes\n")
                while not epoll.poll(1.0):
                    pass
                if not connection.recv(4096):
                    return
                log("DEBUG", span, "Routes renewed")
            asked = time.monotonic() + POLICY_EVERY_S * 20


def main():
    """Read the options and run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", type=int, required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--to", required=True)
    parser.add_argument("--server-name", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--control-plane", type=int, required=True)
    options = parser.parse_args()
    host, port = options.to.rsplit(":", 1)
    context = ssl.create_default_context(cafile=options.ca)
    context.set_alpn_protocols(["http/1.1"])
    routes = threading.Lock()
    workers = [Worker(name, routes) for name in ROUTE_LIFE_S]
    for worker in workers:
        worker.start()
    Policy(("127.0.0.1", options.control_plane), routes).start()
    listener = socket.create_server(("127.0.0.1", options.listen))
    listener.setblocking(False)
    epoll = select.epoll()
    epoll.register(listener.fileno(), select.EPOLLIN)
    threading.current_thread().name = "main"
    log("INFO", "outbound", f"listening on 127.0.0.1:{options.listen}")
    accepted = 0
    while True:
        if not epoll.poll(1.0):
            continue
        application, peer = listener.accept()
        application.setblocking(False)
        upstream = socket.socket()
        upstream.setblocking(False)
        upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        upstream.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        upstream.bind((options.source, peer[1]))
        span = f"outbound{{client.addr={options.source}:{peer[1]} server.addr={host}:{port}}}"
        upstream.connect_ex((host, int(port)))
        # The least loaded worker; among equals the next in turn.
        order = workers[accepted % len(workers) :] + workers[: accepted % len(workers)]
        worker = min(order, key=lambda one: len(one.pairs))
        accepted += 1
        log("DEBUG", span, f"Connecting; {worker.name}")
        worker.adopt(Pair(application, upstream, context, options.server_name, span))


if __name__ == "__main__":
    main()
