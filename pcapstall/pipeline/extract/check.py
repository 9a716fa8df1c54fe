"""What an extract says of its flows, beside what the whole capture said: whoever gets the extract has nothing else.

Compares rows of two reports. Nothing is measured here.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pcapstall.core.times import format_span
from pcapstall.report.flow_model import FlowReport

_MEASURES: Final = ("intervals_ns", "tcp_outcome", "tls_outcome", "sni", "closed_by", "counts")
_JUDGED: Final = ("stalled", "cause", "side", "reason", "activity", "confidence")


def differences(chosen: Sequence[FlowReport], extracted: Iterable[FlowReport]) -> list[str]:
    """A sentence for each flow of which the extract alone says something else, with what would help."""
    by_name: dict[tuple[object, ...], FlowReport] = {_identity(row): row for row in extracted}
    found = []
    for row in chosen:
        alone = by_name.get(_identity(row))
        if alone is None:
            found.append(f"Flow {row.id}: the extract alone does not show it as a connection of its own.")
            continue
        said = _difference(row, alone)
        if said:
            found.append(f"Flow {row.id}: {said}")
    return found


def _identity(row: FlowReport) -> tuple[object, ...]:
    first = next((event.ns for event in row.events.values() if event is not None), None)
    return row.client, row.server, first


def _difference(row: FlowReport, alone: FlowReport) -> str:
    measures = [name for name in _MEASURES if getattr(row, name) != getattr(alone, name)]
    if measures:
        pairs = ", ".join(f"{name} {_short(alone, name)} and not {_short(row, name)}" for name in measures)
        return f"the extract alone says {pairs}: that rests on other flows of the capture."
    if row.open_ns != alone.open_ns:
        longest_ns = max((row.open_ns[name] - alone.open_ns.get(name, 0) for name in row.open_ns), default=0)
        if longest_ns <= 0:
            names = ", ".join(sorted({name for name, _ in row.open_ns.items() ^ alone.open_ns.items()}))
            return f"the extract alone says another span for what has not ended ({names}): that rests on other flows."
        return (
            "what has not ended is measured to the end of the capture, and the extract ends"
            f" {format_span(longest_ns)} before that."
        )
    if all(getattr(row, name) == getattr(alone, name) for name in _JUDGED):
        return ""
    said = f"the extract alone says {_verdict(alone)}, the whole capture {_verdict(row)}: it rests on other flows"
    if row.capture_point != alone.capture_point and row.capture_point in ("client", "server"):
        said += f", which tell that this is the {row.capture_point}'s side (report --at {row.capture_point})"
    return said + "."


def _short(row: FlowReport, name: str) -> str:
    value = getattr(row, name)
    return value if isinstance(value, str) else "another" if value is not None else "none"


def _verdict(row: FlowReport) -> str:
    if row.cause is None:
        return "nothing"
    return f"{row.cause}{f', {row.reason}' if row.reason else ''} ({row.confidence})"
