"""The first and the last moments of the program: Ctrl-C while it starts, faults of its own, --debug."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import HEALTHY, LOST, PATIENCE_S, one_line, run

import pcapstall

# As the script that pip installs, with something that happens on the way.
PROGRAM = """\
import os, signal, sys
{before}
from pcapstall.__main__ import main
sys.exit(main())
"""
AT_IMPORT = """\
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.{number})
sys.meta_path.insert(0, Finder())
"""
IN_A_CALLBACK = """\
import weakref
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == 'click':
            class Thing: pass
            thing = Thing()
            self.ref = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
sys.meta_path.insert(0, Finder())
"""
FAULT = """\
import pcapstall.report.to_table
def broken(*_): raise IndexError('no such thing')
pcapstall.report.to_table.render = broken
"""


def program(before: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before), *(arguments or ("report", LOST))],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False, env=os.environ | environment,
    )  # fmt: skip


EARLY = ("pcapstall.cli", "pcapstall.cli.main", "click", "click.core", "pcapstall.core.errors")
LATE = ("pcapstall.cli.report_command", "pcapstall.pipeline", "pcapstall.pipeline.follow", "pcapstall.report.to_table")


@pytest.mark.parametrize("name", [*EARLY, *LATE])
def test_ctrl_c_while_modules_are_imported(name: str) -> None:
    ended = program(AT_IMPORT.format(name=name, number="SIGINT"))
    assert (ended.returncode, ended.stdout) == (130, b"")
    said = rb"(pcapstall: ended by Ctrl-C: (nothing was written|what was written so far is not complete)\n)?"
    assert re.fullmatch(said, ended.stderr)


@pytest.mark.parametrize("name", ["click", "pcapstall.pipeline.follow"])
def test_sigterm_while_modules_are_imported(name: str) -> None:
    ended = program(AT_IMPORT.format(name=name, number="SIGTERM"))
    assert (ended.returncode, ended.stdout, ended.stderr) == (-15, b"", b"")


def test_ctrl_c_where_no_exception_can_be_passed_on() -> None:
    """A callback of a weak reference: the import system has such, and Python prints what they raise and goes on."""
    ended = program(IN_A_CALLBACK)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_a_fault_is_told_as_one_and_where_it_lies() -> None:
    ended = program(FAULT)
    said, ask = ended.stderr.decode().splitlines()
    assert ended.returncode == 70
    assert said.startswith("pcapstall: this is a fault of pcapstall, not of your files: IndexError: no such thing (")
    assert re.search(r"pcapstall/report/render\.py:\d+, version [\d.]+, Python 3\.", said)
    assert ask.endswith(f": pcapstall --debug report {LOST}")


@pytest.mark.parametrize("where", ["before", "after", "environment"])
def test_debug_shows_the_traceback_of_a_fault(where: str) -> None:
    arguments = {
        "before": ("--debug", "report", LOST),
        "after": ("report", LOST, "--debug"),
        "environment": ("report", LOST),
    }[where]
    ended = program(FAULT, *arguments, **({"PCAPSTALL_DEBUG": "1"} if where == "environment" else {}))
    assert ended.returncode == 70
    assert b"Traceback (most recent call last)" in ended.stderr
    assert b"in broken" in ended.stderr


def test_debug_tells_how_long_each_stage_took() -> None:
    ended = run("report", LOST, "--debug")
    assert ended.returncode == 0
    assert ended.stdout == run("report", LOST).stdout
    told = [line.removeprefix("pcapstall: debug: ") for line in ended.stderr.decode().splitlines()]
    assert [line.partition(":")[0] for line in told[:-1]] == [
        "starting", "opening the captures", "following the flows", "finding the stalls", "writing",
    ]  # fmt: skip
    assert re.fullmatch(r"processor [\d.]+ s user, [\d.]+ s system; memory \d+ MiB", told[-1])


def test_debug_shows_where_an_error_comes_from(tmp_path: Path) -> None:
    wrong = run("--debug", "report", LOST, "--slow", "x")
    assert wrong.returncode == 2
    assert b"Traceback" in wrong.stderr
    assert b"in parse_thresholds" in wrong.stderr
    assert "Traceback" not in run("report", LOST, "--slow", "x").stderr.decode()


def test_the_entry_point_imports_next_to_nothing() -> None:
    code = "import sys; old = set(sys.modules); import pcapstall.__main__; print(*sorted(set(sys.modules) - old))"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown.split() == ["gc", "pcapstall", "pcapstall.__main__"]
    assert pcapstall.__version__


NOT_NEEDED = ("pcapstall.capture.decompress", "pcapstall.capture.pcapng", "pcapstall.capture.remote",
              "pcapstall.capture.sniff", "pcapstall.core.compression", "pcapstall.diagnose.case",
              "pcapstall.diagnose.rules", "pcapstall.match.matching", "pcapstall.pipeline.ends.logs",
              "pcapstall.pipeline.ends.straces", "pcapstall.pipeline.select", "pcapstall.pipeline.verdicts",
              "pcapstall.report.clock_prose", "pcapstall.report.condition_", "pcapstall.report.end_model",
              "pcapstall.report.expression", "pcapstall.report.flow_grid", "pcapstall.report.flow_model",
              "pcapstall.report.groups", "pcapstall.report.happening", "pcapstall.report.log_prose",
              "pcapstall.report.places", "pcapstall.report.stories", "pcapstall.report.strace_prose",
              "pcapstall.report.thread_grid", "pcapstall.report.to_html", "pcapstall.report.trouble",
              "pcapstall.strace", "pcapstall.wire.preamble_", "bz2", "dataclasses", "dpkt", "glob", "html",
              "ipaddress", "json", "lz4", "lzma", "pyshark", "select", "shutil", "struct", "tabulate", "tempfile",
              "unicodedata", "zlib", "zstandard")  # fmt: skip
"""What only stalls, straces, conditions, filters, patterns, pictures, other formats or kinds of capture take."""


def imported_by(*arguments: str) -> set[str]:
    command = [sys.executable, "-X", "importtime", *arguments]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return {line.rpartition("|")[2].strip() for line in told.splitlines()}


def test_a_capture_in_which_nothing_stalled_is_told_of_by_few_modules() -> None:
    imported = imported_by("-m", "pcapstall", "report", HEALTHY)
    assert "pcapstall.pipeline.follow" in imported
    assert {name for name in imported if name.startswith(NOT_NEEDED)} == set()


def test_a_stall_loads_nothing_that_only_straces_logs_and_other_protocols_take() -> None:
    imported = imported_by("-m", "pcapstall", "report", LOST)
    assert {"pcapstall.pipeline.verdicts", "pcapstall.report.stories"} <= imported
    unwanted = ("pcapstall.logs", "pcapstall.match.matching", "pcapstall.report.end_model",
                "pcapstall.report.thread_grid", "pcapstall.strace", "pcapstall.wire.preamble_layers",
                "pcapstall.wire.preamble_text")  # fmt: skip
    assert {name for name in imported if name.startswith(unwanted)} == set()


def test_a_program_that_asks_loads_nothing_that_writes() -> None:
    imported = imported_by("-c", f"import pcapstall; pcapstall.analyze({HEALTHY!r})")
    assert "pcapstall.pipeline.verdicts" in imported
    unwanted = ("click", "pcapstall.cli", "pcapstall.report.expression", "pcapstall.report.stories", "glob", "json")
    assert {name for name in imported if name.startswith(unwanted)} == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["--completion", "bash"]])
def test_what_is_not_about_a_capture_loads_nothing_that_reads_one(arguments: list[str]) -> None:
    imported = imported_by("-m", "pcapstall", *arguments)
    assert "pcapstall.cli.main" in imported
    unwanted = ("pcapstall.capture.", "pcapstall.flows.", "pcapstall.pipeline.", "pcapstall.report.flow_model", "glob")
    assert {name for name in imported if name.startswith(unwanted) or name.endswith("_command")} == set()


@pytest.mark.parametrize("arguments", [["report", "nosuch.pcap"], ["nosuch"], ["report"], [], ["report", LOST]])
@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-", "2>&1 >/dev/null | true"])
def test_an_error_output_that_takes_nothing_changes_no_exit_code(arguments: list[str], where: str) -> None:
    script = f'set -o pipefail; "$@" {where}'
    command = [sys.executable, "-m", "pcapstall", *arguments]
    ended = subprocess.run(
        ["bash", "-c", script, "bash", *command], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert ended.returncode == {("report", "nosuch.pcap"): 3, ("report", LOST): 0}.get(tuple(arguments), 2)
    assert ended.stderr == b""


def test_one_line_for_each_error() -> None:
    assert one_line(run("report", "nosuch.pcap").stderr) == "pcapstall: nosuch.pcap: there is no such file"
