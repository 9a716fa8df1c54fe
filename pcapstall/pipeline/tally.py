"""Counts and interval lengths of very many flows, taken down at the speed of the scan.

Compiled, since it sees every flow. A flow leaves 8 bytes for each interval that it had, and nothing else.
`totals.as_tally` hands them to the report and its percentiles.
"""

from mypy_extensions import i64

from pcapstall.core.lengths import Lengths
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import CONNECTED, ESTABLISHED, Outcome
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
)


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
        self.closed: list[Lengths] = [Lengths() for _ in NAMES]
        """Lengths by position in `NAMES`."""
        self.open: list[Lengths] = [Lengths() for _ in STALL_NAMES]
        """Those that were not seen to end, by position in `STALL_NAMES`."""

    def add(self, intervals: Intervals, outcome: Outcome, stalled: bool) -> None:
        """Count the flow that was measured and judged last."""
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
        self._add_closed(intervals)
        if intervals.has_open:
            self._add_open(intervals)
        elif not can_be_judged(intervals):
            self.unjudged += 1

    def flush(self) -> None:
        """Complete the outcomes."""
        if self._established > 0:
            self._count_outcome(CONNECTED, ESTABLISHED, self._established)
            self._established = 0

    def absorb(self, other: "LengthTally") -> None:
        """Add what ``other`` has counted."""
        other.flush()
        self.flows += other.flows
        self.stalled += other.stalled
        self.failed += other.failed
        self.stalled_and_failed += other.stalled_and_failed
        self.unjudged += other.unjudged
        for name, count in other.tcp_outcomes.items():
            self.tcp_outcomes[name] = self.tcp_outcomes.get(name, 0) + count
        for name, count in other.tls_outcomes.items():
            self.tls_outcomes[name] = self.tls_outcomes.get(name, 0) + count
        for lengths, more in zip(self.closed + self.open, other.closed + other.open, strict=True):
            lengths.absorb(more)

    def _count_outcome(self, tcp: str, tls: str, count: i64) -> None:
        self.tcp_outcomes[tcp] = self.tcp_outcomes.get(tcp, 0) + count
        if tls != "":
            self.tls_outcomes[tls] = self.tls_outcomes.get(tls, 0) + count

    def _add_closed(self, intervals: Intervals) -> None:
        closed = self.closed
        _append(closed[SYN_SYNACK], intervals.syn_synack)
        _append(closed[SYNACK_ACK], intervals.synack_ack)
        _append_signed(closed[ACK_CH], intervals.ack_ch)
        _append(closed[CH_SPAN], intervals.ch_span)
        _append(closed[CH_ACK], intervals.ch_ack)
        _append(closed[CH_SH], intervals.ch_sh)
        _append(closed[HRR_CH2], intervals.hrr_ch2)
        _append(closed[CH2_SH], intervals.ch2_sh)
        _append(closed[SH_CFIN], intervals.sh_cfin)
        _append_signed(closed[CH_FIN], intervals.ch_fin)
        _append_signed(closed[CH_CLOSE], intervals.ch_close)
        _append_signed(closed[ACK_CLOSE], intervals.ack_close)

    def _add_open(self, intervals: Intervals) -> None:
        opened = self.open
        _append(opened[SYN_SYNACK], intervals.open_syn_synack)
        _append(opened[SYNACK_ACK], intervals.open_synack_ack)
        _append(opened[ACK_CH], intervals.open_ack_ch)
        _append(opened[CH_SPAN], intervals.open_ch_span)
        _append(opened[CH_ACK], intervals.open_ch_ack)
        _append(opened[CH_SH], intervals.open_ch_sh)
        _append(opened[HRR_CH2], intervals.open_hrr_ch2)
        _append(opened[CH2_SH], intervals.open_ch2_sh)
        _append(opened[SH_CFIN], intervals.open_sh_cfin)


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


def _append(lengths: Lengths, ns: i64) -> None:
    """Of an interval whose end cannot lie before its beginning: a negative one is the doing of the capture's clock."""
    if ns >= 0:
        lengths.append(ns)


def _append_signed(lengths: Lengths, ns: i64) -> None:
    """Of one that may end before it begins: a ClientHello in the SYN does so, and a lifetime."""
    if ns != ABSENT:
        lengths.append(ns)
