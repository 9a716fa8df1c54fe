"""Lines of logs and flows: whose line it is, and how the log's clock stands to the capture's."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from process_support import silent_client
from wire_support import MS, SECOND, START_NS, flows_of

from pcapstall.core.frames import frame_ref
from pcapstall.core.textfile import TextSource
from pcapstall.core.times import format_utc
from pcapstall.flows.flow import Flow
from pcapstall.logs.reader import read_log
from pcapstall.logs.stamps import ABSOLUTE, DAY, ELAPSED, NAIVE, TIME_OF_DAY, YEARLESS, Stamp
from pcapstall.match.log_clock import Anchor, LogClock, counted, settle_clock
from pcapstall.match.log_lines import FlowLines, KnownAs, Lives, Placed, _Open, clock_of, lines_of_flows
from pcapstall.match.offset import QUARTER_NS, Offset
from pcapstall.match.outline import Outline


def flows(*starts_s: float, port: int = 40000) -> list[Flow]:
    """Connections of three seconds from one client, each from its own port; equal starts of one port are not wanted."""
    segments = []
    for number, start in enumerate(starts_s):
        road = silent_client()
        road.client_port = port + number
        road.client_isn += 1000 * number
        for segment in road.captured("client"):
            segment.ts_ns += round(start * SECOND)
            segments.append(segment)
    segments.sort(key=lambda segment: segment.ts_ns)
    for frame, segment in enumerate(segments, 1):
        segment.ref = frame_ref(0, frame)
    return flows_of(segments)


def stamp(seconds: float, shift_ns: int = 0) -> str:
    """Of a wall clock without a zone."""
    return format_utc(START_NS + round(seconds * SECOND) + shift_ns).removesuffix(" UTC").replace(" ", "T")


def matched(
    text: str, found: list[Flow], strace: Offset | None = None, known_as: Sequence[KnownAs] = ()
) -> tuple[LogClock, dict[int, list[tuple[int, str]]]]:
    """The log's clock; of each flow the lines, each with its time since the first packet in ms."""
    clock, lines = placed(text, found, strace, known_as)
    return clock, {
        flow_id: [(line.line.number, "-" if line.ns is None else str((line.ns - START_NS) // MS)) for line in about]
        for flow_id, about in lines.items()
    }


def placed(
    text: str, found: list[Flow], strace: Offset | None = None, known_as: Sequence[KnownAs] = ()
) -> tuple[LogClock, dict[int, list[Placed]]]:
    lives = Lives((Outline(flow) for flow in found), known_as)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.log"
        path.write_text(text)
        file = read_log(TextSource(str(path)), FlowLines(lives, strace.skew_ns if strace else 0))
    clock = clock_of(file, lives, strace)
    return clock, lines_of_flows(file, clock, lives)


CLIENT, SERVER = "10.0.0.1:40000", "10.0.0.2:443"


def test_a_line_that_names_the_client_is_that_clients() -> None:
    text = f"{stamp(0.5)}Z {CLIENT} a\n{stamp(0.6)}Z 10.0.0.1:40001 b\n{stamp(0.7)}Z 10.0.0.1:50000 c\n"
    clock, lines = matched(text, flows(0, 0.1))
    assert lines == {1: [(1, "500")], 2: [(2, "600")]}
    assert (clock.kind, clock.offset_ns, clock.source, clock.lines) == (ABSOLUTE, 0, "printed", 2)


def test_a_line_that_names_only_the_server_is_of_all_that_are_open() -> None:
    text = f"{stamp(1)}Z to {SERVER} a\n{stamp(20)}Z to {SERVER} b\n{stamp(60)}Z to {SERVER} c\n"
    _, lines = placed(text, flows(0, 0.1, 19))
    assert {flow: [line.line.number for line in about] for flow, about in lines.items()} == {1: [1], 2: [1], 3: [2]}
    assert not lines[1][0].names_client


def test_a_line_about_another_connection_of_the_server_is_not_this_ones() -> None:
    _, lines = placed(f"{stamp(1)}Z 10.0.0.9:40000 -> {SERVER} a\n", flows(0))
    assert lines == {}


def test_a_port_that_is_used_again_is_told_apart_by_time() -> None:
    one, other = flows(0), flows(100)
    other[0].id = 2
    text = f"{stamp(1)}Z {CLIENT} a\n{stamp(101)}Z {CLIENT} b\n{stamp(5000)}Z {CLIENT} c\n{stamp(3)}Z x\n"
    _, lines = matched(text, [*one, *other])
    assert lines == {1: [(1, "1000")], 2: [(2, "101000")]}


def test_a_zone_is_a_multiple_of_fifteen_minutes() -> None:
    shift = 23 * QUARTER_NS  # UTC+05:45
    lines = "".join(f"{stamp(10 * n + 1, shift)} 10.0.0.1:{40000 + n} x\n" for n in range(4))
    clock, found = matched(lines, flows(0, 10, 20, 30))
    assert (clock.kind, clock.zone_ns, clock.residual_ns, clock.source) == (NAIVE, shift, 0, "lines")
    assert found == {1: [(1, "1000")], 2: [(2, "11000")], 3: [(3, "21000")], 4: [(4, "31000")]}


def test_a_zone_and_a_clock_that_is_wrong() -> None:
    shift = -20 * QUARTER_NS - 40 * SECOND
    lines = "".join(f"{stamp(10 * n + 1.5, shift)} 10.0.0.1:{40000 + n} x\n" for n in range(4))
    clock, _ = matched(lines, flows(0, 10, 20, 30))
    assert clock.zone_ns == -20 * QUARTER_NS
    assert clock.error_ns is not None
    assert abs(clock.residual_ns - 40 * SECOND) <= clock.error_ns


@pytest.mark.parametrize("seconds", [-3600.0, -7.25, 9.5, 86_400.0])
def test_a_clock_that_many_lines_contradict(seconds: float) -> None:
    lines = "".join(f"{stamp(10 * n + 1.5 - seconds)}Z 10.0.0.1:{40000 + n} x\n" for n in range(4))
    clock, _ = matched(lines, flows(0, 10, 20, 30))
    assert clock.source == "lines"
    assert clock.error_ns is not None
    assert abs(clock.offset_ns - seconds * SECOND) <= clock.error_ns < 3 * SECOND


def test_two_lines_do_not_prove_a_clock_wrong() -> None:
    lines = "".join(f"{stamp(10 * n + 100)}Z 10.0.0.1:{40000 + n} x\n" for n in range(2))
    clock, _ = matched(lines, flows(0, 10))
    assert (clock.offset_ns, clock.error_ns, clock.source) == (0, None, "printed")


def test_seconds_since_a_start() -> None:
    lines = "".join(f"[{100 + 10 * n + 1:12.6f}s]  INFO 10.0.0.1:{40000 + n} x\n" for n in range(4))
    clock, found = placed(lines, flows(0, 10, 20, 30))
    assert (clock.kind, clock.source, clock.lines, clock.of_lines) == (ELAPSED, "lines", 4, 4)
    assert clock.start_ns is not None
    assert clock.error_ns is not None
    assert abs(clock.start_ns - (START_NS - 100 * SECOND)) <= clock.error_ns
    line = found[1][0]
    assert line.ns is not None
    assert line.error_ns is not None
    assert abs(line.ns - (START_NS + SECOND)) <= line.error_ns


def test_without_a_line_that_names_a_flow_only_the_order_is_known() -> None:
    clock, found = placed(f"[ 1.5s] {SERVER} a\n", flows(0))
    assert (clock.known, clock.source, found) == (False, "nothing", {})


def test_a_line_without_a_stamp_is_its_flows_all_the_same() -> None:
    clock, found = matched(f"x {CLIENT}\n", flows(0))
    assert found == {1: [(1, "-")]}
    assert not clock.known


def test_an_address_without_a_port_is_about_the_only_flow_of_it() -> None:
    """An access log, which has the client's address only and whole seconds."""
    line = "10.0.0.1 - - [{}Z] GET / 200\n"
    text = "".join(line.format(stamp(at).split(".")[0]) for at in (1, 5, 11, 40)) + f"{stamp(1)}Z 10.0.0.9 x\n"
    assert matched(text, flows(0, 10))[1] == {1: [(1, "1000")], 2: [(3, "11000")]}
    assert matched(text, flows(0, 1))[1] == {}, "which of two is not known"
    assert matched(f"{stamp(1)}Z 10.0.0.1 and 10.0.0.1:41000 x\n", flows(0))[1] == {}, "another connection of it"


(ANY_FLOW,) = flows(0)


def life(number: int, first_s: int, last_s: int) -> Outline:
    """A flow of one client that was open then."""
    outline = Outline(ANY_FLOW)
    outline.id = number
    outline.client = outline.client[:-2] + (1024 + number).to_bytes(2, "big")
    outline.first_ns = first_s * SECOND
    outline.last_ns = last_s * SECOND
    return outline


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=12), st.integers(0, 90), st.integers(0, 3))
def test_the_only_one_that_was_open_is_what_a_look_at_each_finds(
    lives: list[tuple[int, int]], at_s: int, resolution_s: int
) -> None:
    outlines = [life(number, first, first + length) for number, (first, length) in enumerate(lives, 1)]
    start_ns, end_ns = at_s * SECOND, (at_s + resolution_s) * SECOND
    found = [one for one in outlines if one.first_ns <= end_ns and one.last_ns >= start_ns]
    assert _Open(outlines).only_one(start_ns, end_ns) is (found[0] if len(found) == 1 else None)


def test_two_of_very_many_flows_of_a_client_are_two() -> None:
    """However far apart they are in its list."""
    short = [life(number, 1000 + number, 1000 + number) for number in range(2, 9000)]
    lives = Lives([life(1, 10, 20), *short, life(9000, 15, 25)])
    address = bytes((10, 0, 0, 1))
    assert lives.only_one_at(address, 17 * SECOND, 0) is None
    only = lives.only_one_at(address, 9500 * SECOND, 0)
    assert only is not None
    assert only.id == 8500


def test_a_line_has_the_address_that_the_process_knows() -> None:
    """Behind address translation the strace of the server tells as whom it knows the client."""
    text = f"{stamp(1)}Z TLS handshake error from 192.0.2.9:61000: EOF\n{stamp(1)}Z 192.0.2.9:61001 x\n"
    known = (1, True, (bytes((192, 0, 2, 9)), 61000))
    assert matched(text, flows(0))[1] == {}
    assert matched(text, flows(0), known_as=[known])[1] == {1: [(1, "1000")]}


def test_a_strace_of_the_same_label_has_the_logs_clock() -> None:
    strace = Offset(3 * SECOND, 1_000, True, 4, 3 * SECOND)
    clock, found = matched(f"{stamp(1)}Z x\n{stamp(-2)}Z {CLIENT} x\n{stamp(-1)}Z to {SERVER}\n", flows(0), strace)
    assert (clock.source, clock.error_ns) == ("strace", 1_000)
    assert found == {1: [(2, "1000"), (3, "2000")]}


def test_a_strace_without_a_date_has_the_logs_clock_too() -> None:
    """`strace -tt`: its offset holds the date, which is not how far the clock is off."""
    strace = Offset(20_000 * DAY + 3 * SECOND, 1_000, True, 4, 3 * SECOND)
    clock, found = matched(f"{stamp(1)}Z x\n{stamp(-2)}Z {CLIENT} x\n{stamp(-1)}Z to {SERVER}\n", flows(0), strace)
    assert (clock.source, clock.error_ns) == ("strace", 1_000)
    assert found == {1: [(2, "1000"), (3, "2000")]}


def test_a_strace_that_the_lines_contradict_has_not() -> None:
    lines = "".join(f"{stamp(10 * n + 1)}Z 10.0.0.1:{40000 + n} x\n" for n in range(4))
    clock, _ = matched(lines, flows(0, 10, 20, 30), Offset(7200 * SECOND, 1_000, True, 4, 7200 * SECOND))
    assert (clock.source, clock.offset_ns) == ("printed", 0)


@given(st.integers(0, 4 * 10**9), st.integers(-40 * 366 * DAY, 40 * 366 * DAY))
def test_a_year_that_is_missing_is_the_nearest(seconds: int, away: int) -> None:
    """The stamp keeps its day and time of day, and lies within a year of where the capture is."""
    near = seconds * SECOND
    ns = abs(away) % (366 * DAY) + 2 * 365 * DAY
    found = counted(Stamp(YEARLESS, ns, 1), near)
    assert abs(found - near) <= 366 * DAY
    assert found % DAY == ns % DAY


@given(st.integers(0, DAY - 1), st.integers(0, 4 * 10**18))
def test_a_date_that_is_missing_is_the_nearest(ns: int, near: int) -> None:
    found = counted(Stamp(TIME_OF_DAY, ns, 1), near)
    assert abs(found - near) <= DAY // 2
    assert found % DAY == ns


@given(
    st.sampled_from([ABSOLUTE, NAIVE, YEARLESS, TIME_OF_DAY, ELAPSED]),
    st.lists(st.tuples(st.integers(0, 2 * 10**18), st.integers(0, 2 * 10**18), st.integers(0, 10**12)), max_size=8),
)
def test_any_lines_give_a_clock(kind: int, given_lines: list[tuple[int, int, int]]) -> None:
    anchors = [Anchor(Stamp(kind, ns, 1_000), first, first + life) for ns, first, life in given_lines]
    clock = settle_clock(kind, anchors, 10**18)
    assert clock.error_ns is None or clock.error_ns >= 0
    assert clock.lines <= clock.of_lines <= len(anchors)
    for anchor in anchors:
        assert (clock.place(anchor.stamp) is not None) == clock.known


def test_a_flow_during_which_the_clock_was_set_back() -> None:
    """Its last packet is stamped before its first one, and three lines name it."""
    (found,) = flows(0)
    found.last_ns = found.first_ns - 20 * SECOND
    text = "".join(f"{stamp(at)} 10.0.0.1:40000 said hello\n" for at in (-15, -10, -5))
    clock, lines = matched(text, [found])
    assert clock.lines == 3
    assert [number for number, _ in lines[found.id]] == [1, 2, 3]
