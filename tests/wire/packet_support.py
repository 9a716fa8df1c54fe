"""Packets for the decoder's tests: builders that nest, the inverse of what is decoded, and one call that decodes."""

import gzip
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import MALFORMED, OTHER, TCP

ETHERNET = 1
RAW = 101
A4, B4 = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))
A6, B6 = bytes.fromhex("20010db8" + "00" * 11 + "01"), bytes.fromhex("20010db8" + "00" * 11 + "02")
SPORT, DPORT, SEQ, ACK_NUMBER = 40000, 443, 0xDEADBEEF, 0x01020304
OUTCOMES = {TCP: "tcp", OTHER: "other", MALFORMED: "malformed"}


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def tcp(payload: bytes = b"hello", options: bytes = b"", flags: int = 0x18, offset: int | None = None) -> bytes:
    words = 5 + len(options) // 4 if offset is None else offset
    header = struct.pack(">HHIIBBHHH", SPORT, DPORT, SEQ, ACK_NUMBER, words << 4, flags, 1024, 0, 0)
    return header + options + payload


def ipv4(
    payload: bytes,
    protocol: int = 6,
    *,
    options: bytes = b"",
    total: int | None = None,
    fragment: int = 0x4000,
    ident: int = 7,
    src: bytes = A4,
    dst: bytes = B4,
) -> bytes:
    words = 5 + len(options) // 4
    length = words * 4 + len(payload) if total is None else total
    head = struct.pack(">BBHHHBBH4s4s", 0x40 | words, 0, length, ident, fragment, 64, protocol, 0, src, dst) + options
    return head[:10] + checksum(head).to_bytes(2, "big") + head[12:] + payload


def ipv6(payload: bytes, protocol: int = 6, *, length: int | None = None) -> bytes:
    size = len(payload) if length is None else length
    return struct.pack(">IHBB16s16s", 6 << 28, size, protocol, 64, A6, B6) + payload


def ethernet(payload: bytes, ethertype: int = 0x0800) -> bytes:
    return bytes.fromhex("020000000001020000000002") + ethertype.to_bytes(2, "big") + payload


def udp(payload: bytes, dport: int, sport: int = 50000) -> bytes:
    return struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload


def gre(payload: bytes, proto: int, flags: int = 0, fields: bytes = b"") -> bytes:
    return struct.pack(">HH", flags, proto) + fields + payload


@dataclass(frozen=True)
class Decoded:
    """A copy of what the decoder said."""

    outcome: str
    reason: str = ""
    key: bytes = b""
    seq: int = 0
    ack: int = 0
    flags: int = 0
    payload: bytes = b""
    payload_len: int = 0
    tunnel: str = ""


def decode(
    frame: bytes,
    linktype: int = ETHERNET,
    *,
    origlen: int | None = None,
    decoder: Decoder | None = None,
    ts_ns: int = 0,
) -> Decoded:
    """Decode ``frame`` as it would lie in a reader's buffer: with other bytes before and behind it."""
    decoder = Decoder() if decoder is None else decoder
    decoder.segment.ts_ns = ts_ns
    before, after = b"\xa5" * 5, b"\x5a" * 64
    length = len(frame) if origlen is None else origlen
    outcome = OUTCOMES[decoder.decode(before + frame + after, len(before), len(frame), length, linktype)]
    if outcome == "malformed":
        assert decoder.reason
        return Decoded(outcome, decoder.reason)
    if outcome == "other":
        return Decoded(outcome)
    s = decoder.segment
    assert s.captured_len <= s.payload_len
    assert s.tcp_offset + 20 <= s.options_end <= s.payload_offset
    return Decoded(
        outcome,
        "",
        s.key,
        s.seq,
        s.ack,
        s.flags,
        s.buf[s.payload_offset : s.payload_offset + s.captured_len],
        s.payload_len,
        s.tunnel,
    )


def found(payload: bytes = b"hello", *, v6: bool = False, tunnel: str = "", flags: int = 0x18) -> Decoded:
    """What `decode` says of `tcp` in `ipv4` or `ipv6`, wherever that is."""
    key = (A6 + B6 if v6 else A4 + B4) + struct.pack(">HH", SPORT, DPORT)
    return Decoded("tcp", "", key, SEQ, ACK_NUMBER, flags, payload, len(payload), tunnel)


def other() -> Decoded:
    return Decoded("other")


def malformed(reason: str) -> Decoded:
    return Decoded("malformed", reason)


@dataclass(frozen=True)
class Record:
    """One record of a capture file."""

    frame: int
    data: bytes
    origlen: int
    linktype: int
    ts_ns: int


def read_pcap(path: Path) -> Iterator[Record]:
    """The records of a pcap file, gzipped or not; ends at the first that is cut. Other formats have none."""
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">"}.get(raw[:4])
    if order is None:
        return
    linktype = struct.unpack_from(order + "I", raw, 20)[0] & 0xFFFF
    at, frame = 24, 0
    while at + 16 <= len(raw):
        seconds, fraction, caplen, origlen = struct.unpack_from(order + "IIII", raw, at)
        at += 16
        if at + caplen > len(raw):
            return
        frame += 1
        yield Record(frame, raw[at : at + caplen], origlen, linktype, seconds * 10**9 + fraction)
        at += caplen
