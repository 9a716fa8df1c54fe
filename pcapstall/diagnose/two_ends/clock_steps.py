"""A slow interval that is none: the clock of a capture was set while it ran, and the other capture shows it.

One capture cannot tell a step of its clock from silence, but for the sender's own timestamps.
"""

from itertools import pairwise

from pcapstall.diagnose.rules.base import span
from pcapstall.diagnose.ticks import fits_no_rate
from pcapstall.diagnose.two_ends.scene import Scene
from pcapstall.diagnose.two_ends.verdict import TwoFact, TwoVerdict, fact_at
from pcapstall.diagnose.verdict import CAPTURE, LOW, MEDIUM, side_of

_SETTLES = "captures whose clocks are not set while they run"


def clock_step(scene: Scene) -> TwoVerdict | None:
    """The verdict on an interval that a step of a clock makes; None when nothing says so."""
    return _by_timestamps(scene) or _by_packets(scene)


def _by_timestamps(scene: Scene) -> TwoVerdict | None:
    """The sender's TCP timestamps fit no rate in use: they do not count the time that went by in its capture."""
    case = scene.case
    for at_client in (True, False):
        line = scene.line
        own = [seg for seg in scene.case_at(at_client).history.of(at_client) if not seg.is_rst]
        for before, after in pairwise(own):
            if 2 * (after.ns - before.ns) < case.length_ns or not fits_no_rate(before, after):
                continue
            if line is not None and not (
                line.at(at_client, before.ns) < case.end_ns and line.at(at_client, after.ns) > case.start_ns
            ):
                continue
            side = side_of(at_client)
            fact = fact_at(
                at_client,
                f"Between these segments of the {side} its TCP timestamps went on by {after.tsval - before.tsval}, "
                f"and its capture's clock by {span(after.ns - before.ns)}.",
                (before.ref, after.ref),
            )
            return TwoVerdict(
                CAPTURE,
                "clock_step",
                MEDIUM,
                f"the clock of the capture at the {side} was set by about {span(case.length_ns)} while it ran, which "
                f"did not go by there",
                [fact],
                _SETTLES,
                {},
            )
    return None


def _by_packets(scene: Scene) -> TwoVerdict | None:
    """Packets of this connection came before they left, whatever the offset of the clocks."""
    case = scene.case
    misfit_ns = scene.misfit_ns
    if 2 * misfit_ns < case.length_ns:
        return None
    return TwoVerdict(
        CAPTURE,
        "clock_step",
        LOW,
        f"the clocks of the two captures moved against each other by {span(misfit_ns)} during this connection: one of "
        f"them was set, and the {span(case.length_ns)} may be no more than that",
        [TwoFact("With any one offset of the clocks, packets of this connection came before they left.")],
        _SETTLES,
        {},
    )
