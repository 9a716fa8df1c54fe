"""What `pcapstall watch` tells, a line each: a flow that stalls, goes on, fails or ends; how things stand.

Text for people, and JSON lines with the names of the report's schema. When a line is due is decided elsewhere.
"""

import json
from typing import Any, Final, NamedTuple

from pcapstall.core.counts import several
from pcapstall.core.times import format_span, format_utc
from pcapstall.diagnose.verdict import UNKNOWN, cause_words
from pcapstall.report.flow_grid import CLOCK_SET
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.happening import what_happened
from pcapstall.report.model import SCHEMA
from pcapstall.report.to_json import flow_object
from pcapstall.report.untrusted import printable

FORMATS: Final = ("text", "jsonl")

_encode: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False).encode
_KIND_WIDTH: Final = 7


class Told(NamedTuple):
    """Something happened to one flow."""

    event: str
    """stalled, went_on, failed, ended."""
    ns: int
    """When, by the capture's clock."""
    t0_ns: int
    """What `EventReport.rel_ns` counts from: the capture's first stamp."""
    flow: FlowReport
    """As it is then. `stalled` is the interval that the line is about."""


class Standing(NamedTuple):
    """How things stand, or stood at the end."""

    event: str
    """summary, end."""
    ns: int | None
    """By the capture's clock; None before its first packet."""
    flows_opened: int
    flows_open: int
    stalled_now: int
    longest_now: tuple[str, str, int] | None
    """Of the flow that has been stalled for longest: its endpoints and for how long."""
    stalled: int
    """Flows of which a stall was told, so far."""
    failed: int
    packets: int
    dropped: int | None
    """What the capture says that it lost; None when it says nothing (a pcap file has no place for it)."""
    closed_early: int
    """Flows that were let go of to stay within --max-flows, or because they were never answered."""
    left_unread: int
    """Flows whose TLS was left unread to bound memory."""
    clock_set: bool
    """Whether the capture's clock was set while it ran: no length across that is to be trusted."""


def line_of(told: Told | Standing, wanted: str) -> str:
    """The line in the format ``wanted``, one of `FORMATS`."""
    if wanted == "jsonl":
        return _encode(_told_object(told) if isinstance(told, Told) else _standing_object(told))
    return printable(_told_text(told) if isinstance(told, Told) else _standing_text(told))


def _told_object(told: Told) -> dict[str, Any]:
    flow = flow_object(told.flow)
    if told.event == "stalled":
        # How it ends is not known yet.
        flow |= {"tcp_outcome": None, "tls_outcome": None}
    return {"schema": SCHEMA, "event": told.event, "ns": str(told.ns), "t0_ns": str(told.t0_ns), **flow}


def _standing_object(told: Standing) -> dict[str, Any]:
    standing = told._asdict()
    standing["ns"] = None if told.ns is None else str(told.ns)
    longest = standing.pop("longest_now")
    standing["longest_now"] = (
        None if longest is None else {"client": longest[0], "server": longest[1], "open_ns": longest[2]}
    )
    return {"schema": SCHEMA, **standing}


def _told_text(told: Told) -> str:
    flow = told.flow
    length = flow.stalled_ns
    what = ""
    if flow.stalled is not None and length is not None:
        open_ = ">" if flow.stall_is_open else ""
        what = f"  {flow.stalled} {CLOCK_SET if flow.reason == 'clock_step' else open_ + format_span(length)}"
    name = f" ({flow.sni})" if flow.sni else ""
    kind = told.event.replace("_", " ").ljust(_KIND_WIDTH)
    return f"{format_utc(told.ns)}  {kind}{what}  {flow.client} -> {flow.server}{name}: {_sentence(told)}"


def _sentence(told: Told) -> str:
    flow = told.flow
    if flow.verdict is not None and flow.cause is not None:
        sure = "" if flow.cause == UNKNOWN else f", {flow.confidence} confidence"
        return f"{_small(flow.verdict)} ({cause_words(flow.cause)}{sure})"
    if told.event == "ended" and flow.stalled_ns is None:
        return "how its stall ended cannot be told from what was captured"
    return what_happened(flow._replace(client="the client", server="the server"))


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _standing_text(told: Standing) -> str:
    when = "-" if told.ns is None else format_utc(told.ns)
    facts = [f"{several(told.flows_open, 'flow')} open of {told.flows_opened}"]
    now = f"{told.stalled_now} stalled now"
    if told.longest_now is not None:
        client, server, ns = told.longest_now
        now += f" (the longest for {format_span(ns)}: {client} -> {server})"
    facts += [now, f"{told.stalled} stalled and {told.failed} failed so far", several(told.packets, "packet")]
    facts.append("drops not counted in the capture" if told.dropped is None else f"{told.dropped} dropped")
    if told.closed_early:
        facts.append(f"{several(told.closed_early, 'flow')} closed early (--max-flows)")
    if told.left_unread:
        facts.append(f"TLS of {several(told.left_unread, 'flow')} left unread")
    if told.clock_set:
        facts.append("the capture's clock was set meanwhile: do not trust what lasted across that")
    return f"{when}  {told.event.ljust(_KIND_WIDTH)}  {', '.join(facts)}"
