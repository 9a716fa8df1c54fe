"""A capture is the same however it was cut into files, in whatever order these are named, by however many processes.

Small captures of the tree are cut between each two of their records, larger ones at places that are drawn, the same in
each run. What is said must be what is said of the whole, to the last number, but for where the frames are counted from.
"""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shares_support import CAPTURES, label
from splitting import Pieces, as_one, is_same, pcapng_pieces, pieces, written

from pcapstall.pipeline import Options, analyse

SMALL = 45
"""Records, of a capture that is cut everywhere."""
DRAWN = 6
"""Places where a larger one is."""


def _different() -> Iterator[Path]:
    """The captures of the tree; of two that are the same one."""
    found: set[bytes] = set()
    for path in sorted(CAPTURES.rglob("*.pcap*")):
        data = path.read_bytes()
        if data not in found:
            found.add(data)
            yield path


FILES = list(_different())


@cache
def whole(path: Path, as_pcapng: bool) -> dict[str, Any]:
    head, records = _pieces(path, as_pcapng)
    with written(head + b"".join(records)) as paths:
        return as_one(analyse(paths, Options(all_flows=True)), [0])


def _pieces(path: Path, as_pcapng: bool) -> Pieces:
    return pcapng_pieces(path) if as_pcapng else pieces(path)


def compare(path: Path, cuts: Sequence[int], order: Sequence[int], jobs: int = 1, as_pcapng: bool = False) -> None:
    """Cut ``path`` before the records ``cuts``, name the parts in ``order``."""
    head, records = _pieces(path, as_pcapng)
    begins = [0, *cuts]
    parts = [head + b"".join(records[begin:end]) for begin, end in zip(begins, [*cuts, len(records)], strict=True)]
    with written(*parts) as paths:
        analysis = analyse([paths[number] for number in order], Options(all_flows=True, jobs=jobs))
        assert not analysis.unreadable
        assert [capture.file for capture in analysis.report.captures] == paths
    assert is_same(as_one(analysis, begins), whole(path, as_pcapng)), f"cut at {cuts}, named {order}"


def places(path: Path, count: int) -> list[int]:
    """Numbers of records to cut before: ``count`` that are drawn, all of a small capture."""
    last = len(pieces(path)[1])
    if last <= SMALL:
        return list(range(1, last))
    return random.Random(label(path)).sample(range(1, last), count)


@pytest.mark.parametrize("path", FILES, ids=label)
def test_in_two(path: Path) -> None:
    for number, cut in enumerate(places(path, DRAWN)):
        compare(path, [cut], (0, 1) if number % 2 else (1, 0))


@pytest.mark.parametrize("path", FILES, ids=label)
def test_in_several_as_pcapng_and_by_two_processes(path: Path) -> None:
    source = random.Random(label(path))
    last = len(pieces(path)[1])
    for jobs, as_pcapng, parts in ((1, False, 5), (1, True, 2), (1, True, 3), (2, False, 3), (2, True, 2)):
        cuts = sorted(source.sample(range(1, last), min(parts, last) - 1))
        order = source.sample(range(len(cuts) + 1), len(cuts) + 1)
        compare(path, cuts, order, jobs, as_pcapng)


@given(st.data())
def test_any_files_in_any_order(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(FILES), "capture")
    place = st.integers(1, len(pieces(path)[1]) - 1)
    cuts = sorted(data.draw(st.sets(place, min_size=1, max_size=3), "cuts"))
    compare(path, cuts, data.draw(st.permutations(range(len(cuts) + 1)), "order"))


@pytest.mark.parametrize("cuts", [[44], [20], [20, 44, 60], [10, 22, 50]])
def test_a_ring_of_two_interfaces(cuts: list[int]) -> None:
    """Cut between a SYN and its SYN-ACK, which both come after a batch of later records; and within batches."""
    compare(CAPTURES / "two-interfaces" / "capture.pcapng", cuts, range(len(cuts) + 1)[::-1])


def test_a_record_in_the_wrong_place_is_noticed() -> None:
    """What the other tests rest on: readings that differ are told apart."""
    path = CAPTURES / "ack-lost" / "capture.pcap"
    head, records = pieces(path)
    for begin in range(len(records) - 1):
        with written(head + b"".join(records[:begin]), head + b"".join(records[begin + 1 :])) as paths:
            analysis = analyse(paths, Options(all_flows=True))
        assert not is_same(as_one(analysis, [0, begin]), whole(path, False))
