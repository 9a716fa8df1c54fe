"""What `pcapstall extract` says once its captures were read, and where what it writes goes.

Arguments are the command's matter, packets and the order of the work the pipeline's.
"""

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

from pcapstall.capture.interrupting import interrupting
from pcapstall.capture.source import Stop
from pcapstall.cli import destination
from pcapstall.cli.extract_target import Target
from pcapstall.cli.stages import stages
from pcapstall.core.counts import several
from pcapstall.pipeline import Analysis, Options
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.happening import what_happened
from pcapstall.report.ranking import worst_first
from pcapstall.report.untrusted import printable

if TYPE_CHECKING:
    from pcapstall.pipeline.extract.anonymised import Anonymised
    from pcapstall.pipeline.extract.run import Extracted

_TOLD: Final = 20
"""Flows that are told of one by one."""


class Work:
    """One extract."""

    def __init__(
        self, selectors: tuple[str, ...], target: Target, how: Options, anonymised: "Anonymised | None", keyed: bool
    ) -> None:
        self._selectors = selectors
        self._target = target
        self._how = how
        self._anonymised = anonymised
        self._keyed = keyed
        """Whether the key of the anonymisation was given."""
        self._begun: list[str] = []
        """Files that were opened to be written."""
        self.names: dict[str, str] = {}
        """What the captures were given as, by the names that they are read by."""

    def extract(self, analysis: Analysis, stop: Stop) -> None:
        """Pick and write the flows, and what belongs to them."""
        from pcapstall.pipeline.extract.run import Surroundings, Wanted, make

        if not analysis.report.captures:
            return
        target = self._target
        can_be_read = target.capture != destination.STDOUT
        wanted = Wanted(
            self._selectors, target.capture, target.wanted, can_be_read, target.folder, target.others, self._how,
            self._anonymised,
        )  # fmt: skip
        is_new = target.folder is not None and not os.path.isdir(target.folder)
        try:
            made = make(wanted, analysis, self.names, Surroundings(partial(self._opened, stop), stages, stop))
        except BaseException:
            if target.folder is not None:
                self._remove(target.folder, is_new)
            raise
        if made is not None:
            total = sum(capture.packets for capture in analysis.report.captures)
            self._say(list(self._lines(made, total)))

    @contextmanager
    def _opened(self, stop: Stop, path: str) -> Iterator[BinaryIO]:
        self._target.make_folder()
        self._begun.append(path)
        with ExitStack() as opened:
            with interrupting(stop, 1):  # nobody may read the FIFO that it is
                out = opened.enter_context(destination.opened_for_bytes(path))
            yield out

    def _remove(self, folder: str, is_new: bool) -> None:
        """What was written of a folder goes when it does not become whole: a part would be taken for all of it."""
        for path in self._begun:
            if os.path.isfile(path) and not os.path.islink(path):
                os.unlink(path)
        destination.forget()
        if is_new and os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)

    def _lines(self, made: "Extracted", total: int) -> Iterator[str]:
        from pcapstall.pipeline.extract.check import differences

        chosen, written, target = made.chosen, made.written, self._target
        yield f"{target.capture}: {several(len(chosen), 'flow')}, {written.packets} of {several(total, 'packet')}"
        if written.interfaces > 1 and target.wanted == "pcap":
            yield f"A pcap file has one interface, and these packets are of {written.interfaces}: use .pcapng."
        for text in made.texts:
            yield f"{text.path}: {several(text.lines, 'line')} of {text.source}"
        yield from (_told(row) for row in worst_first(chosen)[:_TOLD])
        if len(chosen) > _TOLD:
            yield f"and {len(chosen) - _TOLD} more"
        if self._anonymised is not None:
            yield from self._told_of(self._anonymised, chosen)
        if target.others:
            yield _report_of(target.capture, made.how)
        if made.alone:
            yield from differences(made.renamed, made.alone)

    def _told_of(self, anonymised: "Anonymised", chosen: Sequence[FlowReport]) -> Iterator[str]:
        for row in [anonymised.renamed(row) for row in worst_first(chosen)[:_TOLD]]:
            yield f"Flow {row.id} is {row.client} -> {row.server} there."
        if anonymised.dropped:
            yield f"{several(anonymised.dropped, 'packet')} left out: nothing is known of what they may tell."
        if not self._keyed:
            yield "The names were made with a key that is gone now: --key gives the same ones each time."
        if any(planned.kind == "log" for planned in self._target.others):
            yield "A log is free text: read it before you pass it on, and --hide what should not be there."

    def _say(self, lines: list[str]) -> None:
        if self._target.capture == destination.STDOUT or sys.stdout is None:
            destination.say("\n".join(lines))
            return
        with destination.opened(None) as out:
            for line in lines:
                out.write(f"{printable(line)}\n")


def _told(row: FlowReport) -> str:
    if row.stalled is None and not row.failed:
        return f"Flow {row.id}: {row.client} -> {row.server}, {row.tls_outcome or row.tcp_outcome}."
    return f"Flow {row.id}: {what_happened(row)}."


def _report_of(capture: str, how: Options) -> str:
    words = ["pcapstall", "report", capture]
    for option, files in (("--strace", how.straces), ("--log", how.logs)):
        for file in files:
            words += [option, f"{file.label}={file.path}" if file.label else file.path]
    return shlex.join(words)
