"""What is around a flow that is judged: what all flows and packets of the capture say together, asked by the rules.

Only where to ask; nothing is worked out here.
"""

from typing import Final, NamedTuple

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


class Surroundings(NamedTuple):
    """What is the same for all flows of a report."""

    knowledge: Knowledge
    dns: DnsLog
    neighbours: Neighbours
    clocks: Clocks
    tls_ports: frozenset[int] = frozenset()
    doubtful_files: frozenset[int] = frozenset()
    """Captures that say themselves that packets are missing, or whose clock jumped."""
    unread: UnreadPackets | None = None
    """Packets that may have held segments of the flows."""
    steps: Steps = NO_STEPS
    """Of the captures' clocks, as flows show them."""
    answerers: Answerers | None = None
    """Hosts that answer for many servers."""
    histories: Histories = _NONE_KEPT
    """The segments of flows."""
