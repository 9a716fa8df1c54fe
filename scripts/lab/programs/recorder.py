"""A recorder with the faults that recorders have: its clock is set while it runs, or its buffer is full for a while.

tcpdump cannot be made to have either at a given packet. The file is a pcap with microseconds.
"""

import argparse
import signal
import socket
import struct
import time

ETH_P_ALL = 3
LINKTYPE_ETHERNET = 1
SO_TIMESTAMPNS = 35
SNAPLEN = 262144
CLIENT_HELLO, SERVER_HELLO = 1, 2
BARE_ACK = -1


def main():
    """Record what passes eth0 until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    before_hello = "set the clock forward before a hello of this flow is stamped: client's or server's"
    parser.add_argument(
        "--set", nargs=3, action="append", default=[], metavar=("PORT", "HELLO", "SECONDS"), help=before_hello
    )
    copies = "miss so many copies of this flow's ClientHello"
    parser.add_argument("--miss", nargs=2, action="append", default=[], metavar=("PORT", "COUNT"), help=copies)
    acks = "miss so many of this flow's segments with nothing but an acknowledgment"
    parser.add_argument("--miss-acks", nargs=2, action="append", default=[], metavar=("PORT", "COUNT"), help=acks)
    options = parser.parse_args()
    kinds = {"client": CLIENT_HELLO, "server": SERVER_HELLO}
    steps = {(int(port), kinds[hello]): float(seconds) for port, hello, seconds in options.set}
    missed = {(int(port), CLIENT_HELLO): int(count) for port, count in options.miss}
    missed |= {(int(port), BARE_ACK): int(count) for port, count in options.miss_acks}
    offset_ns = 0
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    with tap, open(options.file, "wb") as out:
        tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        tap.bind(("eth0", 0))
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAPLEN, LINKTYPE_ETHERNET))
        signal.signal(signal.SIGTERM, lambda *_: tap.close() or exit(0))
        print("listening on eth0", flush=True)
        while True:
            frame, ancillary, _, _ = tap.recvmsg(SNAPLEN, 64)
            port, kind = described(frame)
            if missed.get((port, kind), 0) > 0:
                missed[port, kind] -= 1
                continue
            offset_ns += int(steps.pop((port, kind), 0) * 1e9)
            if port is not None:
                ns = stamp_of(ancillary) + offset_ns
                out.write(struct.pack("<IIII", ns // 10**9, ns % 10**9 // 1000, len(frame), len(frame)) + frame)
                out.flush()


def described(frame):
    """Return the client's port of a TCP packet over IPv4 (None for others), and which handshake message it begins.

    BARE_ACK when it holds nothing but an acknowledgment.
    """
    if frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_TCP:
        return None, 0
    tcp = 14 + (frame[14] & 15) * 4
    source, destination = struct.unpack_from("!HH", frame, tcp)
    payload = frame[tcp + (frame[tcp + 12] >> 4) * 4 : 14 + struct.unpack_from("!H", frame, 16)[0]]
    kind = payload[5] if len(payload) > 5 and payload[0] == 22 else 0
    if not payload and frame[tcp + 13] == 0x10:
        kind = BARE_ACK
    return max(source, destination), kind


def stamp_of(ancillary):
    """Return when the kernel saw a packet."""
    for _, kind, data in ancillary:
        if kind == SO_TIMESTAMPNS:
            seconds, ns = struct.unpack("qq", data[:16])
            return seconds * 10**9 + ns
    return time.time_ns()


if __name__ == "__main__":
    main()
