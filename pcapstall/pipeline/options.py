"""What the user may say about captures, whichever command it is, and from Python.

Values as they were parsed; what comes of them is decided by whoever reads them.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pcapstall.flows.kept import MAX_FLOWS
from pcapstall.pipeline.ends.given import GivenFile
from pcapstall.report.thresholds import parse_thresholds

LOCAL: Final = "local"
DASK: Final = "dask"
"""Of `Options.engine`."""
AS_MANY_AS_PAY: Final = 0
"""Of `Options.jobs`."""


class Options(NamedTuple):
    """What the user may say about captures."""

    thresholds_ns: dict[str, int] = parse_thresholds(())
    """As `report.thresholds.parse_thresholds` makes them."""
    at: str = ""
    """``client`` or ``server`` when the user knows where the capture was taken."""
    tls_ports: frozenset[int] = frozenset()
    """Ports that speak TLS, besides the well-known ones and those seen to."""
    all_flows: bool = False
    """Whether flows that neither stalled nor failed are shown one by one."""
    straces: Sequence[GivenFile] = ()
    """Straces of either end."""
    max_flows: int = MAX_FLOWS
    """Flows that are followed at once; over it the ones that were idle for longest are closed early."""
    logs: Sequence[GivenFile] = ()
    """Logs of either end."""
    pictures: bool = False
    """Whether pictures will be drawn: `Report.spread` is made."""
    straces_later: bool = False
    """Whether straces are asked about stalls only by `timelines_of`: before, rows have the verdicts of packets."""
    jobs: int = 1
    """Processes that follow the flows between them; 0 for as many as pay."""
    engine: str = LOCAL
    """`LOCAL` or `DASK`."""
    scheduler: str = ""
    """Address of the Dask scheduler; empty for a cluster of this host's."""
