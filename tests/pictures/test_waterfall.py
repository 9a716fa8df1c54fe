import re

import pytest
from factories import HOSTILE, clean, event, flow, hostile, report, silent_client, slow_server, ticket
from picture_support import CAPTURES, STALLED, read, texts, timeline, titles

from pcapstall.core.times import MS, SECOND
from pcapstall.report.pictures import svg, waterfall_svg
from pcapstall.report.pictures.waterfall import BETWEEN, CLIENT, SERVER, waterfall_of
from pcapstall.report.sketch import sketch_of


def drawn(made, chosen, most=60):
    return waterfall_svg.draw(waterfall_of(sketch_of(made, chosen), most))


def test_golden_of_packets(golden) -> None:
    fall = waterfall_of(timeline(CAPTURES / "client-hello-lost" / "capture.pcap", "3"))
    golden("client-hello-lost.svg", waterfall_svg.draw(fall).document())


def test_every_mark_is_on_the_lane_of_its_process() -> None:
    fall = waterfall_of(timeline(STALLED / "capture.pcap", "6", texts=True))
    lanes = {mark.label: mark.lane for mark in fall.marks}
    assert lanes["12166 epoll_ctl adds 11 to epoll set 5"] == CLIENT
    assert lanes["12157 accept4 = 7"] == SERVER
    assert {mark.lane for mark in fall.marks if mark.is_log} == {CLIENT, SERVER}
    assert [mark.lane for mark in fall.marks if mark.label == "SYN-ACK"] == [SERVER]
    assert fall.names == {CLIENT: "outbound", SERVER: "inbound"}
    assert fall.seen_at == "client"


def test_the_picture_says_what_it_shows() -> None:
    root = read(waterfall_svg.draw(waterfall_of(timeline(STALLED / "capture.pcap", "6"))))
    assert root.get("role") == "img"
    label = root.get("aria-label") or ""
    assert "ack_ch 52.2 s (client process)" in label
    lines = texts(root)
    assert "ack_ch 52.2 s" in lines
    assert "client process" in lines
    assert "ack_ch 52.2 s = client process 52.2 s" in lines
    assert {"10.0 s", "42.2 s"} <= set(lines), "the silences are marked"
    assert any("ClientHello" in title and "[frame 148]" in title for title in titles(root))


def test_parts_are_told_in_words_and_add_up() -> None:
    lines = texts(read(drawn(report([slow_server()]), slow_server())))
    assert "ch_sh more than 4.5 s = unknown 4.5 s + network 19 ms" in lines


def test_an_open_interval_points_on() -> None:
    one = slow_server()._replace(events=slow_server().events | {"syn": event(0, 1), "client_hello_last": event(MS, 4)})
    fall = waterfall_of(sketch_of(report([one]), one))
    assert fall.stall is not None
    assert (fall.stall.is_open, fall.stall.start_ns, fall.stall.end_ns) == (True, MS, 4501 * MS)
    assert "M-9 0H9L0 10z" in waterfall_svg.draw(fall).document()


@pytest.mark.parametrize("make", [ticket, clean, report, hostile])
def test_every_flow_can_be_drawn(make) -> None:
    made = make()
    for one in made.flows:
        read(drawn(made, one))
        read(drawn(made, one), flat=True)


def test_a_flow_without_events_can_be_drawn() -> None:
    read(drawn(report([flow(1)]), flow(1)))
    read(drawn(report([slow_server()]), slow_server()))


def test_outside_text_is_text() -> None:
    made = hostile()
    (one,) = made.flows
    text = drawn(made, one).document()
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert HOSTILE.count("<script>") == 1


def test_the_label_of_the_flow_is_escaped_in_attributes() -> None:
    one = silent_client()._replace(sni='"><script>alert(1)</script>')
    text = drawn(report([one]), one).element()
    assert "<script" not in text
    assert "&quot;&gt;&lt;script&gt;" in text


def test_what_is_left_out_is_said_and_what_the_verdict_rests_on_stays() -> None:
    whole = timeline(STALLED / "capture.pcap", "6", texts=True)
    fall = waterfall_of(whole, 18)
    assert len(fall.marks) == 18
    assert sum(mark.evidence for mark in fall.marks) == sum(row.evidence for row in whole.rows)
    root = read(waterfall_svg.draw(fall))
    assert f"{len(whole.rows) - 18} more events are left out." in texts(root)


def test_texts_of_calls_and_logs_are_wrapped_and_whole() -> None:
    lines = texts(read(waterfall_svg.draw(waterfall_of(timeline(STALLED / "capture.pcap", "6", texts=True)))))
    assert not any("…" in line for line in lines)
    assert any(line.endswith("error=TLS detection timed out") or line == "detection timed out" for line in lines)


