"""Whoever reads the lines of watch reads slowly, or not at all: the capture waits, nothing is lost, and it is said."""

import fcntl
import json
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest
from cli_support import PATIENCE_S, rest_of, start, wait_for
from watch_support import SECOND, START_NS, capture, flow

from pcapstall.capture.source import GRACE_S, Stop
from pcapstall.cli.lines import PATIENCE_S as PATIENCE_OF_READERS_S
from pcapstall.cli.lines import Lines

FLOWS = 300
"""Of which each is told of twice, in some 5 kB: more than a pipe holds."""
HELD = (
    "pcapstall: whoever reads standard output does not keep up: {}, and what writes the capture may drop packets"
    " (tcpdump tells how many when it ends)\n"
)
AT_ONCE = HELD.format("nothing is read meanwhile")


@pytest.fixture(scope="module")
def stalls() -> bytes:
    """And a healthy one five seconds later, by which all others are late."""
    held = (flow(number, START_NS + number * 1_000_000, missing=7) for number in range(FLOWS))
    return capture(*held, flow(FLOWS, START_NS + 5 * SECOND))


@contextmanager
def watching(stalls: bytes, *paths: str) -> "Iterator[subprocess.Popen[bytes]]":
    """The command, and a writer at full speed as tcpdump is one."""
    process = start("watch", *(paths or ("-",)), "-f", "jsonl")

    def write() -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(stalls)
            process.stdin.close()
        except BrokenPipeError:
            return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield process
    finally:
        process.kill()
        writer.join(PATIENCE_S)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


def stuck(process: "subprocess.Popen[bytes]") -> None:
    """Wait until it has said that nobody reads."""
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said == AT_ONCE.encode()


def test_nothing_is_lost_and_it_is_said(stalls: bytes) -> None:
    with watching(stalls) as process:
        stuck(process)
        lines = [json.loads(line) for line in rest_of(process.stdout).splitlines()]
        said = rest_of(process.stderr).decode()
        assert process.wait(PATIENCE_S) == 0
    events = [line["event"] for line in lines]
    assert (events.count("stalled"), events.count("ended"), events[-1]) == (FLOWS, FLOWS, "end")
    assert lines[-1]["packets"] == 3 * FLOWS + 10
    seconds = said.partition(" for ")[2].partition(" s ")[0]
    assert said == HELD.format(f"nothing was read for {seconds} s in all")
    assert 1 <= float(seconds) < PATIENCE_S


def test_one_signal_ends_it_though_nobody_reads(stalls: bytes) -> None:
    with watching(stalls) as process:
        stuck(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 130
        assert rest_of(process.stderr) == b"pcapstall: ended by SIGTERM: what was written so far is not complete\n"


class TestLines:
    """Written to a pipe of which the other end is at hand."""

    @pytest.fixture
    def pipe(self) -> "Iterator[tuple[int, TextIO]]":
        read_fd, write_fd = os.pipe()
        with os.fdopen(write_fd, "w") as out:
            yield read_fd, out
        os.close(read_fd)

    @pytest.mark.parametrize("signals", [1, 2])
    def test_the_second_signal_ends_it_at_once(self, pipe: tuple[int, TextIO], signals: int) -> None:
        _, out = pipe
        stop = Stop()
        lines = Lines(out, stop, lambda: None)
        os.write(out.fileno(), b"x" * fcntl.fcntl(out.fileno(), fcntl.F_GETPIPE_SZ))
        began_s = time.monotonic()
        for _ in range(signals):
            stop.throw()
        with pytest.raises(KeyboardInterrupt):
            lines.write("line")
        assert time.monotonic() - began_s >= (GRACE_S if signals == 1 else 0)

    def test_after_the_first_one_who_reads_slowly_gets_all(self, pipe: tuple[int, TextIO]) -> None:
        read_fd, out = pipe
        stop = Stop()
        stop.throw()
        stop.since_s -= 60
        lines = Lines(out, stop, lambda: None)
        size = fcntl.fcntl(out.fileno(), fcntl.F_GETPIPE_SZ)
        os.write(out.fileno(), b"x" * size)
        reader = threading.Timer(0.05, os.read, (read_fd, size))
        reader.start()
        lines.write("line")
        reader.join()
        assert os.read(read_fd, 10) == b"line\n"

    def test_short_waits_are_not_added_up(self, pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch) -> None:
        """Of eight times a quarter of a second nothing is told, and of three seconds all."""
        _, out = pipe
        lines = Lines(out, Stop(), lambda: None)
        now_s = 0.0
        waits_s = [0.25] * 8

        class Poll:
            def poll(self, timeout_ms: int) -> bool:
                nonlocal now_s
                now_s += waits_s[0] if timeout_ms else 0
                return timeout_ms > 0

        monkeypatch.setattr(lines, "_poll", Poll())
        monkeypatch.setattr("pcapstall.cli.lines.time.monotonic", lambda: now_s)
        while waits_s:
            lines._wait()
            del waits_s[0]
        assert lines.waited_s == 0
        waits_s.append(3.0)
        lines._wait()
        assert lines.waited_s == 3


def test_of_a_file_no_packet_can_be_lost(stalls: bytes, tmp_path: Path) -> None:
    path = tmp_path / "stalls.pcap"
    path.write_bytes(stalls)
    with watching(b"", str(path)) as process:
        out = os.open(f"/proc/{process.pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
        wait_for(lambda: not select.select([], [out], [], 0)[1], "the pipe is full")
        os.close(out)
        time.sleep(2 * PATIENCE_OF_READERS_S)
        assert rest_of(process.stdout).count(b"\n") == 2 * FLOWS + 1
        assert rest_of(process.stderr) == b""
        assert process.wait(PATIENCE_S) == 0
