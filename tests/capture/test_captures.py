"""Several files as one: order, overlap, what cannot be read, what is counted."""

import os
import resource
import threading
from pathlib import Path

import pytest
from capture_support import T0, epb, idb, option, pcap, shb, spb
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.capture.captures import Captures, open_captures
from pcapstall.capture.cursor import RecordCursor
from pcapstall.capture.source import Stop, open_source
from pcapstall.core.frames import file_of, frame_of, frame_ref

S = 1_000_000_000


def write(folder: Path, **files: bytes) -> dict[str, str]:
    paths = {}
    for name, data in files.items():
        path = folder / f"{name}.pcap"
        path.write_bytes(data)
        paths[name] = str(path)
    return paths


def drain(captures: Captures) -> list[tuple[str, int, float]]:
    """(file, frame, seconds) of each record, with what must hold for each."""
    found = []
    assert isinstance(captures, RecordCursor)
    while captures.next():
        assert captures.ref == frame_ref(captures.file_index, captures.frame)
        assert (file_of(captures.ref), frame_of(captures.ref)) == (captures.file_index, captures.frame)
        name = Path(captures.paths[captures.file_index]).stem
        found.append((name, captures.frame, captures.ts_ns / S))
    assert not captures.next()
    return found


def test_one_file_is_handed_through(tmp_path: Path) -> None:
    paths = write(tmp_path, a=pcap(1, 2, data=b"abc"))
    captures = open_captures([paths["a"]])
    assert captures.next()
    assert captures.buf[captures.start : captures.start + captures.caplen] == b"abc"
    assert (captures.linktype, captures.interface, captures.origlen, captures.file_index) == (1, 0, 3, 0)
    assert captures.next()
    assert not captures.next()
    assert captures.bytes_read == captures.total_bytes == os.path.getsize(paths["a"])
    assert [info.packets for info in captures.infos()] == [2]
    captures.close()


@pytest.mark.parametrize("count", [3, 12])
@pytest.mark.parametrize("shuffle", [1, -1, 5])
def test_a_ring_is_read_in_the_order_of_time(tmp_path: Path, count: int, shuffle: int) -> None:
    files = {f"r{n:02}": pcap(*range(1000 + 10 * n, 1011 + 10 * n)) for n in range(count)}
    paths = list(write(tmp_path, **files).values())
    order = [paths[n * shuffle % count] for n in range(count)] if shuffle != 1 else paths
    captures = open_captures(order)
    found = drain(captures)
    assert captures.paths == paths
    assert [seconds for _, _, seconds in found] == sorted(seconds for _, _, seconds in found)
    # Equal stamps at the seam: all of the earlier file first.
    assert found == sorted(found)
    assert len(found) == 11 * count
    assert captures.bytes_read == captures.total_bytes == sum(map(os.path.getsize, paths))
    assert [info.packets for info in captures.infos()] == [11] * count
    assert not captures.warnings
    assert not captures.failed


def test_overlapping_files_are_interleaved(tmp_path: Path) -> None:
    paths = write(tmp_path, a=pcap(1, 4, 5, 9), b=pcap(2, 3, 6, 10, 11), c=pcap(6, 7, 8))
    found = drain(open_captures(list(paths.values())))
    assert found == [
        ("a", 1, 1),
        ("b", 1, 2),
        ("b", 2, 3),
        ("a", 2, 4),
        ("a", 3, 5),
        ("b", 3, 6),
        ("c", 1, 6),
        ("c", 2, 7),
        ("c", 3, 8),
        ("a", 4, 9),
        ("b", 4, 10),
        ("b", 5, 11),
    ]


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=8).map(sorted), min_size=1, max_size=7))
def test_any_files_come_out_sorted_and_whole(tmp_path_factory: pytest.TempPathFactory, stamps: list[list[int]]) -> None:
    folder = tmp_path_factory.mktemp("files")
    paths = write(folder, **{f"f{n}": pcap(*times) for n, times in enumerate(stamps)})
    captures = open_captures(list(paths.values()))
    found = drain(captures)
    assert [seconds for _, _, seconds in found] == sorted(second for times in stamps for second in times)
    for name, times in zip(paths, stamps, strict=True):
        assert [(frame, seconds) for file, frame, seconds in found if file == name] == list(enumerate(times, 1))
    assert [info.first_ns for info in captures.infos()] == sorted(times[0] * S for times in stamps)


