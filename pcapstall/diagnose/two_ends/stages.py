"""How the slow interval of each stage ended, or what it still waits for: where a walk begins.

The shape of every stage is here, once, as tables; the walk itself knows none of them.
"""

from typing import Final

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.two_ends.pieces import ARRIVED, MISSED, UNNOTED, Piece
from pcapstall.diagnose.two_ends.scene import Scene
from pcapstall.diagnose.two_ends.walk import Walker, carries, newest_arrival
from pcapstall.wire.segment import SYN

_AS_ACK: Final = ("synack_ack", "ch_ack")
"""Stages that end with an acknowledgment, whatever else its segment carries."""
_LAST_PIECE: Final = ("ch_span",)
"""Stages that end with the last byte of a message; the others end with a first one."""
_KERNELS: Final = ("syn_synack", "synack_ack", "ch_ack")
"""Stages in which the answer is a kernel's."""
_OPENER_OWES: Final = ("synack_ack", "ack_ch", "ch_span", "hrr_ch2", "sh_cfin")
"""Stages in which the side that opened the connection owes what ends them; in the others its peer does."""


def walk_stage(scene: Scene) -> Walker | None:
    """The walk through the interval that stalled; None without a clock, or when its end was not noted."""
    case, line = scene.case, scene.line
    if case.stalled is None or line is None:
        return None
    walker = Walker(scene.crossings, line, case.start_ns, scene.gaps)
    if case.is_open:
        _walk_open(scene, case, walker)
        return walker
    seg = case.history.at(case.end_ref)
    end = None if seg is None else scene.piece_of(seg, scene.seen_at_client, case.stalled in _LAST_PIECE)
    if end is None or seg is None:
        return None
    if seg.from_client == scene.seen_at_client:
        walker.left(end, seg.from_client, case.stalled in _AS_ACK)
    else:
        walker.came(end, seg.from_client, case.stalled in _AS_ACK)
    return walker


def _walk_open(scene: Scene, case: Case, walker: Walker) -> None:
    """From the end of what never ended: who had sent something that never came, else who owed an answer."""
    assert case.stalled is not None
    here = scene.seen_at_client
    owes = _debtor(scene, case)
    sent = never_came(scene, owes, case.end_ns)
    if sent and owes != here:
        walker.never_came(sent, owes, case.end_ns)
        return
    asked = never_came(scene, not owes, case.end_ns)
    if asked:
        walker.never_came(asked, not owes, case.end_ns)
        return
    until_ns = _local_end(scene, owes, case)
    arrivals = [piece for piece in scene.crossings.of(not owes).came if piece.ns <= until_ns]
    cause = newest_arrival(arrivals, until_ns)
    if cause is None:
        cause = next((piece for piece in arrivals if piece.flags & SYN), None)
    walker.unwatched = owes != here and not scene.goes_on(owes, until_ns, owes, False)
    walker.turn(owes, cause, case.end_ns, case.stalled in _KERNELS, ())


def _debtor(scene: Scene, case: Case) -> bool:
    """Whether it is the side that opened the connection that owed what would have ended the interval."""
    if case.stalled in ("syn_synack", "synack_ack"):
        return case.stalled == "synack_ack"
    if case.stalled == "ack_ch" and _awaits_answer(scene, case):
        return not case.hello_from_client
    return (case.stalled in _OPENER_OWES) == case.hello_from_client


def _awaits_answer(scene: Scene, case: Case) -> bool:
    """Whether the client waits before its hello: for a greeting, or for the answer to what it said last."""
    sender = case.hello_from_client
    line = scene.line
    assert line is not None
    mine = [piece for piece in scene.crossings.of(sender).sent if piece.seg.has_data]
    theirs = newest_arrival(scene.crossings.of(not sender).came, _local_end(scene, sender, case))
    first = next((piece for piece in mine if line.at(sender, piece.ns) < case.end_ns), None)
    if first is None:
        return theirs is None and case.server_speaks_first
    asked = [piece for piece in mine if theirs is None or piece.ns > theirs.ns]
    new = max((piece.end for piece in mine if theirs is not None and piece.ns <= theirs.ns), default=0)
    return any(piece.end > new for piece in asked)


def _local_end(scene: Scene, at_client: bool, case: Case) -> int:
    """The end of the interval by the clock of one end."""
    line = scene.line
    assert line is not None
    return line.clock.mapped(case.end_ns, line.of_client, at_client)


def never_came(scene: Scene, from_client: bool, end_ns: int) -> list[Piece]:
    """All transmissions of the first thing that a side sent before the end and that never came."""
    line = scene.line
    assert line is not None
    direction = scene.crossings.of(from_client)
    sent = [
        piece
        for piece in direction.sent
        if (piece.seg.has_data or piece.flags & SYN) and line.at(from_client, piece.ns) < end_ns
    ]
    for piece in sent:
        copies = [other for other in sent if carries(other, piece)]
        if not any(other.fate in (ARRIVED, MISSED, UNNOTED) for other in copies):
            return copies
    return []
