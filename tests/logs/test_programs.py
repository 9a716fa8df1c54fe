"""Logs that programs of this machine write now: their stamps are of now."""

import io
import logging
import logging.handlers
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from logs_support import read_bytes

from pcapstall.logs.stamps import ABSOLUTE, ELAPSED, NAIVE, TIME_OF_DAY, YEARLESS
from pcapstall.match.log_clock import counted

PEER = (b"\x7f\0\0\1", 1)
QUARTER_NS = 900 * 10**9


def python_logging() -> bytes:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.Logger("test")
    logger.addHandler(handler)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logger.exception("from 127.0.0.1:1")
    return out.getvalue().encode()


def output_of(*command: str) -> bytes:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not here")
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60)
    return ended.stdout + ended.stderr


def logger(form: str) -> bytes:
    """What `logger` would send to a machine that is not there."""
    return output_of("logger", form, "-n", "127.0.0.1", "-d", "-P", "9", "-s", "--no-act", "from 127.0.0.1:1")


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (python_logging, NAIVE),
        (lambda: logger("--rfc3164"), YEARLESS),
        (lambda: logger("--rfc5424"), ABSOLUTE),
        (lambda: output_of("curl", "-sv", "--trace-time", "http://127.0.0.1:1/"), TIME_OF_DAY),
    ],
    ids=["python", "RFC 3164", "RFC 5424", "curl"],
)
def test_a_program_that_writes_now(write, kind: int, tmp_path: Path) -> None:
    file = read_bytes(write(), tmp_path)
    now_ns = time.time_ns()
    lines = [line for line in file.kept if PEER in line.endpoints]
    assert file.unread == 0
    assert lines
    for line in lines:
        assert line.stamp is not None
        assert line.stamp.kind == kind
        away = counted(line.stamp, now_ns) - now_ns
        assert abs((away + QUARTER_NS // 2) % QUARTER_NS - QUARTER_NS // 2) < 60 * 10**9  # whatever the zone here


def test_a_traceback_belongs_to_its_line(tmp_path: Path) -> None:
    (line,) = read_bytes(python_logging(), tmp_path).kept
    assert line.more[0] == "Traceback (most recent call last):"
    assert line.more[-2:] == ["ValueError: two", "lines"]


def test_the_jvm_counts_from_its_start(tmp_path: Path) -> None:
    file = read_bytes(output_of("java", "-Xlog:gc*:stdout", "-version"), tmp_path)
    stamped = [line.stamp for line in file.kept if line.stamp is not None]
    assert stamped
    assert {stamp.kind for stamp in stamped} == {ELAPSED}
    assert all(0 <= stamp.ns < 60 * 10**9 for stamp in stamped)