def test_the_network_has_no_lane_of_its_own_to_blame() -> None:
    fall = waterfall_of(timeline(CAPTURES / "client-hello-lost" / "capture.pcap", "3"))
    assert fall.stall is not None
    assert fall.stall.lane == BETWEEN
    again = [mark for mark in fall.marks if mark.is_packet and mark.until_ns is not None]
    assert [mark.label for mark in again] == ["517 bytes again x 4"]


def test_a_message_in_one_segment_is_one_arrow() -> None:
    one = silent_client()
    rows = sketch_of(report([one]), one).rows
    assert [row.event for row in rows] == ["SYN", "SYN-ACK", "ACK: connected", "FIN", "ClientHello"]
    assert [row.side for row in rows] == ["client", "server", "client", "server", "client"]
    assert [row.id for row in rows] == [1, 2, 3, 4, 5]


def test_a_message_in_two_segments_is_two_arrows() -> None:
    events = {"syn": event(0, 1), "client_hello_first": event(MS, 2), "client_hello_last": event(SECOND, 5)}
    one = flow(1, events=events)
    assert [row.event for row in sketch_of(report([one]), one).rows] == [
        "SYN", "ClientHello begins", "ClientHello complete",
    ]  # fmt: skip


def test_a_long_name_is_shortened_in_the_title() -> None:
    one = silent_client()._replace(sni="a" * 200 + ".example")
    title = next(line for line in texts(read(drawn(report([one]), one))) if line.startswith("Flow 6: "))
    assert "…" in title
    assert len(title) * 9 <= 634


def test_a_log_of_nobody_is_wrapped_across_the_lanes() -> None:
    made = timeline(STALLED / "capture.pcap", "6", texts=True)
    logs = [row._replace(side="") for row in made.rows if row.source == "log"]
    packets = [row for row in made.rows if row.source == "packet"]
    rows = sorted([*logs, *packets], key=lambda row: row.ns)
    lines = texts(read(waterfall_svg.draw(waterfall_of(made._replace(rows=rows)))))
    assert not any("…" in line for line in lines)
    assert any(line.startswith("inbound.log: INFO worker-2") for line in lines)


SVG = "{http://www.w3.org/2000/svg}"


def arrows(root):
    """Each arrow's ends across, and how far down it is."""
    for path in root.iter(f"{SVG}path"):
        if "arrow" in (path.get("class") or "").split():
            x, y, end, _ = (float(number) for number in re.findall(r"-?[\d.]+", path.get("d") or ""))
            yield min(x, end), max(x, end), y


def names_across(root):
    """What each text between the lanes takes: left, right, top, bottom."""
    for node in root.iter(f"{SVG}text"):
        classes = (node.get("class") or "").split()
        if "halo" not in classes:
            continue
        x, y = float(node.get("x") or 0), float(node.get("y") or 0)
        character = svg.BOLD if "strong" in classes else svg.CHARACTER
        aside = "".join(part.text or "" for part in node)
        wide = len(node.text or "") * character + svg.width_of(aside)
        left = x - wide / 2 if "mid" in classes else x - wide if "end" in classes else x
        yield left, left + wide, y - 9, y + 4, node.text


@pytest.mark.parametrize(
    ("name", "row"),
    [("client-hello-lost", "3"), ("mtu-black-hole", "2"), ("server-hello-lost", "2"), ("ack-lost", "4")],
)
def test_no_text_lies_over_an_arrow_or_its_cross(name, row) -> None:
    made = timeline(CAPTURES / name / "capture.pcap", row)
    root = read(waterfall_svg.draw(waterfall_of(made)))
    drawn_arrows = list(arrows(root))
    assert drawn_arrows
    crosses = [
        tuple(float(number) for number in re.findall(r"-?[\d.]+", path.get("transform") or ""))
        for path in root.iter(f"{SVG}path")
        if path.get("class") == "cross"
    ]
    for left, right, top, bottom, text in names_across(root):
        for begin, end, y in drawn_arrows:
            assert not (left < end and begin < right and top < y < bottom), text
        for x, y in crosses:
            assert not (left < x + 5 and x - 5 < right and top < y + 5 and y - 5 < bottom), text


@pytest.mark.parametrize("count", [2, 40, 400])
def test_the_words_of_a_stall_full_of_packets_are_beside_arrows_or_above_the_lanes_only(count) -> None:
    fall = waterfall_of(timeline(CAPTURES / "client-hello-lost" / "capture.pcap", "3"))
    (hello, *_) = [mark for mark in fall.marks if mark.label == "ClientHello"]
    step = (fall.stall.end_ns - fall.stall.start_ns) // count
    marks = [hello._replace(at_ns=fall.stall.start_ns + step * at, until_ns=None) for at in range(count + 1)]
    root = read(waterfall_svg.draw(fall._replace(marks=marks)))
    for left, right, top, bottom, text in names_across(root):
        for begin, end, y in arrows(root):
            assert not (left < end and begin < right and top < y < bottom), text
    assert any(line.startswith("ch_ack 1.8 s = ") for line in texts(root))
