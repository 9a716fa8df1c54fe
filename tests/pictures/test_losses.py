"""Which packets did not arrive: by what was sent again, by what was acknowledged, and never against the verdict."""

import pytest
from picture_support import CAPTURES, read, texts, timeline

from pcapstall.core.times import MS
from pcapstall.flows.notebook import COPY, RETRANSMISSION
from pcapstall.match.losses import lost_refs
from pcapstall.match.packet_moments import Packet, icmp_words
from pcapstall.report.model import Report
from pcapstall.report.pictures import waterfall_svg, waterfall_text
from pcapstall.report.pictures.waterfall import CLIENT, Waterfall, waterfall_of
from pcapstall.report.sketch import sketch_of
from pcapstall.wire.segment import ACK, SYN

NEW = 0


def packet(ms: float, ref: int, from_client: bool, seq: int, ack: int, length: int = 0, flags: int = ACK, **more: int):
    kind, window = more.get("kind", NEW), more.get("window", 1000)
    return Packet(int(ms * MS), ref, from_client, seq, ack, flags, length, window, 0, kind)


def hello(*sent_ms: float, acked_ms: float | None, window: int = 1000) -> list[Packet]:
    """A handshake with a round trip of 20 ms, a ClientHello that is sent at these times, and its ACK."""
    packets = [
        packet(0, 1, True, 99, 0, flags=SYN),
        packet(20, 2, False, 499, 100, flags=SYN | ACK),
        packet(20, 3, False, 500, 100, window=window),
    ]
    packets += [
        packet(ms, 10 + at, True, 100, 500, 517, kind=RETRANSMISSION if at else NEW) for at, ms in enumerate(sent_ms)
    ]
    if acked_ms is not None:
        packets.append(packet(acked_ms, 30, False, 500, 617))
    return sorted(packets, key=lambda one: one.ns)


def lost(packets: list[Packet], point: str = "client", reason: str | None = "client_hello_loss") -> list[int]:
    return sorted(lost_refs(packets, True, point, reason, False))


def test_what_was_acknowledged_a_round_trip_after_the_last_time() -> None:
    assert lost(hello(30, 250, 650, acked_ms=670)) == [10, 11]


def test_what_was_acknowledged_before_it_can_have_arrived_again_had_arrived() -> None:
    assert lost(hello(30, 250, acked_ms=251)) == []
    assert lost(hello(30, 250, 650, acked_ms=651)) == [10], "the second one arrived"
    assert lost(hello(30, acked_ms=4000)) == []


def test_what_was_never_acknowledged() -> None:
    assert lost(hello(30, 250, 650, acked_ms=None)) == [10, 11, 12]
    assert lost(hello(30, acked_ms=None)) == [], "its ACK may come yet"
    assert lost_refs(hello(30, acked_ms=None), True, "client", None, refused=True) == {10}


def test_a_copy_is_not_sent_again() -> None:
    packets = hello(30, acked_ms=250)
    assert lost([*packets, packet(251, 40, True, 100, 500, 517, kind=COPY)]) == []


def test_a_closed_window_loses_nothing() -> None:
    assert lost(hello(30, 250, 650, acked_ms=670, window=0)) == []


@pytest.mark.parametrize("point", ["server", "local"])
def test_what_was_captured_where_it_went_to_had_arrived(point: str) -> None:
    assert lost(hello(30, 250, 650, acked_ms=670), point) == []


@pytest.mark.parametrize(
    "reason", ["accept_queue_full", "server_slow_hello", "zero_window", "ack_loss", "syn_ack_loss"]
)
def test_nothing_is_lost_against_the_verdict(reason: str) -> None:
    assert lost(hello(30, 250, 650, acked_ms=670), reason=reason) == []


def test_between_the_ends_it_is_lost_behind_the_capture() -> None:
    assert lost(hello(30, 250, acked_ms=270), "middle") == [10]


