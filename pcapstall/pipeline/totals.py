"""From the fast tally of the scan to the report's own, and to what is said of flows that are not shown.

The report's tally knows percentiles and conditions; lengths are ranked only when it asks for that.
"""

from collections.abc import Mapping

from pcapstall.diagnose.thresholds import NAMES, STALL_NAMES
from pcapstall.pipeline.scan.tally import LengthTally
from pcapstall.report.model import HealthySummary
from pcapstall.report.percentiles import Tally


def as_tally(counted: LengthTally, capture_points: Mapping[str, int]) -> Tally:
    """``counted`` as the report knows it."""
    counted.flush()
    tally = Tally()
    tally.flows = counted.flows
    tally.stalled = counted.stalled
    tally.failed = counted.failed
    tally.stalled_and_failed = counted.stalled_and_failed
    tally.unjudged = counted.unjudged
    tally.tcp_outcomes.update(counted.tcp_outcomes)
    tally.tls_outcomes.update(counted.tls_outcomes)
    tally.capture_points.update(capture_points)
    tally.untrusted.update({name: count for name, count in zip(NAMES, counted.untrusted, strict=True) if count})
    tally.take_lengths(dict(zip(NAMES, counted.closed, strict=True)), dict(zip(STALL_NAMES, counted.open, strict=True)))
    return tally


def summary_of_counted(counted: LengthTally) -> HealthySummary:
    """What is said of flows that are not shown."""
    return as_tally(counted, {}).healthy()
