"""Files, FIFOs, standard input: what is read when, what ends it, what is refused."""

import contextlib
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from capture_support import ScriptedSource, pcap, records

from pcapstall.capture import pipe as pipe_module
from pcapstall.capture.opening import cursor_of, open_capture
from pcapstall.capture.pipe import PipeSource
from pcapstall.capture.source import CHUNK, Source, Stop, open_source
from pcapstall.core.errors import InputError


@pytest.fixture
def pipe() -> Iterator[tuple[PipeSource, int]]:
    """A source over a pipe, and the descriptor to write to."""
    reader, writer = os.pipe()
    source = PipeSource("pipe", reader)
    yield source, writer
    source.close()
    source.stop_switch.close()
    with contextlib.suppress(OSError):
        os.close(writer)


def later(seconds: float, call: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(seconds, call)
    timer.start()
    return timer


def processor_time_of(call: Callable[[], object]) -> float:
    before = time.process_time()
    call()
    return time.process_time() - before


def test_peek_takes_nothing() -> None:
    source = ScriptedSource([b"ab", b"c", b"def", b"g"])
    assert source.peek(4) == b"abcdef"
    assert source.peek(2) == b"abcdef"
    assert source.read() == b"abcdef"
    assert source.peek(9) == b"g"
    assert (source.read(), source.read()) == (b"g", b"")


def test_a_file_comes_in_chunks_and_says_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(os.urandom(2 * CHUNK + 5))
    source = open_source(str(path))
    assert source.total_bytes == 2 * CHUNK + 5
    got = []
    while chunk := source.read():
        got.append(chunk)
        assert source.bytes_read == sum(map(len, got))
    assert [len(chunk) for chunk in got] == [CHUNK, CHUNK, 5]
    assert b"".join(got) == path.read_bytes()
    source.close()
    assert source.read() == b""


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("cut", [5, 40, 70])
def test_a_record_that_a_stop_cut_is_no_damage(cut: int, pipe: bool) -> None:
    whole = pcap(1, 2, 3)
    source = ScriptedSource([whole[:-cut]], pipe=pipe)
    cursor = cursor_of(source)
    assert cursor.next()
    source.stop()
    assert len(records(cursor)) == 1
    assert ["reading was stopped within this record" in str(warning) for warning in cursor.warnings] == [True] * pipe
    unstopped = cursor_of(ScriptedSource([whole[:-cut]], pipe=pipe))
    records(unstopped)
    assert len(unstopped.warnings) == 1


def test_a_stopped_file_ends_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(5 * CHUNK))
    source = open_source(str(path))
    assert source.read()
    source.stop()
    assert source.read() == b""
    source.close()


def test_what_is_in_a_pipe_is_handed_out_at_once(pipe: tuple[PipeSource, int]) -> None:
    source, writer = pipe
    assert source.total_bytes is None
    for text in (b"one", b"two"):
        os.write(writer, text)
        assert source.read() == text
    os.close(writer)
    assert source.read() == b""
    assert source.read() == b""


