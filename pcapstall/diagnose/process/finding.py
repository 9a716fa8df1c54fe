"""What the look at a process found: a reason, its sentence and facts, and which thread had to act.

The value that `sender` and `receiver` make and `judge` turns into a verdict.
"""

from dataclasses import dataclass, field

from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.trust import Limits
from pcapstall.diagnose.verdict import Fact
from pcapstall.strace.model import Thread

EPOLL_NOT_WAITED = "epoll_not_waited"
EVENT_NOT_ACTED_ON = "event_not_acted_on"
NO_EVENT_DELIVERED = "no_event_delivered"
NOT_WRITTEN = "not_written"
LATE_ACCEPT = "late_accept"
LATE_READ = "late_read"
SLOW_HANDLING = "slow_handling"
NOT_TRACED = "not_traced"
AWAIT_SERVER = "await_server"
BOTH_SILENT = "both_silent"
"""As packets alone may say, too: here the process is seen to be at it, or to have waited for the other end."""


@dataclass
class Finding:
    """One late stage."""

    reason: str
    sentence: str
    late_ns: int
    """How long the stage lasted."""
    facts: list[Fact] = field(default_factory=list)
    thread: Thread | None = None
    """That had to act."""
    done_ns: int | None = None
    """When the bytes were written, by the strace's clock; None when they were not."""
    limits: Limits = field(default_factory=list)
    stages: dict[str, int] = field(default_factory=dict)
    """What the interval is made of."""
    tried: list[Tried] = field(default_factory=list)
    cause: str = ""
    """Where it is not this process; empty where it is."""


@dataclass
class WrittenEarly:
    """The process did its part in time: the delay is not its own."""

    sentence: str
    written_ns: int
    facts: list[Fact] = field(default_factory=list)
    stages: dict[str, int] = field(default_factory=dict)
    tried: list[Tried] = field(default_factory=list)
