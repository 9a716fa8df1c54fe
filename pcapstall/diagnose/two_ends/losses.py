"""What was lost, in which direction, and what of it was sent twice for nothing: verdicts and facts about crossings.

A segment that left one end and did not come to the other was lost between the two captures, unless the other capture
lacks it itself; that is told apart before, in `crossings`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pcapstall.core.counts import several
from pcapstall.diagnose.rules.base import capitalised, span, times, were
from pcapstall.diagnose.two_ends.pieces import (
    ARRIVED,
    COPY,
    FOREIGN,
    LOST,
    MISSED,
    UNNOTED,
    UNWATCHED,
    Direction,
    Piece,
)
from pcapstall.diagnose.two_ends.scene import Scene
from pcapstall.diagnose.two_ends.verdict import TwoFact, TwoVerdict, fact_at
from pcapstall.diagnose.two_ends.walk import Step
from pcapstall.diagnose.verdict import MEDIUM, TO_CLIENT, TO_SERVER, at_most, side_of
from pcapstall.flows.notebook import RETRANSMISSION
from pcapstall.wire.segment import RST, SYN
from pcapstall.wire.tcp_options import TIMESTAMPS_LEN

IDLE_NS: Final = 1_000_000_000
"""What a translator forgets, it forgets while nothing passes."""


class Tally(NamedTuple):
    """What became of the segments of one direction, as far as they were noted."""

    sent: int
    lost: tuple[Piece, ...]
    lost_acks: int
    """Segments without payload among them."""
    spurious: tuple[Piece, ...]
    """Sent again though an earlier copy had come."""
    missed: int
    """In one capture only, though both hosts had them."""
    unwatched: int
    """Sent when the other capture may have been over, or when its packets were not kept."""
    foreign: tuple[Piece, ...]
    """They came and never left their sender's end."""


def tally(direction: Direction) -> Tally:
    """Count one direction; a frame that was cut into pieces counts once."""
    fates: dict[int, list[Piece]] = {}
    for piece in direction.sent:
        if piece.fate == COPY:
            continue
        fates.setdefault(piece.seg.ref, []).append(piece)
    worst = {ref: next((p for p in pieces if p.fate == LOST), pieces[0]) for ref, pieces in fates.items()}
    lost = tuple(piece for piece in worst.values() if piece.fate == LOST)
    came_refs = {piece.seg.ref: piece for piece in direction.foreign() if piece.fate == FOREIGN}
    return Tally(
        sent=len(worst),
        lost=lost,
        lost_acks=sum(piece.is_bare_ack for piece in lost),
        spurious=tuple(piece for piece in worst.values() if _is_spurious(piece, direction)),
        missed=sum(piece.fate == MISSED for piece in worst.values()),
        unwatched=sum(piece.fate in (UNNOTED, UNWATCHED) for piece in worst.values()),
        foreign=tuple(came_refs.values()),
    )


def loss(
    scene: Scene, steps: Sequence[Step], to_server: bool, confidence: str, settle: str, parts: Mapping[str, int]
) -> TwoVerdict:
    """Something was lost on its way, and the interval lasted until a copy came, or never ended."""
    step = steps[0]
    thing, reason = named(scene, step.pieces[0], to_server)
    gone = [piece for piece in step.pieces if piece.partner is None]
    came = step.pieces[-1].partner
    spent = sum(one.end_ns - one.start_ns for one in steps)
    to = side_of(not to_server)
    if any(piece.fate == UNWATCHED for piece in gone):
        confidence = at_most(confidence, MEDIUM)
        settle = settle or f"a capture at the {to} that surely was running then"
    hole = _black_hole(scene, gone, to_server)
    if hole is not None:
        reason = "mtu_black_hole"
        sentence = (
            f"full segments to the {to} are lost while smaller ones come: {thing} {_was_lost(gone, came, spent, to)}"
        )
    else:
        sentence = f"{thing} {_was_lost(gone, came, spent, to)}"
    if 2 * spent < scene.case.length_ns:
        sentence += f", which is {span(spent)} of the {span(scene.case.length_ns)}"
    proof = fact_at(
        to_server,
        f"{capitalised(thing)} left the {side_of(to_server)}'s end {times(len(step.pieces))}"
        + (f" and came to the {to}'s once." if came is not None else f" and never came to the {to}'s."),
        (piece.seg.ref for piece in step.pieces),
        (came.seg.ref,) if came is not None else (),
    )
    told = [fact for fact in (proof, hole, _forgotten(scene, gone, came, to_server)) if fact is not None]
    return TwoVerdict(
        TO_SERVER if to_server else TO_CLIENT,
        reason,
        confidence,
        sentence,
        [*told, *summary(scene, told)],
        settle,
        parts,
    )


