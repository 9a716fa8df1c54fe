"""From the fast tally of the scan to the report's own, and to what is said of flows that are not shown.

The report's tally knows percentiles and conditions; it takes over the arrays without copying them.
"""

from collections.abc import Mapping, MutableSequence, Sequence

from pcapstall.diagnose.thresholds import NAMES, STALL_NAMES
from pcapstall.pipeline.tally import LengthTally
from pcapstall.report.model import HealthySummary
from pcapstall.report.percentiles import Tally


class FilledTally(Tally):
    """A tally of flows that were counted elsewhere."""

    def fill(self, counted: LengthTally, capture_points: Mapping[str, int]) -> None:
        """Take over what ``counted`` holds."""
        self.flows = counted.flows
        self.stalled = counted.stalled
        self.failed = counted.failed
        self.stalled_and_failed = counted.stalled_and_failed
        self.unjudged = counted.unjudged
        self.tcp_outcomes.update(counted.tcp_outcomes)
        self.tls_outcomes.update(counted.tls_outcomes)
        self.capture_points.update(capture_points)
        self._closed.update(_by_name(NAMES, counted.closed))
        self._open.update(_by_name(STALL_NAMES, counted.open))


def as_tally(counted: LengthTally, capture_points: Mapping[str, int]) -> Tally:
    """``counted`` as the report knows it."""
    counted.flush()
    tally = FilledTally()
    tally.fill(counted, capture_points)
    return tally


def summary_of_counted(counted: LengthTally) -> HealthySummary:
    """What is said of flows that are not shown."""
    return as_tally(counted, {}).healthy()


def _by_name(names: Sequence[str], lengths: Sequence[MutableSequence[int]]) -> dict[str, MutableSequence[int]]:
    return {name: values for name, values in zip(names, lengths, strict=True) if values}
