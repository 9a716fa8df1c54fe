"""Logs in a report: read once the flows are known, their clocks found, their lines handed to the flows they are about.

Lines are shown and never judged: no verdict comes from here.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pcapstall.capture.interrupting import ending
from pcapstall.capture.sniff import AS_STRACE, is_strace
from pcapstall.capture.source import Stop
from pcapstall.core.errors import InputError
from pcapstall.core.textfile import TextSource
from pcapstall.flows.flow import Flow
from pcapstall.logs.lines import LogFile
from pcapstall.logs.reader import read_log
from pcapstall.logs.stamps import KIND_NAMES
from pcapstall.match.log_clock import BY_STRACE, LogClock
from pcapstall.match.log_lines import FlowLines, InTime, Lives, Placed, clock_of, lines_of_flows, place
from pcapstall.match.log_writes import clock_by_writes, keys_of
from pcapstall.match.outline import Outlines
from pcapstall.pipeline.ends.given import GivenFile, files_of, not_read
from pcapstall.pipeline.ends.straces import Straces
from pcapstall.report.end_model import LogLineReport, LogReport
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.untrusted import shorten

EXAMPLE_LEN: Final = 60
"""Characters that are told of a line without a stamp."""
_BEGINNING_LEN: Final = 4096
_UNASKED: Final = "of their clocks only the lines themselves tell"
MAX_LINES: Final = 200
"""Lines that a flow's row has; the first ones of them."""


