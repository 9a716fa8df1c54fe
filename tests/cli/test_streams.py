"""Pipes, FIFOs, signals, closed and broken outputs: `pcapstall report` as a process among others."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from cli_support import (
    COMMAND,
    LOST,
    PATIENCE_S,
    REFUSED,
    RING,
    one_line,
    rest_of,
    run,
    start,
    wait_for,
    wait_until_read,
)

from pcapstall.capture import source
from pcapstall.capture.interrupting import interrupting
from pcapstall.cli import terminal

DATA = Path(LOST).read_bytes()


def flows(stdout: bytes) -> int:
    return len(json.loads(stdout)["flows"])


class TestPipes:
    def test_a_capture_from_a_pipe_is_the_same_report(self) -> None:
        piped = run("report", "-", given=DATA)
        assert (piped.returncode, piped.stderr) == (0, b"")
        from_file = run("report", LOST).stdout.decode()
        assert piped.stdout.decode().replace("Read -:", f"Read {LOST}:") == from_file

    @pytest.mark.parametrize("wanted", ["table", "json", "html"])
    def test_the_same_bytes_each_time(self, wanted: str) -> None:
        """Whatever the order of sets and dictionaries is in a process."""
        first, second = (run("report", *RING, "--all", "-f", wanted, PYTHONHASHSEED=seed).stdout for seed in "12")
        assert first == second
        assert first

    def test_standard_input_may_be_a_file(self) -> None:
        with open(LOST, "rb") as file:
            ended = subprocess.run(
                [*COMMAND, "report", "-", "-f", "json"], stdin=file, capture_output=True, check=True, timeout=PATIENCE_S
            )
        assert flows(ended.stdout) == 4

    def test_an_empty_pipe(self) -> None:
        ended = run("report", "-", given=b"")
        assert (ended.returncode, ended.stdout) == (3, b"")
        assert one_line(ended.stderr).startswith("pcapstall: -: is empty: nothing was captured")

    def test_something_else_in_a_pipe(self) -> None:
        ended = run("report", "-", given=b"tcpdump: eth9: No such device exists\n")
        assert ended.returncode == 3
        assert "not a capture" in one_line(ended.stderr)

    def test_a_pipe_that_breaks_off(self) -> None:
        ended = run("report", "-", "-f", "json", given=DATA[:3000])
        assert ended.returncode == 0
        assert len(json.loads(ended.stdout)["captures"][0]["warnings"]) == 1

    def test_a_fifo_and_a_file(self, tmp_path: Path) -> None:
        fifo = tmp_path / "fifo.pcap"
        os.mkfifo(fifo)
        process = start("report", RING[0], str(fifo), "-f", "json", stdin=subprocess.DEVNULL)
        writer = threading.Thread(target=lambda: fifo.write_bytes(Path(RING[1]).read_bytes()))
        writer.start()
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        writer.join(PATIENCE_S)
        assert process.returncode == 0, stderr
        assert [capture["packets"] for capture in json.loads(stdout)["captures"]] == [24, 64]

    def test_a_terminal_as_standard_input(self) -> None:
        ours, its = pty.openpty()
        try:
            ended = subprocess.run(
                [*COMMAND, "report", "-"], stdin=its, capture_output=True, timeout=PATIENCE_S, check=False
            )
        finally:
            os.close(its)
            os.close(ours)
        assert (ended.returncode, ended.stdout) == (2, b"")
        assert "standard input is a terminal" in one_line(ended.stderr)


SIGNALS = [
    (signal.SIGINT, b"Ctrl-C"),
    (signal.SIGTERM, b"SIGTERM"),
    (signal.SIGHUP, b"SIGHUP"),
    (signal.SIGXCPU, b"SIGXCPU"),
]


class TestSignals:
    def write(self, process: subprocess.Popen[bytes], data: bytes) -> None:
        assert process.stdin is not None
        process.stdin.write(data)
        wait_until_read(process)

    @pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)])
    def test_ctrl_c_reports_what_was_read(self, numbers: tuple[signal.Signals, ...]) -> None:
        """The writer is still there and silent; twice, so that nobody waits for what it may still flush."""
        process = start("report", "-", "-f", "json")
        self.write(process, DATA)
        for number in numbers:  # two of one kind may be one to the program
            process.send_signal(number)
        written = rest_of(process.stdout)
        assert process.wait(PATIENCE_S) == 0
        assert flows(written) == 4
        process.communicate(timeout=PATIENCE_S)

    @pytest.mark.parametrize("command", ["report", "watch"])
    def test_a_terminal_that_is_closed_is_told_of_twice(self, command: str) -> None:
        """By the shell and by the kernel; a second Ctrl-C would end the waiting for what the writer still flushes."""
        process = start(command, "-", "-f", "jsonl")
        self.write(process, DATA[:3000])
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.05)
        assert process.poll() is None, "it still listens"
        stdout, stderr = process.communicate(DATA[3000:], timeout=PATIENCE_S)
        assert (process.returncode, stderr) == (0, b"")
        seen = [json.loads(line) for line in stdout.splitlines()]
        assert any(line.get("stalled") == "ch_ack" for line in seen)

    def test_nohup_stays_so(self) -> None:
        process = subprocess.Popen(
            ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *COMMAND, "report", "-", "-f", "json"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        self.write(process, DATA[:3000])
        process.send_signal(signal.SIGHUP)
        time.sleep(source.GRACE_S + 0.3)
        assert process.poll() is None
        stdout, stderr = process.communicate(DATA[3000:], timeout=PATIENCE_S)
        assert (process.returncode, stderr) == (0, b"")
        assert flows(stdout) == 4

    def test_what_the_writer_flushes_on_the_same_ctrl_c_is_not_lost(self) -> None:
        process = start("report", "-", "-f", "json")
        self.write(process, DATA[:3000])
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        assert process.poll() is None, "it still listens"
        stdout, stderr = process.communicate(DATA[3000:], timeout=PATIENCE_S)
        assert (process.returncode, stderr) == (0, b"")
        assert flows(stdout) == 4

    def test_a_writer_that_goes_on_does_not_hold_it_up(self) -> None:
        """One Ctrl-C and a silent writer: it ends by itself."""
        process = start("report", "-", "-f", "json")
        self.write(process, DATA)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        written = rest_of(process.stdout)
        assert process.wait(PATIENCE_S) == 0
        assert time.monotonic() - begun < source.GRACE_S + 5
        assert flows(written) == 4
        process.communicate(timeout=PATIENCE_S)

    def test_a_file_that_is_not_read_to_its_end_is_told(self, tmp_path: Path) -> None:
        """Ctrl-C as soon as its descriptor has moved on; and nothing is said of a pipe, whose end nobody knows."""
        path = tmp_path / "long.pcap"
        path.write_bytes(DATA[:24] + DATA[24:] * 2000)
        process = start("report", str(path), "-f", "json", stdin=subprocess.DEVNULL)
        own = Path(f"/proc/{process.pid}")

        def reading() -> bool:
            with contextlib.suppress(OSError):
                for fd in (own / "fd").iterdir():
                    if fd.readlink() == path:
                        return "pos:\t0\n" not in (own / "fdinfo" / fd.name).read_text()
            return False

        wait_for(reading, "the capture is being read")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, stderr) == (0, b"")
        read = json.loads(stdout)
        if read["captures"][0]["packets"] == 74 * 2000:
            pytest.skip("the whole file was read before the signal came")
        (said,) = read["warnings"]
        assert re.fullmatch(
            r"reading was stopped after (\d\d?|less than 1)% of the bytes: what comes later is not in this report", said
        )

    def test_a_record_that_ctrl_c_cut_is_told(self) -> None:
        """And nobody is kept waiting for a writer that is silent."""
        assert source.GRACE_S < 0.5
        process = start("report", "-", "-f", "json")
        self.write(process, DATA[:9000])
        process.send_signal(signal.SIGINT)
        written = json.loads(rest_of(process.stdout))
        assert process.wait(PATIENCE_S) == 0
        (said,) = written["captures"][0]["warnings"]
        assert "reading was stopped within this record" in said
        process.communicate(timeout=PATIENCE_S)

    @pytest.mark.parametrize("command", ["report", "watch", "summary"])
    @pytest.mark.parametrize("sent", [0, 1])
    @pytest.mark.parametrize(("number", "name"), SIGNALS)
    def test_ctrl_c_before_anything_came(self, command: str, sent: int, number: signal.Signals, name: bytes) -> None:
        process = start(command, "-")

        def listens() -> bool:
            """Whether it has a pipe of its own, by which signals wake it up."""
            with contextlib.suppress(OSError):
                fds = Path(f"/proc/{process.pid}/fd").iterdir()
                return any(os.readlink(fd).startswith("pipe:") for fd in fds if int(fd.name) > 2)
            return False

        wait_for(listens, "it reads")
        self.write(process, DATA[:sent])
        process.send_signal(number)
        said = rest_of(process.stderr)
        assert process.wait(PATIENCE_S) == 130
        assert said.startswith(b"pcapstall: -: ")
        assert b"\npcapstall: ended by %s: " % name in said
        assert said.count(b"\n") == 2
        process.communicate(timeout=PATIENCE_S)


class TestSignalsBesidesCaptures:
    """Where nobody asks whether the end was asked for."""

    def ended(self, number: signal.Signals, *arguments: str) -> int:
        """The exit code after one signal, which comes when the program waits."""
        process = start(*arguments, stdin=subprocess.DEVNULL)
        try:
            wait_for(lambda: catches_sigterm(process) and sleeps(process), "it waits for the FIFO's other end")
            time.sleep(0.2)
            process.send_signal(number)
            name = dict(SIGNALS)[number]
            assert process.communicate(timeout=PATIENCE_S)[1] == b"pcapstall: ended by %s: nothing was written\n" % name
            return process.returncode
        finally:
            process.kill()

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    @pytest.mark.parametrize("option", ["--strace", "--log"])
    def test_a_text_that_nobody_writes(self, option: str, number: signal.Signals, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        assert self.ended(number, "report", LOST, option, str(tmp_path / "fifo")) == 130

    def test_an_output_that_nobody_reads(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        assert self.ended(signal.SIGINT, "extract", LOST, "--flow", "1", "-o", str(tmp_path / "fifo")) == 130

    def test_the_second_one_ends_what_does_not_ask(self) -> None:
        with terminal.ctrl_c_stops() as stop, interrupting(stop, 2):
            os.kill(os.getpid(), signal.SIGINT)
            assert stop.count == 1
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
            with interrupting(stop, 1):
                assert stop.interrupts_at == 3


def catches_sigterm(process: subprocess.Popen[bytes]) -> bool:
    """Whether the program handles SIGTERM, which Python by itself does not (proc(5), SigCgt)."""
    caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> signal.SIGTERM - 1 & 1)


def sleeps(process: subprocess.Popen[bytes]) -> bool:
    """Whether it waits for something (proc(5), state S)."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def pipe_is_full(writer: int) -> bool:
    """Whether it takes no more just now."""
    return not select.select([], [writer], [], 0)[1]


