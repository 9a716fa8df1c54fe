"""Counts and interval lengths of very many flows, taken down at the speed of the scan.

Compiled, since it sees every flow. An ordinary flow leaves a row of lengths, another one 8 bytes for each interval that
it had, and nothing else.
`totals.as_tally` hands them to the report and its percentiles.
"""

from mypy_extensions import i64

from pcapstall.core.counts import add_counts
from pcapstall.core.lengths import Lengths
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import CONNECTED, ESTABLISHED, Outcome
from pcapstall.diagnose.spans import START_EVENTS, holds_step
from pcapstall.diagnose.thresholds import (
    ACK_CH,
    ACK_CLOSE,
    CH2_SH,
    CH_ACK,
    CH_CLOSE,
    CH_FIN,
    CH_SH,
    CH_SPAN,
    HRR_CH2,
    NAMES,
    SH_CFIN,
    STALL_NAMES,
    SYN_SYNACK,
    SYNACK_ACK,
    may_end_before,
)
from pcapstall.flows.flow import Flow
from pcapstall.pipeline.scan.ordinary import OrdinaryLengths


class LengthTally:
    """Flows as they are measured, one after the other."""

    def __init__(self) -> None:
        self.flows: i64 = 0
        self.stalled: i64 = 0
        self.failed: i64 = 0
        self.stalled_and_failed: i64 = 0
        self.unjudged: i64 = 0
        """Of which no interval that can stall was seen, not even open."""
        self.tcp_outcomes: dict[str, int] = {}
        self.tls_outcomes: dict[str, int] = {}
        """Both complete after `flush`."""
        self._established: i64 = 0
        """Flows that ended as most do, on their way into the two."""
        self.ordinary: OrdinaryLengths = OrdinaryLengths()
        """Lengths of ordinary handshakes, on their way into ``closed``."""
        self.closed: list[Lengths] = [Lengths() for _ in NAMES]
        """Lengths by position in `NAMES`; complete after `flush`."""
        self.open: list[Lengths] = [Lengths() for _ in STALL_NAMES]
        """Those that were not seen to end, by position in `STALL_NAMES`."""
        self.untrusted: list[int] = [0 for _ in NAMES]
        """How many are in neither since they are the capture's own making, by position in `NAMES`."""

    def add(self, flow: Flow, intervals: Intervals, outcome: Outcome, stalled: bool) -> None:
        """Count ``flow``, which was measured and judged last."""
        self.flows += 1
        if stalled:
            self.stalled += 1
        if outcome.failed:
            self.failed += 1
            if stalled:
                self.stalled_and_failed += 1
        if outcome.tcp is CONNECTED and outcome.tls is ESTABLISHED:
            self._established += 1
        else:
            self._count_outcome(outcome.tcp, outcome.tls, 1)
        if self.ordinary.take(intervals):
            return
        self._add_closed(flow, intervals)
        if intervals.has_open:
            self._add_open(intervals)
        elif not can_be_judged(intervals):
            self.unjudged += 1

    def add_made_by_capture(self, flow: Flow, intervals: Intervals, outcome: Outcome, by_clock: bool) -> None:
        """Count ``flow``, whose stall is the capture's own making: how long that was is in no list.

        Nor is, when it was made ``by_clock``, what holds the same step: the clock was set within that, too.
        """
        stalled: i64 = intervals.stalled
        self.flush()
        closed = self.closed
        opened = self.open
        self.closed = [Lengths() for _ in NAMES]
        self.open = [Lengths() for _ in STALL_NAMES]
        self.add(flow, intervals, outcome, True)
        self.flush()
        own = self.closed + self.open
        self.closed = closed
        self.open = opened
        for at, kept in enumerate(closed + opened):
            which = at % len(closed)
            for length in own[at].values():
                if which == stalled or (
                    by_clock
                    and holds_step(_start_ns(flow, which), length, _start_ns(flow, stalled), intervals.stalled_ns)
                ):
                    self.untrusted[which] += 1
                else:
                    kept.append(length)

    def flush(self) -> None:
        """Complete the outcomes and ``closed``."""
        self.flush_outcomes()
        if len(self.ordinary) > 0:
            ordinary = self.ordinary
            self.ordinary = OrdinaryLengths()
            ordinary.add_to(self.closed)

    def flush_outcomes(self) -> None:
        """Complete the outcomes."""
        if self._established > 0:
            self._count_outcome(CONNECTED, ESTABLISHED, self._established)
            self._established = 0

    def absorb(self, other: "LengthTally") -> None:
        """Add what ``other`` has counted."""
        other.flush_outcomes()
        self.ordinary.absorb(other.ordinary)
        self.flows += other.flows
        self.stalled += other.stalled
        self.failed += other.failed
        self.stalled_and_failed += other.stalled_and_failed
        self.unjudged += other.unjudged
        add_counts(self.tcp_outcomes, other.tcp_outcomes)
        add_counts(self.tls_outcomes, other.tls_outcomes)
        for lengths, more in zip(self.closed + self.open, other.closed + other.open, strict=True):
            lengths.absorb(more)
        for at, count in enumerate(other.untrusted):
            self.untrusted[at] += count

    def _count_outcome(self, tcp: str, tls: str, count: i64) -> None:
        self.tcp_outcomes[tcp] = self.tcp_outcomes.get(tcp, 0) + count
        if tls != "":
            self.tls_outcomes[tls] = self.tls_outcomes.get(tls, 0) + count

    def _add_closed(self, flow: Flow, intervals: Intervals) -> None:
        self._append(SYN_SYNACK, intervals.syn_synack, flow)
        self._append(SYNACK_ACK, intervals.synack_ack, flow)
        self._append(ACK_CH, intervals.ack_ch, flow)
        self._append(CH_SPAN, intervals.ch_span, flow)
        self._append(CH_ACK, intervals.ch_ack, flow)
        self._append(CH_SH, intervals.ch_sh, flow)
        self._append(HRR_CH2, intervals.hrr_ch2, flow)
        self._append(CH2_SH, intervals.ch2_sh, flow)
        self._append(SH_CFIN, intervals.sh_cfin, flow)
        self._append(CH_FIN, intervals.ch_fin, flow)
        self._append(CH_CLOSE, intervals.ch_close, flow)
        self._append(ACK_CLOSE, intervals.ack_close, flow)

    def _append(self, which: i64, ns: i64, flow: Flow) -> None:
        if ns >= 0:
            self.closed[which].append(ns)
        elif ns != ABSENT:
            if may_end_before(which, len(flow.syn_data) > 0):
                self.closed[which].append(ns)
            else:
                self.untrusted[which] += 1

    def _add_open(self, intervals: Intervals) -> None:
        self._append_open(SYN_SYNACK, intervals.open_syn_synack)
        self._append_open(SYNACK_ACK, intervals.open_synack_ack)
        self._append_open(ACK_CH, intervals.open_ack_ch)
        self._append_open(CH_SPAN, intervals.open_ch_span)
        self._append_open(CH_ACK, intervals.open_ch_ack)
        self._append_open(CH_SH, intervals.open_ch_sh)
        self._append_open(HRR_CH2, intervals.open_hrr_ch2)
        self._append_open(CH2_SH, intervals.open_ch2_sh)
        self._append_open(SH_CFIN, intervals.open_sh_cfin)

    def _append_open(self, which: i64, ns: i64) -> None:
        if ns >= 0:
            self.open[which].append(ns)
        elif ns != ABSENT:
            self.untrusted[which] += 1


def _start_ns(flow: Flow, which: i64) -> i64:
    """When the interval at ``which`` in `NAMES` began; `ABSENT` when that was not seen."""
    event = START_EVENTS[NAMES[which]]
    ref: i64 = getattr(flow, f"{event}_ref")
    if ref == 0:
        return ABSENT
    ns: i64 = getattr(flow, f"{event}_ns")
    return ns


def can_be_judged(intervals: Intervals) -> bool:
    """Whether any closed one of those that can stall was seen; ch_ack and ch_sh are never there without ch_span."""
    return (
        intervals.syn_synack != ABSENT
        or intervals.synack_ack != ABSENT
        or intervals.ack_ch != ABSENT
        or intervals.ch_span != ABSENT
        or intervals.hrr_ch2 != ABSENT
        or intervals.ch2_sh != ABSENT
        or intervals.sh_cfin != ABSENT
    )
