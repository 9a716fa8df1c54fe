"""IP IDs, timestamps, options, parts, DNS, races, neighbours: what the rules rest on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_verdicts import answer, slow_server
from wire_support import ACK, FIN, HELLO, MS, PSH, RST, SECOND, SYN, Road, flows_of, follow, merged, reports

from pcapstall.diagnose import answerers
from pcapstall.diagnose.dns import DnsLog, query_name
from pcapstall.diagnose.ip_ids import IdCount
from pcapstall.diagnose.neighbours import Neighbours
from pcapstall.diagnose.pairs import Pair
from pcapstall.diagnose.races import Races
from pcapstall.diagnose.segments import History, Seg
from pcapstall.diagnose.split import split
from pcapstall.diagnose.ticks import fits_no_rate, measured_rate, sender_gap
from pcapstall.report.flow_model import FlowReport
from pcapstall.wire.segment import UdpDatagram


def history(road: Road, at: str = "server") -> History:
    (flow,) = flows_of(road.captured(at))
    return History(flow)


def talk(**road: object) -> Road:
    """A handshake and five client segments, the third and fourth of which never arrive."""
    made = Road(**road)  # type: ignore[arg-type]
    ack = made.handshake()
    for k in range(5):
        lost = 0.5 if k in (2, 3) else None
        made.c(ack + (k + 1) * 300 * MS, PSH | ACK, b"\x16\x03\x01\x40\x00" + b"x" * 95, offset=100 * k, lost_at=lost)
    return made


def test_missing_segments_by_ip_id() -> None:
    seen = history(talk())
    ids = IdCount(seen, True)
    ack, first, second, fifth = seen.client[1:]
    assert ids.missing(ack, second) == 0
    assert ids.missing(first, second) == 0
    assert ids.missing(second, fifth) == 2
    assert ids.missing(fifth, second) is None


def test_random_ip_ids_tell_nothing() -> None:
    seen = history(talk(counts_ids=False))
    ids = IdCount(seen, True)
    assert {ids.missing(a, b) for a in seen.client for b in seen.client} == {None}


def test_constant_ip_ids_tell_nothing() -> None:
    road = talk()
    for sent in road.sent:
        sent.ip_id = 0
    seen = history(road)
    assert IdCount(seen, True).missing(seen.client[1], seen.client[2]) is None


def test_ipv6_tells_nothing() -> None:
    address = bytes(15)
    seen = history(talk(client=address + b"\1", server=address + b"\2"))
    assert IdCount(seen, True).missing(seen.client[1], seen.client[2]) is None


def test_an_offloaded_frame_takes_an_id_for_each_segment() -> None:
    road = Road()
    ack = road.handshake()
    big = road.c(ack + MS, ACK, b"\x16\x03\x01\x40\x00" + b"x" * 4000)
    for k in range(3):
        road.c(ack + (k + 2) * MS, ACK, b"y" * 10, offset=4005 + 10 * k).ip_id = big.ip_id + 3 + k
    seen = history(road, "client")
    assert seen.pieces(seen.client[2]) == 3
    assert IdCount(seen, True).missing(seen.client[2], seen.client[4]) == 0


@given(st.lists(st.integers(0, 3), min_size=6, max_size=12), st.integers(0, 0xFFFF), st.data())
def test_what_is_missing_adds_up(losses: list[int], first_id: int, data: st.DataObject) -> None:
    """Between any two segments as many are missing as were lost there, also where the count wraps."""
    losses[0] = losses[-1] = losses[1] = losses[-2] = 0
    road = Road()
    ack = road.handshake()
    ip_id = first_id
    road.sent[0].ip_id, road.sent[2].ip_id = (ip_id - 1) & 0xFFFF, ip_id
    for k, lost in enumerate(losses):
        ip_id = (ip_id + 1 + lost) & 0xFFFF
        sent = road.c(ack + (k + 1) * MS, ACK, b"\x16\x03\x01\x40\x00" if k == 0 else b"z", offset=5 * (k > 0) + k)
        sent.ip_id = ip_id
    seen = history(road)
    start = data.draw(st.integers(1, len(seen.client) - 2))
    end = data.draw(st.integers(start + 1, len(seen.client) - 1))
    missing = IdCount(seen, True).missing(seen.client[start], seen.client[end])
    assert missing in (None, sum(losses[start - 1 : end - 1]))


@pytest.mark.parametrize("hertz", [1000, 100, 250, 300])
def test_tick_rates(hertz: int) -> None:
    seen = history(talk(tick_hz=hertz))
    assert measured_rate(seen.client[1:]) == hertz
    gap = sender_gap(seen.client[3], seen.client[4], hertz)
    assert gap is not None
    assert abs(gap[0] - 900 * MS) <= gap[1]
    assert gap[1] == max(SECOND // hertz, gap[0] // 20)


def test_a_clock_is_recognised_only_when_it_fits() -> None:
    fast = history(talk())
    assert sender_gap(fast.client[3], fast.client[4], None) is not None
    slow = history(talk(tick_hz=250))
    assert sender_gap(slow.client[3], slow.client[4], None) is None
    assert not fits_no_rate(slow.client[3], slow.client[4])
    odd = history(talk(tick_hz=40))
    assert fits_no_rate(odd.client[3], odd.client[4])


def test_a_syn_acks_timestamp_is_no_clock() -> None:
    seen = history(talk())
    assert seen.server[0].is_syn_ack
    assert sender_gap(seen.server[0], seen.server[0], 1000) is None


def test_segments_of_less_than_a_tenth_of_a_second_do_not_tell_the_rate() -> None:
    road = Road()
    ack = road.handshake()
    for k in range(5):
        road.c(ack + k * 99 * MS, ACK, b"\x16\x03\x01\x40\x00" + b"x" * 95, offset=100 * k)
    assert measured_rate(history(road).client[1:]) is None


def test_sack_blocks_and_duplicates() -> None:
    road = Road()
    ack = road.handshake()
    road.c(ack + MS, PSH | ACK, b"\x16\x03\x01\x40\x00" + b"x" * 2995)
    road.s(ack + 7 * MS, ack=1000, sack=[(2000, 3000)])
    road.s(ack + 8 * MS, ack=3000, sack=[(0, 1000)])
    road.s(ack + 9 * MS, ack=1000, sack=[(2000, 2500), (2000, 3000)])
    seen = history(road)
    assert [seg.sacks for seg in seen.server[1:]] == [((2000, 3000),), ((0, 1000),), ((2000, 2500), (2000, 3000))]
    assert [seg.is_duplicate_sack for seg in seen.server[1:]] == [False, True, True]
    assert not seen.sacks_unseen()
    assert seen.full_size(True) == 1448


def test_a_sack_of_what_is_not_in_the_capture() -> None:
    road = Road()
    ack = road.handshake()
    road.c(ack + MS, ACK, b"\x16\x03\x01\x40\x00" + b"x" * 1443)
    road.s(ack + 7 * MS, ack=1448, sack=[(2896, 3100)])
    assert history(road).sacks_unseen()


def test_sack_across_the_wrap_of_the_sequence_numbers() -> None:
    road = Road(client_isn=0xFFFFFFFF - 500)
    ack = road.handshake()
    road.c(ack + MS, PSH | ACK, b"\x16\x03\x01\x40\x00" + b"x" * 2995)
    road.s(ack + 7 * MS, ack=300, sack=[(2000, 3000)])
    assert history(road).server[1].sacks == ((2000, 3000),)


@given(
    st.integers(-50, 50),
    st.integers(0, 100),
    st.lists(st.tuples(st.integers(-60, 160), st.sampled_from(["network", "unknown", "client_process"]))),
)
def test_parts_add_up(start: int, length: int, marks: list[tuple[int, str]]) -> None:
    parts = split(start, start + length, marks, "server_process")
    assert sum(parts.values()) == length
    assert all(ns >= 0 for ns in parts.values())


def test_a_negative_interval_has_no_parts() -> None:
    assert split(5, 3, [(4, "network")], "unknown") == {}


def dns_message(response: bool, ident: int = 7, name: bytes = b"\6policy\3lab\4test\0") -> UdpDatagram:
    datagram = UdpDatagram()
    client, server = b"\x0a\0\0\1", b"\x0a\0\0\x35"
    ports = (50000).to_bytes(2, "big"), (53).to_bytes(2, "big")
    datagram.key = server + client + ports[1] + ports[0] if response else client + server + ports[0] + ports[1]
    flags = b"\x81\x80" if response else b"\1\0"
    datagram.buf = ident.to_bytes(2, "big") + flags + b"\0\1\0\0\0\0\0\0" + name + b"\0\1\0\1"
    datagram.captured_len = len(datagram.buf)
    return datagram


def test_lookups_that_fill_a_gap() -> None:
    log = DnsLog()
    log.take(dns_message(False), 10 * MS, 4)
    log.take(dns_message(False), 900 * MS, 5)
    log.take(dns_message(True), 2500 * MS, 6)
    host = b"\x0a\0\0\1"
    lookup = log.filling(host, 0, 2600 * MS)
    assert lookup is not None
    assert (lookup.asked_ref, lookup.answered_ref) == (4, 6)
    assert log.filling(host, 0, 2400 * MS) is None, "the answer came after the gap"
    assert log.filling(host, 20 * MS, 2600 * MS) is None, "the question came before the gap"
    assert log.filling(host, 0, 9 * SECOND) is None, "a small part of the gap"
    assert log.filling(b"\x0a\0\0\2", 0, 2600 * MS) is None, "another host"


def test_a_quick_answer_is_not_kept_and_a_missing_one_fills_the_gap() -> None:
    log = DnsLog()
    log.take(dns_message(False, 1), 10 * MS, 1)
    log.take(dns_message(True, 1), 50 * MS, 2)
    assert log.filling(b"\x0a\0\0\1", 0, 60 * MS) is None
    log.take(dns_message(False, 2), 100 * MS, 3)
    lookup = log.filling(b"\x0a\0\0\1", 90 * MS, 5 * SECOND)
    assert lookup is not None
    assert lookup.answered_ref == 0


@given(st.binary(max_size=40))
def test_any_bytes_are_a_dns_message(data: bytes) -> None:
    log = DnsLog()
    datagram = dns_message(False)
    datagram.buf, datagram.captured_len = data, len(data)
    log.take(datagram, 0, 1)
    assert isinstance(query_name(data), str)


def attempt(server: bytes, port: int, at: int, connects: bool, retries: int = 0) -> Road:
    road = Road(server=server, client_port=port)
    for k in range(retries + 1):
        road.c(at + k * SECOND, SYN, lost_at=None if connects else 0.5)
    if connects:
        road.s(at + 6 * MS, SYN | ACK)
        road.c(at + 11 * MS)
    return road


@pytest.mark.parametrize(
    ("given_up", "won_at", "outcome"),
    [
        (0, 300 * MS, "raced"),
        (1, 300 * MS, "filtered"),
        (1, 1300 * MS, "raced"),
        (0, 1700 * MS, "handshake_incomplete"),
    ],
)
def test_races(given_up: int, won_at: int, outcome: str) -> None:
    """Another address connected when this one was given up: no SYN came after that."""
    late = Road(client_port=40009)
    late.handshake(30 * SECOND)
    lost = attempt(bytes([10, 0, 0, 3]), 40001, 0, False, given_up)
    won = attempt(bytes([10, 0, 0, 2]), 40002, won_at, True)
    rows = reports(merged(lost.captured("client"), won.captured("client"), late.captured("client")))
    assert rows[0].tcp_outcome == outcome
    assert (rows[0].stalled is None) == (outcome != "filtered" or given_up < 2)


def test_another_port_or_the_same_host_is_no_race() -> None:
    late = Road(client_port=40009)
    late.handshake(30 * SECOND)
    lost = attempt(bytes([10, 0, 0, 3]), 40001, 0, False, 1)
    same = attempt(bytes([10, 0, 0, 3]), 40002, 1300 * MS, True)
    other = attempt(bytes([10, 0, 0, 2]), 40003, 1300 * MS, True)
    other.server_port = 80
    collector = follow(merged(*(road.captured("client") for road in (lost, same, other, late))))
    races = Races(collector.knowledge)
    assert not races.is_lost_by(collector.kept[0])


def test_a_connection_that_fills_the_gap() -> None:
    """A proxy that opens its own connection first, and says hello when that is over."""
    road = Road()
    ack = road.handshake()
    road.c(ack + 3 * SECOND, PSH | ACK, HELLO)
    upstream = Road(server=bytes([10, 0, 0, 9]), client_port=40100)
    at = upstream.handshake(ack + 50 * MS)
    upstream.c(at + 2800 * MS, FIN | ACK)
    rows = reports(merged(road.captured("client"), upstream.captured("client")))
    assert any("another connection" in evidence.text for evidence in rows[0].evidence)
    collector = follow(merged(road.captured("client"), upstream.captured("client")))
    neighbours = Neighbours(collector.knowledge)
    flow = collector.kept[0]
    begin, end = flow.ack_ns, flow.client_hello_first_ns
    assert neighbours.filling(road.client, flow.key, begin, end) is not None
    assert neighbours.filling(road.server, flow.key, begin, end) is None
    assert neighbours.filling(road.client, flow.key, begin - 3 * SECOND, end) is None
    same = Road(client_port=40101)
    at = same.handshake(ack + 50 * MS)
    same.c(at + 2800 * MS, FIN | ACK)
    collector = follow(merged(road.captured("client"), same.captured("client")))
    assert Neighbours(collector.knowledge).filling(road.client, flow.key, begin, end) is None


@pytest.mark.parametrize(
    ("asked", "answered", "cause"),
    [
        (50 * MS, 2900 * MS, "client_process"),
        (-900 * MS, 2900 * MS, "unknown"),
        (50 * MS, 3100 * MS, "unknown"),
        (50 * MS, 1500 * MS, "unknown"),
    ],
)
def test_a_request_in_an_older_connection_that_fills_the_gap(asked: int, answered: int, cause: str) -> None:
    """A connection that is kept alive, and used before and afterwards."""
    upstream = Road(server=bytes([10, 0, 0, 9]), client_port=40100, server_port=8080)
    upstream.handshake()
    road = Road(counts_ids=False, timestamps=False)
    ack = road.handshake(5 * SECOND)
    requests = [
        (SECOND, SECOND + 20 * MS),
        (ack + asked, ack + answered),
        (ack + 9 * SECOND, ack + 9 * SECOND + 20 * MS),
    ]
    for number, (at, until) in enumerate(requests):
        upstream.c(at, PSH | ACK, b"GET /\r\n\r\n", offset=9 * number, ack=4 * number)
        upstream.s(until, PSH | ACK, b"200\n", offset=4 * number, ack=9 * number + 9)
    road.c(ack + 3 * SECOND, PSH | ACK, HELLO)
    answer(road, ack + 3 * SECOND)
    rows = reports(merged(road.captured("middle"), upstream.captured("middle")))
    (row,) = (row for row in rows if row.stalled)
    assert (row.stalled, row.cause, row.confidence) == ("ack_ch", cause, "medium")
    told = [fact for fact in row.evidence if "on another connection for an answer" in fact.text]
    assert len(told) == (cause != "unknown")
    if told:
        assert told[0].text == (
            "Meanwhile the client's host waited 2.9 s on another connection for an answer, which came 100 ms before "
            "this one went on."
        )
        assert len(told[0].frames) == 1


def test_rst_and_syn_ack_are_not_counted() -> None:
    road = talk()
    road.c(9 * SECOND, RST, ack=None).ip_id = 0
    seen = history(road)
    assert isinstance(seen.client[-1], Seg)
    assert IdCount(seen, True).missing(seen.client[1], seen.client[3]) == 0


def test_segments_that_were_overtaken_go_back_to_their_place_in_the_count() -> None:
    """One that took a long way comes after what was sent later: nothing is missing between the others."""
    road = Road()
    ack = road.handshake()
    sent = [road.c(ack + (k + 1) * 300 * MS, PSH | ACK, HELLO[:100], offset=100 * k) for k in range(5)]
    sent[1].ns = ack + 2 * SECOND
    seen = history(road)
    ids = IdCount(seen, True)
    first, third = seen.client[2], seen.client[3]
    assert (third.ip_id - first.ip_id, ids.missing(first, third)) == (2, 0)
    assert ids.missing(third, seen.client[-1]) is None


def test_how_a_long_stall_ends_is_noted_though_much_came_before() -> None:
    """Three hundred keep-alives, then the hello: it is there, and what was left out is no gap in the count."""
    road = Road()
    ack = road.handshake()
    for k in range(150):
        road.s(ack + (k + 1) * SECOND, offset=-1)
        road.c(ack + (k + 1) * SECOND + 10 * MS)
    road.c(ack + 160 * SECOND, PSH | ACK, HELLO)
    road.s(ack + 160 * SECOND + 5 * MS, ack=len(HELLO))
    seen = history(road, "client")
    assert len(seen.segs) == 128
    assert [seg.payload_len for seg in seen.client if seg.has_data] == [len(HELLO)]
    assert [seg.is_syn for seg in seen.client[:2]] == [True, False]
    assert IdCount(seen, True).missing(seen.client[1], seen.client[-1]) is None
    (row,) = reports(road.captured("client"))
    assert (row.stalled, row.cause, row.confidence) == ("ack_ch", "client_process", "medium")
    (row,) = reports(road.captured("server"))
    assert row.cause == "unknown"


def through_proxy(servers: int = 6, *, last_ttl: int = 64, network: int = 20) -> list[FlowReport]:
    """One slow server, and others that are answered for as soon as it is; the last of them with a TTL of its own."""
    roads = [slow_server(server=bytes([network, 0, 2, 1]), counts_ids=False)]
    for k in range(1, servers):
        road = Road(server=bytes([network + k, 0, 2, 1]), client_port=40000 + k)
        road.handshake(k * MS)
        roads.append(road)
    for sent in roads[-1].sent:
        sent.ttl = 64 if sent.from_client else last_ttl
    return reports(merged(*(road.captured("client") for road in roads)))


def test_who_answers_is_found_once_for_each_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be as many servers as stalls."""
    looked: list[int] = []

    def look(servers: dict[bytes, Pair]) -> dict[bytes, answerers.Answerer]:
        looked.append(len(servers))
        return found(servers)

    found = answerers._answerers
    monkeypatch.setattr(answerers, "_answerers", look)
    slow = [slow_server(server=bytes([20 + k, 0, 2, 1]), counts_ids=False) for k in range(5)]
    assert [row.cause for row in reports(merged(*(road.captured("client") for road in slow)))] == ["unknown"] * 5
    assert looked == [5]


def test_who_answers_for_every_server_is_none_of_them() -> None:
    row = through_proxy()[0]
    assert (row.cause, row.side, row.reason, row.confidence) == ("unknown", None, "server_slow_hello", "low")
    assert row.would_settle == "a capture beyond the proxy that answers here for the servers"
    assert "SYNs of this client to 6 servers in 6 networks were all answered within 10 ms, with TTL 64" in (
        row.evidence[-1].text
    )
    assert set(row.parts_ns["ch_sh"]) == {"network", "unknown"}
    assert sum(row.parts_ns["ch_sh"].values()) == row.intervals_ns["ch_sh"]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(through_proxy(4), id="too few"),
        pytest.param(through_proxy(5, last_ttl=57), id="not as far away"),
        pytest.param(through_proxy(network=240), id="no addresses of the Internet"),
    ],
)
def test_servers_that_answer_themselves(rows: list[FlowReport]) -> None:
    assert (rows[0].cause, rows[0].confidence) == ("server_process", "medium")
