"""Captures taken apart into records, put together again as files, and what is said of them as if they were one file.

For the tests that say that a capture is the same however it was cut into files.
"""

import contextlib
import struct
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pcapstall.pipeline import Analysis
from pcapstall.report.to_json import flow_object, header

Pieces = tuple[bytes, list[bytes]]
"""What every part of a capture begins with, and its records."""
_NANOSECONDS = b"\x4d\x3c\xb2\xa1"
_MICROSECONDS = b"\xd4\xc3\xb2\xa1"


@cache
def pieces(path: Path) -> Pieces:
    data = path.read_bytes()
    return _pcapng_pieces(data) if path.suffix == ".pcapng" else _pcap_pieces(data)


def _pcap_pieces(data: bytes) -> Pieces:
    order = "<" if data[:4] in (_MICROSECONDS, _NANOSECONDS) else ">"
    records: list[bytes] = []
    at = 24
    while at < len(data):
        end = at + 16 + struct.unpack(order + "I", data[at + 8 : at + 12])[0]
        records.append(data[at:end])
        at = end
    return data[:24], records


def _pcapng_pieces(data: bytes) -> Pieces:
    """Little-endian, one section; blocks that are neither of it nor packets are left out."""
    head, records = b"", []
    at = 0
    while at < len(data):
        kind, size = struct.unpack("<II", data[at : at + 8])
        block = data[at : at + size]
        if kind == 6:
            records.append(block)
        elif kind in (0x0A0D0D0A, 1):
            head += block
        at += size
    return head, records


@cache
def pcapng_pieces(path: Path) -> Pieces:
    """The same as pcapng: of a little-endian pcap file."""
    head, records = pieces(path)
    if path.suffix == ".pcapng":
        return head, records
    snaplen, link = struct.unpack_from("<II", head, 16)
    resolution = 9 if head[:4] == _NANOSECONDS else 6
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    interface = struct.pack("<IIHHIHHB3xII", 1, 32, link & 0xFFFF, 0, snaplen, 9, 1, resolution, 0, 32)
    return section + interface, [_enhanced(record, 10**resolution) for record in records]


def _enhanced(record: bytes, units: int) -> bytes:
    seconds, fraction, kept, length = struct.unpack_from("<IIII", record)
    high, low = divmod(seconds * units + fraction, 1 << 32)
    packet = record[16:].ljust(-(-kept // 4) * 4, b"\0")
    size = 32 + len(packet)
    return struct.pack("<IIIIIII", 6, size, 0, high, low, kept, length) + packet + struct.pack("<I", size)


@contextlib.contextmanager
def written(*contents: bytes) -> Iterator[list[str]]:
    """Files with these contents, named in their order."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"part{number}.pcap" for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        yield [str(path) for path in paths]


def as_one(analysis: Analysis, begins: Sequence[int]) -> dict[str, Any]:
    """What a report says, its frames as they count in the whole. ``begins``: how many packets are before each file.

    A flow's own first frame names no file, so that it is in the place of its packet in one of them.
    A sentence whose frames are in several files is there once for each of them.
    """
    said = header(analysis.report)
    captures = said.pop("captures")
    for name in "packets", "tcp_packets", "other_packets":
        said[name] = sum(capture[name] for capture in captures)
    said["malformed"] = sum(sum(capture["malformed"].values()) for capture in captures)
    said["flows"] = [_flow_as_one(flow_object(flow), begins) for flow in analysis.report.flows]
    return said


def _flow_as_one(flow: dict[str, Any], begins: Sequence[int]) -> dict[str, Any]:
    flow["first_frame"] = [flow["first_frame"] + begin for begin in begins]
    for place in [event for event in flow["events"].values() if event is not None] + flow["alerts"]:
        place["frame"] += begins[place.pop("file")]
    sentences: dict[str, list[int]] = {}
    for evidence in flow["evidence"]:
        sentences.setdefault(evidence["text"], []).extend(
            frame + begins[evidence["file"]] for frame in evidence["frames"]
        )
    flow["evidence"] = [(text, sorted(frames)) for text, frames in sentences.items()]
    return flow


def is_same(got: dict[str, Any], whole: dict[str, Any]) -> bool:
    """Whether both are of one capture. ``whole`` was read in one file; changed: ``got``'s first frames."""
    for mine, other in zip(got["flows"], whole["flows"], strict=False):
        if other["first_frame"][0] in mine["first_frame"]:
            mine["first_frame"] = other["first_frame"]
    return got == whole