def test_a_step_back_inside_a_file_keeps_the_order_of_the_file(tmp_path: Path) -> None:
    paths = write(tmp_path, a=pcap(10, 5, 11), b=pcap(12))
    assert [seconds for _, _, seconds in drain(open_captures(list(paths.values())))] == [10, 5, 11, 12]


def test_one_absurd_stamp_does_not_turn_the_ring_around(tmp_path: Path) -> None:
    paths = write(tmp_path, a=pcap(10, 11, 4e9, 12, 13), b=pcap(13.5, 14))
    found = drain(open_captures(list(paths.values())))
    assert [name for name, _, _ in found] == ["a"] * 5 + ["b"] * 2


def test_a_quiet_file_waits_for_days(tmp_path: Path) -> None:
    day = 86400
    paths = write(tmp_path, a=pcap(0, 5 * day), b=pcap(1 * day, 2 * day))
    found = drain(open_captures(list(paths.values())))
    assert [name for name, _, _ in found] == ["a", "b", "b", "a"]


def test_files_without_records_or_stamps_come_last(tmp_path: Path) -> None:
    paths = write(tmp_path, a=pcap(), b=shb() + idb() + spb(b"x"), c=pcap(1), d=shb())
    captures = open_captures(list(paths.values()))
    assert [name for name, _, _ in drain(captures)] == ["c", "b"]
    assert [Path(path).stem for path in captures.paths] == ["c", "a", "b", "d"]
    assert [info.packets for info in captures.infos()] == [1, 0, 1, 0]


def test_interfaces_and_link_types_are_those_of_the_record(tmp_path: Path) -> None:
    ns = option(9, b"\x09")
    ng = shb() + idb(113) + idb(276, options=ns) + epb(b"x", (T0 + 1) * S, 1) + epb(b"y", (T0 + 3) * 1_000_000, 0)
    paths = write(tmp_path, a=pcap(T0, T0 + 2), b=ng)
    captures = open_captures(list(paths.values()))
    seen = []
    while captures.next():
        seen.append((captures.linktype, captures.interface, captures.caplen))
    assert seen == [(1, 0, 60), (276, 1, 1), (1, 0, 60), (113, 0, 1)]


def test_the_same_file_named_twice_is_read_once(tmp_path: Path) -> None:
    paths = write(tmp_path, a=pcap(1, 2))
    link = tmp_path / "link.pcap"
    link.symlink_to(paths["a"])
    captures = open_captures([paths["a"], str(link), paths["a"]])
    assert len(drain(captures)) == 2
    assert [str(warning) for warning in captures.warnings] == [
        f"{paths['a']}: named more than once (also as {link}), read once",
        f"{paths['a']}: named more than once, read once",
    ]


def test_what_cannot_be_read_is_collected_and_the_rest_is_read(tmp_path: Path) -> None:
    paths = write(tmp_path, a=pcap(1), b=b"hello\n", c=pcap(2)[:90])
    captures = open_captures([*paths.values(), str(tmp_path), str(tmp_path / "none"), str(tmp_path / "no*")])
    assert len(drain(captures)) == 1
    assert [str(error) for error in captures.failed] == [
        f"{tmp_path / 'no*'}: no file has a name like this",
        f"{paths['b']}: not a capture: text ('hello')",
        f"{tmp_path}: is a directory: name the captures in it, {tmp_path}/*",
        f"{tmp_path / 'none'}: there is no such file",
    ]
    assert "cut in a record" in str(captures.warnings[0])
    assert [Path(path).stem for path in captures.paths] == ["a", "c"]


def test_nothing_to_read_is_an_empty_capture(tmp_path: Path) -> None:
    captures = open_captures([str(tmp_path / "none")])
    assert drain(captures) == []
    assert (captures.infos(), captures.total_bytes, len(captures.failed)) == ([], 0, 1)


