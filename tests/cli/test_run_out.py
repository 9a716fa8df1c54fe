"""Memory and descriptors that run out: one line says how far it came and what helps, and no traceback comes."""

import errno
import os
import re
import resource
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli_support import CAPTURES, COMMAND, LOST, PATIENCE_S, one_line

from pcapstall import __main__ as program
from pcapstall.cli import (
    compare_command,
    debugging,
    diff_command,
    reading,
    report_command,
    run_out,
    summary_command,
    timeline_command,
    watch_command,
)
from pcapstall.cli.main import main
from pcapstall.core import compression, lacking
from pcapstall.core.compression import Unpacker
from pcapstall.pipeline import analysis
from pcapstall.report.pictures import png, svg

SERVER = str(CAPTURES / "client-hello-lost" / "capture_server.pcap")
Output = pytest.CaptureFixture[str]


@pytest.fixture
def at_call(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``at_call(module, name, error)``: that function raises ``error``."""

    def arrange(module: Any, name: str, error: BaseException) -> None:
        def failing(*_: Any, **__: Any) -> Any:
            raise error

        monkeypatch.setattr(module, name, failing)

    return arrange


@pytest.mark.parametrize(
    ("module", "name", "arguments", "stage", "hint"),
    [
        (reading, "analyse", ["report", LOST], "starting", "60 MB"),
        (analysis, "_put_together", ["report", LOST], "finding the stalls", "--max-flows N"),
        (report_command, "render", ["report", LOST], "writing", "jsonl"),
        (summary_command, "render_summary", ["summary", LOST], "writing", "jsonl"),
        (timeline_command, "read", ["timeline", LOST, "--flow", "1"], "starting", "60 MB"),
        (watch_command, "watch", ["watch", LOST], "watching", "--max-flows N"),
        (compare_command, "render", ["compare", LOST, SERVER], "writing", "jsonl"),
        (diff_command, "compare_reports", ["diff", LOST, SERVER], "reading AFTER", "--max-flows N"),
    ],
)
@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_memory(
    module: Any, name: str, arguments: list[str], stage: str, hint: str, error: Exception, capsys: Output, at_call: Any
) -> None:
    at_call(module, name, error)
    assert main(arguments) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert re.match(rf"pcapstall: out of memory.* while {stage}", shown.err)
    assert hint in shown.err
    assert shown.err.endswith("; nothing was written\n")


def test_how_far_it_came_is_said(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    from pcapstall.pipeline import follow

    def failing(self: Any, now_ns: int) -> None:
        raise MemoryError

    monkeypatch.setattr(follow.Scan, "end", failing)
    assert main(["report", LOST]) == 3
    size = os.stat(LOST).st_size / 1000
    assert f" while following the flows, read {size:.1f} kB of {size:.1f} kB, 100%: " in capsys.readouterr().err


def test_a_report_that_was_begun_is_said_to_be_cut(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_report: Any, out: Any, *_: Any) -> None:
        out.write("{")
        raise MemoryError

    monkeypatch.setattr(report_command, "render", failing)
    assert main(["report", LOST]) == 3
    assert capsys.readouterr().err.endswith("; what was written so far is not complete\n")


def test_a_file_is_not_there_in_part(tmp_path: Path, capsys: Output, at_call: Any) -> None:
    at_call(report_command, "render", MemoryError())
    assert main(["report", LOST, "-o", str(tmp_path / "report.json")]) == 3
    assert capsys.readouterr().err.endswith("; nothing was written\n")
    assert not list(tmp_path.iterdir())


def test_what_was_kept_is_free_when_it_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """The telling needs memory, which the frames hold that the error has come through."""

    class Kept(list[int]):
        pass

    gone: list[bool] = []

    def failing(*_: Any, **__: Any) -> None:
        kept = Kept()
        watcher.append(weakref.ref(kept))
        raise MemoryError

    import weakref

    watcher: list[Any] = []
    told = run_out.told
    monkeypatch.setattr(report_command, "render", failing)
    monkeypatch.setattr(run_out, "told", lambda lack: gone.append(watcher[0]() is None) or told(lack))
    assert main(["report", LOST]) == 3
    assert gone == [True]
    assert "out of memory" in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
@pytest.mark.parametrize("name", ["read", "render"])
def test_descriptors(number: int, name: str, capsys: Output, at_call: Any) -> None:
    """Not a word of standard output, which has nothing to do with it."""
    at_call(report_command, name, OSError(number, os.strerror(number)))
    assert main(["report", LOST]) == 3
    said = capsys.readouterr().err
    assert re.fullmatch(r"pcapstall: too many files are open.*; nothing was written\n", said)


def test_descriptors_while_modules_are_loaded(capsys: Output, at_call: Any) -> None:
    at_call(report_command, "read", OSError(errno.EMFILE, "Too many open files", "/usr/lib/python3/hashlib.py"))
    assert main(["report", LOST]) == 3
    assert "too many files are open: raise the limit (ulimit -n)" in capsys.readouterr().err


def started_with() -> int:
    """Bytes of address space that Python takes to begin."""
    code = "print(open('/proc/self/status').read())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    peak = re.search(r"VmPeak:\s*(\d+) kB", said)
    if peak is None:
        pytest.skip("no address space is told here")
    return int(peak[1]) * 1024


@pytest.mark.parametrize("more_mb", [2, 5, 8, 11])
def test_hardly_any_memory(more_mb: int) -> None:
    """Imports fail, in whatever way; there is no room for a traceback either."""
    most = started_with() + more_mb * 1_000_000
    ended = subprocess.run(
        [*COMMAND, "report", LOST, "-f", "html"],
        capture_output=True, check=False, timeout=PATIENCE_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )  # fmt: skip
    if ended.returncode:
        assert ended.returncode == 3
        assert one_line(ended.stderr).startswith("pcapstall: out of memory")


def test_what_goes_meanwhile_is_silent(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects that lack room for their end (`FlowPlaces.__del__`), and files that were not closed in time."""
    monkeypatch.delenv(debugging.VARIABLE, raising=False)
    hook = sys.unraisablehook
    lost = SimpleNamespace(exc_type=MemoryError, exc_value=MemoryError(), exc_traceback=None, err_msg=None, object=None)
    program._lost(lost)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        debugging.hear_warnings()
        warnings.warn_explicit(ResourceWarning("unclosed file"), None, "main.py", 1, "pcapstall.cli.main")
    assert capfd.readouterr() == ("", "")
    assert sys.unraisablehook is hook


@pytest.mark.parametrize(
    ("error", "lack"),
    [
        (ImportError("libarrow.so.1500: failed to map segment from shared object"), lacking.NO_MEMORY),
        (ImportError("x.so: failed to map segment from shared object: Operation not permitted"), ""),
        (ImportError("No module named pyarrow"), ""),
        (OSError(errno.ENOSPC, "No space left on device"), ""),
        (OSError("no number"), ""),
        (ValueError("x"), ""),
        (SystemError("error return without exception set"), ""),
    ],
)
def test_what_is_a_lack(error: Exception, lack: str) -> None:
    assert lacking.lack_of(error) == lack


def test_what_nobody_explained_where_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (10**8, resource.RLIM_INFINITY))
    assert lacking.lack_of(SystemError("error return without exception set")) == lacking.NO_MEMORY
    assert lacking.lack_of(SystemError("<built-in f> returned a result with an exception set")) == ""


