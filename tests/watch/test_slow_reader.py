"""Whoever reads the lines of watch reads slowly, or not at all: the capture waits, nothing is lost, and it is said."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_support import PATIENCE_S, start
from watch_support import SECOND, START_NS, capture, flow

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
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [json.loads(line) for line in process.stdout]
        said = process.stderr.read().decode()
        assert process.wait(PATIENCE_S) == 0
    events = [line["event"] for line in lines]
    assert (events.count("stalled"), events.count("ended"), events[-1]) == (FLOWS, FLOWS, "end")
    assert lines[-1]["packets"] == 3 * FLOWS + 10
    seconds = said.partition(" for ")[2].partition(" s ")[0]
    assert said == HELD.format(f"nothing was read for {seconds} s in all")
    assert 1 <= float(seconds) < PATIENCE_S


def test_two_signals_end_it_though_nobody_reads(stalls: bytes) -> None:
    with watching(stalls) as process:
        stuck(process)
        for _ in range(2):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)  # two at once would be one
        assert process.wait(PATIENCE_S) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b"pcapstall: ended by SIGTERM: what was written so far is not complete\n"


def test_of_a_file_no_packet_can_be_lost(stalls: bytes, tmp_path: Path) -> None:
    path = tmp_path / "stalls.pcap"
    path.write_bytes(stalls)
    with watching(b"", str(path)) as process:
        time.sleep(2.5)  # longer than a reader may take, before it is told of
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read().count(b"\n") == 2 * FLOWS + 1
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE_S) == 0
