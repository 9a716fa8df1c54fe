"""Sockets and flows: the four ways, what stays unmatched, and the offset of the clocks."""

import gc
import tempfile
import time
from pathlib import Path

import pytest
from process_support import HELLO, shown, silent_client, strace
from wire_support import SECOND, flows_of

from pcapstall.core.frames import frame_ref
from pcapstall.flows.flow import Flow
from pcapstall.match.matching import Matching, match_index, match_strace
from pcapstall.match.offset import Bound, settle
from pcapstall.match.outline import Outlines
from pcapstall.strace.family import open_straces
from pcapstall.strace.leader import ELAPSED, EPOCH, RELATIVE, TIME_OF_DAY

SOCKET = (-0.1, "socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 5 <0.000010>")
WRITE = (3.0100, f"write(5, {shown(HELLO)}, {len(HELLO)}) = {len(HELLO)} <0.000050>")


def connect(address: str = "10.0.0.2", port: int = 443, at: float = -0.00001) -> tuple[float, str]:
    where = f'{{sa_family=AF_INET, sin_port=htons({port}), sin_addr=inet_addr("{address}")}}'
    return at, f"connect(5, {where}, 16) = 0 <0.010200>"


def matching(text: str, flows: list[Flow]) -> Matching:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        path.write_text(text)
        (opened,) = open_straces([str(path)])
        outlines = Outlines()
        for flow in flows:
            outlines.add(flow)
        return match_strace(opened, outlines)


def ways(found: Matching) -> list[tuple[int, str, str]]:
    return [(int(match.end.flow.id), match.end.side, match.way) for match in found.matches]


def flows(*ports: int) -> list[Flow]:
    """Silent clients, one after the other's port at the same time."""
    segments = []
    for number, port in enumerate(ports):
        road = silent_client()
        road.client_port = port
        road.client_isn += 1000 * number
        segments += road.captured("client")
    segments.sort(key=lambda segment: segment.ts_ns)
    for frame, segment in enumerate(segments, 1):
        segment.ref = frame_ref(0, frame)
    return flows_of(segments)


def test_by_the_bytes_whatever_the_addresses_say() -> None:
    text = strace([SOCKET, connect("192.0.2.9", 8443), WRITE])
    assert ways(matching(text, flows(40000))) == [(1, "client", "client_random")]


def test_by_bytes_of_several_reads() -> None:
    """A server that reads the record's header first."""
    text = strace(
        [
            (3.0, f"read(4, {shown(HELLO[:5])}, 5) = 5 <0.000020>"),
            (3.1, f"read(4, {shown(HELLO[5:])}, {len(HELLO) - 5}) = {len(HELLO) - 5} <0.000020>"),
        ]
    )
    assert ways(matching(text, flows(40000))) == [(1, "server", "client_random")]


def test_the_same_hello_in_two_flows_is_told_apart_by_addresses() -> None:
    name = (
        0.011,
        'getsockname(5, {sa_family=AF_INET, sin_port=htons(40001), sin_addr=inet_addr("10.0.0.1")}, [16]) = 0',
    )
    found = matching(strace([SOCKET, connect(), name, WRITE]), flows(40000, 40001))
    assert [(match.end.local[1], match.way) for match in found.matches] == [(40001, "client_random")]


def relay(came_from: str, went_to: str, read_at: float = 3.012) -> str:
    """A proxy that passes a hello on, from a connection that it accepted to one that it opens for it."""
    asked = f'{{sa_family=AF_INET, sin_port=htons(40000), sin_addr=inet_addr("{came_from}")}}'
    return strace(
        [
            (-0.2, 'bind(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("0.0.0.0")}, 16) = 0 <0.0>'),
            (-0.1, "listen(3, 9) = 0 <0.000010>"),
            (0.012, f"accept4(3, {asked}, [16], 0) = 4 <0.000010>"),
            (read_at, f"recvfrom(4, {shown(HELLO)}, 16384, 0, NULL, NULL) = {len(HELLO)} <0.000020>"),
            (read_at + 0.4, SOCKET[1]),
            (read_at + 0.5, connect(went_to, 8443)[1]),
            (read_at + 0.6, WRITE[1]),
        ]
    )