def summary(scene: Scene, told: Sequence[TwoFact] = ()) -> list[TwoFact]:
    """What became of all segments of the handshake, both ways; ``told``: facts whose frames need not come again."""
    known = {(True, ref) for fact in told for ref in fact.client_refs}
    known |= {(False, ref) for fact in told for ref in fact.server_refs}
    facts: list[TwoFact] = []
    whole: list[str] = []
    is_cut = False
    for direction in scene.crossings.both:
        counted = tally(direction)
        to = side_of(not direction.from_client)
        if counted.sent and not (counted.lost or counted.missed or counted.unwatched):
            whole.append(f"{several(counted.sent, 'segment')} to the {to}")
        is_cut = is_cut or scene.case_at(direction.from_client).history.is_cut
        facts += [fact for fact in _tally_facts(direction, counted) if not _is_told(fact, known)]
    kept = " Some in the middle were not looked at." if is_cut else ""
    if len(whole) == 2:
        facts.insert(0, TwoFact(f"Nothing was lost between the captures: {whole[0]} and {whole[1]} came.{kept}"))
    elif whole:
        facts.insert(0, TwoFact(f"Nothing else was lost: {whole[0]} came.{kept}"))
    return facts


def _tally_facts(direction: Direction, counted: Tally) -> list[TwoFact]:
    to, by = side_of(not direction.from_client), side_of(direction.from_client)
    facts: list[TwoFact] = []
    if counted.lost:
        acks = f", {counted.lost_acks} of them without payload" if counted.lost_acks else ""
        facts.append(
            fact_at(
                direction.from_client,
                f"Of {several(counted.sent, 'segment')} to the {to} {len(counted.lost)} {were(len(counted.lost))} "
                f"lost{acks}.",
                (piece.seg.ref for piece in counted.lost),
            )
        )
    if counted.spurious:
        count = len(counted.spurious)
        facts.append(
            fact_at(
                direction.from_client,
                f"{several(count, 'retransmission')} to the {to} {were(count)} spurious: an earlier copy had come.",
                (piece.seg.ref for piece in counted.spurious),
            )
        )
    if counted.missed:
        facts.append(
            TwoFact(
                f"{several(counted.missed, 'segment')} to the {to} {were(counted.missed)} missed by the capture there: "
                f"its host had {'it' if counted.missed == 1 else 'them'}."
            )
        )
    foreign = [piece for piece in counted.foreign if not piece.is_bare_ack]
    if foreign:
        what = "a RST" if all(piece.flags & RST for piece in foreign) else several(len(foreign), "segment")
        text = f"{capitalised(what)} came to the {to} that never left the {by}'s end."
        facts.append(fact_at(not direction.from_client, text, (piece.seg.ref for piece in foreign)))
    return facts


def _is_told(fact: TwoFact, known: set[tuple[bool, int]]) -> bool:
    refs = {(True, ref) for ref in fact.client_refs} | {(False, ref) for ref in fact.server_refs}
    return bool(refs) and refs <= known


