"""How the places that evidence rests on are written: frames of captures, lines of straces.

A file is called by the end of its path that no other file of the report ends with: `client.strace` is quicker to read
than the five folders before it, and the report's first lines have those. Plain text, not yet escaped.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from pcapstall.report.model import EventReport, Evidence, Report
from pcapstall.report.prose import numbers

MOST_LINES: Final = 8
"""Lines of straces that one sentence cites; the others are counted."""


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
        names = short_names(dict.fromkeys([*captures, *(strace.file for strace in report.straces)]))
        self._captures = [names[file] for file in captures]
        self._names = names

    def of_evidence(self, evidence: Evidence) -> str:
        """``frames 3, 9; client.strace:66, 70``; the capture is named when there are several."""
        places: list[str] = []
        if evidence.frames:
            place = f"{'frame' if len(evidence.frames) == 1 else 'frames'} {numbers(evidence.frames)}"
            if len(self._captures) > 1 and evidence.file is not None and evidence.file < len(self._captures):
                place += f" of {self._captures[evidence.file]}"
            places.append(place)
        places.extend(self._lines(evidence.strace[:MOST_LINES]))
        if len(evidence.strace) > MOST_LINES:
            places.append(f"{len(evidence.strace) - MOST_LINES} more lines")
        return "; ".join(places)

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
