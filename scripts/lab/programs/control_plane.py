"""A control plane that is slow: it answers each request after a fixed time."""

import argparse
import socket
import time


def main():
    """Read the options and run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", type=int, required=True)
    parser.add_argument("--answer-after", type=float, required=True)
    options = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", options.listen))
    print("listening", flush=True)
    connection, _ = listener.accept()
    while connection.recv(4096):
        print("asked", flush=True)
        time.sleep(options.answer_after)
        connection.send(b"metrics 10.40.42.129:8086\n")


if __name__ == "__main__":
    main()
