"""RSTs at both ends: one that came to an end and never left the other was sent by something between them.

The one thing about a RST that no single capture can show for certain.
"""

from pcapstall.diagnose import capture_point
from pcapstall.diagnose.engine import diagnose
from pcapstall.diagnose.outcome import REFUSED
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.two_ends import losses
from pcapstall.diagnose.two_ends.caps import capped
from pcapstall.diagnose.two_ends.pieces import FOREIGN, Piece
from pcapstall.diagnose.two_ends.scene import Scene
from pcapstall.diagnose.two_ends.verdict import TwoFact, TwoVerdict, fact_at, fact_of
from pcapstall.diagnose.verdict import HIGH, MEDIUM, NETWORK, SERVER_KERNEL, side_of
from pcapstall.wire.segment import RST


def foreign_reset(scene: Scene) -> TwoVerdict | None:
    """The RST that ended it came to one end and never left the other."""
    for at_client in (True, False):
        piece = _ending_reset(scene, at_client)
        if piece is None or piece.seg.from_client == at_client or piece.partner is not None:
            continue
        by_client = piece.seg.from_client
        odd = facts.odd_ttl(scene.case_at(at_client), piece.seg)
        both = _foreign_at_both(scene)
        certain = piece.fate == FOREIGN and (bool(odd) or both)
        told = [
            fact_at(
                at_client,
                f"The RST that ended the connection came to the {side_of(at_client)} and never left the "
                f"{side_of(by_client)}'s end" + (f": {odd} here." if odd else "."),
                (piece.seg.ref,),
            )
        ]
        if both:
            told.append(_other_reset(scene, at_client))
        return TwoVerdict(
            NETWORK,
            "peer_reset",
            HIGH if certain and not scene.case_at(by_client).is_doubtful else MEDIUM,
            f"the RST that ended the connection was sent by something between the two ends, not by the "
            f"{side_of(by_client)}" + (", and the other end got one, too" if both else ""),
            [*told, *losses.summary(scene, told)],
            "" if certain else f"a capture at the {side_of(by_client)} that lacks no packets",
            {},
        )
    return None


def own_reset(scene: Scene) -> TwoVerdict | None:
    """The RST that ended it left the end of the side whose name it bears."""
    for at_client in (True, False):
        piece = _ending_reset(scene, at_client)
        if piece is None or piece.partner is None:
            continue
        by_client = piece.seg.from_client
        if scene.case_at(at_client).outcome.closed_by != side_of(by_client):
            continue
        verdict = diagnose(scene.case_at(by_client))
        if verdict is None:
            return None
        left, came = (piece, piece.partner) if by_client == at_client else (piece.partner, piece)
        fact = fact_at(by_client, _whence(scene, left.seg), (left.seg.ref,), (came.seg.ref,))
        told = [fact, *(fact_of(one, by_client) for one in verdict.evidence), *losses.summary(scene)]
        cause, confidence, sentence, settle = verdict.cause, verdict.confidence, verdict.sentence, verdict.would_settle
        named = verdict.named_side
        if scene.client.outcome.tcp == REFUSED and _is_servers_host(scene, left.seg):
            cause, confidence, settle, named = SERVER_KERNEL, HIGH, "", None
            sentence = "the server's own host answered the SYN with RST: nothing listens there, or its firewall refuses"
        confidence, lacking = capped(scene, confidence, cause, (by_client,))
        settle = "" if confidence == HIGH else settle or lacking
        return TwoVerdict(cause, verdict.reason, confidence, sentence, told, settle, {}, named)
    return None


def _whence(scene: Scene, rst: Seg) -> str:
    """Where the RST came from, as far as the place of the capture nearer to its sender tells."""
    side, other = side_of(rst.from_client), side_of(not rst.from_client)
    at_host = scene.case_at(rst.from_client).captured_at(rst.from_client)
    if at_host or (not rst.from_client and _is_servers_host(scene, rst)):
        return f"The RST left the {side}'s own end and came to the {other}: nothing on the path sent it."
    return (
        f"The RST passed the capture on the {side}'s side and came to the {other}: nothing between the two captures "
        f"sent it. That capture is not known to be at the {side} itself."
    )


def _is_servers_host(scene: Scene, rst: Seg) -> bool:
    """Whether the second capture was taken at the host that sent ``rst``: by its handshakes, else by the SYN, which was
    routed, and the answer, which was not and came as fast as only the capturing host answers."""
    case = scene.server
    if case.point != capture_point.UNKNOWN or case.point_confidence is not None:
        return case.point == capture_point.SERVER
    syn = next((seg for seg in reversed(case.history.client) if seg.is_syn and seg.ns <= rst.ns), None)
    if syn is None or rst.ns - syn.ns >= capture_point.LOCAL_NS:
        return False
    return capture_point.with_ttls((capture_point.UNKNOWN, None), syn.ttl, rst.ttl)[0] == capture_point.SERVER


def _ending_reset(scene: Scene, at_client: bool) -> Piece | None:
    """The RST that ended the connection as one end saw it; None when something else did."""
    case = scene.case_at(at_client)
    refused = case.outcome.tcp == REFUSED
    if not case.outcome.failed or (case.outcome.close_kind != "rst" and not refused):
        return None
    for direction in scene.crossings.both:
        for piece in direction.sent if direction.from_client == at_client else direction.came:
            if piece.flags & RST and piece.ns == case.outcome.close_ns:
                return piece
    return None


def _foreign_at_both(scene: Scene) -> bool:
    return all(any(piece.flags & RST for piece in direction.foreign()) for direction in scene.crossings.both)


def _other_reset(scene: Scene, at_client: bool) -> TwoFact:
    direction = scene.crossings.of(at_client)
    text = f"A RST that never left the {side_of(at_client)}'s end came to the {side_of(not at_client)}, too."
    return fact_at(not at_client, text, (piece.seg.ref for piece in direction.foreign() if piece.flags & RST))
