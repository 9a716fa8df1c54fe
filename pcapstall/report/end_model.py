"""Straces and logs of the report as values, and what they say of a flow: named tuples that mirror JSON schema 1.

Times are integer nanoseconds; what is not known is None. Loaded where there are any. The flow itself is in
`flow_model`.
"""

from collections.abc import Sequence
from typing import NamedTuple


class ProcessReport(NamedTuple):
    """A process in a strace file and the flows that its sockets were found to be."""

    pid: int
    side: str | None
    """client or server."""
    flows: list[int]


class StraceReport(NamedTuple):
    """What was read of one strace file."""

    file: str
    label: str | None
    """What the user called it: ``outbound=FILE``."""
    lines: int
    unread: int
    """Lines that could not be read."""
    processes: list[ProcessReport]
    clock_offset_ns: int | None
    """What to add to strace's clock to have the capture's, besides the zone; None when unknown."""
    clock_error_ns: int | None
    unmatched_sockets: list[str]
    zone_ns: int | None = None
    """How far its times of day are ahead of UTC, a multiple of 15 minutes; None for other stamps."""
    notices: Sequence[str] = ()
    """What it lacks, as far as conclusions suffer: times, lines, what io_uring does."""


class LogReport(NamedTuple):
    """What was read of one log."""

    file: str
    label: str | None
    lines: int
    unread: int
    """Lines without a stamp that belong to no line before."""
    first_unread: str | None
    """``inbound.log:1``, the first of them."""
    first_unread_text: str | None
    """The beginning of it."""
    formats: list[str]
    """Of the stamps, the commonest first."""
    stamps: str | None
    """What they say: absolute, or what they lack; None without any."""
    about_flows: int
    """Lines that are about flows of the report."""
    left_out: int
    """Lines about flows that are more than can be kept."""
    clock_source: str
    """What the times rest on: printed, lines (that name flows), strace, writes, nothing."""
    clock_offset_ns: int | None
    """What to add to the log's clock to have the capture's, the zone aside; None when unknown."""
    clock_error_ns: int | None
    zone_ns: int | None
    """The zone of a clock that prints none, east of UTC."""
    start_ns: int | None
    """What seconds since a start count from."""
    matched_lines: int
    """Lines that name a flow and lie within its life by that clock."""
    trouble: str | None
    """Why reading ended before the file did."""


class ThreadCallsReport(NamedTuple):
    """Calls of one kind that a thread made in the interval that stalled."""

    call: str
    """With what its descriptor means: ``epoll_wait on set 6``."""
    n: int
    """How many."""
    total_ns: int
    """Inside the interval; so is `longest_ns`."""
    longest_ns: int
    strace: list[str]
    """Lines of the first and the last of them."""


class ThreadReport(NamedTuple):
    """What one thread of the process did in the interval that stalled."""

    pid: int | None
    """None when the strace does not tell; so is `tid`."""
    tid: int | None
    name: str | None
    """The command's name."""
    label: str | None
    """``had to act``, ``woke it``; None for the others."""
    calls: list[ThreadCallsReport]
    """The kinds that took the most time."""
    other_calls: int
    """How many calls of other kinds there were."""
    longest_call: str | None
    longest_ns: int
    """How much of the interval that call took."""
    off_syscall_ns: int | None
    """In no call: running, throttled, frozen or faulting; None when the strace does not tell."""
    strace: list[str]
    """The lines that tell most of it."""


class LogLineReport(NamedTuple):
    """One line of a log that is about a flow."""

    where: str
    """``inbound.log:12``."""
    ns: int | None
    """Epoch nanoseconds, by the capture's clock; None when nothing tells the time."""
    since_syn_ns: int | None
    error_ns: int | None
    """How far these may be off; None when nothing tells."""
    text: str
    """What it says, without its stamp."""
    more_lines: int
    """Lines that belong to it: a stack trace."""
