"""What is around a flow that is judged: what all flows and packets of the capture say together, asked by the rules.

Only where to ask; nothing is worked out here.
"""

from typing import Final

from pcapstall.diagnose.answerers import Answerers
from pcapstall.diagnose.clock_steps import Steps
from pcapstall.diagnose.clocks import Clocks
from pcapstall.diagnose.dns import DnsLog
from pcapstall.diagnose.histories import Histories
from pcapstall.diagnose.knowledge import Knowledge
from pcapstall.diagnose.neighbours import Neighbours
from pcapstall.wire.unread import UnreadPackets

NO_STEPS: Final = Steps()
_NONE_KEPT: Final = Histories()


class Surroundings:
    """What is the same for all flows of a report."""

    def __init__(
        self,
        knowledge: Knowledge,
        dns: DnsLog,
        neighbours: Neighbours,
        clocks: Clocks,
        tls_ports: frozenset[int] = frozenset(),
        doubtful_files: frozenset[int] = frozenset(),
        unread: UnreadPackets | None = None,
        steps: Steps = NO_STEPS,
        answerers: Answerers | None = None,
        histories: Histories = _NONE_KEPT,
    ) -> None:
        self.knowledge: Knowledge = knowledge
        self.dns: DnsLog = dns
        self.neighbours: Neighbours = neighbours
        self.clocks: Clocks = clocks
        self.tls_ports: frozenset[int] = tls_ports
        self.doubtful_files: frozenset[int] = doubtful_files
        """Captures that say themselves that packets are missing, or whose clock jumped."""
        self.unread: UnreadPackets | None = unread
        """Packets that may have held segments of the flows."""
        self.steps: Steps = steps
        """Of the captures' clocks, as flows show them."""
        self.answerers: Answerers | None = answerers
        """Hosts that answer for many servers."""
        self.histories: Histories = histories
        """The segments of flows."""
