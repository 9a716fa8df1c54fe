"""Joining moments into one order, and fuzz: any strace text, any log and any flow end in a timeline."""

from hypothesis import given, settings
from hypothesis import strategies as st
from timeline_support import BEGINNING, run, strace

from pcapstall.match.moments import CALL, PACKET, Moment, fold, join


def moment(ns: int, clock: str = "", error_ns: int | None = 0, own_error_ns: int = 0, count: int = 1) -> Moment:
    made = Moment(CALL if clock else PACKET, clock, ns, error_ns, "a", "b", count=count)
    made.own_error_ns = own_error_ns
    return made


def marks(*moments: Moment) -> list[bool]:
    return [made.unsure for made in join(moments)]


def test_clocks_that_are_further_apart_than_their_errors() -> None:
    assert marks(moment(0), moment(100, "x", 50), moment(201, "y", 50)) == [False, False, False]


def test_clocks_that_are_not() -> None:
    assert marks(moment(0), moment(50, "x", 50), moment(1000)) == [False, True, False]
    assert marks(moment(0, "x", 30), moment(60, "y", 30)) == [True, True]


def test_a_clock_of_which_nothing_is_known() -> None:
    assert marks(moment(0), moment(10**12, "x", None)) == [False, True]


def test_one_clock_has_its_order() -> None:
    assert marks(moment(0, "x", 10**6), moment(1, "x", 10**6)) == [False, False]
    assert marks(moment(0, "x", 10**6), moment(5, "x", 10**6, own_error_ns=10)) == [True, True]
    assert marks(moment(0, "x", 10**6), moment(11, "x", 10**6, own_error_ns=10)) == [False, False]


def test_what_is_folded_only_begins_there() -> None:
    assert marks(moment(0), moment(1, "x", 50, count=7)) == [False, False]


def test_folding() -> None:
    several = [moment(1), moment(5), moment(9)]
    for number, one in enumerate(several, 1):
        one.frames = [number]
        one.lines = [f"a:{number}"]
    made = fold(several, "three")
    assert (made.ns, made.until_ns, made.count, made.event) == (1, 9, 3, "three")
    assert (made.frames, made.lines) == ([1, 2, 3], ["a:1", "a:3"])


moments = st.builds(
    moment,
    st.integers(0, 1000),
    st.sampled_from(["", "x", "y"]),
    st.one_of(st.none(), st.integers(0, 100)),
    st.integers(0, 20),
    st.integers(1, 3),
)


@given(st.lists(moments, max_size=20))
def test_nothing_is_lost_and_all_is_in_order(given_moments: list[Moment]) -> None:
    joined = join(given_moments)
    assert sorted(map(id, joined)) == sorted(map(id, given_moments))
    assert [one.ns for one in joined] == sorted(one.ns for one in given_moments)
    assert not any(one.unsure for one in joined if one.source == PACKET)


CALLS = st.lists(
    st.sampled_from(
        [
            "epoll_create1(0) = 6 <0.1>",
            "epoll_ctl(6, EPOLL_CTL_ADD, 5, {events=EPOLLOUT, data={u32=5, u64=5}}) = 0 <0.1>",
            "epoll_wait(6, [], 8, 100) = 0 <0.2>",
            "epoll_wait(6, [{events=EPOLLOUT, data={u32=5, u64=5}}], 8, -1) = 1 <0.9>",
            "poll([{fd=5, events=POLLIN}], 1, 100) = 0 (Timeout) <0.2>",
            "futex(0x1, FUTEX_WAIT, 1, NULL) = 0 <1.5>",
            "futex(0x1, FUTEX_WAKE, 1) = 1 <0.1>",
            "read(5, 0x1, 9) = -1 EAGAIN (Resource temporarily unavailable) <0.1>",
            'read(5, "", 9) = 0 <0.1>',
            "read(5,  <unfinished ...>",
            '<... read resumed>"x", 9) = 1 <0.4>',
            "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=2}, NULL) = 0 <2.0>",
            "close(5) = 0 <0.1>",
            "--- SIGSTOP {si_signo=SIGSTOP} ---",
            "--- stopped by SIGSTOP ---",
            "+++ killed by SIGKILL +++",
            "what (is = this",
            "",
        ]
    ),
    max_size=12,
)


@given(CALLS, st.sampled_from(["table", "json", "markdown", "csv"]))
@settings(max_examples=80, deadline=None)
def test_any_calls_end_in_a_timeline(calls: list[str], form: str) -> None:
    timed = [*BEGINNING, *((0.05 + number * 2.5, text) for number, text in enumerate(calls))]
    assert "connect 5" in run(strace(timed), b"", form)


@given(st.text(max_size=300), st.binary(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_text_ends_in_a_timeline_or_a_line(trace: str, log: bytes) -> None:
    lines = b"10.40.39.45:34506 " + log + b"\n2026-11-30T07:24:11Z 10.40.39.45:34506 " + log
    run(strace(BEGINNING) + trace.encode("utf-8", "replace").decode(), lines, "table")
