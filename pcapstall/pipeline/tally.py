"""Counts and interval lengths of very many flows, taken down at the speed of the scan.

Compiled. A flow is one small object, not a number for each of its intervals: nothing is boxed before somebody asks
for the lengths of an interval, and of most nobody does. `totals.as_tally` hands them to the report and its percentiles.
"""

from array import array

from mypy_extensions import i64

from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import CONNECTED, ESTABLISHED, Outcome
from pcapstall.diagnose.thresholds import ACK_CH, NAMES, SH_CFIN, STALL_NAMES


class FlowLengths:
    """The closed intervals of one flow; `ABSENT` for what is not there."""

    def __init__(self, intervals: Intervals) -> None:
        self.syn_synack: i64 = intervals.syn_synack
        self.synack_ack: i64 = intervals.synack_ack
        self.ack_ch: i64 = intervals.ack_ch
        self.ch_span: i64 = intervals.ch_span
        self.ch_ack: i64 = intervals.ch_ack
        self.ch_sh: i64 = intervals.ch_sh
        self.hrr_ch2: i64 = intervals.hrr_ch2
        self.ch2_sh: i64 = intervals.ch2_sh
        self.sh_cfin: i64 = intervals.sh_cfin
        self.ch_fin: i64 = intervals.ch_fin
        self.ch_close: i64 = intervals.ch_close
        self.ack_close: i64 = intervals.ack_close

    def at(self, position: i64) -> i64:
        """The one at ``position`` in `NAMES`."""
        if position < 6:
            if position < 3:
                if position == 0:
                    return self.syn_synack
                if position == 1:
                    return self.synack_ack
                return self.ack_ch
            if position == 3:
                return self.ch_span
            if position == 4:
                return self.ch_ack
            return self.ch_sh
        if position < 9:
            if position == 6:
                return self.hrr_ch2
            if position == 7:
                return self.ch2_sh
            return self.sh_cfin
        if position == 9:
            return self.ch_fin
        if position == 10:
            return self.ch_close
        return self.ack_close

    def is_empty(self) -> bool:
        """Whether no interval was seen from its start to its end."""
        for position in range(len(NAMES)):  # noqa: SIM110 - a generator is slow in compiled code
            if self.at(position) != ABSENT:
                return False
        return True

    def can_be_judged(self) -> bool:
        """Whether any of those that can stall was seen."""
        return (
            self.syn_synack != ABSENT
            or self.synack_ack != ABSENT
            or self.ack_ch != ABSENT
            or self.ch_span != ABSENT
            or self.hrr_ch2 != ABSENT
            or self.ch2_sh != ABSENT
            or self.sh_cfin != ABSENT
        )


def may_be_negative(position: i64) -> bool:
    """Whether an interval may end before it begins, and the capture's clock is right: a ClientHello in the SYN does so,
    and a lifetime."""
    return position == ACK_CH or position > SH_CFIN


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
        self._closed: list[FlowLengths] = []
        self.open: list[array[int]] = [array("q") for _ in STALL_NAMES]
        """Lengths by position in `STALL_NAMES`."""

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
        lengths = FlowLengths(intervals)
        if intervals.syn_synack != ABSENT or not lengths.is_empty():
            # One of a flood of SYNs has none, and there may be millions.
            self._closed.append(lengths)
        if intervals.has_open:
            self._add_open(intervals)
        elif not lengths.can_be_judged():
            self.unjudged += 1

    def closed_lengths(self, position: i64) -> list[int]:
        """The closed lengths of the interval at ``position`` in `NAMES`, flow by flow, but for absurd ones."""
        found: list[int] = []
        for lengths in self._closed:
            ns: i64 = lengths.at(position)
            if ns >= 0 or (ns != ABSENT and may_be_negative(position)):
                found.append(ns)
        return found

    def closed_extents(self) -> list[tuple[int, int]]:
        """For each of `NAMES` how many closed ones there are, and the longest of them."""
        extents: list[tuple[int, int]] = []
        for position in range(len(NAMES)):
            count: i64 = 0
            longest_ns: i64 = ABSENT
            for lengths in self._closed:
                ns: i64 = lengths.at(position)
                if ns >= 0 or (ns != ABSENT and may_be_negative(position)):
                    count += 1
                    if ns > longest_ns:
                        longest_ns = ns
            extents.append((count, longest_ns))
        return extents

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
        self._closed.extend(other._closed)
        for lengths, more in zip(self.open, other.open, strict=True):
            lengths.extend(more)

    def _count_outcome(self, tcp: str, tls: str, count: i64) -> None:
        self.tcp_outcomes[tcp] = self.tcp_outcomes.get(tcp, 0) + count
        if tls != "":
            self.tls_outcomes[tls] = self.tls_outcomes.get(tls, 0) + count

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
