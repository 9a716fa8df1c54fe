"""What keeps a verdict from being certain: what the capture at either end lacks, and where it was taken.

The limits that hold for all verdicts on two captures; what the verdicts are is in `judge`.
"""

from collections.abc import Sequence
from typing import Final

from pcapstall.diagnose import capture_point
from pcapstall.diagnose.case import TOO_LONG, Case
from pcapstall.diagnose.two_ends.pairing import BY_RANDOM
from pcapstall.diagnose.two_ends.scene import Scene
from pcapstall.diagnose.verdict import HIGH, LOW, MEDIUM, at_most, side_of, within
from pcapstall.diagnose.wishes import wish_for

_BOTH: Final = (True, False)


def capped(scene: Scene, confidence: str, cause: str, ends: Sequence[bool] = _BOTH) -> tuple[str, str]:
    """``confidence`` within what the captures at ``ends`` allow (True for the client's), and what would lift it."""
    caps: list[tuple[str, str]] = []
    for at_client in ends:
        case = scene.case_at(at_client)
        caps += _caps(case, side_of(at_client), cause, case is scene.case)
        if scene.is_cut_in_interval(at_client):
            caps.append((MEDIUM, TOO_LONG if case.history.is_long else "captures of this connection alone"))
    confidence, wanted = within(confidence, caps)
    if scene.pair.way == BY_RANDOM and not any(direction.is_one_connection for direction in scene.crossings.both):
        confidence = at_most(confidence, MEDIUM)
        wanted.append("knowing what rewrites sequence numbers on the way, or ends the connection there (a proxy)")
    return confidence, "" if confidence == HIGH else wish_for(wanted)


def _caps(case: Case, where: str, cause: str, decides: bool) -> list[tuple[str, str]]:
    """The most that a verdict can be by what one end's capture lacks, and what that is."""
    found: list[tuple[str, str]] = []
    away = capture_point.SERVER if where == "client" else capture_point.CLIENT
    if case.point in (capture_point.MIDDLE, away) and cause.startswith(where):
        found.append((MEDIUM, f"a capture at the {where} itself"))
    if case.lacks_packets:
        found.append((MEDIUM, f"a capture at the {where} that lacks no packets"))
    elif case.is_doubtful:
        found.append((MEDIUM, f"a capture at the {where} that lacks no packets"))
        found.append((MEDIUM, f"a capture at the {where} whose clock did not step"))
    if case.outcome.one_sided:
        found.append((LOW if decides else MEDIUM, f"a capture of both directions at the {where}"))
    if decides and case.is_open and case.intervals.cut_by_capture:
        found.append((MEDIUM, "captures that go on until the connection ends"))
    return found
