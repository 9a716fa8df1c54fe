"""Takes the finished flows of one share of a capture: counts what is only counted, keeps the rest with its moment.

Compiled, since it sees every flow of its share. What all shares have kept is taken by one `Collector` afterwards, in
the order in which a single table would have handed it on; so nothing that is kept is learned here.
"""

from mypy_extensions import i64

from pcapstall.diagnose.knowledge import ALL_PAIRS
from pcapstall.diagnose.thresholds import Thresholds
from pcapstall.flows.flow import Flow
from pcapstall.flows.share import CLOSING, DONE, RECORD, Share
from pcapstall.pipeline.scan.collect import Collector


class ShareCollector(Collector):
    """The sink of a table that has a share of the flows."""

    def __init__(self, thresholds: Thresholds, keep_all: bool, share: Share) -> None:
        super().__init__(thresholds, keep_all)
        self._share: Share = share
        self.moments: list[tuple[i64, i64]] = []
        """When each of ``kept`` was handed on: moments of all shares sort as a single table's do."""
        # Only all shares together know which are the first ones.
        self.knowledge.pairs_max = ALL_PAIRS

    def forgets(self, flow: Flow) -> bool:
        """Count a flow that is done and neither stalled nor failed."""
        self._note_moment(flow)
        return super().forgets(flow)

    def take(self, flow: Flow) -> bool:
        """Keep a finished flow, or count it."""
        self._note_moment(flow)
        return super().take(flow)

    def _note_moment(self, flow: Flow) -> None:
        share = self._share
        within: i64 = flow.id
        if share.phase == RECORD:
            within = 0
        elif share.phase == CLOSING or share.phase == DONE:
            within = flow.queued
        self.knowledge.moment = (share.moment(), within)

    def _keep(self, flow: Flow) -> None:
        self.kept.append(flow)
        self.moments.append(self.knowledge.moment)