def test_no_room_to_load_an_extra_is_not_told_as_its_absence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    folder = tmp_path / "modules" / "pyarrow"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('libarrow.so: failed to map segment from shared object')")
    monkeypatch.syspath_prepend(str(folder.parent))
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["report", LOST, "-o", str(tmp_path / "flows.parquet")]) == 3
    assert capsys.readouterr().err.startswith("pcapstall: out of memory")


def test_no_room_to_unpack_is_not_told_as_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        eof, unused, hungry = False, b"", True

        def feed(self, data: bytes) -> bytes:
            raise RuntimeError("LZ4F_decompress failed with code: ERROR_allocation_failed")

    monkeypatch.setattr(compression, "_codec", lambda *_: (Full, (RuntimeError,)))
    chunks = iter([b"\x04\x22\x4d\x18" + bytes(100)])
    with pytest.raises(MemoryError):
        Unpacker(lambda: next(chunks, b""), "x.lz4", "lz4").read()


class TestTemporaryFiles:
    """What comes by a pipe and is read twice needs a place."""

    @pytest.mark.parametrize("command", ["strace", "log", "extract"])
    @pytest.mark.parametrize("most", [0, 5000])
    def test_the_pipe_and_the_folder_are_named(self, command: str, most: int, tmp_path: Path) -> None:
        text = CAPTURES / "stalled-client-hello" / f"outbound.{command}"
        if command == "extract":
            given, arguments = LOST, ["extract", "-", "--flow", "1", "-o", str(tmp_path / "small.pcap")]
        else:
            given, arguments = str(text), ["report", LOST, f"--{command}", "-"]
        with subprocess.Popen(["cat", given], stdout=subprocess.PIPE) as cat:
            ended = subprocess.run(
                [*COMMAND, *arguments], stdin=cat.stdout, capture_output=True, check=False, timeout=PATIENCE_S,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
            )  # fmt: skip
        said = ended.stderr.decode()
        assert ended.returncode in (2, 3)
        assert re.search(r"^pcapstall: (-: is a pipe, and|standard input) cannot be kept in .*\(TMPDIR\): ", said), said
        assert "Traceback" not in said
        assert not list(tmp_path.iterdir())

    def test_a_text_from_a_closed_standard_input(self) -> None:
        ended = subprocess.run(
            ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, "report", LOST, "--strace", "-"],
            capture_output=True, check=False, timeout=PATIENCE_S,
        )  # fmt: skip
        assert ended.returncode == 3
        assert "pcapstall: -: standard input is closed" in ended.stderr.decode()


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    ended = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *COMMAND, "verify", LOST],
        cwd=tmp_path / "gone", capture_output=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert ended.returncode == 2
    assert one_line(ended.stderr).startswith("pcapstall: the folder that this runs in cannot be found (")


def test_an_extract_in_a_file_needs_no_standard_output(tmp_path: Path) -> None:
    path = tmp_path / "small.pcapng"
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "extract", LOST, "--flow", "1", "-o", str(path)],
        capture_output=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert ended.stderr.decode().startswith(f"pcapstall: {path}: 1 flow, ")
    assert path.exists()


def test_a_picture_that_there_is_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What draws it would end the process (Rust: memory allocation of ... bytes failed, SIGABRT)."""
    drawn: list[str] = []
    resvg = SimpleNamespace(svg_to_bytes=lambda **_: drawn.append("drawn") or b"")
    with pytest.raises(MemoryError):
        png._drawn(resvg, svg.Picture(10_000_000, 100_000_000, "", []))  # type: ignore[arg-type]
    assert not drawn
