"""Records that are copied as they are: what is read of the copy is what was read of the original, in the same order."""

import io
from pathlib import Path

import pytest

from pcapstall.capture.captures import open_captures
from pcapstall.extract.copying import Copying
from pcapstall.extract.pcap_file import PcapFile
from pcapstall.extract.pcapng_file import Described, PcapngFile
from pcapstall.extract.records import FrameSet, Records, records
from pcapstall.pipeline.extract.passes import data_of

T0 = 1_600_000_000_123_456_789


def read(path: Path) -> list[tuple[int, bytes, int]]:
    return [(int(each.ts_ns), data_of(each), int(each.origlen)) for each in records(open_captures([str(path)]))]


def copied(capture: Path, out: Path, special: list[int], wanted: list[int] | None = None) -> tuple[Copying, list[int]]:
    """A copy of ``capture``; which records were left to the caller."""
    stream, left = io.BytesIO(), []
    file = PcapngFile(stream, "test", [])
    found = Records(open_captures([str(capture)]), None if wanted is None else FrameSet(wanted))
    copying = Copying(found, stream, FrameSet(special))
    number = file.interface(Described(1, 0))
    while (record := copying.next()) is not None:
        left.append(int(record.ref))
        copying.know(record, number)
        file.write(number, int(record.ts_ns), data_of(record), int(record.origlen), [(1, b"said of it")])
        copying.refs.append(int(record.ref))
    out.write_bytes(stream.getvalue())
    return copying, left


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """400 records of all lengths modulo 4, more than is written at once."""
    path = tmp_path / "c.pcap"
    with path.open("wb") as stream:
        file = PcapFile(stream, True)
        for number in range(400):
            data = bytes((number % 251,)) * (900 + number)
            file.write(T0 + number * 7_000_003 - number % 3 * 20_000_000, data, len(data) + number % 2 * 70_000, 1)
    return path


def test_a_copy_is_the_original(capture: Path, tmp_path: Path) -> None:
    copying, left = copied(capture, tmp_path / "o.pcapng", [5, 6, 399])
    assert left == [1, 5, 6, 399]
    assert read(tmp_path / "o.pcapng") == read(capture)
    assert list(copying.refs) == list(range(1, 401))
    assert copying.last_ns == {0: read(capture)[-1][0]}


def test_only_what_is_wanted_is_copied(capture: Path, tmp_path: Path) -> None:
    wanted = [2, 3, 77, 78, 400]
    copying, left = copied(capture, tmp_path / "o.pcapng", [77], wanted)
    assert left == [2, 77]
    assert read(tmp_path / "o.pcapng") == [read(capture)[frame - 1] for frame in wanted]
    assert list(copying.refs) == wanted


@pytest.mark.parametrize("ts_ns", [-5_000_000_001, -1, 0, 1, (1 << 62) - 1])
def test_any_stamp_is_copied(ts_ns: int, tmp_path: Path) -> None:
    stream = io.BytesIO()
    file = PcapngFile(stream, "test", [])
    number = file.interface(Described(1, 0))
    for data in (b"first" * 9, b"second" * 9):
        file.write(number, ts_ns, data, 0xFFFFFFFF)
    (tmp_path / "c.pcapng").write_bytes(stream.getvalue())
    copied(tmp_path / "c.pcapng", tmp_path / "o.pcapng", [])
    assert read(tmp_path / "o.pcapng") == read(tmp_path / "c.pcapng")
