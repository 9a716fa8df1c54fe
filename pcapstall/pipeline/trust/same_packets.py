"""Whether two of the captures that are read as one show the same packets: most likely they are of both ends.

Files of a ring follow each other and share none. Only a sample of each is looked at, whatever NAT did to addresses.
"""

import os
import shlex
from collections.abc import Collection, Container, Sequence
from itertools import combinations
from typing import Final

from pcapstall.capture.captures import open_captures
from pcapstall.capture.source import Stop
from pcapstall.report.model import CaptureReport
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import SYN, TCP
from pcapstall.wire.tcp_options import timestamps

_SAMPLE: Final = 2_000
"""Segments of a file that are looked at, and records that are passed over before them."""
_PASSED_MAX: Final = 100_000
_SAME_MIN: Final = 2
"""So many are no accident."""
_MOST: Final = 0.5
"""More than this share of what one of the two shows of the time of both is in the other as well."""
_NEARLY_ALL: Final = 0.9
"""The same where the clocks do not show that it is the same time."""
_PAIRS_MAX: Final = 6
_APART_NS: Final = 2_000_000_000
"""How far apart two clocks may be for captures that cover the same time."""

_Packet = tuple[int, int, int, int, int]
"""Whether it is a SYN, sequence and acknowledgment number, and what a retransmission has another one of: IP ID (0 or -1
where there is none) and TCP timestamp (-1). Neither length nor PSH: offloads change them."""
_Sample = dict[_Packet, int]
"""With the time of each."""


def told_of_both_ends(captures: Sequence[CaptureReport], stop: Stop) -> list[str]:
    """What to say of the first two captures that show the same packets; empty when no two do."""
    pairs = [pair for pair in combinations(captures, 2) if len(captures) == 2 or _overlap(*pair)]
    for one, other in pairs[:_PAIRS_MAX]:
        if os.path.isfile(one.file) and os.path.isfile(other.file) and _same(one, other, stop):
            command = shlex.join(["pcapstall", "compare", one.file, other.file])
            return [
                f"{one.file} and {other.file} show the same packets, and are read as one capture here; what was"
                f" captured at both ends is for {command}"
            ]
    return []


def _same(one: CaptureReport, other: CaptureReport, stop: Stop) -> bool:
    if _overlap(one, other):
        start_ns = max(one.first_ns or 0, other.first_ns or 0)
        samples = [_sample(capture.file, start_ns - _APART_NS, stop) for capture in (one, other)]
        end_ns = min(max(sample.values(), default=0) for sample in samples)
        within = [{packet for packet, ns in sample.items() if start_ns <= ns <= end_ns} for sample in samples]
        if _share(within[0], samples[1]) > _MOST or _share(within[1], samples[0]) > _MOST:
            return True
    # A clock that is off by seconds to minutes puts one end before the other, as the files of a ring are: those may
    # share what was sent again over the boundary. So only packets count that a retransmission can be told from, from
    # the beginning of both files, and nearly all of one file's must be in the other.
    certain = [
        {packet for packet in _sample(file, 0, stop) if packet[3] > 0 or packet[4] >= 0}
        for file in (one.file, other.file)
    ]
    return max(_share(certain[0], certain[1]), _share(certain[1], certain[0])) >= _NEARLY_ALL


def _share(packets: Collection[_Packet], known: Container[_Packet]) -> float:
    """How much of ``packets`` is known; 0 where that may be an accident."""
    same = sum(packet in known for packet in packets)
    return same / len(packets) if same >= _SAME_MIN else 0.0


def _overlap(one: CaptureReport, other: CaptureReport) -> bool:
    if one.first_ns is None or one.last_ns is None or other.first_ns is None or other.last_ns is None:
        return False
    shared_ns = min(one.last_ns, other.last_ns) - max(one.first_ns, other.first_ns)
    return 2 * shared_ns > min(one.last_ns - one.first_ns, other.last_ns - other.first_ns)


def _sample(path: str, since_ns: int, stop: Stop) -> _Sample:
    """SYNs and segments with payload by what they are known by at any place on their way."""
    cursor = open_captures([path], stop)
    decoder = Decoder()
    segment = decoder.segment
    found: _Sample = {}
    passed = seen = 0
    try:
        while seen < _SAMPLE and passed < _PASSED_MAX and cursor.next():
            if cursor.ts_ns < since_ns:
                passed += 1
                continue
            seen += 1
            if decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype) != TCP:
                continue
            syn = int(segment.flags & SYN)
            if syn or segment.payload_len:
                timestamps(segment)
                packet = (syn, int(segment.seq), int(segment.ack), int(segment.ip_id), int(segment.tsval))
                found.setdefault(packet, int(cursor.ts_ns))
    finally:
        cursor.close()
    return found