def test_a_proxy_that_passes_the_hello_on_is_one_end_of_the_flow() -> None:
    """One end of the flow that was captured, not both, as the same bytes in both connections suggest."""
    assert ways(matching(relay("10.0.0.1", "127.0.0.1"), flows(40000))) == [(1, "server", "client_random")]
    assert ways(matching(relay("192.0.2.7", "127.0.0.1"), flows(40000))) == [(1, "server", "client_random")]


def test_the_way_out_of_a_proxy_may_be_what_was_captured() -> None:
    text = relay("192.0.2.7", "192.0.2.8", read_at=2.41)
    assert ways(matching(text, flows(40000))) == [(1, "client", "client_random")]


def test_by_the_decoration() -> None:
    text = strace([SOCKET, connect(), (0.5, "read(5<TCP:[10.0.0.1:40001->10.0.0.2:443]>, 0x55, 9) = -1 EAGAIN (x)")])
    found = matching(text, flows(40000, 40001))
    assert [(match.end.local[1], match.way) for match in found.matches] == [(40001, "decoration")]


def test_by_the_address_of_accept() -> None:
    text = strace(
        [
            (-0.2, 'bind(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("10.0.0.2")}, 16) = 0 <0.0>'),
            (-0.1, "listen(3, 9) = 0 <0.0>"),
            (
                0.2,
                'accept4(3, {sa_family=AF_INET, sin_port=htons(40001), sin_addr=inet_addr("10.0.0.1")}, [16], 0) = 4',
            ),
        ]
    )
    found = matching(text, flows(40000, 40001))
    assert [(match.end.local[1], match.end.peer[1], match.way) for match in found.matches] == [
        (443, 40001, "addresses")
    ]  # fmt: skip


def test_by_the_time_of_the_syn() -> None:
    assert ways(matching(strace([SOCKET, connect()]), flows(40000))) == [(1, "client", "connect_time")]


def test_of_two_syns_the_one_that_left_in_the_connect() -> None:
    """Two connections to one server at nearly one time; the other one is of a process that is not traced."""
    first, second = flows(40000, 40001)
    for flow, away in ((first, 0), (second, 40_000_000)):
        flow.syn_ns += away
    found = matching(strace([SOCKET, connect()]), [first, second])
    assert [(int(match.end.flow.id), match.way) for match in found.matches] == [(int(first.id), "connect_time")]


def test_a_connect_at_another_time_is_another_connection() -> None:
    found = matching(strace([SOCKET, connect(at=-60.0)]), flows(40000))
    assert not found.matches
    assert len(found.strangers) == 1


def test_two_that_may_be_either_stay_unmatched_and_are_listed() -> None:
    found = matching(strace([SOCKET, connect()]), flows(40000, 40001))
    assert not found.matches
    (told,) = found.unmatched()
    assert "10.0.0.1:40000" in told
    assert "10.0.0.1:40001" in told
    assert "trace:" in told


def test_no_udp_and_no_listener_is_a_connection() -> None:
    udp = [(-0.1, "socket(AF_INET, SOCK_DGRAM, IPPROTO_IP) = 5 <0.000010>"), connect()]
    found = matching(strace(udp), flows(40000))
    assert not found.matches
    assert not found.unmatched()


def test_time_of_day_gets_its_date_from_the_capture() -> None:
    # 1700000000 is 22:13:20 UTC; this host is at UTC+01:00, so its midnight is passed.
    text = "7 23:13:19.999990 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 5 <0.000005>\n"
    text += "7 23:13:19.999995 " + connect()[1] + "\n7 23:13:23.010000 " + WRITE[1] + "\n"
    found = matching(text, flows(40000))
    assert ways(found) == [(1, "client", "client_random")]
    assert found.offset is not None
    assert found.offset.shown_ns == -3600 * SECOND
    assert found.offset.ns % (900 * SECOND) == 0


def test_the_first_connect_bounds_the_clock() -> None:
    found = matching(strace([SOCKET, connect(), WRITE]), flows(40000))
    assert found.offset is not None
    assert found.offset.consistent
    assert found.offset.ns == 0
    assert (found.offset.error_ns or SECOND) < SECOND // 1000


def bound(upper: bool, ns: int) -> Bound:
    return Bound(upper, ns, 1, 1, ns)


