"""A pipe that is silent: a stall is told while it lasts, by the reader itself, and the end of the pipe ends it."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from cli_support import PATIENCE_S, one_line, rest_of, run, start
from watch_support import HEADER, MS, SECOND, START_NS, Listening, capture, feed, flow, stamped

from pcapstall.pipeline.watch.clock import BLOCK_NS, LATE_MAX_NS, LEARNED_NS, SURE, CaptureClock


def watched_live(
    tmp_path: Path, heard: Listening, packets: Iterable[tuple[int, bytes]], silent_s: float
) -> list[float]:
    """Watch ``packets`` as they come through a FIFO; when each was written, by the steady clock."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    written: list[float] = []

    def write_all() -> None:
        with open(fifo, "wb", buffering=0) as out:
            out.write(HEADER)

            def write(record: bytes) -> None:
                out.write(record)
                written.append(time.monotonic())

            feed(write, packets)
            time.sleep(silent_s)

    writer = threading.Thread(target=write_all)
    writer.start()
    heard.watch(str(fifo))
    writer.join(PATIENCE_S)
    return written


def test_a_stall_is_told_while_the_pipe_is_silent(tmp_path: Path) -> None:
    heard = Listening("200ms")
    written = watched_live(tmp_path, heard, flow(1, late_ns=2500 * MS), 0.1)
    assert heard.events() == [("stalled", "ack_ch"), ("went_on", "ack_ch")]
    stalled, went_on = heard.told()
    # After the TCP handshake's last packet, and before the ClientHello.
    assert written[2] < heard.came_s[0] < written[3]
    assert 200 * MS < stalled.flow.open_ns["ack_ch"] < 2500 * MS
    assert 2500 * MS < (went_on.flow.intervals_ns["ack_ch"] or 0) < 4 * SECOND


def test_an_end_that_never_comes(tmp_path: Path) -> None:
    """The flow is told of while it stalls; when the pipe ends, that it was still so."""
    heard = Listening("200ms")
    watched_live(tmp_path, heard, flow(1, missing=7), 2.0)
    assert heard.events() == [("stalled", "ack_ch"), ("ended", "ack_ch")]
    ended = list(heard.told())[1]
    assert ended.flow.open_ns["ack_ch"] > 500 * MS, "silence counts, though no packet came after it"


