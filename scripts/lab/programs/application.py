"""An application behind an outbound proxy: one plain HTTP request for each source port it is given."""

import argparse
import socket
import threading
import time

REQUEST = b"GET /ping HTTP/1.1\r\nHost: influxdb.metrics\r\nUser-Agent: application\r\n\r\n"


def ask(proxy_port, source_port, start):
    """Send one request when its time has come."""
    time.sleep(max(0.0, start - time.monotonic()))
    with socket.create_connection(("127.0.0.1", proxy_port), source_address=("127.0.0.1", source_port)) as connection:
        connection.sendall(REQUEST)
        answer = connection.recv(4096)
    print(source_port, answer.split(b"\r\n")[0].decode() or "closed", flush=True)


def main():
    """Read the options and run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--proxy", type=int, required=True)
    parser.add_argument("requests", nargs="+", metavar="PORT@SECONDS")
    options = parser.parse_args()
    now = time.monotonic()
    threads = []
    for request in options.requests:
        port, seconds = request.split("@")
        threads.append(threading.Thread(target=ask, args=(options.proxy, int(port), now + float(seconds))))
        threads[-1].start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