@pytest.mark.parametrize(
    ("bounds", "kind", "ns", "error", "consistent"),
    [
        ([bound(True, 300), bound(False, -900)], EPOCH, 0, 300, True),
        ([bound(True, 7_000_000_300), bound(False, 7_000_000_100)], EPOCH, 7_000_000_200, 100, True),
        ([bound(True, 100), bound(False, 200)], EPOCH, 150, 50, False),
        ([bound(True, 5_000_000_000)], EPOCH, 5_000_000_000, None, True),
        ([bound(True, 2_000_000_000), bound(False, -50_000_000)], EPOCH, 975_000_000, 1_025_000_000, True),
        ([bound(True, 3600 * SECOND + 40)], TIME_OF_DAY, 3600 * SECOND, 40, True),
        ([bound(True, 900), bound(False, 100)], ELAPSED, 500, 400, True),
    ],
)
def test_offsets(bounds: list[Bound], kind: int, ns: int, error: int | None, consistent: bool) -> None:
    offset = settle(bounds, kind)
    assert offset is not None
    assert (offset.ns, offset.error_ns, offset.consistent) == (ns, error, consistent)


def test_differences_that_were_added_up_may_drift() -> None:
    """-r cuts each to microseconds: the bounds of thousands of lines contradict each other by some."""
    found = [bound(True, 1_000_000), bound(False, 1_030_000)]
    offset = settle(found, RELATIVE, 40_000)
    assert offset is not None
    assert (offset.ns, offset.error_ns, offset.consistent) == (1_015_000, 40_000, True)
    contradicting = settle(found, RELATIVE, 20_000)
    assert contradicting is not None
    assert not contradicting.consistent


def test_what_t_counts_begins_after_strace_has_printed_the_arguments() -> None:
    """-yy asks the kernel for addresses between the stamp and what -T counts: the next line bounds the return."""
    slow = (-0.0004, connect(at=0)[1].replace("<0.010200>", "<0.000105>"))  # entered 400 us before its SYN left
    after = (0.0120, "getsockname(5, 0x7ffd, [16]) = -1 EFAULT (Bad address) <0.000005>")
    found = matching(strace([SOCKET, slow, after, WRITE]), flows(40000))
    assert found.offset is not None
    assert found.offset.consistent
    assert found.offset.ns == 0
    assert (found.offset.error_ns or 0) > 9_000_000  # the SYN-ACK came 10 ms after the SYN


def test_a_call_that_had_returned_by_the_next_line_cannot_have_waited_for_longer() -> None:
    slow = (-0.0004, connect(at=0)[1].replace("<0.010200>", "<0.000105>"))
    after = (0.0050, "getsockname(5, 0x7ffd, [16]) = -1 EFAULT (Bad address) <0.000005>")
    found = matching(strace([SOCKET, slow, after, WRITE]), flows(40000))
    assert found.offset is not None
    assert not found.offset.consistent


def test_a_capture_that_dropped_packets_makes_few_bounds_too_high() -> None:
    """Of an ACK that it missed it has a later one, which no accept can have waited for."""
    right = [bound(True, 80_000), *(bound(False, -60_000 - number) for number in range(9))]
    offset = settle([*right, bound(False, 102_230_000)], EPOCH)
    assert offset is not None
    assert (offset.ns, offset.consistent) == (0, True)
    contradicting = settle([*right[:5], bound(False, 102_230_000)], EPOCH)
    assert contradicting is not None
    assert not contradicting.consistent


def test_no_pair_no_offset() -> None:
    assert settle([], EPOCH) is None


def test_every_lab_socket_is_found(lab: Path) -> None:
    """By bytes where strace shows them: the flows of the truth, each side once."""
    from pcapstall.pipeline import Options, analyse
    from pcapstall.pipeline.ends.given import GivenFile

    for name in ("a1_healthy_epoll", "m1_fd_reuse", "m6_concurrent_same_peer", "q1_dnat", "o1_clock_skew"):
        folder = lab / name
        given = [GivenFile(str(folder / f"{side}.strace")) for side in ("client", "server")]
        analysis = analyse([str(folder / "capture.pcap")], Options(all_flows=True, straces=given))
        rows = list(analysis.report.flows)
        assert {row.match for row in rows} == {"client_random"}, name
        for report, side in zip(analysis.report.straces, ("client", "server"), strict=True):
            assert {process.side for process in report.processes if process.flows} == {side}, name
            assert sorted({flow for process in report.processes for flow in process.flows}) == [row.id for row in rows]


