"""Counts and interval lengths of very many flows, 8 bytes a length, filled at the speed of the scan.

Compiled. `as_tally` hands them to the report's `Tally`, which knows percentiles.
"""

from array import array
from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.thresholds import NAMES, STALL_NAMES

FRESH_MAX: Final = 1024
"""Lengths of one interval that wait to be packed."""


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
        self.closed: list[array[int]] = [array("q") for _ in NAMES]
        """Lengths by position in `NAMES`; complete after `flush`."""
        self._fresh: list[list[int]] = [[] for _ in NAMES]
        """Lengths on their way into ``closed``: appending to a list is compiled, to an array it is not."""
        self.open: list[array[int]] = [array("q") for _ in STALL_NAMES]

    def add(self, intervals: Intervals, outcome: Outcome, stalled: bool) -> None:
        """Count the flow that was measured and judged last."""
        self.flows += 1
        if stalled:
            self.stalled += 1
        if outcome.failed:
            self.failed += 1
            if stalled:
                self.stalled_and_failed += 1
        self.tcp_outcomes[outcome.tcp] = self.tcp_outcomes.get(outcome.tcp, 0) + 1
        if outcome.tls != "":
            self.tls_outcomes[outcome.tls] = self.tls_outcomes.get(outcome.tls, 0) + 1
        judged = self._add_closed(intervals)
        if intervals.has_open:
            judged = True
            self._add_open(intervals)
        if not judged:
            self.unjudged += 1

    def _add_closed(self, intervals: Intervals) -> bool:
        """Keep the lengths; whether any can stall."""
        judged = False
        if intervals.syn_synack != ABSENT:
            self._keep(0, intervals.syn_synack)
            judged = True
        if intervals.synack_ack != ABSENT:
            self._keep(1, intervals.synack_ack)
            judged = True
        if intervals.ack_ch != ABSENT:
            self._keep(2, intervals.ack_ch)
            judged = True
        if intervals.ch_span != ABSENT:
            self._keep(3, intervals.ch_span)
            judged = True
        if intervals.ch_ack != ABSENT:
            self._keep(4, intervals.ch_ack)
        if intervals.ch_sh != ABSENT:
            self._keep(5, intervals.ch_sh)
        if intervals.hrr_ch2 != ABSENT:
            self._keep(6, intervals.hrr_ch2)
            judged = True
        if intervals.ch2_sh != ABSENT:
            self._keep(7, intervals.ch2_sh)
            judged = True
        if intervals.sh_cfin != ABSENT:
            self._keep(8, intervals.sh_cfin)
            judged = True
        if intervals.ch_fin != ABSENT:
            self._keep(9, intervals.ch_fin)
        if intervals.ch_close != ABSENT:
            self._keep(10, intervals.ch_close)
        if intervals.ack_close != ABSENT:
            self._keep(11, intervals.ack_close)
        return judged

    def _keep(self, at: i64, ns: i64) -> None:
        fresh = self._fresh[at]
        fresh.append(ns)
        if len(fresh) >= FRESH_MAX:
            self.closed[at].extend(fresh)
            fresh.clear()

    def flush(self) -> None:
        """Complete ``closed``."""
        for lengths, fresh in zip(self.closed, self._fresh, strict=True):
            lengths.extend(fresh)
            fresh.clear()

    def _add_open(self, intervals: Intervals) -> None:
        opened = self.open
        lengths: tuple[i64, i64, i64, i64, i64, i64, i64, i64, i64] = (
            intervals.open_syn_synack,
            intervals.open_synack_ack,
            intervals.open_ack_ch,
            intervals.open_ch_span,
            intervals.open_ch_ack,
            intervals.open_ch_sh,
            intervals.open_hrr_ch2,
            intervals.open_ch2_sh,
            intervals.open_sh_cfin,
        )
        for at, ns in enumerate(lengths):
            if ns != ABSENT:
                opened[at].append(ns)

    def absorb(self, other: "LengthTally") -> None:
        """Add what ``other`` has counted."""
        self.flush()
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
        for lengths, more in zip(self.closed, other.closed, strict=True):
            lengths.extend(more)
        for lengths, more in zip(self.open, other.open, strict=True):
            lengths.extend(more)
