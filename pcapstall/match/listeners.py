"""Connections that no socket of a strace is, on a listener that is in it: nobody accepted them.

Only which listener a flow went to, and whether every connection that was accepted there is known to be another one.
Whether that explains a stall is judged in `diagnose.process`.
"""

from typing import Final

from pcapstall.core.times import DAY
from pcapstall.flows.flow import Flow
from pcapstall.match.ends import End, Endpoint
from pcapstall.match.matching import Match, Matching
from pcapstall.match.offset import QUARTER_NS, Offset, nearest
from pcapstall.match.outline import Outline
from pcapstall.strace.leader import EPOCH, TIME_OF_DAY
from pcapstall.strace.sockets import Socket

BY_LISTENER: Final = "listener"
"""How a flow was matched that has no socket of its own."""
_ERROR_NS: Final = 50_000_000


def never_accepted(flow: Flow, matching: Matching) -> tuple[Match, Matching] | None:
    """The listener that ``flow`` waited at, where the strace shows that nobody accepted it; None where it does not."""
    end = End(Outline(flow), False)
    listeners = [socket for socket in matching.index.sockets if socket.listening is not None and _is_at(socket, end)]
    if len(listeners) != 1 or not _all_known(listeners[0], end, matching):
        return None
    clocked = matching if matching.offset is not None else _by_its_own_clock(flow, matching)
    return (Match(listeners[0], end, BY_LISTENER), clocked) if clocked is not None else None


def _is_at(listener: Socket, end: End) -> bool:
    where = listener.local or listener.bound
    return where is not None and where[1] == end.local[1] and (not any(where[0]) or where[0] == end.local[0])


def _all_known(listener: Socket, end: End, matching: Matching) -> bool:
    """Whether of each connection that was accepted on ``listener`` the peer is known, and none is this one."""
    matched = {id(match.socket) for match in matching.matches}
    accepted = [socket for socket in matching.index.sockets if socket.listener is listener]
    others: list[Endpoint | None] = [socket.peer for socket in accepted if id(socket) not in matched]
    return None not in others and end.peer not in others and len(accepted) == listener.accepts


def _by_its_own_clock(flow: Flow, matching: Matching) -> Matching | None:
    """No socket tells how the clocks stand: those of one host do not differ but for the date and zone."""
    index = matching.index
    first, last = int(index.first_ns), int(index.last_ns)
    bases = [0]
    if index.clock_kind == TIME_OF_DAY:
        middle = (int(flow.first_ns) - first) // QUARTER_NS
        bases = [(middle + step) * QUARTER_NS for step in (-1, 0, 1)]
    elif index.clock_kind != EPOCH:
        return None
    meeting = [base for base in bases if first + base <= flow.last_ns and flow.first_ns <= last + base]
    if len(meeting) != 1:
        return None
    (base,) = meeting
    assumed = Matching(index)
    assumed.offset = Offset(base, _ERROR_NS, True, 0, base - nearest(base, DAY))
    return assumed
