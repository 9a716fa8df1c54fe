"""A DNS server that answers every query, some seconds late: A with one address, everything else with nothing."""

import argparse
import socket
import struct
import threading
import time

TYPE_A = 1
RESPONSE, POINTER_TO_QUESTION, CLASS_IN, TTL_S = 0x8180, 0xC00C, 1, 60


def answer(wire, query, peer, address, after):
    """Answer one query when its time has come."""
    end = query.index(b"\0", 12) + 5
    (kind,) = struct.unpack("!H", query[end - 4 : end - 2])
    record = b""
    if kind == TYPE_A:
        record = struct.pack("!HHHLH", POINTER_TO_QUESTION, TYPE_A, CLASS_IN, TTL_S, 4) + socket.inet_aton(address)
    time.sleep(after)
    header = query[:2] + struct.pack("!HHHHH", RESPONSE, 1, 1 if record else 0, 0, 0)
    wire.sendto(header + query[12:end] + record, peer)


def main():
    """Answer until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--answer-after", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    wire = socket.socket(socket.AF_INET6 if ":" in options.listen else socket.AF_INET, socket.SOCK_DGRAM)
    wire.bind((options.listen, 53))
    print("listening", flush=True)
    while True:
        query, peer = wire.recvfrom(4096)
        arguments = (wire, query, peer, options.address, options.answer_after)
        threading.Thread(target=answer, args=arguments, daemon=True).start()


if __name__ == "__main__":
    main()
