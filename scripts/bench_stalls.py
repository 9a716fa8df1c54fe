"""The capture that belongs to a long strace of `bench_strace`: of the short one's capture, the packets of many turns.

The flow that stands still longest is only there in a few of the turns, as it is in life. Ports and randoms change with
each turn as they do in the trace; checksums stay what they were, which is what a capture at a sender shows anyway.
"""

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from bench_strace import EPHEMERAL, port_of, random_of, step_of

STALLS = 10
_HEADER_LEN = 24
_RECORD = struct.Struct("<IIII")
_PORTS = struct.Struct(">HH")
_PORTS_AT = 34
"""Behind Ethernet and an IPv4 header without options."""
_HELLO = b"\x16\x03\x01"
_RANDOM = slice(11, 43)


def records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Seconds, the rest of the stamp, and the frame of each packet; ValueError when they are not what is known here."""
    if data[:4] != b"\xd4\xc3\xb2\xa1" or data[20:24] != b"\1\0\0\0":
        raise ValueError("not a little-endian pcap of Ethernet with microseconds")
    at = _HEADER_LEN
    while at < len(data):
        second, micros, length, _ = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        yield second, micros, data[at : at + length]
        at += length


def client_port(frame: bytes) -> int:
    """The port that the kernel chose."""
    return next((port for port in _PORTS.unpack_from(frame, _PORTS_AT) if port >= EPHEMERAL), 0)


def in_turn(frame: bytes, turn: int) -> bytes:
    """The frame with the ports and the random of this turn."""
    ports = _PORTS.pack(*(port_of(port, turn) for port in _PORTS.unpack_from(frame, _PORTS_AT)))
    payload_at = _PORTS_AT + (frame[_PORTS_AT + 12] >> 4) * 4
    payload = bytearray(frame[payload_at:])
    if payload.startswith(_HELLO):
        payload[_RANDOM] = random_of(bytes(payload[_RANDOM]), turn)
    return frame[:_PORTS_AT] + ports + frame[_PORTS_AT + 4 : payload_at] + bytes(payload)


def slowest(packets: list[tuple[int, int, bytes]]) -> int:
    """The client port of the flow with the longest pause."""
    last: dict[int, int] = {}
    pauses: dict[int, int] = {}
    for second, _, frame in packets:
        port = client_port(frame)
        pauses[port] = max(pauses.get(port, 0), second - last.get(port, second))
        last[port] = second
    return max(pauses, key=lambda port: pauses[port])


def write(capture: Path, trace: Path, path: Path, total: int, flows: int) -> None:
    """Write about ``flows`` flows, spread over the turns that ``total`` lines of ``trace`` make."""
    lines = trace.read_bytes().splitlines(keepends=True)
    data = capture.read_bytes()
    packets = list(records(data))
    step = step_of(lines)
    slow = slowest(packets)
    turns = total // len(lines)
    wanted = max(STALLS, flows // max(1, len({client_port(frame) for _, _, frame in packets})))
    chosen = sorted({turns * number // wanted for number in range(wanted)})
    stalled = {chosen[(len(chosen) - 1) * number // (STALLS - 1)] for number in range(STALLS)}
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as out:
        out.write(data[:_HEADER_LEN])
        for turn in chosen:
            for second, micros, frame in packets:
                if client_port(frame) != slow or turn in stalled:
                    out.write(_RECORD.pack(second + turn * step, micros, len(frame), len(frame)))
                    out.write(in_turn(frame, turn))
    unfinished.rename(path)


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
