"""How the places that evidence rests on are written: frames of captures, lines of straces.

A file is called by the end of its path that no other file of the report ends with: `client.strace` is quicker to read
than the five folders before it, and the report's first lines have those. Plain text, not yet escaped.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from pcapstall.core.times import format_span
from pcapstall.report.flow_model import EventReport, Evidence, FlowReport
from pcapstall.report.model import Report
from pcapstall.report.prose import numbered

if TYPE_CHECKING:
    from pcapstall.report.end_model import LogLineReport

MOST_LINES: Final = 8
"""Lines of straces that one sentence cites; the others are counted."""

MOST_LOG_LINES: Final = 12
"""Lines of logs that are shown of one flow; the others are counted."""


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """For each path the shortest end of it, in whole components, that is no other path's end."""
    parts = {path: path.rstrip("/").split("/") for path in paths}
    ends = Counter("/".join(names[-length:]) for names in parts.values() for length in range(1, len(names) + 1))
    short: dict[str, str] = {}
    for path, names in parts.items():
        own = ("/".join(names[-length:]) for length in range(1, len(names) + 1))
        short[path] = next((end for end in own if ends[end] == 1), path)
    return short


class Places:
    """Writes the places of one report."""

    def __init__(self, report: Report) -> None:
        captures = [capture.file for capture in report.captures]
        texts = [*(strace.file for strace in report.straces), *(log.file for log in report.logs)]
        names = short_names(dict.fromkeys([*captures, *texts]))
        self._captures = [names[file] for file in captures]
        self._names = names

    def told(self, flow: FlowReport) -> list[tuple[str, str]]:
        """What supports the verdict on ``flow``, each with its place: its evidence, then the logs' lines about it."""
        told: list[tuple[str, str]] = []
        for evidence in flow.evidence:
            place = self.of_evidence(evidence)
            if told and told[-1][0] == evidence.text:
                # Its frames are in several files.
                place = f"{told.pop()[1]}; {place}"
            told.append((evidence.text, place))
        logs = flow.logs or []
        told += [(_log_line(line), self._lines([line.where])[0]) for line in logs[:MOST_LOG_LINES]]
        if more := len(logs[MOST_LOG_LINES:]) + flow.more_logs:
            told.append((f"{more} more lines of logs are about it: see pcapstall timeline, or -f json.", ""))
        return told

    def of_evidence(self, evidence: Evidence) -> str:
        """``frames 3, 9; client.strace:66, 70``; the capture is named when there are several."""
        places: list[str] = []
        if evidence.frames:
            place = numbered("frame", evidence.frames)
            if len(self._captures) > 1 and evidence.file is not None and evidence.file < len(self._captures):
                place += f" of {self._captures[evidence.file]}"
            places.append(place)
        places.extend(self._lines(evidence.strace[:MOST_LINES]))
        if len(evidence.strace) > MOST_LINES:
            places.append(f"{len(evidence.strace) - MOST_LINES} more lines")
        return "; ".join(places)

    def of_row(self, frames: Sequence[int], file: int | None, lines: Sequence[str]) -> str:
        """The same for a row of a timeline: ``frames 83, 85``, ``client.strace:66, 70``."""
        return self.of_evidence(Evidence("", list(frames), file, list(lines)))

    def _lines(self, lines: Sequence[str]) -> list[str]:
        """The lines of each file behind its name: ``client.strace:66, 70``."""
        by_file: dict[str, list[str]] = {}
        for line in lines:
            file, _, number = line.rpartition(":")
            by_file.setdefault(self._names.get(file, file), []).append(number)
        return [f"{file}:{', '.join(found)}" for file, found in by_file.items()]

    def between(self, start: EventReport, end: EventReport | None) -> str:
        """The frames that an interval lies between: ``frames 83 -> 148``; of an open one ``from frame 83``."""
        several = len(self._captures) > 1
        if end is None:
            return f"from frame {self._frame(start, several)}"
        return f"frames {self._frame(start, start.file != end.file)} -> {self._frame(end, several)}"

    def _frame(self, event: EventReport, named: bool) -> str:
        known = named and event.file < len(self._captures)
        return f"{event.frame} of {self._captures[event.file]}" if known else str(event.frame)


def _log_line(line: "LogLineReport") -> str:
    """``Log, 10.0 s after the SYN: Connection closed error=TLS detection timed out``."""
    when = "at an unknown time"
    if line.since_syn_ns is not None:
        side = "before" if line.since_syn_ns < 0 else "after"
        when = f"{format_span(abs(line.since_syn_ns))} {side} the SYN"
        if line.error_ns is not None and line.error_ns * 20 > abs(line.since_syn_ns):
            when += f" (give or take {format_span(line.error_ns)})"
    more = f" (and {line.more_lines} more lines)" if line.more_lines else ""
    return f"Log, {when}: {line.text}{more}"