class TestOutputs:
    def test_a_reader_that_has_had_enough(self, tmp_path: Path) -> None:
        """`pcapstall report | head -1`, with more output than a pipe holds."""
        many = tmp_path / "many.pcap"
        header, records = DATA[:24], DATA[24:]
        many.write_bytes(header + records * 40)
        process = start("report", str(many), "--all", "-f", "jsonl", stdin=subprocess.DEVNULL)
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"schema": 1')
        process.stdout.close()
        assert rest_of(process.stderr) == b""
        assert process.wait(PATIENCE_S) == 0
        process.stderr.close()

    def test_a_condition_counts_although_nobody_reads_on(self) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        command = [*COMMAND, "report", LOST, "--fail-if", "stalled"]
        with os.fdopen(writer, "wb") as closed:
            ended = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        assert ended.returncode == 1
        assert one_line(ended.stderr) == "pcapstall: --fail-if stalled: stalled is 1"

    @pytest.mark.parametrize("arguments", [["report", LOST], ["report", LOST, "-f", "json"], ["--help"], ["--version"]])
    def test_a_full_disk(self, arguments: list[str]) -> None:
        with open("/dev/full", "wb") as full:
            ended = subprocess.run(
                [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False
            )
        assert ended.returncode == 2
        left = "" if arguments[0].startswith("-") else "; what was written so far is not complete"
        assert one_line(ended.stderr) == f"pcapstall: standard output: No space left on device{left}"

    def test_no_standard_output_is_told_before_anything_is_read(self) -> None:
        """A pipe may be read for days before."""
        reader, writer = os.pipe()
        try:
            ended = subprocess.run(
                ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "report", "-"],
                stdin=reader, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False,
            )  # fmt: skip
        finally:
            os.close(reader)
            os.close(writer)
        assert ended.returncode == 2
        assert one_line(ended.stderr) == "pcapstall: standard output is closed"

    def test_a_pipe_that_does_not_wait_gets_all_of_it(self, tmp_path: Path) -> None:
        """O_NONBLOCK is of the pipe, and may have been set by whoever else writes to it (node, ssh)."""
        many = tmp_path / "many.pcap"
        many.write_bytes(DATA[:24] + DATA[24:] * 40)
        whole = run("report", str(many), "--all", "-f", "jsonl")
        assert len(whole.stdout) > 100_000
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        process = subprocess.Popen(
            [*COMMAND, "report", str(many), "--all", "-f", "jsonl"], stdout=writer, stderr=subprocess.PIPE
        )
        wait_for(lambda: pipe_is_full(writer), "nobody reads")
        time.sleep(0.1)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            assert pipe.read() == whole.stdout
        assert process.communicate(timeout=PATIENCE_S)[1] == b""
        assert process.returncode == 0

    @pytest.mark.parametrize(
        ("closed", "code", "said"),
        [
            ("<&-", 3, "pcapstall: -: standard input is closed"),
            (">&-", 2, "pcapstall: standard output is closed"),
            ("2>&-", 0, ""),
        ],
    )
    def test_closed_streams(self, closed: str, code: int, said: str) -> None:
        capture = "-" if closed == "<&-" else REFUSED
        script = f'exec "$@" {closed}'
        ended = subprocess.run(
            ["sh", "-c", script, "sh", *COMMAND, "report", capture],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert ended.returncode == code
        assert ended.stderr.strip() == said
        assert bool(ended.stdout) == (code == 0)

    def test_parquet_into_a_closed_output(self) -> None:
        ended = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "report", REFUSED, "-f", "parquet"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert ended.returncode == 2
        assert one_line(ended.stderr) == "pcapstall: standard output is closed"

    def test_an_encoding_that_lacks_a_character(self, tmp_path: Path) -> None:
        path = tmp_path / "ü.pcap"
        path.write_bytes(Path(REFUSED).read_bytes())
        ended = run("report", str(path), PYTHONIOENCODING="ascii")
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert b"\\xfc.pcap: 4 packets" in ended.stdout
