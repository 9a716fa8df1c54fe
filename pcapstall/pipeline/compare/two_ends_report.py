"""From two captures that were put together to the report's model: every pair judged, measured and put into a row.

Names and numbers only; what they mean was decided below, how they look is decided by the renderers.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pcapstall
from pcapstall.core.endpoints import format_endpoints
from pcapstall.core.frames import frames_by_file
from pcapstall.core.lengths import Lengths
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.knowledge import client_key, server_endpoint
from pcapstall.diagnose.outcome import CONNECTED, SEEN_MIDWAY, Outcome
from pcapstall.diagnose.two_ends import changes
from pcapstall.diagnose.two_ends.clock import Clock
from pcapstall.diagnose.two_ends.judge import judge
from pcapstall.diagnose.two_ends.lone import judge_lone, judge_never_there
from pcapstall.diagnose.two_ends.losses import tally
from pcapstall.diagnose.two_ends.pairing import Unpaired
from pcapstall.diagnose.two_ends.pieces import Direction
from pcapstall.diagnose.two_ends.scene import Scene
from pcapstall.diagnose.two_ends.verdict import TwoFact, TwoVerdict
from pcapstall.pipeline.compare.two_ends import Together
from pcapstall.report.model import IntervalSummary
from pcapstall.report.percentiles import summary_of
from pcapstall.report.two_ends_model import ClockReport, Crossed, LoneReport, PairReport, TwoEnds, TwoEvidence

_CLIENT: Final = "client"
_SERVER: Final = "server"


def two_ends(together: Together, everything: bool) -> TwoEnds:
    """The report; ``everything``: healthy pairs and all flows without a partner, too."""
    pairs: list[PairReport] = []
    stalled = failed = 0
    changed: Counter[str] = Counter()
    for pair in together.pairing.pairs:
        scene = together.scene(pair)
        found = changes.translations(pair)
        noted = bool(pair.client.note_count and pair.server.note_count)
        if noted:
            found += changes.rewrites(scene.crossings)
        changed.update(found)
        if scene.wrong:
            is_stalled = scene.case.stalled is not None
            stalled += is_stalled
            failed += not is_stalled
        if scene.wrong or everything:
            pairs.append(_pair(scene, found, noted))
    lone = [*_lone(together, True, everything), *_lone(together, False, everything)]
    clock = together.clock
    return TwoEnds(
        version=pcapstall.__version__,
        client_captures=together.client.analysis.report.captures,
        server_captures=together.server.analysis.report.captures,
        swapped=together.swapped,
        warnings=together.warnings,
        clock=_clock(clock, together.spans[0].first_ns) if clock is not None else None,
        delays=_delays(together, clock) if clock is not None else {},
        changes=dict(changed.most_common()),
        pairs=pairs,
        paired=len(together.pairing.pairs),
        stalled=stalled,
        failed=failed,
        lone=lone,
        lone_counts={_CLIENT: len(together.pairing.client_only), _SERVER: len(together.pairing.server_only)},
    )


def _clock(clock: Clock, at_ns: int) -> ClockReport:
    return ClockReport(
        clock.offset_at(at_ns), clock.error_at(at_ns), clock.drift_ppb, max(clock.fastest_ns, 0), clock.samples
    )


def _delays(together: Together, clock: Clock) -> dict[str, IntervalSummary]:
    found: dict[str, IntervalSummary] = {}
    for name, to_server in (("to_server", True), ("to_client", False)):
        lengths = [clock.above_fastest(sample) for sample in together.samples if sample.to_server == to_server]
        summary = summary_of(Lengths(lengths))
        if summary is not None:
            found[name] = summary
    return found


def _pair(scene: Scene, found: Sequence[str], noted: bool) -> PairReport:
    pair = scene.pair
    verdict = judge(scene)
    case = scene.case
    seen_at = (_CLIENT if scene.seen_at_client else _SERVER) if scene.wrong else None
    hello = pair.client.client_hello or pair.server.client_hello
    here, there = format_endpoints(client_key(pair.client)), format_endpoints(client_key(pair.server))
    return PairReport(
        id=int(pair.client.id),
        client_flow=int(pair.client.id),
        server_flow=int(pair.server.id),
        client=here[0],
        server=here[1],
        client_there=there[0],
        server_there=there[1],
        sni=hello.sni if hello is not None else None,
        match=pair.way,
        client_outcome=_outcome(scene.client.outcome),
        server_outcome=_outcome(scene.server.outcome),
        seen_at=seen_at,
        stalled=case.stalled if scene.wrong else None,
        stalled_ns=int(case.length_ns) if scene.wrong and case.stalled else None,
        is_open=bool(scene.wrong and case.is_open),
        failed=scene.client.outcome.failed or scene.server.outcome.failed,
        parts_ns=dict(verdict.parts) if verdict else {},
        cause=verdict.cause if verdict else None,
        side=verdict.side if verdict else None,
        reason=verdict.reason if verdict else None,
        confidence=verdict.confidence if verdict else None,
        verdict=verdict.sentence if verdict else None,
        evidence=[_evidence(fact) for fact in verdict.evidence] if verdict else [],
        would_settle=verdict.would_settle or None if verdict else None,
        to_server=_crossed(scene.crossings.to_server) if noted else None,
        to_client=_crossed(scene.crossings.to_client) if noted else None,
        changes=list(found),
    )


def _crossed(direction: Direction) -> Crossed:
    counted = tally(direction)
    return Crossed(
        counted.sent,
        len(counted.lost),
        len(counted.spurious),
        counted.missed,
        counted.unwatched,
        len(counted.foreign),
    )


def _outcome(outcome: Outcome) -> str:
    return outcome.tls or outcome.tcp if outcome.tcp in (CONNECTED, SEEN_MIDWAY) else outcome.tcp


def _evidence(fact: TwoFact) -> TwoEvidence:
    return TwoEvidence(fact.text, frames_by_file(fact.client_refs), frames_by_file(fact.server_refs))


def _lone(together: Together, at_client: bool, everything: bool) -> list[LoneReport]:
    """The flows of one end without a partner that are shown."""
    end = together.client if at_client else together.server
    flows = together.pairing.client_only if at_client else together.pairing.server_only
    seen_there = {server_endpoint(client_key(pair.client)) for pair in together.pairing.pairs}
    rows: list[LoneReport] = []
    for lone in flows:
        case = end.findings.case(lone.flow)
        wrong = case.stalled is not None or case.outcome.failed
        if not (wrong or lone.candidates or everything):
            continue
        if at_client and not lone.candidates:
            known = server_endpoint(client_key(lone.flow)) in seen_there
            verdict = judge_never_there(case, together.clock, together.spans[1], known)
        else:
            verdict = judge_lone(case, at_client)
        rows.append(_lone_row(lone, case, at_client, verdict))
    return rows


def _lone_row(lone: Unpaired, case: Case, at_client: bool, verdict: TwoVerdict | None) -> LoneReport:
    client, server = format_endpoints(client_key(lone.flow))
    hello = lone.flow.client_hello
    return LoneReport(
        at=_CLIENT if at_client else _SERVER,
        flow=int(lone.flow.id),
        client=client,
        server=server,
        sni=hello.sni if hello is not None else None,
        outcome=_outcome(case.outcome),
        stalled=case.stalled,
        stalled_ns=int(case.length_ns) if case.stalled else None,
        is_open=case.is_open,
        failed=case.outcome.failed,
        candidates=[int(flow.id) for flow in lone.candidates],
        cause=verdict.cause if verdict else None,
        reason=verdict.reason if verdict else None,
        confidence=verdict.confidence if verdict else None,
        verdict=verdict.sentence if verdict else None,
        evidence=[_evidence(fact) for fact in verdict.evidence] if verdict else [],
        would_settle=verdict.would_settle or None if verdict else None,
    )
