"""An extract from beginning to end, without the command: the pipeline opens no file and says no word."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import pytest

from pcapstall.capture.source import Stop
from pcapstall.core.errors import UsageError
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.pipeline.extract.run import Extracted, Surroundings, Wanted, make

CAPTURE = Path(__file__).parent.parent.parent / "captures" / "stalled-client-hello" / "capture.pcap"


class Run:
    """One extract into a folder of the test's."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "small.pcapng")
        self.stop = Stop()
        self.stages: list[str] = []
        self.opened: list[str] = []

    def open(self, path: str) -> AbstractContextManager[BinaryIO]:
        self.opened.append(path)
        return Path(path).open("wb")

    def make(self, selector: str, can_be_read: bool = True) -> Extracted | None:
        made: list[Extracted | None] = []
        how = Options(all_flows=True)
        wanted = Wanted([selector], self.path, "pcapng", can_be_read, None, (), how, None)
        around = Surroundings(self.open, self.stages.append, self.stop)

        def work(analysis: Analysis) -> None:
            made.append(make(wanted, analysis, {str(CAPTURE): "given.pcap"}, around))

        analyse([str(CAPTURE)], how, before_closing=work)
        return made[0]


def test_what_was_made_is_told(tmp_path: Path) -> None:
    run = Run(tmp_path)
    made = run.make("stalled")
    assert made is not None
    (chosen,) = made.chosen
    (alone,) = made.alone
    assert (alone.client, alone.stalled, alone.stalled_ns) == (chosen.client, chosen.stalled, chosen.stalled_ns)
    assert made.renamed == made.chosen
    assert made.written.packets == len(made.written.refs)
    assert made.texts == []
    assert run.stages == ["picking packets", "writing", "reading the extract"]
    assert run.opened == [run.path]
    assert b"given.pcap" in Path(run.path).read_bytes()


def test_what_cannot_be_read_again_is_not(tmp_path: Path) -> None:
    run = Run(tmp_path)
    made = run.make("stalled", can_be_read=False)
    assert made is not None
    assert made.alone == []
    assert run.stages == ["picking packets", "writing"]


def test_half_an_extract_is_of_no_use(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.stop.throw()
    with pytest.raises(KeyboardInterrupt):
        run.make("stalled")
    assert run.opened == []


def test_a_selector_that_means_none(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with pytest.raises(UsageError, match="there is no such row; rows go from 1 to 11"):
        run.make("999")
    assert run.opened == []
