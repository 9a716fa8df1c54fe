"""One extract from beginning to end: pick, write, look at what was written, and tell what became of it.

How packets are picked and written is known to `passes`, how files are opened to the caller, who also has the words for
what is told here.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pcapstall.capture.interrupting import unless_stopped
from pcapstall.capture.source import Stop
from pcapstall.core.counts import several
from pcapstall.core.frames import frame_of
from pcapstall.core.garbage import without_garbage
from pcapstall.pipeline.analysis import Analysis, analyse
from pcapstall.pipeline.extract import passes
from pcapstall.pipeline.options import Options
from pcapstall.report.flow_model import FlowReport

if TYPE_CHECKING:
    from pcapstall.pipeline.extract.anonymised import Anonymised
    from pcapstall.pipeline.extract.anonymised_files import Planned


class Wanted(NamedTuple):
    """What is to be made."""

    selectors: Sequence[str]
    capture: str
    """Where the capture goes."""
    format: str
    can_be_read: bool
    """Whether it is there for another look; standard output is not."""
    folder: str | None
    """Of the straces and logs; None without any."""
    others: "Sequence[Planned]"
    """Those."""
    how: Options
    """How the captures were read."""
    anonymised: "Anonymised | None"


class Surroundings(NamedTuple):
    """What the caller does."""

    opened: Callable[[str], AbstractContextManager[BinaryIO]]
    """A file to be written, by its path; it may swallow that nobody reads it."""
    stage: Callable[[str], None]
    """Is told what begins."""
    stop: Stop


class WrittenText(NamedTuple):
    """A strace or a log of an anonymised extract."""

    path: str
    lines: int
    source: str


class Extracted(NamedTuple):
    """What was made."""

    chosen: Sequence[FlowReport]
    """As the captures have them."""
    renamed: Sequence[FlowReport]
    """As the extract has them."""
    written: passes.Written
    texts: Sequence[WrittenText]
    alone: Sequence[FlowReport]
    """What the extract alone says; empty where nobody could look again."""
    how: Options
    """How it is to be read."""


def make(wanted: Wanted, analysis: Analysis, names: Mapping[str, str], around: Surroundings) -> Extracted | None:
    """Make it, of the captures that ``analysis`` has open; None when whoever reads it has had enough.

    ``names`` tells as what each capture was given, by the name that it is read by. KeyboardInterrupt when stopped: half
    an extract is of no use. UsageError for a selector that means none.
    """
    anonymised, paths = wanted.anonymised, list(names)
    chosen = passes.choose(analysis, wanted.selectors)
    around.stage("picking packets")
    picked = passes.pick(analysis, chosen, paths, around.stop, anonymised)
    unless_stopped(around.stop)
    said = _said(analysis, names, anonymised is not None)
    about = f"{several(len(chosen), 'flow')} of {', '.join(said)}"
    comments: Mapping[int, Sequence[str]] = passes.comments_of(chosen, picked.firsts, said)
    if anonymised is not None:
        about = f"{about}, anonymised"
        # What a strace tells, paths and threads, is only known under other names once those are written.
        comments = {} if wanted.others else anonymised.comments(comments)

    def write(comments: Mapping[int, Sequence[str]]) -> passes.Written | None:
        made: list[passes.Written] = []
        with around.opened(wanted.capture) as out:
            how = (wanted.format, picked, paths, comments, [about], around.stop, anonymised)
            made.append(passes.write(out, *how))
            unless_stopped(around.stop)
        return made[0] if made else None

    around.stage("writing")
    written = write(comments)
    if written is None:
        return None
    texts = _write_texts(wanted, around)
    how = _how_again(wanted)
    alone = _look_again(wanted, how, around)
    if wanted.others and wanted.format == passes.PCAPNG:
        firsts, refs = {row.id: row.first_frame for row in alone}, written.refs
        write(passes.comments_of(alone, firsts, said, lambda ref: refs[int(frame_of(ref)) - 1]))
    renamed = chosen if anonymised is None else [anonymised.renamed(row) for row in chosen]
    return Extracted(chosen, renamed, written, texts, alone, how)


def _said(analysis: Analysis, names: Mapping[str, str], is_anonymised: bool) -> list[str]:
    """What the captures are called in the extract: never in which folders they are, which tell of who wrote it."""
    if is_anonymised:
        count = len(analysis.report.captures)
        return [f"capture {number}" for number in range(1, count + 1)] if count > 1 else ["the capture"]
    return [os.path.basename(names.get(capture.file, capture.file)) for capture in analysis.report.captures]


def _write_texts(wanted: Wanted, around: Surroundings) -> list[WrittenText]:
    """Straces and logs of an anonymised extract."""
    if not wanted.others or wanted.anonymised is None or wanted.folder is None:
        return []
    from pcapstall.pipeline.extract.anonymised_files import Rewriter

    rewriter = Rewriter(wanted.anonymised)
    found = []
    for planned in wanted.others:
        path = os.path.join(wanted.folder, planned.name)
        with around.opened(path) as out:
            count = rewriter.write(planned, out)
            unless_stopped(around.stop)
        found.append(WrittenText(path, count, planned.source))
    return found


def _how_again(wanted: Wanted) -> Options:
    """How the extract is to be read."""
    if wanted.folder is None or not wanted.others:
        return wanted.how
    from pcapstall.pipeline.extract.anonymised_files import given_again

    straces = given_again(wanted.others, wanted.folder, "strace")
    logs = given_again(wanted.others, wanted.folder, "log")
    return wanted.how._replace(straces=straces, logs=logs)


def _look_again(wanted: Wanted, how: Options, around: Surroundings) -> list[FlowReport]:
    made: list[FlowReport] = []
    if wanted.can_be_read:
        around.stage("reading the extract")
        with without_garbage():
            analyse([wanted.capture], how, before_closing=lambda alone: made.extend(alone.report.flows))
    return made
