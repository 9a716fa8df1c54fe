"""TCP timestamps as a clock of their sender: how long it was, over there, between two segments (RFC 7323).

The rate of the clock is taken from other segments of the same sender, or recognised; it is never assumed. A SYN-ACK's
timestamp may be part of a cookie and is not used. Compiled, for every verdict asks.
"""

from operator import truediv
from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.segments import Seg

APART_NS: Final = 100_000_000
"""Segments that are closer than this do not tell the rate."""
USUAL_HZ: Final = 1000
"""Linux, the BSDs, macOS and Windows tick so; recognised when it fits, never assumed."""
RATES: Final = (1000, 100, 250, 300, 1024, 10, 2, 1, 1_000_000)
"""Ticks a second that are in use; a measured rate is taken for the nearest of them."""
_FIT: Final = 0.05
_TIGHT_FIT: Final = 0.01
_SECOND: Final = 1_000_000_000
_MASK: Final = 0xFFFF_FFFF
_HALF: Final = 0x8000_0000
"""What is further ahead lies behind."""


def ticks_between(first: Seg, last: Seg) -> int | None:
    """Ticks of the sender's clock from ``first`` to ``last``; None when one has no usable timestamp."""
    if first.tsval < 0 or last.tsval < 0 or first.is_syn_ack or last.is_syn_ack:
        return None
    ticks: i64 = (last.tsval - first.tsval) & _MASK
    if ticks >= _HALF:
        return None
    return ticks


def measured_rate(segs: list[Seg], without: Seg | None = None) -> int | None:
    """Ticks a second from segments of one sender that are far enough apart, the step that leads to ``without`` left
    out; None when there are none, or when they disagree."""
    steps: list[tuple[int, int]] = []
    all_ticks = all_ns = 0
    before: Seg | None = None
    for after in segs:
        last = before
        before = after
        if last is None or after.ns - last.ns < APART_NS or (without is not None and after.ref == without.ref):
            continue
        ticks = ticks_between(last, after)
        if ticks is not None and ticks != 0:
            ns: int = after.ns - last.ns
            steps.append((ticks, ns))
            all_ticks += ticks
            all_ns += ns
    if not steps:
        return None
    # One segment that was a little late makes its step too long and the next one too short: together they tell.
    rate = _rate_of(all_ticks, all_ns)
    if rate is None or len(steps) == 1:
        return rate
    for ticks_of_it, ns_of_it in steps:
        own = _rate_of(ticks_of_it, ns_of_it)
        if own is not None and own != rate:
            return None
    return rate


def _rate_of(ticks: int, ns: int) -> int | None:
    return nearest_rate(_hz(ticks, ns), _FIT)


def _hz(ticks: int, ns: int) -> float:
    # The operator of compiled code rounds both sides first.
    hz: float = truediv(ticks * _SECOND, ns)
    return hz


def nearest_rate(hz: float, fit: float) -> int | None:
    """The rate in use that ``hz`` is, within ``fit`` as a part of it."""
    for rate in RATES:
        if abs(hz - rate) <= fit * rate:
            return rate
    return None


def fits_no_rate(first: Seg, last: Seg) -> bool:
    """Whether the ticks from ``first`` to ``last`` are none that any rate in use makes of the time here."""
    ticks = ticks_between(first, last)
    if ticks is None or last.ns - first.ns < APART_NS:
        return False
    return nearest_rate(_hz(ticks, last.ns - first.ns), _FIT) is None


def lacking_ns(first: Seg, last: Seg, rate: int | None, cookie: bool = False) -> int | None:
    """How much of the time here from ``first`` to ``last`` did not go by at their sender, beyond the error; 0 where its
    timestamps agree, None where they do not tell.

    Without a rate a clock of the usual one or a faster one agrees; a slower one is not recognised, since a step of the
    clock here may look the same by accident. What fits no rate is told at the usual one. ``cookie``: ``first`` may be a
    SYN-ACK.
    """
    here_ns: int = last.ns - first.ns
    ticks = ticks_between(first, last)
    if cookie:
        ticks = (last.tsval - first.tsval) & _MASK
    if ticks is None or ticks >= _HALF or here_ns < APART_NS:
        return None
    if rate is None:
        hz = _hz(ticks, here_ns)
        seen = nearest_rate(hz, _FIT)
        if seen is not None or hz > USUAL_HZ:
            return 0 if seen is not None and seen >= USUAL_HZ else None
        rate = USUAL_HZ
    there_ns = ticks * _SECOND // rate
    return max(0, here_ns - there_ns - max(_SECOND // rate, here_ns // 20))


def sender_gap(first: Seg, last: Seg, rate: int | None) -> tuple[int, int] | None:
    """How long it was at the sender between two of its segments, and the error of that: a tick, or 5%.

    Without a rate the usual one is recognised when the time at the sender is then the time here to one part in a
    hundred; a faster clock whose segment was held up just as much would be an odd accident.
    """
    ticks = ticks_between(first, last)
    if ticks is None:
        return None
    if rate is None:
        if last.ns - first.ns < APART_NS:
            return None
        hz = _hz(ticks, last.ns - first.ns)
        if nearest_rate(hz, _TIGHT_FIT) != USUAL_HZ:
            return None
        rate = USUAL_HZ
    length_ns = ticks * _SECOND // rate
    return length_ns, max(_SECOND // rate, length_ns // 20)