def test_of_many_sockets_those_that_are_no_end_are_let_go() -> None:
    """A long trace keeps the sockets that may be ends of flows, and counts the others."""
    lines = []
    for number in range(12_000):
        at = number / 10_000 - 2
        lines += [
            (at, SOCKET[1]),
            (at, connect("10.0.0.2" if number == 300 else "192.0.2.1")[1]),
            (at, "close(5) = 0 <0.000001>"),
        ]
    found = matching(strace([*lines, SOCKET, connect(), WRITE]), flows(40000))
    assert ways(found) == [(1, "client", "client_random")]
    assert len(found.index.sockets) < 9_000
    assert any(socket.peer == (b"\x0a\0\0\2", 443) and socket.closed_line for socket in found.index.sockets)
    assert found.unmatched()[-1].endswith(" more")
    assert len(found.strangers) + found.strangers_let_go == 12_000


def test_of_many_unmatched_sockets_fifty_are_listed() -> None:
    lines = []
    for number in range(40):
        at = number / 100 - 2
        lines += [(at, SOCKET[1]), (at, connect("192.0.2.1")[1]), (at, "close(5) = 0 <0.000001>")]
    assert len(matching(strace(lines), flows(40000)).unmatched()) == 40
    later = [(at + 1, call) for at, call in lines]
    told = matching(strace([*lines, *later]), flows(40000)).unmatched()
    assert len(told) == 51
    assert told[-1] == "30 more"
    assert len(set(told)) == 51


def test_one_flow_of_many_to_a_server_is_found_by_its_addresses() -> None:
    """The accepted one of several connections, all of them to the listener's address."""
    address = 'sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("10.0.0.2")'
    peer = 'sa_family=AF_INET, sin_port=htons(40001), sin_addr=inet_addr("10.0.0.1")'
    lines = [
        (-0.2, f"bind(3, {{{address}}}, 16) = 0 <0.000001>"),
        (-0.2, "listen(3, 16) = 0 <0.000001>"),
        (0.2, f"accept4(3, {{{peer}}}, [16], 0) = 5 <0.000001>"),
        (0.2, f"getsockname(5, {{{address}}}, [16]) = 0 <0.000001>"),
    ]
    assert ways(matching(strace(lines), flows(40000, 40001, 40002))) == [(2, "server", "addresses")]


def test_a_strace_that_was_appended_to_itself_is_matched_once_and_says_so() -> None:
    text = strace([SOCKET, connect(), WRITE, (3.5, "close(5) = 0 <0.000010>"), (4.0, "+++ exited with 0 +++")])
    once, twice = matching(text, flows(40000)), matching(text + text, flows(40000))
    assert ways(twice) == ways(once) != []
    assert [frame_ref(0, text.count("\n") + 1)] == [socket.line for socket in twice.told_again]
    assert once.told_again == []


def test_two_sockets_of_one_second_are_two_where_stamps_tell_no_more() -> None:
    text = "".join(
        f"7 10:00:00 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 5\n7 10:00:00 connect(5, {{sa_family=AF_INET, "
        f'sin_port=htons({port}), sin_addr=inet_addr("10.0.0.2")}}, 16) = 0\n7 10:00:00 close(5) = 0\n'
        for port in (443, 444)
    )
    assert matching(text, flows(40000)).told_again == []


def test_one_hello_in_very_many_sockets_takes_time_for_each_and_not_for_each_pair() -> None:
    def took(count: int) -> float:
        copy = strace([SOCKET, connect(), WRITE, (3.5, "close(5) = 0 <0.000010>")])
        text = "".join(
            copy.replace("5, ", f"{number}, ").replace("= 5 ", f"= {number} ").replace("close(5)", f"close({number})")
            for number in range(100, 100 + count)
        )
        times = []
        for _ in range(3):
            found = matching(text, ends)
            assert len(found.index.sockets) == count
            gc.collect()  # the garbage of other tests, which takes a quarter of a second
            began = time.process_time()
            match_index(found.index, outlines)
            times.append(time.process_time() - began)
        return min(times)

    ends = flows(40000)
    outlines = Outlines()
    for flow in ends:
        outlines.add(flow)
    assert took(1600) < 24 * took(200) + 0.1
