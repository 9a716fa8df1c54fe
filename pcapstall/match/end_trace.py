"""One end of a flow in a strace, and how its calls become moments: the clock, the actor, the lines.

Which calls are told, and in which words, is in the modules beside.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from pcapstall.core.times import format_span
from pcapstall.match.matching import Match, Matching
from pcapstall.match.moments import CALL, Moment
from pcapstall.strace.model import Call, Thread
from pcapstall.strace.window import Note, Window

LONG_NS: Final = 100_000_000
"""A call that takes longer has its length told."""


class EndTrace(NamedTuple):
    """One end of the flow in one strace."""

    name: str
    """What the process is called: the strace's label, else client or server."""
    match: Match
    matching: Matching
    life: Window
    """Over the flow's life."""
    stall: Window | None
    """Over the interval that stalled."""

    @property
    def clock(self) -> str:
        """Whose clock its times are of."""
        return self.matching.index.strace.name

    @property
    def fd(self) -> int:
        """The socket's descriptor."""
        return int(self.match.socket.fd)

    def moment(self, ns: int, thread: Thread | None, event: str, *refs: int, remark: str = "") -> Moment:
        """A moment at ``ns`` of the strace's clock, that lines ``refs`` show."""
        offset = self.matching.offset
        at = ns + (offset.ns if offset is not None else 0)
        error = offset.slack_ns + int(self.matching.index.resolution_ns) if offset is not None else None
        lines = list(dict.fromkeys(self.matching.index.where(ref) for ref in refs if ref))
        return Moment(CALL, self.clock, at, error, self.actor(thread), event, remark, lines=lines)

    def actor(self, thread: Thread | None) -> str:
        """``outbound 12166``."""
        return f"{self.name} {thread.tid}" if thread is not None and thread.tid > 0 else self.name

    def by_threads(self, moment: Moment, threads: Iterable[Thread], name: str) -> None:
        """Let ``moment`` say that these ``threads`` did it, in calls by that ``name``."""
        distinct = {int(thread.number): thread for thread in threads}.values()
        moment.covers = frozenset((int(thread.tid), name) for thread in distinct)
        if len(distinct) > 1:
            moment.actor = f"{self.name}, {len(distinct)} threads"

    def calls(self) -> list[Note]:
        """Those on the socket, in the order in which they were entered."""
        serial = self.match.socket.serial
        return sorted(
            (note for note in self.life.io.all() if note.file is not None and note.file.serial == serial),
            key=lambda note: int(note.start_ns),
        )


def lines_of(call: Call | Note) -> tuple[int, int]:
    """Where it was entered and where it returned."""
    return int(call.line), int(call.end_line)


def at_most(longest_ns: int, count: int) -> str:
    """How long ``count`` calls took."""
    return format_span(longest_ns) if count == 1 else f"at most {format_span(longest_ns)} each"


def with_length(remark: str, note: Note) -> str:
    """``remark``, and how long the call took if that was long."""
    length = int(note.end_ns - note.start_ns) if note.end_ns >= 0 and not note.bounded else 0
    return "; ".join(filter(None, (remark, f"took {format_span(length)}" if length >= LONG_NS else "")))