@pytest.mark.parametrize(
    ("name", "flow", "expected"),
    [
        ("client-hello-lost/capture.pcap", "3", {"ClientHello": (1, 1), "517 bytes again x 4": (3, 4)}),
        ("syn-lost/capture.pcap", "4", {"SYN": (1, 1), "SYN again x 2": (1, 2)}),
        ("filtered-syn/capture.pcap", "2", {"SYN": (1, 1), "SYN again x 3": (3, 3)}),
        ("icmp-prohibited/capture.pcap", "2", {"SYN": (1, 1)}),
        ("syn-ack-lost/capture.pcap", "3", {}),
        ("syn-ack-lost/capture_server.pcap", "3", {"SYN-ACK": (1, 1), "SYN-ACK again x 2": (1, 2)}),
        ("ack-lost/capture.pcap", "4", {}),
        ("host-firewall/capture_server.pcap", "2", {}),
        ("zero-window/capture.pcap", "2", {}),
    ],
)
def test_real_losses(name: str, flow: str, expected: dict[str, tuple[int, int]]) -> None:
    rows = timeline(CAPTURES / name, flow).rows
    assert {row.event: (row.lost, row.count) for row in rows if row.lost} == expected
    assert all("lost" in row.remark for row in rows if row.lost)


def test_icmp_is_told_in_words() -> None:
    (row,) = [row for row in timeline(CAPTURES / "icmp-prohibited" / "capture.pcap", "2").rows if row.toward]
    assert (row.event, row.toward, row.side) == ("ICMP: prohibited by a filter", "client", "")
    assert row.remark == "type 3, code 13"
    assert icmp_words(True, 1, 0) == "ICMPv6: no route"
    assert icmp_words(True, 2, 0) == "ICMPv6: too big for a link"
    assert icmp_words(False, 3, 4) == "ICMP: too big for a link"
    assert icmp_words(False, 11, 0) == "ICMP: time exceeded"
    assert icmp_words(False, 12, 1) == "ICMP: error of type 12, code 1"


def fall_of(name: str, flow: str) -> Waterfall:
    return waterfall_of(timeline(CAPTURES / name, flow))


def crosses(fall: Waterfall) -> int:
    return waterfall_svg.draw(fall).document().count('class="cross"')


def test_an_arrow_ends_where_its_packet_was_lost() -> None:
    fall = fall_of("client-hello-lost/capture.pcap", "3")
    assert crosses(fall) == 2
    assert crosses(fall_of("filtered-syn/capture.pcap", "2")) == 3, (
        "the last of those that were sent again was lost, too"
    )
    assert crosses(fall_of("ack-lost/capture.pcap", "4")) == 0
    assert any(line.startswith("A cross: lost") for line in texts(read(waterfall_svg.draw(fall))))
    drawn = list(waterfall_text.lines(fall, 100))
    (hello,) = [line for line in drawn if "ClientHello [41]" in line]
    assert "×" in hello
    assert "▶" not in hello
    (last,) = [line for line in drawn if "the last of these [45]" in line]
    assert "▶" in last
    assert any("x" in line and ">" not in line for line in waterfall_text.lines(fall, 100, waterfall_text.PLAIN))


def test_an_icmp_error_comes_from_between_the_lanes() -> None:
    fall = fall_of("icmp-prohibited/capture.pcap", "2")
    (mark,) = [mark for mark in fall.marks if mark.toward]
    assert mark.toward == CLIENT
    (line,) = [line for line in waterfall_text.lines(fall, 100) if "ICMP" in line]
    head, dot, lane = line.index("◀"), line.index("●"), line.rindex("│")
    assert line.index("│") + 1 == head < dot < lane - 5
    assert "ICMP: prohibited by a filter [21]" in line


def test_a_page_that_knows_only_events_draws_the_first_one_as_lost() -> None:
    made = timeline(CAPTURES / "client-hello-lost" / "capture.pcap", "3")
    report: Report = made.report
    sketch = sketch_of(report, made.flow)
    assert {row.event: row.lost for row in sketch.rows if row.lost} == {"ClientHello": 1}
    assert not any(row.lost for row in sketch_of(report, made.flow._replace(reason="client_silent")).rows)
    assert not any(row.lost for row in sketch_of(report, made.flow._replace(capture_point="server")).rows)
