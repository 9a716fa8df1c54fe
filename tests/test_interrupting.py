"""Ctrl-C at any place of work that cannot ask: it is ended or done, and told of as it is."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from pcapstall.capture import interrupting
from pcapstall.capture.source import Stop
from pcapstall.match.outline import Outlines
from pcapstall.pipeline.ends import given as of_given
from pcapstall.pipeline.ends import logs, straces
from pcapstall.pipeline.ends.given import GivenFile


class Signalled:
    """A switch that is thrown before the ``number``-th instruction of some files, as by a signal's handler."""

    def __init__(self, number: int, *modules: Any) -> None:
        self.stop = Stop()
        self._left = number
        self._files = {module.__file__ for module in modules}

    @property
    def happened(self) -> bool:
        return self._left <= 0

    def run(self, work: Callable[[Stop], object]) -> None:
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            work(self.stop)
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, _event: str, _argument: object) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, _frame: FrameType, event: str, _argument: object) -> Any:
        if event == "opcode" and not self.happened:
            self._left -= 1
            if self.happened:
                self.stop.throw()
                if 0 < self.stop.interrupts_at <= self.stop.count:
                    raise KeyboardInterrupt
        return self._step


def everywhere(*modules: Any) -> Iterator[Signalled]:
    """A switch thrown at each place in turn, until the work is over before it."""
    number = 1
    while True:
        signalled = Signalled(number, interrupting, of_given, contextlib, *modules)
        yield signalled
        if not signalled.happened:
            assert number > 50, "there were places"
            return
        number += 1


def files(folder: Path, text: str) -> list[GivenFile]:
    for name in ("a", "b"):
        (folder / name).write_text(text)
    return [GivenFile(str(folder / name)) for name in ("a", "b")]


def said(missing: list[str]) -> list[str]:
    return of_given.not_read(missing)


def test_logs_are_missing_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its file is closed late, with a warning, where the signal comes as it was just opened.
    monkeypatch.setattr(logs, "_refuse_strace", lambda _source: None)
    given = files(tmp_path, "2026-11-30 07:27:31 one\n")
    seen = set()
    for signalled in everywhere(logs):
        read = logs.Logs(given)
        signalled.run(lambda stop, read=read: read.match(Outlines(), None, stop))  # type: ignore[misc]
        there = [file.path for file, _ in read.read]
        assert read.stopped == said([file.path for file in given if file.path not in there])
        assert signalled.stop.interrupts_at == 0
        seen.add(len(there))
        read.close()
    assert seen == {0, 1, 2}


@pytest.fixture
def matched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[straces.Straces]:
    """Two straces that are matched with no flow."""

    def match(strace: Any, _flows: Outlines) -> Any:
        return SimpleNamespace(index=SimpleNamespace(strace=strace), matches=[])

    monkeypatch.setattr(straces, "match_strace", match)
    made = straces.Straces(files(tmp_path, '7 1796023442.008038 read(5, "x", 1) = 1 <0.000010>\n'))
    yield made
    made.close()


def test_straces_are_missing_or_not(matched: straces.Straces) -> None:
    seen = set()
    for signalled in everywhere(straces):
        matched._matchings, matched.stopped, matched.ended = [], [], False
        signalled.run(lambda stop: matched.match(Outlines(), stop))
        there = [matching.index.strace.name for matching in matched._matchings]
        missing = [strace.name for strace in matched._straces if strace.name not in there]
        assert (matched.stopped, matched.ended) == (said(missing), bool(missing))
        assert signalled.stop.interrupts_at == 0
        seen.add(len(there))
    assert seen == {0, 1, 2}


def test_stalls_are_judged_or_not(matched: straces.Straces, monkeypatch: pytest.MonkeyPatch) -> None:
    matched.match(Outlines(), Stop())
    asked: list[str] = []
    monkeypatch.setattr(straces, "record", lambda strace, _windows: asked.append(strace.name))
    thrown_away = 0
    for signalled in everywhere(straces):
        scenes: list[Any] = [
            (at, SimpleNamespace(index=one.index, window=at, length_ns=1)) for at, one in enumerate(matched._matchings)
        ]
        matched._planned, matched._scenes, matched.stopped = list(scenes), {}, []
        asked.clear()
        signalled.run(matched.record)
        assert bool(matched.stopped) != (matched._scenes == dict(scenes)), "what was looked at is used, or it is said"
        assert signalled.stop.interrupts_at == 0
        thrown_away += len(asked) == 2 and bool(matched.stopped)
    assert thrown_away <= 10, "only between the end of the last one and the note of it"


@pytest.mark.parametrize(("thrown", "at"), [(0, 1), (1, 2), (3, 4)])
def test_the_next_signal_ends_it_whatever_came_before(thrown: int, at: int) -> None:
    stop = Stop()
    for _ in range(thrown):
        stop.throw()
    found: list[int] = []
    interrupting.ending(stop, lambda: found.append(stop.interrupts_at))
    assert (found, stop.interrupts_at) == ([at], 0)
