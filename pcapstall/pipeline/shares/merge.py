"""Puts the shares of a capture together, so that nothing tells them from what a single table would have made of it.

Where a bound that all flows have in common might have decided otherwise, that is said instead, and a single table has
to do it over. How shares are followed is not known here.
"""

from bisect import bisect_right
from collections.abc import Sequence

from pcapstall.core.counts import add_counts
from pcapstall.diagnose.knowledge import ALL_PAIRS, CONNECTIONS_MAX, PAIRS_MAX, Knowledge
from pcapstall.diagnose.pairs import unpacked
from pcapstall.flows.flow import Flow
from pcapstall.flows.share import THE_END, phase_of
from pcapstall.pipeline.scan.collect import NOTES_MAX, ROWS_MAX, Collector
from pcapstall.pipeline.scan.loop import FileCounts
from pcapstall.pipeline.shares.result import PackedKnowledge, ShareResult

Moment = tuple[int, int]


def why_not(results: Sequence[ShareResult], max_flows: int) -> str:
    """Why a single table might have made something else of it; empty when it would not."""
    first = results[0]
    if any(result.readings != first.readings or result.watched_until != first.watched_until for result in results):
        return "a file changed while it was read"
    if any(result.crowded for result in results):
        return "much is kept while handshakes are pending"
    if any(
        sum(counts) > CONNECTIONS_MAX for counts in zip(*(_sizes(result.knowledge) for result in results), strict=True)
    ):
        return "there are very many connections"
    return _why_not_by_looks(results, max_flows) or _why_not_by_order(results)


def _why_not_by_looks(results: Sequence[ShareResult], max_flows: int) -> str:
    """The same as far as it is told by what each noted when it looked for finished flows."""
    logs = [result.log for result in results]
    live = [log.live for log in logs]
    opened = [log.opened_by for log in logs]
    buried = [log.buried for log in logs]
    looks = len(live[0])
    if any(len(numbers) != looks for numbers in live):
        return "a file changed while it was read"
    for look in range(looks):
        most = 0
        for flows, begun in zip(live, opened, strict=True):
            most += begun[look] if look == 0 else flows[look - 1] + begun[look] - begun[look - 1]
        if most > max_flows:
            return "more flows may have been followed at once than --max-flows allows"
    for log in logs:
        for look, oldest in log.consulted.items():
            dug = sum(numbers[look - 1] - (numbers[oldest - 1] if oldest else 0) for numbers in buried)
            if dug > max_flows:
                return "very many flows ended at nearly the same time"
    for sweeps in zip(*(log.sweeps for log in logs), strict=False):
        if len({(look, most) for look, most, _ in sweeps}) > 1 or sum(flows for *_, flows in sweeps) > sweeps[0][1]:
            return "very many flows were followed at once for few packets"
    if len({len(log.sweeps) for log in logs}) > 1:
        return "very many flows were followed at once for few packets"
    return ""


def _why_not_by_order(results: Sequence[ShareResult]) -> str:
    """The same where only the first ones are kept, and nobody knows which of two came first."""
    kept = [(moment, flow) for result in results for moment, flow in result.kept]
    if len(kept) > ROWS_MAX or sum(flow.note_count for _, flow in kept) > NOTES_MAX:
        if len({moment for moment, _ in kept}) < len(kept):
            return "more flows stalled than are shown"
    return ""


def put_together(results: Sequence[ShareResult], collector: Collector, files: dict[int, FileCounts]) -> str:
    """Let ``collector`` take what all shares have kept, and count what they counted; ``files`` gets what files hold.

    Returns why not, if that turns out.
    """
    knowledge = collector.knowledge
    knowledge.pairs_max = ALL_PAIRS
    opened = [result.log.opened for result in results]
    kept = sorted(((moment, flow) for result in results for moment, flow in result.kept), key=_moment)
    collector.watched_until = []
    for moment, flow in kept:
        if phase_of(moment[0]) == THE_END:
            collector.watched_until = list(results[0].watched_until)
        flow.id = sum(bisect_right(records, flow.id) for records in opened)
        knowledge.moment = moment
        collector.take(flow)
    collector.watched_until = list(results[0].watched_until)
    for result in results:
        collector.counted.absorb(result.counted)
        collector.beyond.absorb(result.beyond)
        _learn(knowledge, result.knowledge)
        add_counts(collector.missed_bytes, result.missed_bytes)
        for index, (tcp, other, malformed) in result.files.items():
            counts = files.setdefault(index, FileCounts())
            counts.tcp += tcp
            counts.other += other
            add_counts(counts.malformed, malformed)
    return _bound_pairs(knowledge)


def _sizes(told: Knowledge | PackedKnowledge) -> tuple[int, int]:
    """How many connections and lives."""
    if isinstance(told, PackedKnowledge):
        return sum(piece.things for piece in told.connections), sum(piece.things for piece in told.lives)
    return len(told.connections), len(told.lives)


def _learn(knowledge: Knowledge, told: Knowledge | PackedKnowledge) -> None:
    """Let ``knowledge`` know what others have learned."""
    if isinstance(told, PackedKnowledge):
        knowledge.pairs.absorb(unpacked(told.pairs))
        connections, lives = told.connections, told.lives
    else:
        known, knowledge.pairs = knowledge.pairs, told.pairs
        knowledge.pairs.absorb(known)
        connections, lives = told.connections.pieces(), told.lives.pieces()
    for piece in connections:
        knowledge.connections.absorb(piece)
    for piece in lives:
        knowledge.lives.absorb(piece)


def _bound_pairs(knowledge: Knowledge) -> str:
    """Tell only the first `PAIRS_MAX` pairs of hosts apart."""
    pairs = knowledge.pairs
    knowledge.pairs_max = PAIRS_MAX
    if len(pairs) <= PAIRS_MAX:
        return ""
    rows = pairs.in_order()
    more = rows[PAIRS_MAX:]
    if pairs.moment(more[0]) == pairs.moment(rows[PAIRS_MAX - 1]):
        return "there are very many pairs of hosts"
    knowledge.pairs = pairs.only(rows[:PAIRS_MAX])
    knowledge.other_unshown += sum(pairs.unshown(row) for row in more)
    return ""


def _moment(item: tuple[Moment, Flow]) -> Moment:
    return item[0]
