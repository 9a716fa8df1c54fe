"""From the fast tally of the scan to the report's own, and to what is said of flows that are not shown.

The report's tally knows percentiles and conditions; lengths are taken out of the scan's only when it asks for them.
"""

from collections.abc import Mapping

from pcapstall.diagnose.thresholds import NAMES, STALL_NAMES
from pcapstall.pipeline.tally import LengthTally
from pcapstall.report.model import HealthySummary
from pcapstall.report.percentiles import Lengths, Tally


class CountedLengths(Lengths):
    """The closed lengths of one interval, as long as nobody wants to see them in the flows' records."""

    def __init__(self, counted: LengthTally, position: int, count: int, longest_ns: int) -> None:
        super().__init__()
        self._counted = counted
        self._position = position
        self._count = count
        self._longest_ns = longest_ns

    def __len__(self) -> int:
        return self._count

    def values(self) -> list[int]:
        """All of them, in no order."""
        return self._counted.closed_lengths(self._position)

    def longest(self) -> int:
        """The longest."""
        return self._longest_ns


class FilledTally(Tally):
    """A tally of flows that were counted elsewhere; of all flows of a report often nobody asks for the lengths."""

    def __init__(self, counted: LengthTally, capture_points: Mapping[str, int]) -> None:
        super().__init__()
        self._counted: LengthTally | None = counted
        """Until its lengths are asked for."""
        self.flows = counted.flows
        self.stalled = counted.stalled
        self.failed = counted.failed
        self.stalled_and_failed = counted.stalled_and_failed
        self.unjudged = counted.unjudged
        self.tcp_outcomes.update(counted.tcp_outcomes)
        self.tls_outcomes.update(counted.tls_outcomes)
        self.capture_points.update(capture_points)
        for name, values in zip(STALL_NAMES, counted.open, strict=True):
            if values:
                self._open[name] = Lengths(values)

    def closed(self) -> Mapping[str, Lengths]:
        """The lengths of the intervals that were seen to end."""
        if self._counted is not None:
            extents = zip(NAMES, self._counted.closed_extents(), strict=True)
            for position, (name, (count, longest_ns)) in enumerate(extents):
                if count:
                    self._closed[name] = CountedLengths(self._counted, position, count, longest_ns)
            self._counted = None
        return self._closed


def as_tally(counted: LengthTally, capture_points: Mapping[str, int]) -> Tally:
    """``counted`` as the report knows it."""
    counted.flush()
    return FilledTally(counted, capture_points)


def summary_of_counted(counted: LengthTally) -> HealthySummary:
    """What is said of flows that are not shown."""
    return as_tally(counted, {}).healthy()