def test_a_pattern_that_the_shell_left_alone(tmp_path: Path) -> None:
    paths = write(tmp_path, a1=pcap(3), a2=pcap(1), b=pcap(2))
    found = drain(open_captures([str(tmp_path / "a?.pcap")]))
    assert found == [("a2", 1, 1), ("a1", 1, 3)]
    # A file that has such a name is that file.
    odd = tmp_path / "a[1].pcap"
    odd.write_bytes(pcap(7))
    assert [seconds for _, _, seconds in drain(open_captures([str(odd)]))] == [7]
    assert paths


def test_a_fifo_may_stand_among_files(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.pcap"
    os.mkfifo(fifo)
    paths = write(tmp_path, **{f"f{n}": pcap(n, n + 10) for n in range(6)})
    thread = threading.Thread(target=lambda: fifo.write_bytes(pcap(2.5, 3.5)))
    thread.start()
    captures = open_captures([str(fifo), *paths.values()])
    assert captures.total_bytes is None
    found = drain(captures)
    thread.join()
    assert [seconds for _, _, seconds in found] == [0, 1, 2, 2.5, 3, 3.5, 4, 5, 10, 11, 12, 13, 14, 15]
    captures.close()


def test_a_live_pipe_is_opened_before_its_first_packet(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.pcap"
    os.mkfifo(fifo)
    data = pcap(1)
    opened, done = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with fifo.open("wb", buffering=0) as file:
            file.write(data[:24])
            opened.wait(10)
            file.write(data[24:])
        done.set()

    thread = threading.Thread(target=write_slowly)
    thread.start()
    captures = open_captures([str(fifo)])
    assert not done.is_set()
    assert [info.format for info in captures.infos()] == ["pcap-us"]
    opened.set()
    assert len(drain(captures)) == 1
    thread.join()
    captures.close()


def test_a_file_that_went_away_before_its_turn_is_told(tmp_path: Path) -> None:
    paths = write(tmp_path, **{f"f{n}": pcap(n) for n in range(8)})
    captures = open_captures(list(paths.values()))
    os.unlink(paths["f5"])
    assert len(drain(captures)) == 7
    assert [error.path for error in captures.failed] == [paths["f5"]]


def test_after_a_stop_only_what_was_read_is_counted(tmp_path: Path) -> None:
    paths = write(tmp_path, **{f"f{n}": pcap(n, n + 0.5) for n in range(8)})
    captures = open_captures(list(paths.values()), Stop())
    assert captures.next()
    captures.stop()
    handed_out = 1 + len(drain(captures))
    assert sum(info.packets for info in captures.infos()) == handed_out
    assert handed_out < 16
    assert not captures.failed


def test_a_ring_needs_few_descriptors(tmp_path: Path) -> None:
    paths = write(tmp_path, **{f"f{n:03}": pcap(n) for n in range(60)})
    before = len(os.listdir("/proc/self/fd"))
    captures = open_captures(list(paths.values()))
    most = 0
    while captures.next():
        most = max(most, len(os.listdir("/proc/self/fd")) - before)
    assert most <= 3
    captures.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_many_overlapping_files_need_few_descriptors(tmp_path: Path) -> None:
    """Files of several chunks whose records alternate, so that each gives its descriptor back and goes on."""
    contents = {
        f"f{number:02}": pcap(*(T0 + step + number / 100 for step in range(3)), data=bytes(60_000))
        for number in range(60)
    }
    paths = write(tmp_path, **contents)
    _, hard = limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.dup(0)
    os.close(spare)
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare + 45, hard))
    try:
        captures = open_captures(list(paths.values()))
        found = drain(captures)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert captures.failed == []
    assert captures.warnings == []
    assert [name for name, _, _ in found] == list(paths) * 3
    assert captures.bytes_read == captures.total_bytes


def test_a_file_that_was_replaced_while_it_waited_is_not_taken_for_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, a=pcap(1, 2, 3, data=bytes(100_000)))["a"]
    source = open_source(path)
    source.read()
    source.rest()
    Path(path).rename(tmp_path / "b.pcap")
    write(tmp_path, a=bytes(400_000))
    assert source.read() == b""
    assert source.trouble == "cannot be read on: another file has its name now"
