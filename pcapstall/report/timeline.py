"""A timeline as a value: one flow, its moments as rows in one order, and what is to be known of them.

Renderers read this and nothing else; it is made in `pipeline.timeline.timeline`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pcapstall.report.end_model import LogLineReport
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.model import Report


class TimelineRow(NamedTuple):
    """One moment, or several that are folded into one."""

    id: int
    """From 1, in the order of time."""
    ns: int
    """Epoch nanoseconds, by the capture's clock."""
    since_syn_ns: int
    error_ns: int | None
    """How far these may be off; None when nothing tells, 0 for packets."""
    unsure: bool
    """Whether it may belong before or after the row beside it, as far as the clocks tell."""
    until_ns: int | None
    """When the last of what is folded was, or when a call ended."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which no row is asked for
    """How many are folded."""
    source: str
    """packet, call or log."""
    side: str
    """Whose it was, client or server; empty where that is not known, and of what the network sent."""
    toward: str
    """To which end what the network sent went, client or server; else empty."""
    lost: int
    """How many of the packets, the first ones, most likely never arrived."""
    event: str
    actor: str
    remark: str
    evidence: bool
    """Whether the verdict on the flow rests on it."""
    frames: list[int]
    file: int | None
    """Index into `Report.captures` of the file that ``frames`` are of; None without frames."""
    lines: list[str]
    """``client.strace:66``, ``inbound.log:12``."""


class Timeline(NamedTuple):
    """What happened to one flow."""

    report: Report
    """What was read."""
    flow: FlowReport
    zero_ns: int
    """What `TimelineRow.since_syn_ns` counts from: the SYN, or the first packet without one."""
    rows: Sequence[TimelineRow]
    everything: bool
    """Whether all moments are told, not only the key ones."""
    notices: Sequence[str]
    """What is missing or left out, a sentence each."""
    untimed: Sequence[LogLineReport]
    """Lines of logs about the flow whose time nobody knows, in their order."""

    @property
    def zero(self) -> str:
        """What ``zero_ns`` is of, in words."""
        return "the SYN" if self.flow.events.get("syn") else "the first packet"
