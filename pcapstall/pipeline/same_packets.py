"""Whether two of the captures that are read as one show the same packets: most likely they are of both ends.

Files of a ring follow each other and share none. Only a sample of each is looked at, whatever NAT did to addresses.
"""

import os
import shlex
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from pcapstall.capture.captures import open_captures
from pcapstall.capture.source import Stop
from pcapstall.report.model import CaptureReport
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import SYN, TCP

_SAMPLE: Final = 2_000
"""Segments of a file that are looked at, and records that are passed over before them."""
_PASSED_MAX: Final = 100_000
_SAME_MIN: Final = 2
"""So many with the same sequence and acknowledgment number are no accident."""
_PAIRS_MAX: Final = 6
_APART_NS: Final = 2_000_000_000
"""How far apart two clocks may be for captures that cover the same time."""

_Segments = frozenset[tuple[int, int, int, int]]


def told_of_both_ends(captures: Sequence[CaptureReport], stop: Stop) -> list[str]:
    """What to say of the first two captures that show the same packets; empty when no two do."""
    pairs = [pair for pair in combinations(captures, 2) if len(captures) == 2 or _overlap(*pair)]
    for one, other in pairs[:_PAIRS_MAX]:
        if not (os.path.isfile(one.file) and os.path.isfile(other.file)):
            continue
        since_ns = max(one.first_ns or 0, other.first_ns or 0) - _APART_NS if _overlap(one, other) else 0
        if len(_sample(one.file, since_ns, stop) & _sample(other.file, since_ns, stop)) >= _SAME_MIN:
            command = shlex.join(["pcapstall", "compare", one.file, other.file])
            return [
                f"{one.file} and {other.file} show the same packets, and are read as one capture here; what was"
                f" captured at both ends is for {command}"
            ]
    return []


def _overlap(one: CaptureReport, other: CaptureReport) -> bool:
    if one.first_ns is None or one.last_ns is None or other.first_ns is None or other.last_ns is None:
        return False
    shared_ns = min(one.last_ns, other.last_ns) - max(one.first_ns, other.first_ns)
    return 2 * shared_ns > min(one.last_ns - one.first_ns, other.last_ns - other.first_ns)


def _sample(path: str, since_ns: int, stop: Stop) -> _Segments:
    """What SYNs and segments with payload are known by at any place on their way."""
    cursor = open_captures([path], stop)
    decoder = Decoder()
    segment = decoder.segment
    found: set[tuple[int, int, int, int]] = set()
    passed = seen = 0
    try:
        while seen < _SAMPLE and passed < _PASSED_MAX and cursor.next():
            if cursor.ts_ns < since_ns:
                passed += 1
                continue
            seen += 1
            if decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype) != TCP:
                continue
            if segment.flags & SYN or segment.payload_len:
                found.add((int(segment.seq), int(segment.ack), int(segment.flags), int(segment.payload_len)))
    finally:
        cursor.close()
    return frozenset(found)
