"""Every frame of the corpus against tshark's innermost TCP header: endpoints, numbers, flags and length."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pcapstall.capture.opening import open_capture
from pcapstall.core.endpoints import format_address
from pcapstall.core.errors import InputError
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import MALFORMED, OTHER, TCP

FIELDS = ["frame.number", "frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport"]
FIELDS += ["tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "tcp.len"]

FUZZED = "ndpi--fuzz-2006-09-29-28586.pcap"
KNOWN = {
    (FUZZED, 27): "the data offset points beyond the packet: tshark names the header bogus and has no length either",
    (FUZZED, 80): "the same, in a packet of AA bytes",
    (FUZZED, 111): "14 bytes are left of a TCP header: tshark shows the ports alone",
    (FUZZED, 72): "the IP length is larger than the frame: believed here, cut down by tshark",
}
"""Frames that are read in another way on purpose."""

UNREADABLE = {"libpcap--pcap-invalid-version-1.pcap"}


@dataclass(frozen=True)
class Header:
    """A TCP header by its numbers; -1 for what tshark does not say."""

    src: str
    dst: str
    sport: int
    dport: int
    seq: int = -1
    ack: int = -1
    flags: int = -1
    length: int = -1


def tshark(path: Path) -> Iterator[tuple[int, bool, Header]]:
    """Frame number, whether the header is one that an ICMP error quotes, and the innermost header."""
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp", "-T", "fields", "-E", "occurrence=l"]
    command += ["-o", "tcp.relative_sequence_numbers:FALSE", "-d", "udp.port==8472,vxlan"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    for line in done.stdout.splitlines():
        frame, protocols, *rest = line.split("\t")
        src4, dst4, src6, dst6, *numbers = rest
        stack = protocols.split(":tcp")[0].split(":")
        last_ip = [layer for layer in stack if layer in ("ip", "ipv6")][-1]
        ends = (src6, dst6) if last_ip == "ipv6" else (src4, dst4)
        sport, dport, seq, ack, flags, length = (int(n, 0) if n else -1 for n in numbers)
        quoted = "icmp" in stack or "icmpv6" in stack
        yield int(frame), quoted, Header(*ends, sport, dport, seq, ack, flags & 0xFF if flags >= 0 else -1, length)


def ends_of(key: bytes) -> tuple[str, str, int, int]:
    size = (len(key) - 4) // 2
    sport, dport = int.from_bytes(key[-4:-2], "big"), int.from_bytes(key[-2:], "big")
    return format_address(key[:size]), format_address(key[size : 2 * size]), sport, dport


def ours(path: Path) -> tuple[dict[int, Header], dict[int, Header], Counter[int]]:
    """Headers of segments and of quotes by frame number, and how many records there are of each outcome."""
    decoder = Decoder()
    segment = decoder.segment
    headers: dict[int, Header] = {}
    quotes: dict[int, Header] = {}
    outcomes: Counter[int] = Counter()
    cursor = open_capture(str(path))
    while cursor.next():
        segment.ts_ns = cursor.ts_ns
        outcome = decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype)
        outcomes[outcome] += 1
        if outcome == TCP:
            numbers = (segment.seq, segment.ack, segment.flags, segment.payload_len)
            headers[cursor.frame] = Header(*ends_of(segment.key), *numbers)
        elif outcome == OTHER and decoder.icmp is not None:
            quotes[cursor.frame] = Header(*ends_of(decoder.icmp.key), decoder.icmp.seq)
    assert sum(outcomes.values()) == cursor.frame
    return headers, quotes, outcomes


def test_every_frame_is_read_as_tshark_reads_it(corpus: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    captures = [path for path in [*corpus.iterdir(), *(corpus / "broken").iterdir()] if ".pcap" in path.name]
    assert len(captures) > 60
    differences: list[str] = []
    known = set(KNOWN)
    outcomes: Counter[int] = Counter()
    for path in sorted(captures):
        try:
            headers, quotes, counts = ours(path)
        except InputError:
            assert path.name in UNREADABLE or not list(tshark(path)), path.name
            continue
        outcomes += counts
        for frame, quoted, want in tshark(path):
            got = (quotes if quoted else headers).pop(frame, None)
            if quoted and got is not None:
                same = (got.src, got.dst, got.sport, got.dport) == (want.src, want.dst, want.sport, want.dport)
                same = same and want.seq in (-1, got.seq)
            else:
                same = got == want
            if same:
                continue
            if (path.name, frame) in known:
                known.discard((path.name, frame))
            else:
                differences.append(f"{path.name} frame {frame}: {got} but tshark has {want}")
        differences += [f"{path.name} frame {frame}: {got} but tshark has no TCP" for frame, got in headers.items()]
        differences += [f"{path.name} frame {frame}: quote {got}, tshark has none" for frame, got in quotes.items()]
    assert differences == []
    assert known == set(), "a difference has gone"
    assert outcomes[TCP] > 11000
    assert outcomes[MALFORMED] < 20
