"""Bounds that all flows have in common: the first ones are the same ones, or one process does it over."""

from array import array
from pathlib import Path

import pytest
from shares_support import report, told

from pcapstall import _build
from pcapstall.diagnose import knowledge
from pcapstall.pipeline.scan import collect
from pcapstall.pipeline.scan.tally import LengthTally
from pcapstall.pipeline.shares import merge
from pcapstall.pipeline.shares.merge import why_not
from pcapstall.pipeline.shares.result import ShareLog, ShareResult


class TestReached:
    """With bounds that are small; compiled they are constants."""

    @pytest.fixture(autouse=True)
    def interpreted(self) -> None:
        if _build.compiled():
            pytest.skip("bounds are compiled in")

    def shrink(self, monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
        for module in (knowledge, collect, merge):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, most)

    @pytest.mark.parametrize(("name", "most"), [("PAIRS_MAX", 100), ("ROWS_MAX", 10), ("NOTES_MAX", 300)])
    def test_the_first_ones_are_the_same(
        self, traffic: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int
    ) -> None:
        unbounded = told(report(traffic))
        self.shrink(monkeypatch, name, most)
        alone = told(report(traffic))
        assert alone != unbounded
        for jobs in (2, 3):
            several = report(traffic, jobs=jobs)
            assert not several.alone
            assert told(several) == alone

    def test_too_many_connections(self, traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shrink(monkeypatch, "CONNECTIONS_MAX", 100)
        several = report(traffic, jobs=2)
        assert several.alone == "there are very many connections"
        assert told(several) == told(report(traffic))


def numbers(*values: int) -> "array[int]":
    return array("q", values)


def result(number: int, log: ShareLog, crowded: bool = False) -> ShareResult:
    return ShareResult(
        number=number, kept=(), counted=LengthTally(), beyond=LengthTally(), knowledge=knowledge.Knowledge(),
        missed_bytes={}, files={}, readings=[("a.pcap", 9, 1, 2, 0)], watched_until=[2],
        log=log, closed_early=0, left_unread=0, crowded=crowded,
    )  # fmt: skip


QUIET = ShareLog(numbers(), numbers(50, 50), numbers(60, 80), numbers(10, 30), [], {})
"""60 flows were opened before the first look, 50 went on after it; 20 more until the second."""


class TestWhyNot:
    def why(self, *logs: ShareLog, max_flows: int = 1000) -> str:
        return why_not([result(index, log) for index, log in enumerate(logs)], max_flows)

    def test_nothing_was_near_a_bound(self) -> None:
        assert self.why(QUIET, QUIET) == ""

    def test_flows_of_all_shares_count(self) -> None:
        """At most 70 in either share: 50 and 20 that came."""
        assert self.why(QUIET, QUIET, max_flows=140) == ""
        assert self.why(QUIET, QUIET, max_flows=139).startswith("more flows may have been followed")

    def test_a_grave_that_a_single_table_may_have_levelled(self) -> None:
        """Dug at the first look, found after the second: 60 were dug by then."""
        asked = QUIET._replace(live=numbers(1, 1), opened_by=numbers(1, 1), consulted={2: 0})
        other = QUIET._replace(live=numbers(1, 1), opened_by=numbers(1, 1))
        assert self.why(asked, other, max_flows=60) == ""
        assert self.why(asked, other, max_flows=59).startswith("very many flows ended")

    def test_half_open_flows_that_a_single_table_would_have_looked_for_later(self) -> None:
        swept = QUIET._replace(sweeps=[(1, 100, 50)])
        assert self.why(swept, swept) == ""
        assert self.why(swept, swept._replace(sweeps=[(1, 100, 51)])).startswith("very many flows were followed")
        assert self.why(swept, QUIET).startswith("very many flows were followed")
        assert self.why(swept, swept._replace(sweeps=[(0, 50, 1)])).startswith("very many flows were followed")

    def test_a_share_that_has_left_something_out(self) -> None:
        assert why_not([result(0, QUIET), result(1, QUIET, crowded=True)], 1000) != ""

    def test_a_file_that_grew(self) -> None:
        grown = result(1, QUIET)._replace(readings=[("a.pcap", 10, 1, 2, 0)])
        assert why_not([result(0, QUIET), grown], 1000) == "a file changed while it was read"