def test_healthy_flows_are_not_told_of(tmp_path: Path) -> None:
    heard = Listening("200ms")
    watched_live(tmp_path, heard, [*flow(1), *flow(2, START_NS + SECOND // 2)], 0.3)
    assert heard.events() == []
    assert [line.event for line in heard.lines] == ["end"]


def test_how_things_stand_is_told_although_nothing_comes(tmp_path: Path) -> None:
    heard = Listening("200ms", every_ns=200 * MS)
    watched_live(tmp_path, heard, flow(1, missing=7), 2.2)
    stands = [line for line in heard.lines if line.event == "summary"]
    assert len(stands) >= 2
    assert stands[-1].stalled_now == stands[-1].flows_open == 1  # type: ignore[union-attr]
    assert stands[-1].longest_now[2] > 200 * MS  # type: ignore[union-attr,index]


class TestCommand:
    def begun(self, *arguments: str) -> tuple["subprocess.Popen[bytes]", int]:
        """The command, and a flow without a ClientHello written to it."""
        process = start("watch", "-", "--slow", "200ms", *arguments)
        assert process.stdin is not None
        now_ns = time.time_ns()
        process.stdin.write(HEADER + b"".join(stamped(now_ns, record) for _, record in flow(1, missing=7)))
        return process, now_ns

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_line_at_once_and_a_last_one_after_ctrl_c(self, number: signal.Signals) -> None:
        process, _ = self.begun("-f", "jsonl", "--fail-if", "stalled")
        assert process.stdout is not None
        stalled = json.loads(process.stdout.readline())
        assert (stalled["event"], stalled["stalled"], stalled["intervals_ns"]["ack_ch"]) == ("stalled", "ack_ch", None)
        assert stalled["tls_outcome"] is None
        process.send_signal(number)
        ended, end = map(json.loads, rest_of(process.stdout).splitlines())
        assert (ended["event"], ended["client"]) == ("ended", stalled["client"])
        assert (end["event"], end["flows_opened"], end["stalled"], end["packets"]) == ("end", 1, 1, 3)
        assert one_line(rest_of(process.stderr)) == "pcapstall: --fail-if stalled: stalled is 1"
        assert process.wait(PATIENCE_S) == 1
        process.communicate(timeout=PATIENCE_S)

    def test_a_reader_that_has_had_enough(self) -> None:
        process, now_ns = self.begun()
        assert process.stdout is not None
        assert process.stdin is not None
        assert b"stalled  ack_ch >" in process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"".join(stamped(now_ns + SECOND, record) for _, record in flow(2, missing=7)))
        assert rest_of(process.stderr) == b""
        assert process.wait(PATIENCE_S) == 0
        process.stdin.close()
        assert process.stderr is not None
        process.stderr.close()

    def test_files_and_filters(self, tmp_path: Path) -> None:
        path = tmp_path / "two.pcap"
        path.write_bytes(capture(flow(1, late_ns=2 * SECOND), flow(2, late_ns=3 * SECOND)))
        ended = run("watch", str(path), "--filter", "client = 10.40.7.2", "--fail-if", "stalled > 1")
        assert (ended.returncode, ended.stderr) == (0, b"")
        stalled, went_on, end = ended.stdout.decode().splitlines()
        assert "stalled  ack_ch >1.0 s  10.40.7.2:" in stalled
        assert "went on  ack_ch clock set  10.40.7.2:" in went_on, "its TCP timestamps stand still"
        assert "0 flows open of 2" in end
        assert "1 stalled and 0 failed so far" in end

    @pytest.mark.parametrize(
        ("arguments", "hint"),
        [
            (["--every", "soon"], "--every soon: 'soon' is not a duration"),
            (["--every", "1ms"], "--every 1ms: 100ms at least"),
            (["--fail-if", "ack_ch.p99 > 1s"], "watch keeps no flows, so it can only ask for stalled and failed"),
            (["--fail-if", "count(stalled) > 1"], "watch keeps no flows"),
        ],
    )
    def test_wrong_usage(self, arguments: list[str], hint: str) -> None:
        ended = run("watch", "-", *arguments, given=b"")
        assert (ended.returncode, ended.stdout) == (2, b"")
        assert hint in one_line(ended.stderr)

    def test_no_capture(self) -> None:
        ended = run("watch", "-", given=b"")
        assert (ended.returncode, ended.stdout) == (3, b"")
        assert one_line(ended.stderr).startswith("pcapstall: -: is empty")


class TestClock:
    def clock(self) -> CaptureClock:
        self.now_ns = 1000 * SECOND
        return CaptureClock(lambda: self.now_ns)

    def test_nothing_came(self) -> None:
        assert self.clock().now_ns() is None

    def test_it_goes_on_in_silence(self) -> None:
        clock = self.clock()
        clock.seen(5 * SECOND)
        self.now_ns += 3 * SECOND
        assert clock.now_ns() == 8 * SECOND - BLOCK_NS, "for all that is known there may be a block on its way"

    def test_packets_that_are_handed_on_at_once(self) -> None:
        clock = self.clock()
        for _ in range(SURE):
            self.now_ns += 300 * MS
            clock.seen(self.now_ns - 995 * SECOND - self.now_ns % 7 * MS)
        now_ns = clock.now_ns()
        assert now_ns is not None
        assert 0 <= self.now_ns - 995 * SECOND - now_ns < 7 * MS

    def test_packets_that_are_handed_on_late(self) -> None:
        """In blocks of a second, which not every packet has to wait for."""
        clock = self.clock()
        for late_ns in (0, 200 * MS) * SURE:
            clock.seen(6 * SECOND - late_ns)
        self.now_ns += SECOND
        assert clock.now_ns() == 6 * SECOND

    def test_a_recording_that_is_replayed(self) -> None:
        clock = self.clock()
        clock.seen(5 * SECOND)
        clock.seen(500 * SECOND)
        assert clock.now_ns() == 500 * SECOND - LATE_MAX_NS

    def test_it_forgets(self) -> None:
        clock = self.clock()
        clock.seen(5 * SECOND)
        clock.seen(6 * SECOND)
        for _ in range(SURE):
            self.now_ns += LEARNED_NS + 1
            clock.seen(self.now_ns - 994 * SECOND)
        assert clock.now_ns() == self.now_ns - 994 * SECOND
