"""The command line as others meet it: in this process, as a process with pipes, on a pseudo-terminal."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
COMMAND = [sys.executable, "-m", "pcapstall"]
PATIENCE_S = 30

LOST = str(CAPTURES / "client-hello-lost" / "capture.pcap")
"""Four flows, one of which stalled in ch_ack."""
REFUSED = str(CAPTURES / "refused" / "capture.pcap")
"""Two flows that failed."""
HEALTHY = str(CAPTURES / "tls13-healthy" / "capture.pcap")
"""Three flows, nothing to say of them."""
RING = sorted(str(path) for path in (CAPTURES / "ring").glob("rotated-*.pcap"))


def run(*arguments: str, given: bytes | None = None, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command as a process of its own; ``given`` comes on standard input."""
    return subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        env=os.environ | environment,
        timeout=PATIENCE_S,
        check=False,
    )


def start(*arguments: str, stdin: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """The command as a process that goes on."""
    return subprocess.Popen(
        [*COMMAND, *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )


def on_terminal(*arguments: str, **environment: str) -> str:
    """What the command writes to a terminal that is both its output and its error output."""
    ours, its = pty.openpty()
    # No size of its own, so that COLUMNS is all there is.
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.DEVNULL, stdout=its, stderr=its, env=os.environ | environment
    )
    os.close(its)
    written = read_all(ours)
    os.close(ours)
    assert process.wait(PATIENCE_S) == 0, written
    return written.replace("\r\n", "\n")


def read_all(fd: int) -> str:
    """What comes out of a terminal until its last user has gone, which is told as an error of reading."""
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode()


def rest_of(pipe: IO[bytes] | None) -> bytes:
    """All that comes until the pipe's end. Unlike communicate() it leaves standard input open; it waits no longer."""
    assert pipe is not None
    until = time.monotonic() + PATIENCE_S
    parts: list[bytes] = []
    while not parts or parts[-1]:
        assert select.select([pipe], [], [], max(until - time.monotonic(), 0))[0], f"no end in {PATIENCE_S} s"
        parts.append(os.read(pipe.fileno(), 65536))
    return b"".join(parts)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, f"not in {PATIENCE_S} s: {what}"
        time.sleep(0.01)


def wait_until_read(process: subprocess.Popen[bytes]) -> None:
    """Until the process has taken all that was written to its standard input."""
    stdin = process.stdin
    assert stdin is not None

    def empty() -> bool:
        return struct.unpack("i", fcntl.ioctl(stdin.fileno(), termios.FIONREAD, b"\0" * 4))[0] == 0

    wait_for(empty, "the pipe is empty")


def one_line(stderr: bytes) -> str:
    """The only line of an error output."""
    lines = stderr.decode().splitlines()
    assert len(lines) == 1, lines
    return lines[0]