class Logs:
    """All logs of a report."""

    def __init__(self, files: Sequence[GivenFile]) -> None:
        self.unreadable: list[InputError] = []
        self.stopped: list[str] = []
        """What is missing since the end was asked for, a sentence each."""
        self.read: list[tuple[LogFile, LogClock]] = []
        """What was read, in the order in which it was given."""
        self._labels: dict[str, str | None] = {}
        self._sources: list[TextSource] = []
        self._lines: dict[int, list[Placed]] = {}
        for file in files:
            for path in files_of(file.path):
                if path in self._labels:
                    continue
                self._labels[path] = file.label
                try:
                    self._sources.append(TextSource(path))
                except InputError as error:
                    self.unreadable.append(error)

    def close(self) -> None:
        """Drop what was spooled."""
        for source in self._sources:
            source.close()

    def match(self, flows: Outlines, straces: Straces | None, stop: Stop) -> None:
        """Read the logs for the lines about ``flows``; ``straces`` may know the clocks of who wrote them.

        ``stop`` thrown ends that with the logs that were read; so it does when it was while straces were.
        """
        lives = Lives(flows.all(), straces.known_as() if straces is not None else ())

        asked: list[bool] = []

        def read_all() -> None:
            for source in self._sources:
                self._read(source, lives, straces)
            if straces is not None:
                self._ask_writers(straces, lives.middle_ns)
            asked.append(True)

        if straces is None or not straces.ended:
            ending(stop, read_all)
        known = {file.path for file, _ in self.read} | {error.path for error in self.unreadable}
        self.stopped = not_read(source.path for source in self._sources if source.path not in known)
        if straces is not None and not straces.ended and not asked and not self.stopped:
            waiting = ", ".join(file.path for file, clock in self.read if clock.source != BY_STRACE)
            self.stopped.append(f"reading was stopped while straces were asked who wrote {waiting}: {_UNASKED}")
        for file, clock in self.read:
            for flow_id, placed in lines_of_flows(file, clock, lives).items():
                self._lines.setdefault(flow_id, []).extend(placed)

    def _read(self, source: TextSource, lives: Lives, straces: Straces | None) -> None:
        label = self._labels[source.path]
        host, strace = (straces.labelled(label) if straces is not None else None) or ("", None)
        known_ns = strace.skew_ns if strace is not None and strace.consistent and strace.shown_ns is not None else 0
        try:
            _refuse_strace(source)
            file = read_log(source, FlowLines(lives, known_ns))
        except InputError as error:
            self.unreadable.append(error)
            return
        self.read.append((file, clock_of(file, lives, strace, host)))

    def _ask_writers(self, straces: Straces, near_ns: int) -> None:
        """Look for the lines of logs in what straces show being written, in one pass over each."""
        asking = [at for at, (_, clock) in enumerate(self.read) if clock.source != BY_STRACE]
        keys = [key for at in asking for key in keys_of(self.read[at][0])]
        if not keys:
            return
        written = straces.written(dict.fromkeys(keys))
        for at in asking:
            file, clock = self.read[at]
            self.read[at] = (file, clock_by_writes(clock, file, written, near_ns))

    def of_flow(self, flow_id: int) -> list[Placed]:
        """The lines about a flow, those with a time in its order, the others after them."""
        return sorted(self._lines.get(flow_id, ()), key=lambda placed: (placed.ns is None, placed.ns or 0))

    def within(self, start_ns: int, end_ns: int, besides: Sequence[Placed]) -> list[Placed]:
        """All lines of that time but those ``besides``, in one more pass over the logs."""
        known = {(placed.file.path, placed.line.number) for placed in besides}
        sources = {source.path: source for source in self._sources}
        found = []
        for file, clock in self.read:
            again = read_log(sources[file.path], InTime(clock, start_ns, end_ns))
            found += [place(file, line, clock, False) for line in again.kept if (file.path, line.number) not in known]
        return found

    def complete(self, flow: Flow, row: FlowReport) -> FlowReport:
        """The row with its lines."""
        lines = self.of_flow(int(flow.id))
        return row._replace(
            logs=[_line(placed, flow) for placed in lines[:MAX_LINES]], more_logs=len(lines[MAX_LINES:])
        )

    def side_of(self, path: str, ends: Mapping[bool, str]) -> str:
        """Whose log ``path`` is, by its label; empty when nobody's. ``ends`` has those of client (True) and server."""
        label = self._labels.get(path)
        named = [side for side, is_client in (("client", True), ("server", False)) if label in (side, ends[is_client])]
        return named[0] if len(named) == 1 else ""

    def reports(self) -> list[LogReport]:
        """One for each log."""
        about: dict[int, set[int]] = {}
        for lines in self._lines.values():
            for placed in lines:
                about.setdefault(id(placed.file), set()).add(placed.line.number)
        return [self._report(file, clock, len(about.get(id(file), ()))) for file, clock in self.read]

    def _report(self, file: LogFile, clock: LogClock, about: int) -> LogReport:
        return LogReport(
            file=file.path,
            label=self._labels[file.path],
            lines=file.lines,
            unread=file.unread,
            first_unread=f"{file.path}:{file.first_unread[0]}" if file.first_unread else None,
            first_unread_text=shorten(file.first_unread[1], EXAMPLE_LEN) if file.first_unread else None,
            formats=list(file.formats),
            stamps=KIND_NAMES.get(clock.kind),
            about_flows=about,
            left_out=file.left_out,
            clock_source=clock.source,
            clock_offset_ns=clock.residual_ns if clock.known and clock.kind in KIND_NAMES else None,
            clock_error_ns=clock.error_ns,
            zone_ns=clock.zone_ns,
            start_ns=clock.start_ns,
            matched_lines=clock.lines,
            trouble=file.trouble or None,
        )


def _refuse_strace(source: TextSource) -> None:
    stream = source.open(_BEGINNING_LEN)
    try:
        beginning = stream.read()
    finally:
        stream.close()
    if is_strace(beginning):
        raise InputError(source.path, f"is {AS_STRACE}, not as --log")


def _line(placed: Placed, flow: Flow) -> LogLineReport:
    since = None
    if placed.ns is not None:
        since = placed.ns - int(flow.syn_ns if flow.syn_ref else flow.first_ns)
    return LogLineReport(
        where=f"{placed.file.path}:{placed.line.number}",
        ns=placed.ns,
        since_syn_ns=since,
        error_ns=placed.error_ns,
        text=placed.line.says(),
        more_lines=placed.line.more_lines,
    )
