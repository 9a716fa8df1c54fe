"""The cells of a timeline's table, as text that is not yet escaped: what every format shows of a row.

The columns are ID, Time, Since SYN, Event, Actor and Remarks. How they are drawn is each format's.
"""

from collections.abc import Iterator
from typing import Final

from pcapstall.core.times import MS, format_ms, format_time_of_day, format_utc
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.happening import what_became, what_happened
from pcapstall.report.places import Places
from pcapstall.report.timeline import Timeline, TimelineRow

NAMES: Final = ("ID", "Time", "Since SYN", "Event", "Actor", "Remarks")
RIGHT: Final = frozenset(("ID", "Since SYN"))
RESTS: Final = "*"
"""After the ID of a row that the verdict rests on."""
_LOST: Final = "most likely on its way, or dropped where it went to."
UNSURE: Final = "~"
"""Before the time of a row that may belong before or after the one beside it."""


def headline(timeline: Timeline) -> str:
    """The flow and the verdict on it."""
    flow = timeline.flow
    sni = f" ({flow.sni})" if flow.sni else ""
    return f"Flow {flow.id}, {flow.client} -> {flow.server}{sni}: {verdict_on(flow)}."


def verdict_on(flow: FlowReport) -> str:
    """What is said of ``flow``, without a full stop."""
    if flow.verdict:
        return flow.verdict.rstrip(".")
    if flow.stalled or flow.failed:
        return what_happened(flow).rstrip(".")
    return what_became(flow)


def cells(timeline: Timeline) -> Iterator[list[str]]:
    """The rows, a text for each of `NAMES`."""
    places = Places(timeline.report)
    for row in timeline.rows:
        yield [
            f"{row.id}{RESTS if row.evidence else ''}",
            format_time_of_day(row.ns),  # the microseconds are in the column beside it
            f"{UNSURE if row.unsure else ''}{format_ms(row.since_syn_ns)}",
            row.event,
            row.actor,
            _remarks(timeline, row, places),
        ]


def _remarks(timeline: Timeline, row: TimelineRow, places: Places) -> str:
    said = [row.remark] if row.remark else []
    if row.until_ns is not None and row.count > 1 and row.until_ns - row.ns >= MS:
        said.append(f"until {format_ms(row.until_ns - timeline.zero_ns)}")
    place = places.of_row(row.frames, row.file, row.lines)
    return " ".join(filter(None, ("; ".join(said), f"[{place}]" if place else "")))


def legend(timeline: Timeline, lost: str = "lost:", of_day: bool = True) -> str:
    """What the marks and times mean; ``lost`` begins what is said of packets that did not arrive.

    ``of_day`` says whether the time of day of each row is shown.
    """
    zero = f"since {timeline.zero} ({format_utc(timeline.zero_ns)}"
    said = [f"Times are UTC by the capture's clock; {zero}), in ms."]
    if not of_day:
        said = [f"Times are {zero} by the capture's clock), in ms."]
    if any(row.evidence for row in timeline.rows):
        said.append(f"{RESTS}: the verdict rests on it.")
    if any(row.unsure for row in timeline.rows):
        said.append(f"{UNSURE}: the clocks do not tell whether it was before or after the row beside it.")
    if any(row.lost for row in timeline.rows):
        said.append(f"{lost} {_LOST}")
    if not timeline.everything:
        said.append("These are the key events: --all has every packet, call and log line of that time.")
    return " ".join(said)


def untimed(timeline: Timeline) -> list[str]:
    """The lines of logs without a time, in their order; the first few."""
    places = Places(timeline.report)
    lines = [f"{line.text} [{places.of_row([], None, [line.where])}]" for line in timeline.untimed[:_UNTIMED]]
    if len(timeline.untimed) > _UNTIMED:
        lines.append(f"and {len(timeline.untimed) - _UNTIMED} more")
    return lines


_UNTIMED: Final = 20
UNTIMED_TITLE: Final = "Lines of logs about it whose time is not known, in their order:"
