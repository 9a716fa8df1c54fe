"""What a timeline is made of: moments, each on its own clock, put into one order, and where that order is not sure.

Packets, calls and lines of logs are turned into moments by the modules beside; nothing is read or drawn here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

PACKET: Final = "packet"
CALL: Final = "call"
LOG: Final = "log"


@dataclass(slots=True)
class Moment:
    """One row of a timeline."""

    source: str
    """packet, call or log."""
    clock: str
    """Whose clock it was stamped by: empty for the capture's, else the file whose clock it is."""
    ns: int
    """When it was, by the capture's clock."""
    error_ns: int | None
    """How far ``ns`` may be off; None when nothing tells."""
    actor: str
    """``outbound 12166``, ``client``, ``inbound.log``."""
    event: str
    """What happened, in a few words."""
    remark: str = ""
    frames: list[int] = field(default_factory=list)
    """References of frames (`core.frames`)."""
    lines: list[str] = field(default_factory=list)
    """``client.strace:66``."""
    until_ns: int | None = None
    """When the last of several that are folded into it was, or when it ended; None for a moment without length."""
    count: int = 1
    """How many are folded into it."""
    key: bool = True
    """Whether it is told without being asked for everything."""
    covers: frozenset[tuple[int, str]] = frozenset()
    """Threads and calls that are folded into it: whatever else such a thread did by that name is told here."""
    evidence: bool = False
    """Whether the verdict on the flow rests on something that is folded into it."""
    own_error_ns: int = 0
    """How far it may be off on its own clock: to others of that clock it is no further off."""
    unsure: bool = False
    """Whether it may belong before or after the row beside it."""
    side: str = ""
    """Whose it was, client or server; empty where that is not known, and of what the network sent."""
    toward: str = ""
    """To which end what the network sent went; else empty."""
    lost: int = 0
    """How many of the packets, the first ones, most likely never arrived."""


def join(moments: Iterable[Moment]) -> list[Moment]:
    """All of them in one order, by time; each that the clocks do not surely put between its neighbours is marked."""
    ordered = sorted(moments, key=lambda moment: (moment.ns, moment.source != PACKET))
    for before, after in pairwise(ordered):
        if not _surely_before(before, after):
            for moment in (before, after):
                # The capture's clock is the one that all others are put onto: its own rows stand where they are.
                # What is folded only begins where it stands.
                moment.unsure = moment.unsure or (moment.source != PACKET and moment.count == 1)
    return ordered


def _surely_before(before: Moment, after: Moment) -> bool:
    if before.clock == after.clock:
        own = before.own_error_ns + after.own_error_ns
        return not own or after.ns - before.ns > own
    if before.error_ns is None or after.error_ns is None:
        return False
    return after.ns - before.ns > before.error_ns + after.error_ns


def fold(moments: Sequence[Moment], event: str, remark: str = "") -> Moment:
    """One row for several that follow each other."""
    first, last = moments[0], moments[-1]
    lines = [line for moment in moments for line in moment.lines]
    return Moment(
        first.source,
        first.clock,
        first.ns,
        first.error_ns,
        first.actor,
        event,
        remark,
        [ref for moment in moments for ref in moment.frames],
        lines[:1] + (lines[-1:] if len(lines) > 1 else []),
        last.until_ns if last.until_ns is not None else last.ns,
        sum(moment.count for moment in moments),
        any(moment.key for moment in moments),
        side=first.side,
        lost=sum(moment.lost for moment in moments),
    )
