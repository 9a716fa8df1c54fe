"""A comparison as text for a terminal, as Markdown, or as JSON; what is told is in `comparison_text`.

Text from captures is made safe here for what it is written into.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, TextIO

from pcapstall.report import to_markdown, to_table
from pcapstall.report.comparison_model import (
    SCHEMA,
    Comparison,
    FileComparison,
    FlowComparison,
    Seen,
    SeenFlow,
    Value,
)
from pcapstall.report.comparison_text import Section, counts, intervals_ns, sections
from pcapstall.report.flow_model import EventReport
from pcapstall.report.grid import BAD, WARN
from pcapstall.report.known_differences import KNOWN
from pcapstall.report.options import RenderOptions
from pcapstall.report.untrusted import printable

FORMATS: Final = ("table", "markdown", "json")

_COLORS: Final = {BAD: to_table.RED, WARN: to_table.YELLOW}


def render(comparison: Comparison, out: TextIO, wanted: str, options: RenderOptions) -> None:
    """Write ``comparison`` in the format ``wanted``, one of `FORMATS`."""
    if wanted == "json":
        json.dump(_object(comparison, options.all_flows), out, ensure_ascii=True, allow_nan=False, indent=1)
        out.write("\n")
        return
    lines = _table if wanted == "table" else _markdown
    for line in lines(comparison, options):
        out.write(line + "\n")


def _table(comparison: Comparison, options: RenderOptions) -> Iterator[str]:
    lone = True
    for at, file in enumerate(comparison.files):
        told = list(sections(file, options.all_flows))
        # Files of which there is nothing to say make a list.
        was_lone, lone = lone, len(told) == 1 and not told[0].lines
        for place, section in enumerate(told):
            if place or (at and not (was_lone and lone)):
                yield ""
            yield from _section(section, place == 0, options)
    if not lone:
        yield ""
    for line in to_table.wrap(_readers(comparison), options.width, "  "):
        yield to_table.paint(line, to_table.DIM, options)


def _section(section: Section, is_head: bool, options: RenderOptions) -> Iterator[str]:
    color = _COLORS.get(section.mark, to_table.GREEN if is_head else to_table.BOLD)
    for line in to_table.wrap(printable(section.title), options.width, "  "):
        yield to_table.paint(line, color, options)
    for text in section.lines:
        yield from to_table.wrap(printable(text), options.width, "  ")
    if section.grid is not None:
        yield from to_table.table_lines(section.grid, options)


def _markdown(comparison: Comparison, options: RenderOptions) -> Iterator[str]:
    escape = to_markdown.escape
    for at, file in enumerate(comparison.files):
        for place, section in enumerate(sections(file, options.all_flows)):
            if section.title:
                if at or place:
                    yield ""
                yield f"**{escape(section.title)}**" if place == 0 else f"### {escape(section.title)}"
            for text in section.lines:
                yield ""
                yield escape(text)
            if section.grid is not None:
                yield ""
                yield from to_markdown.table_lines(section.grid)
    yield ""
    yield escape(_readers(comparison))


def _readers(comparison: Comparison) -> str:
    return (
        f"pcapstall {comparison.version} beside tshark {comparison.tshark_version}; "
        "seconds count from the first packet of each file"
    )


def _object(comparison: Comparison, everything: bool) -> dict[str, Any]:
    files = list(comparison.files)
    kinds = {value.why for file in files for flow in file.flows for value in flow.values if value.why}
    return {
        "schema": SCHEMA,
        "version": comparison.version,
        "tshark": comparison.tshark_version,
        "files": [_file(file, everything) for file in files],
        "known": {name: known.reason for name, known in KNOWN.items() if name in kinds},
    }


def _file(file: FileComparison, everything: bool) -> dict[str, Any]:
    total, different, unexplained = counts(file)
    return {
        "file": file.file,
        "t0_ns": str(file.t0_ns),
        "warnings": list(file.warnings),
        "flow_count": len(file.flows),
        "values": total,
        "different": different,
        "unexplained": unexplained,
        "flows": [
            _flow(flow, everything)
            for flow in file.flows
            if everything or flow.differences or (flow.theirs is not None and flow.theirs.decrypted)
        ],
    }


def _flow(flow: FlowComparison, everything: bool) -> dict[str, Any]:
    known = flow.ours if flow.ours is not None else flow.theirs
    assert known is not None
    return {
        "id": flow.ours.id if flow.ours is not None else None,
        "streams": list(flow.theirs.streams) if flow.theirs is not None else [],
        "client": known.client,
        "server": known.server,
        "sni": known.sni,
        "values": [_value(value) for value in (flow.values if everything else flow.differences)],
        "only_tshark": _stream(flow.theirs) if flow.ours is None and flow.theirs is not None else None,
        "decrypted": [
            {"side": each.side, "what": each.what, **_event(each.at)}
            for each in (flow.theirs.decrypted if flow.theirs is not None else ())
        ],
    }


def _stream(flow: SeenFlow) -> dict[str, Any]:
    """What there is of a flow that pcapstall has not."""
    return {
        "tls_version": flow.version,
        "events": {name: None if event is None else _event(event) for name, event in flow.events.items()},
        "intervals_ns": intervals_ns(flow),
    }


def _value(value: Value) -> dict[str, Any]:
    return {
        "name": value.name,
        "pcapstall": _side(value.ours),
        "tshark": _side(value.theirs),
        "equal": value.equal,
        "known": value.why,
    }


def _side(value: EventReport | Seen | str | None) -> Any:
    return value if value is None or isinstance(value, str) else _event(value)


def _event(event: EventReport | Seen) -> dict[str, Any]:
    return {"ns": str(event.ns), "frame": event.frame}
