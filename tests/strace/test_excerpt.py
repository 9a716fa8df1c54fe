"""Lines of a strace read once more, and texts found among what it shows being written."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.frames import frame_of
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
