"""Arithmetic on events: from one to another, and which of two came first. An event with frame 0 was not seen.

Nothing here knows which events there are.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.wire.tls_reader import NEVER

ABSENT: Final = -(1 << 62)
"""An interval that has no length: its beginning or its end was not seen. No difference of two stamps is as small."""


def between(from_ref: i64, from_ns: i64, to_ref: i64, to_ns: i64) -> i64:
    """The time between two events; `ABSENT` when one was not seen."""
    if from_ref == 0 or to_ref == 0:
        return ABSENT
    return to_ns - from_ns


def earliest(ref_a: i64, ns_a: i64, ref_b: i64, ns_b: i64) -> i64:
    """The earlier of two events; `NEVER` when neither was seen."""
    if ref_a == 0:
        if ref_b == 0:
            return NEVER
        return ns_b
    if ref_b == 0 or ns_a <= ns_b:
        return ns_a
    return ns_b