def _is_spurious(piece: Piece, direction: Direction) -> bool:
    if piece.seg.kind != RETRANSMISSION and not piece.flags & SYN:
        return False
    for earlier in direction.sent:
        if earlier is piece or earlier.ns >= piece.ns:
            return False
        same = earlier.flags == piece.flags and earlier.start <= piece.start < max(earlier.end, earlier.start + 1)
        if same and earlier.fate == ARRIVED and (earlier.is_data or earlier.flags & SYN):
            return True
    return False


def named(scene: Scene, piece: Piece, from_client: bool) -> tuple[str, str]:
    """What a piece is part of, and the reason when it is lost."""
    case = scene.case
    hello_sender = case.hello_from_client
    if piece.flags & SYN:
        return ("the SYN", "syn_loss") if from_client else ("the SYN-ACK", "syn_ack_loss")
    if not piece.is_data:
        return "the ACK", "ack_loss"
    if from_client == hello_sender and case.stalled == "ack_ch" and _is_before_hello(scene, piece):
        return "the client's request", "client_hello_loss"
    if from_client == hello_sender:
        if case.stalled == "sh_cfin":
            return "the client's Finished", "client_finished_loss"
        return "the ClientHello", "client_hello_loss"
    if case.stalled == "sh_cfin" and case.flow.server_hello_first_ref:
        return "the rest of the server's flight", "server_hello_loss"
    if case.stalled == "ack_ch":
        return "the answer that the client waited for", "server_hello_loss"
    return "the ServerHello", "server_hello_loss"


def _is_before_hello(scene: Scene, piece: Piece) -> bool:
    """Whether a piece of the hello's sender is something else, which came before the hello."""
    hello = scene.client.history.at(scene.client.flow.client_hello_first_ref)
    return hello is None or piece.start < hello.offset


def _was_lost(gone: Sequence[Piece], came: Piece | None, spent: int, to: str) -> str:
    if came is None:
        return f"was sent {times(len(gone))} and never came to the {to}, for {span(spent)}"
    return f"was lost {times(len(gone))} on its way to the {to}, and the copy that came left {span(spent)} later"


def _black_hole(scene: Scene, gone: Sequence[Piece], to_server: bool) -> TwoFact | None:
    """Full segments never come through, smaller ones do, also those that were sent later."""
    direction = scene.crossings.of(to_server)
    full = min(scene.case_at(end).history.full_size(to_server) for end in (True, False)) - TIMESTAMPS_LEN
    if len(gone) < 2 or any(piece.seg.payload_len < full for piece in gone):
        return None
    data = [piece for piece in direction.came if piece.seg.has_data]
    later = [piece for piece in data if piece.partner is not None and piece.partner.ns >= gone[0].ns]
    if any(piece.seg.payload_len >= full for piece in data) or not later:
        return None
    largest = max(later, key=lambda piece: piece.seg.payload_len)
    least = min(piece.seg.payload_len for piece in gone)
    text = f"Segments with {least} bytes or more were lost each time; one with {largest.seg.payload_len} bytes came."
    return fact_at(to_server, text, (piece.seg.ref for piece in gone), (largest.seg.ref,))


def _forgotten(scene: Scene, gone: Sequence[Piece], came: Piece | None, to_server: bool) -> TwoFact | None:
    """After a pause nothing passes any more: a translator or firewall on the way may have forgotten the connection."""
    if came is not None or not gone or gone[0].flags & SYN:
        return None
    before = [
        seg for seg in scene.case_at(to_server).history.segs if seg.ns < gone[0].ns and seg.ref != gone[0].seg.ref
    ]
    if not before or gone[0].ns - before[-1].ns < IDLE_NS:
        return None
    return fact_at(
        to_server,
        f"Nothing had passed for {span(gone[0].ns - before[-1].ns)} before: consistent with a NAT or a firewall that "
        f"forgot the idle connection.",
        (before[-1].ref, gone[0].seg.ref),
    )
