"""What `pcapstall extract` does once its captures were read: pick, write, look at what was written, and tell of it.

Arguments are the command's matter, packets the pipeline's.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pcapstall.capture.source import Stop
from pcapstall.cli import destination
from pcapstall.cli.extract_target import Target
from pcapstall.cli.stages import stages
from pcapstall.core.counts import several
from pcapstall.core.frames import frame_of
from pcapstall.pipeline import Analysis, Options
from pcapstall.report.happening import what_happened
from pcapstall.report.model import FlowReport
from pcapstall.report.prose import worst_first
from pcapstall.report.untrusted import printable

if TYPE_CHECKING:
    from pcapstall.pipeline.anonymised import Anonymised

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
        self.names: dict[str, str] = {}
        """What the captures were given as, by the names that they are read by."""

    def extract(self, analysis: Analysis, stop: Stop) -> None:
        """Pick and write the flows, and what belongs to them."""
        from pcapstall.pipeline import extract
        from pcapstall.pipeline.extract_check import differences

        if not analysis.captures:
            return
        chosen = extract.choose(analysis.flows, self._selectors)
        stages("picking packets")
        picked = extract.pick(analysis, chosen, list(self.names), stop, self._anonymised)
        _heed(stop)
        names = [self.names.get(capture.file, capture.file) for capture in analysis.captures]
        if self._anonymised is not None:
            names = [f"capture {number}" for number in range(1, len(names) + 1)] if len(names) > 1 else ["the capture"]
        comments = extract.comments_of(chosen, picked.firsts, names)
        about = f"{several(len(chosen), 'flow')} of {', '.join(names)}"
        if self._anonymised is not None:
            about = f"{about}, anonymised"
            # What a strace tells, paths and threads, is only known under other names once those are written.
            comments = {} if self._target.others else self._anonymised.comments(comments)

        def write(comments: Mapping[int, Sequence[str]]) -> extract.Written | None:
            made: list[extract.Written] = []
            how = (self._target.wanted, picked, list(self.names), comments, [about], stop, self._anonymised)
            with destination.opened_for_bytes(self._target.capture) as out:
                made.append(extract.write(out, *how))
                _heed(stop)
            return made[0] if made else None

        stages("writing")
        self._target.make_folder()
        written = write(comments)
        if written is None:
            return  # whoever reads standard output has had enough
        total = sum(capture.packets for capture in analysis.captures)
        lines = [
            f"{self._target.capture}: {several(len(chosen), 'flow')}, {written.packets} of {several(total, 'packet')}"
        ]
        if written.interfaces > 1 and self._target.wanted == "pcap":
            lines.append(f"A pcap file has one interface, and these packets are of {written.interfaces}: use .pcapng.")
        lines += self._write_others(stop)
        lines += [_told(row) for row in worst_first(chosen)[:_TOLD]]
        if len(chosen) > _TOLD:
            lines.append(f"and {len(chosen) - _TOLD} more")
        if self._anonymised is not None:
            lines += self._told_of(self._anonymised, chosen)
            chosen = [self._anonymised.renamed(row) for row in chosen]
        alone = self._alone()
        if self._target.others and self._target.wanted == extract.PCAPNG:
            firsts, refs = {row.id: row.first_frame for row in alone}, written.refs
            write(extract.comments_of(alone, firsts, names, lambda ref: refs[int(frame_of(ref)) - 1]))
        if self._target.others:
            lines.append(_report_of(self._target.capture, self._how_again()))
        self._say(lines + differences(chosen, alone) if alone else lines)

    def _write_others(self, stop: Stop) -> list[str]:
        """Straces and logs of an anonymised extract."""
        if not self._target.others or self._anonymised is None or self._target.folder is None:
            return []
        from pcapstall.pipeline.anonymised_files import Rewriter

        rewriter = Rewriter(self._anonymised)
        lines = []
        for planned in self._target.others:
            path = os.path.join(self._target.folder, planned.name)
            with destination.opened_for_bytes(path) as out:
                count = rewriter.write(planned, out)
                _heed(stop)
            lines.append(f"{path}: {several(count, 'line')} of {planned.source}")
        return lines

    def _told_of(self, anonymised: "Anonymised", chosen: list[FlowReport]) -> list[str]:
        others = [anonymised.renamed(row) for row in worst_first(chosen)[:_TOLD]]
        lines = [f"Flow {row.id} is {row.client} -> {row.server} there." for row in others]
        if anonymised.dropped:
            lines.append(f"{several(anonymised.dropped, 'packet')} left out: nothing is known of what they may tell.")
        if not self._keyed:
            lines.append("The names were made with a key that is gone now: --key gives the same ones each time.")
        if any(planned.kind == "log" for planned in self._target.others):
            lines.append("A log is free text: read it before you pass it on, and --hide what should not be there.")
        return lines

    def _how_again(self) -> Options:
        """How the extract is to be read."""
        if self._target.folder is None or not self._target.others:
            return self._how
        from pcapstall.pipeline.anonymised_files import given_again

        straces = given_again(self._target.others, self._target.folder, "strace")
        logs = given_again(self._target.others, self._target.folder, "log")
        return self._how._replace(straces=straces, logs=logs)

    def _alone(self) -> list[FlowReport]:
        """What the extract alone says; where it went to standard output nobody can look again."""
        from pcapstall.pipeline import analyse

        made: list[FlowReport] = []
        if self._target.capture != destination.STDOUT:
            stages("reading the extract")
            analyse([self._target.capture], self._how_again(), before_closing=lambda alone: made.extend(alone.flows))
        return made

    def _say(self, lines: list[str]) -> None:
        if self._target.capture == destination.STDOUT:
            destination.say("\n".join(lines))
            return
        with destination.opened(None) as out:
            for line in lines:
                out.write(f"{printable(line)}\n")


def _heed(stop: Stop) -> None:
    """Half an extract is of no use."""
    if stop.count:
        raise KeyboardInterrupt


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
