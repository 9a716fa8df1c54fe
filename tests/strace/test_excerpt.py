"""Lines of a strace read once more, and texts found among what it shows being written."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.frames import frame_of
from pcapstall.core.textfile import TextStream
from pcapstall.strace.excerpt import Excerpt, excerpts
from pcapstall.strace.family import Strace, open_straces
from pcapstall.strace.written import KEY_LEN, find_written, key_of

S = 1_000_000_000
TEXT = """\
7 100.000000 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3 <0.000010>
7 101.000000 read(3,  <unfinished ...>
8 101.500000 futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000010>
7 102.000000 <... read resumed>"x", 9) = 1 <1.000000>
7 102.100000 read(3, 0x7f, 9) = -1 EAGAIN (Resource temporarily unavailable) <0.000010>
8 103.000000 --- SIGTERM {si_signo=SIGTERM} ---
8 103.000100 +++ killed by SIGTERM +++
7 104.000000 poll([{fd=3, events=POLLIN}], 1, -1 <unfinished ...>
"""


def opened(text: str, folder: str) -> Strace:
    path = Path(folder) / "a.strace"
    path.write_text(text)
    (strace,) = open_straces([str(path)])
    return strace


def read(wanted: set[int], span: tuple[float, float] | None = None, most: int = 100) -> tuple[list[Excerpt], int]:
    with tempfile.TemporaryDirectory() as folder:
        span_ns = None if span is None else (round(span[0] * S), round(span[1] * S))
        return excerpts(opened(TEXT, folder), wanted, span_ns, most)


def told(found: list[Excerpt]) -> list[tuple[int, int, int, str, str]]:
    return [
        (frame_of(one.ref), frame_of(one.end_ref), one.tid, one.name or one.text.split(" {")[0], one.result)
        for one in found
    ]


def test_given_lines() -> None:
    found, left_out = read({1, 3, 6})
    assert told(found) == [(1, 1, 7, "socket", "3"), (3, 3, 8, "futex", "1"), (6, 6, 8, "SIGTERM", "")]
    assert left_out == 0


def test_both_halves_of_a_call_are_one() -> None:
    for wanted in ({2}, {4}, {2, 4}):
        (one,) = read(wanted)[0]
        assert told([one]) == [(2, 4, 7, "read", "1")]
        assert (one.start_ns, one.end_ns, one.text) == (101 * S, 102 * S, '3, "x", 9')


def test_an_error_and_a_call_that_does_not_return() -> None:
    assert told(read({5, 8})[0]) == [(5, 5, 7, "read", "-1 EAGAIN"), (8, 8, 7, "poll", "unfinished")]


def test_all_of_a_time() -> None:
    assert told(read(set(), (101.4, 102.05))[0]) == [(2, 4, 7, "read", "1"), (3, 3, 8, "futex", "1")]


def test_no_more_than_so_many() -> None:
    found, left_out = read({7}, (0, 200), 3)
    assert len(found) == 4
    assert left_out == 2
    assert told(found)[-1] == (7, 7, 8, "killed by SIGTERM", "")


LOG = '[   19.545603s]  INFO a "quoted" \\\\ line'


def test_what_a_call_wrote() -> None:
    shown = LOG[:32].replace("\\", "\\\\").replace('"', '\\"')
    text = f'7 100.5 write(1, "{shown}"..., 41) = 41 <0.1>\n8 100.6 write(2, "{shown}"..., 41) = 41 <0.1>\n'
    with tempfile.TemporaryDirectory() as folder:
        found = find_written(opened(text, folder), {key_of(LOG): 1, b"x" * KEY_LEN: 2})
    assert [(key, frame_of(one.ref), one.start_ns, one.tid) for key, one in found.items()] == [
        (key_of(LOG), 1, 100_500_000_000, 7)
    ]


def test_a_text_that_is_short_or_printed_in_octal_has_no_key() -> None:
    assert key_of("short") == b""
    assert key_of("\u00e9" * 40) == b""
    assert key_of("\x1b[1m" * 10) == b""


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=KEY_LEN, max_size=60))
def test_a_key_is_how_strace_prints_it(text: str) -> None:
    assert text.replace("\\", "\\\\").replace('"', '\\"').encode().startswith(key_of(text))
    assert len(key_of(text)) == KEY_LEN


def test_a_long_strace_is_read_as_far_as_something_can_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = "".join(f"9 {200 + at // 100}.{at % 100:02}0000 getpid() = 7 <0.000010>\n" for at in range(40_000))
    path = tmp_path / "a.strace"
    read_bytes = 0
    read_chunk = TextStream.read

    def counted(self: TextStream) -> bytes:
        nonlocal read_bytes
        chunk = read_chunk(self)
        read_bytes += len(chunk)
        return chunk

    monkeypatch.setattr(TextStream, "read", counted)
    for open_end in ("", "8 102.900000 read(4,  <unfinished ...>\n"):
        at_the_end = "8 900.000000 <... read resumed>0x7f, 9) = 0 <797.000000>\n" if open_end else ""
        path.write_text(TEXT + open_end + later + at_the_end)
        (strace,) = open_straces([str(path)])
        read_bytes = 0
        found, _ = excerpts(strace, {6}, (103 * S, 103 * S + S // 2))
        assert (6, 6, 8, "SIGTERM", "") in told(found)
        assert len(found) == (3 if open_end else 2)
        assert (read_bytes < path.stat().st_size) == (not open_end)