def test_no_more_is_asked_of_a_pipe_than_is_there(
    pipe: tuple[PipeSource, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked for takes room until it is known how much came, and that between two chunks is lost to the heap."""
    source, writer = pipe
    asked: list[int] = []
    read = os.read
    monkeypatch.setattr(os, "read", lambda fd, size: asked.append(size) or read(fd, size))
    os.write(writer, b"0123456789")
    assert source.read() == b"0123456789"
    assert asked == [10]
    os.close(writer)
    assert source.read() == b""


def test_records_come_out_of_a_live_pipe_before_the_next_is_written(pipe: tuple[PipeSource, int]) -> None:
    source, writer = pipe
    data = pcap(1, 2, 3)
    os.write(writer, data[:100])
    cursor = cursor_of(source)
    assert cursor.next()
    os.write(writer, data[100:150])
    os.write(writer, data[150:176])
    assert cursor.next()
    assert cursor.frame == 2
    os.write(writer, data[176:])
    os.close(writer)
    assert len(records(cursor)) == 1


def test_waiting_for_a_pipe_takes_no_processor_time(pipe: tuple[PipeSource, int]) -> None:
    source, writer = pipe
    timer = later(0.4, lambda: os.write(writer, b"x"))
    assert processor_time_of(source.read) < 0.2
    timer.join()


def test_a_stop_wakes_a_blocked_read_and_what_comes_then_is_read(
    pipe: tuple[PipeSource, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe_module, "GRACE_S", 0.3)
    source, writer = pipe
    timers = [later(0.1, source.stop), later(0.2, lambda: os.write(writer, b"flushed"))]
    before = time.monotonic()
    assert source.read() == b"flushed"
    assert processor_time_of(lambda: source.read()) < 0.2
    assert 0.45 < time.monotonic() - before < 2
    for timer in timers:
        timer.join()
    assert source.stopped


def test_after_a_stop_the_writers_end_is_the_end(pipe: tuple[PipeSource, int]) -> None:
    source, writer = pipe
    os.write(writer, b"last words")
    source.stop()
    os.close(writer)
    before = time.monotonic()
    assert source.read() == b"last words"
    assert source.read() == b""
    assert time.monotonic() - before < 1


def test_a_second_stop_does_not_wait(pipe: tuple[PipeSource, int]) -> None:
    source, _ = pipe
    timers = [later(0.1, source.stop), later(0.2, source.stop)]
    before = time.monotonic()
    assert source.read() == b""
    assert time.monotonic() - before < 1
    for timer in timers:
        timer.join()


def test_a_busy_writer_cannot_keep_a_stopped_source_for_ever(
    pipe: tuple[PipeSource, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe_module, "GRACE_TOTAL_S", 0.3)
    source, writer = pipe
    source.stop()
    deadline = time.monotonic() + 5
    os.write(writer, b"x")
    while source.read():
        assert time.monotonic() < deadline
        os.write(writer, b"x")


def test_a_stop_from_a_signal_handler_wakes_a_read(pipe: tuple[PipeSource, int]) -> None:
    source, writer = pipe

    def handler(number: int, frame: FrameType | None) -> None:
        source.stop()

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        timers = [
            later(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1)),
            later(0.3, lambda: os.close(writer)),
        ]
        assert source.read() == b""
        for timer in timers:
            timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert source.stopped


def test_an_exception_of_a_signal_handler_comes_through_a_cursor(pipe: tuple[PipeSource, int]) -> None:
    source, writer = pipe
    os.write(writer, pcap(1))
    cursor = cursor_of(source)
    assert cursor.next()
    timer = later(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        cursor.next()
    timer.join()


def test_a_stop_that_was_thrown_before_is_known(pipe: tuple[PipeSource, int]) -> None:
    stop = Stop()
    stop.throw()
    stop.throw()
    reader, writer = os.pipe()
    source = PipeSource("pipe", reader, stop)
    assert source.read() == b""
    source.close()
    stop.close()
    os.close(writer)


def test_a_fifo_is_waited_for_until_its_writer_comes(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    timer = later(0.2, lambda: path.write_bytes(pcap(1, 2)))
    cursor = open_capture(str(path))
    assert len(records(cursor)) == 2
    cursor.close()
    timer.join()


def test_a_fifo_without_a_writer_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    stop = Stop()
    timers = [later(0.1, stop.throw), later(0.2, stop.throw)]
    with pytest.raises(InputError, match="nothing had come when it was stopped"):
        open_capture(str(path), stop=stop)
    for timer in timers:
        timer.join()
    stop.close()


PROGRAM = """
import sys
from pcapstall.capture.opening import open_capture
cursor = open_capture(sys.argv[1])
while cursor.next():
    pass
print(cursor.frame, cursor.source.total_bytes)
"""


def run(name: str, **standard_input: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=False, timeout=60, **standard_input
    )
    return (done.stdout + done.stderr).strip().splitlines()[-1]


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_a_pipe_a_file_or_a_socket(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(1, 2, 3))
    with path.open("rb") as file:
        assert run(name, stdin=file) == "3 252"
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
        assert run(name, stdin=cat.stdout) == "3 None"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(pcap(1, 2))
        ours.shutdown(socket.SHUT_WR)
        assert run(name, stdin=theirs.fileno()) == "2 None"


def test_a_terminal_is_no_capture() -> None:
    ours, theirs = pty.openpty()
    assert "is a terminal: pipe a capture into it" in run("-", stdin=theirs)
    os.close(ours)
    os.close(theirs)


def test_standard_input_may_be_closed() -> None:
    assert "standard input is closed" in run("-", preexec_fn=lambda: os.close(0))


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_capture(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    return caught.value.reason


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    assert refused(tmp_path / "nothing") == "there is no such file"
    assert refused(tmp_path) == f"is a directory: name the captures in it, {tmp_path}/*"
    (tmp_path / "empty").write_bytes(b"")
    assert refused(tmp_path / "empty").startswith("is empty: nothing was captured, or ")
    assert refused(tmp_path / "empty" / "x") == "Not a directory"
    assert refused(tmp_path / ("n" * 300)) == "File name too long"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        assert refused(tmp_path / "socket") == "is a socket or a device that gives nothing to read"
    assert "all zero" in refused(Path("/dev/zero"))
    assert refused(Path("/dev/null")).startswith("is empty")


def test_a_file_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.write_bytes(pcap(1))
    path.chmod(0)
    if os.access(path, os.R_OK):  # root may read everything

        def denied(*args: object) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", denied)
    assert refused(path) == "no permission to read it: ask its owner, or run this as root"


class BrokenSource(Source):
    """A disk that fails after the first chunk."""

    def _read(self) -> bytes:
        if self.bytes_read:
            self.trouble = "cannot be read on: Input/output error"
            return b""
        self.bytes_read = 150
        return pcap(1, 2)[:150]


def test_a_read_error_in_the_middle_ends_the_reading_with_a_word() -> None:
    cursor = cursor_of(BrokenSource("disk"))
    assert len(records(cursor)) == 1
    assert str(cursor.warnings[0]) == "disk: frame 2, offset 150: cannot be read on: Input/output error"


def test_a_read_error_is_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(pcap(1))
    source = open_source(str(path))

    def fails(fd: int, size: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", fails)
    assert source.read() == b""
    assert source.trouble == "cannot be read on: Input/output error"
    monkeypatch.undo()
    source.close()


def test_no_descriptor_stays_open_after_a_refusal(tmp_path: Path) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    (tmp_path / "text").write_text("hello\n")
    before = count()
    for name in ("text", ".", "nothing"):
        with pytest.raises(InputError):
            open_capture(str(tmp_path / name))
    assert count() == before


@pytest.mark.parametrize("left", [0, CHUNK, CHUNK + 1, 2 * CHUNK])
def test_a_file_that_is_cut_while_it_is_read_is_told(left: int, tmp_path: Path) -> None:
    """Also where that is between two records; the next file of a ring (tcpdump -C -W) is emptied so."""
    path = tmp_path / "ring3"
    path.write_bytes(bytes(3 * CHUNK))
    source = open_source(str(path))
    assert len(source.read()) == CHUNK
    os.truncate(path, left)
    while source.read():
        pass
    read = max(left, CHUNK)
    assert source.trouble.startswith(f"cut to {read} bytes while it was read, of {3 * CHUNK}")
    source.close()


@pytest.mark.parametrize("more", [0, 10])
def test_a_file_that_is_as_long_as_it_was_or_longer_is_no_trouble(more: int, tmp_path: Path) -> None:
    path = tmp_path / "grows"
    path.write_bytes(bytes(2 * CHUNK))
    source = open_source(str(path))
    source.read()
    os.truncate(path, 2 * CHUNK + more)
    while source.read():
        pass
    assert source.trouble == ""
    source.close()
