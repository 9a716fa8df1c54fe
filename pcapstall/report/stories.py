"""What is told of one stalled or failed flow: its verdict, the evidence with its frames, what would settle it.

Plain text, not yet escaped. Which flows are told of, and in which layout, is the renderers' matter.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pcapstall.core.times import format_clock, format_span
from pcapstall.diagnose.spans import END_EVENTS, START_EVENTS
from pcapstall.report.flow_grid import outcome_of
from pcapstall.report.flow_model import EventReport, FlowReport
from pcapstall.report.grid import Grid
from pcapstall.report.happening import stall_words, what_happened
from pcapstall.report.options import RenderOptions
from pcapstall.report.places import Places


class Story(NamedTuple):
    """One flow, in pieces that each renderer puts together."""

    title: str
    """``Flow 1``."""
    endpoints: str
    """``10.0.0.1:34506 -> 10.0.0.2:443``."""
    about: str
    """What is known of it in a few words: SNI, TLS version; may be empty."""
    verdict: str
    finding: str
    """``ack_ch 52.1 s; cause client_process, client_silent; confidence high``."""
    parts: str
    """What the stalled interval is made of, when of more than one thing; else empty."""
    evidence: list[tuple[str, str]]
    """Each sentence, and where to look: ``frames 3, 9; client.strace:66``."""
    would_settle: str
    """Empty when nothing is open."""
    stages: str = ""
    """What the interval is made of on the side of the process, by its strace; else empty."""
    threads_title: str = ""
    threads: Grid | None = None
    """What each thread of that process did."""


def tell(flow: FlowReport, places: Places) -> Story:
    """The story of ``flow``; ``places`` writes where its evidence is."""
    return Story(
        f"Flow {flow.id}",
        f"{flow.client} -> {flow.server}",
        ", ".join(filter(None, (flow.sni, flow.tls_version, flow.preamble and f"after {flow.preamble}", flow.tunnel))),
        _sentence(flow.verdict or what_happened(flow)),
        _finding(flow, places),
        _parts(flow),
        places.told(flow),
        flow.would_settle or "",
        _stages(flow),
        *_threads(flow, places),
    )


def _threads(flow: FlowReport, places: Places) -> tuple[str, Grid | None]:
    """What each thread of the process did, and the title of that; only straces tell of any."""
    if not flow.threads:
        return "", None
    from pcapstall.report.thread_grid import thread_grid, thread_title

    return thread_title(flow), thread_grid(flow, places)


def place(flow: FlowReport, places: Places) -> str:
    """Where the stalled interval is, and its start by the clock: ``frames 83 -> 148, 07:24:11.449 UTC``.

    An open one has no end: ``from frame 83, 07:24:11.449 UTC``. Empty when the start was not seen.
    """
    start, end = ends_of(flow)
    if start is None:
        return ""
    return f"{places.between(start, end)}, {format_clock(start.ns)}"


def ends_of(flow: FlowReport) -> tuple[EventReport | None, EventReport | None]:
    """The events that the stalled interval lies between; None for one that was not seen, or there is no such."""
    stalled = flow.stalled or ""
    start, end = flow.events.get(START_EVENTS.get(stalled, "")), None
    if start is not None and not flow.stall_is_open:
        ends = END_EVENTS.get(stalled, ())
        end = next((event for name in ends if (event := flow.events.get(name)) is not None), None)
    return start, end


def _finding(flow: FlowReport, places: Places) -> str:
    outcome = outcome_of(flow)
    found: list[str] = []
    if flow.stalled is not None and flow.stalled_ns is not None:
        where_and_when = place(flow, places)
        where_and_when = f" ({where_and_when})" if where_and_when else ""
        found.append(stall_words(flow, flow.stalled_ns) + where_and_when)
    found.append(f"outcome {outcome}")
    if flow.cause:
        reason = None if flow.reason == outcome else flow.reason
        found.append("cause " + ", ".join(filter(None, (flow.cause, reason, flow.activity))))
    if flow.confidence:
        found.append(f"confidence {flow.confidence}")
    return "; ".join(found)


def _parts(flow: FlowReport) -> str:
    # Of a length that a clock made by being set there is nothing to be added up.
    return "" if flow.reason == "clock_step" else sum_of(flow.stalled, flow.parts_ns.get(flow.stalled or "", {}), {})


def sum_of(interval: str | None, parts_ns: Mapping[str, int], words: Mapping[str, str]) -> str:
    """``ch_sh = network 40 ms + server_process 1.2 s``, its parts in ``words`` or by name; empty of a single one."""
    parts = {name: ns for name, ns in parts_ns.items() if ns}
    if len(parts) < 2:
        return ""
    return f"{interval} = " + " + ".join(f"{words.get(name, name)} {format_span(ns)}" for name, ns in parts.items())


_STAGES: Final[Mapping[str, str]] = {
    "registered": "until its event was asked for",
    "waited_on": "until a thread waited for it",
    "delivered": "until it was delivered",
    "acted_on": "until it was acted on",
    "accepted": "until it was accepted",
    "read": "until the hello was read",
    "written": "until written",
    "left": "until it left",
}
"""What ended each stage of `FlowReport.stages_ns`."""


def _stages(flow: FlowReport) -> str:
    """``ack_ch = until a thread waited for it 52.2 s + until written 0.9 ms``; of an open one the last is not over."""
    stages = [(name, ns) for name, ns in (flow.stages_ns or {}).items() if ns]
    if len(stages) < 2 or flow.stalled is None:
        return ""
    told = [f"{_STAGES.get(name, name)} {format_span(ns)}" for name, ns in stages]
    if flow.stall_is_open:
        told[-1] = f"{_STAGES.get(stages[-1][0], stages[-1][0])} more than {format_span(stages[-1][1])}"
    return f"{flow.stalled} = " + " + ".join(told)


def _sentence(text: str) -> str:
    """``text`` with a capital at its start, unless that is a name, and a full stop at its end."""
    text = text.strip()
    if text.partition(" ")[0].isalpha():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def has_story(flow: FlowReport) -> bool:
    """Whether there is anything to tell: it stalled or failed."""
    return flow.stalled is not None or flow.failed


def to_be_told(flows: Sequence[FlowReport], options: RenderOptions) -> list[FlowReport]:
    """Those of ``flows`` (worst first) whose story is told: stalled and failed ones, the first few unless all are."""
    told = [flow for flow in flows if has_story(flow)]
    return told if options.all_flows else told[: options.stories]


def untold_line(flows: Sequence[FlowReport], told: Sequence[FlowReport]) -> str:
    """How many stalled or failed flows are in the table only; empty when none is."""
    return untold_words(sum(map(has_story, flows)) - len(told))


def untold_words(untold: int) -> str:
    """The same of so many; empty of none."""
    return f"The verdicts of {untold} more are told with --all or in -f json." if untold else ""
