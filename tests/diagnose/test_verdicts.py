"""Verdicts on simulated conversations: the same trouble seen from the client, the middle and the server."""

from collections.abc import Iterable

import pytest
from wire_support import (
    ACK,
    FIN,
    FINISHED,
    FLIGHT,
    HELLO,
    MS,
    PSH,
    RST,
    SECOND,
    SYN,
    US,
    Road,
    client_hello,
    merged,
    record,
    reports,
    server_hello,
)

from pcapstall.report.flow_model import FlowReport

WHERE = ("client", "middle", "server")


def verdict(
    road: Road, at: str, *, tls_ports: Iterable[int] = (), slow: Iterable[str] = (), say: str = ""
) -> FlowReport:
    (row,) = reports(road.captured(at), tls_ports=tls_ports, slow=slow, at=say)
    return row


def found(row: FlowReport) -> tuple[str | None, str | None, str | None, str | None]:
    return row.stalled, row.cause, row.reason, row.confidence


def answer(road: Road, at: int, *, hello: bytes = HELLO, flight: bytes = FLIGHT) -> int:
    """The rest of a healthy handshake, from a hello that left at ``at``; returns when the client was done."""
    way = road.one_way_ns
    road.s(at + way, ack=len(hello))
    road.s(at + way + MS, PSH | ACK, flight, ack=len(hello))
    finish(road, at + 2 * way + 2 * MS, hello, flight)
    return at + 2 * way + 2 * MS


def finish(road: Road, at: int, hello: bytes = HELLO, flight: bytes = FLIGHT) -> None:
    way = road.one_way_ns
    road.c(at, PSH | ACK, FINISHED, offset=len(hello), ack=len(flight))
    sent = len(hello + FINISHED)
    tickets = record(23, b"t" * 80)
    road.s(at + way, PSH | ACK, tickets, offset=len(flight), ack=sent)
    road.c(at + 2 * way, ACK, offset=sent, ack=len(flight + tickets))
    road.c(at + 2 * way + 200 * MS, PSH | ACK, record(23, b"r" * 40), offset=sent, ack=len(flight + tickets))
    road.s(at + 3 * way + 200 * MS, ACK, offset=len(flight + tickets), ack=sent + 45)


def silent_client(**road: object) -> Road:
    made = Road(**road)  # type: ignore[arg-type]
    ack = made.handshake()
    made.c(ack + 3 * SECOND, PSH | ACK, HELLO)
    answer(made, ack + 3 * SECOND)
    return made


@pytest.mark.parametrize("at", WHERE)
def test_silent_client_is_known_everywhere_by_its_ip_ids(at: str) -> None:
    row = verdict(silent_client(), at)
    assert found(row) == ("ack_ch", "client_process", "client_silent", "high")
    assert row.parts_ns == {"ack_ch": {"client_process": 3 * SECOND}}
    assert row.would_settle is None
    assert row.capture_point == at


def test_silent_client_without_ip_ids_is_known_at_the_client_only() -> None:
    road = silent_client(counts_ids=False)
    assert found(verdict(road, "client")) == ("ack_ch", "client_process", "client_silent", "high")
    for at in ("middle", "server"):
        row = verdict(road, at)
        assert found(row) == ("ack_ch", "unknown", "client_silent", "medium")
        assert row.parts_ns == {"ack_ch": {"unknown": 3 * SECOND}}
        assert row.would_settle == "a capture at the client"


def test_ip_ids_alone_are_not_certain() -> None:
    """Without timestamps the segment may have been on its way for all that time."""
    row = verdict(silent_client(timestamps=False), "server")
    assert found(row) == ("ack_ch", "client_process", "client_silent", "medium")


def test_ipv6_has_no_ip_ids() -> None:
    address = bytes.fromhex("20010db8000000000000000000000001")
    road = silent_client(client=address, server=address[:-1] + b"\2")
    assert found(verdict(road, "client"))[1] == "client_process"
    assert found(verdict(road, "server"))[1] == "unknown"


def test_the_servers_timer_is_no_cause() -> None:
    road = Road()
    ack = road.handshake()
    road.s(ack + 10 * SECOND, FIN | ACK)
    road.c(ack + 10 * SECOND + 6 * MS, ack=1)
    road.c(ack + 52 * SECOND, PSH | ACK, HELLO, ack=1)
    road.s(ack + 52 * SECOND + 6 * MS, RST, offset=1, ack=None)
    row = verdict(road, "client")
    assert found(row) == ("ack_ch", "client_process", "client_silent", "high")
    assert row.verdict == (
        "the client was silent for 52.0 s; the server closed at 10.0 s, so 10.0 s is its timer and the silence is the "
        "cause; the ClientHello came 42.0 s after the FIN and was answered with RST"
    )
    assert row.server_timer_ns == 10 * SECOND + 5 * MS


def test_a_hello_that_never_came() -> None:
    road = Road()
    ack = road.handshake()
    road.s(ack + 10 * SECOND, FIN | ACK)
    road.c(ack + 10 * SECOND + 6 * MS, ack=1)
    road.c(ack + 11 * SECOND, FIN | ACK, ack=1)
    assert found(verdict(road, "client")) == ("ack_ch", "client_process", "server_timer", "high")
    # The IP ID of its ACK to the FIN proves at the server, too, that it sent nothing before.
    assert found(verdict(road, "server"))[1:3] == ("client_process", "server_timer")


def test_both_silent_where_nobody_knows_that_tls_is_spoken() -> None:
    road = Road(server_port=5555)
    ack = road.handshake()
    road.c(ack + 4 * SECOND, FIN | ACK)
    row = verdict(road, "client")
    assert found(row) == ("ack_ch", "client_process", "both_silent", "low")
    assert row.would_settle == "knowing what port 5555 speaks (--tls 5555)"
    assert found(verdict(road, "server"))[1:] == ("unknown", "both_silent", "low")
    assert found(verdict(road, "client", tls_ports=[5555])) == ("ack_ch", "client_process", "client_silent", "high")


def test_another_flow_shows_that_the_endpoint_speaks_tls() -> None:
    silent = Road(server_port=5555)
    ack = silent.handshake()
    silent.c(ack + 4 * SECOND, FIN | ACK)
    healthy = Road(server_port=5555, client_port=40001)
    at = healthy.handshake(30 * MS)
    healthy.c(at, PSH | ACK, HELLO)
    answer(healthy, at)
    rows = reports(merged(silent.captured("client"), healthy.captured("client")))
    assert [row.reason for row in rows] == ["client_silent", None]


def lost_hello(times: int = 4) -> Road:
    """The hello leaves at once and is lost again and again, retransmitted as Linux does."""
    road = Road()
    ack = road.handshake()
    at = ack + MS
    for k in range(times):
        road.c(at, PSH | ACK, HELLO, lost_at=0.7)
        at += (200 << max(0, k - 1)) * MS
    road.c(at, PSH | ACK, HELLO)
    answer(road, at)
    return road


def test_hello_lost_seen_at_the_client() -> None:
    row = verdict(lost_hello(), "client")
    assert found(row) == ("ch_ack", "network", "client_hello_loss", "medium")
    assert sum(row.parts_ns["ch_ack"].values()) == row.intervals_ns["ch_ack"]


def test_hello_lost_on_a_connection_that_the_server_has_taken() -> None:
    """The server's banner acknowledges the handshake: its accept queue has nothing to do with it."""
    road = Road(server_port=25)
    ack = road.handshake()
    greeting = b"220 ready ESMTP\r\n"
    road.s(ack + 5 * MS, PSH | ACK, greeting)
    road.c(ack + 11 * MS, PSH | ACK, b"EHLO a\r\n", ack=17)
    road.s(ack + 17 * MS, PSH | ACK, b"250 STARTTLS\r\n", offset=17, ack=8)
    road.c(ack + 23 * MS, PSH | ACK, b"STARTTLS\r\n", offset=8, ack=31)
    road.s(ack + 29 * MS, PSH | ACK, b"220 go\r\n", offset=31, ack=18)
    at = ack + 40 * MS
    for k in range(4):
        road.c(at, PSH | ACK, HELLO, offset=18, ack=39, lost_at=0.7)
        at += (200 << max(0, k - 1)) * MS
    road.c(at, PSH | ACK, HELLO, offset=18, ack=39)
    road.s(at + 5 * MS, ack=18 + len(HELLO), offset=39)
    road.s(at + 6 * MS, PSH | ACK, FLIGHT, offset=39, ack=18 + len(HELLO))
    row = verdict(road, "client")
    assert row.preamble == "smtp_starttls"
    assert found(row) == ("ch_ack", "network", "client_hello_loss", "high")


def test_hello_lost_before_the_capture() -> None:
    """At the server only the last copy is seen; the IP IDs tell how many there were."""
    row = verdict(lost_hello(), "server")
    assert found(row) == ("ack_ch", "network", "client_hello_loss", "medium")
    assert "4 segments of the client were lost" in (row.verdict or "")


def test_a_loss_does_not_explain_a_silence_of_many_seconds() -> None:
    road = Road()
    ack = road.handshake()
    road.c(ack + 20 * SECOND, PSH | ACK, HELLO, lost_at=0.7)
    road.c(ack + 20 * SECOND + 200 * MS, PSH | ACK, HELLO)
    answer(road, ack + 20 * SECOND + 200 * MS)
    row = verdict(road, "server")
    assert found(row) == ("ack_ch", "unknown", "client_hello_loss", "medium")
    assert row.parts_ns["ack_ch"] == {"unknown": 20 * SECOND, "network": 200 * MS}
    assert found(verdict(road, "client"))[1:] == ("client_process", "client_silent", "high")


def test_a_hello_held_up_on_its_way_is_no_silence() -> None:
    """By the client's clock it left 20 ms after the ACK; it came 3 s later."""
    road = Road()
    ack = road.handshake()
    late = road.c(ack + 3 * SECOND, PSH | ACK, HELLO)
    late.tsval -= 2980
    short = Road(sent=list(road.sent))
    short.s(ack + 3 * SECOND + 5 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    row = verdict(short, "server")
    assert found(row)[1:] == ("unknown", "client_silent", "medium")
    # What it sends after the handshake tells how fast its clock ticks.
    answer(road, ack + 3 * SECOND)
    assert found(verdict(road, "server")) == ("ack_ch", "network", "high_rtt", "medium")
    # Another connection of the client tells how fast its clock ticks.
    rows = reports(merged(short.captured("server"), silent_client(client_port=40001).captured("server")))
    assert found(rows[0]) == ("ack_ch", "network", "high_rtt", "medium")
    assert found(rows[1])[1:] == ("client_process", "client_silent", "high")


def slow_server(**road: object) -> Road:
    made = Road(**road)  # type: ignore[arg-type]
    ack = made.handshake()
    made.c(ack + MS, PSH | ACK, HELLO)
    way = made.one_way_ns
    made.s(ack + MS + way + 20 * US, ack=len(HELLO))
    made.s(ack + MS + way + 4 * SECOND, PSH | ACK, FLIGHT, ack=len(HELLO))
    finish(made, ack + 2 * MS + 2 * way + 4 * SECOND)
    return made


@pytest.mark.parametrize("at", WHERE)
def test_slow_server_is_known_everywhere_by_its_ip_ids(at: str) -> None:
    row = verdict(slow_server(), at)
    assert found(row) == ("ch_sh", "server_process", "server_slow_hello", "high")
    assert sum(row.parts_ns["ch_sh"].values()) == row.intervals_ns["ch_sh"]


def test_slow_server_without_ip_ids() -> None:
    road = slow_server(counts_ids=False)
    assert found(verdict(road, "server"))[1:] == ("server_process", "server_slow_hello", "high")
    row = verdict(road, "client")
    assert found(row)[1:] == ("server_process", "server_slow_hello", "medium")
    assert row.would_settle == "a capture at the server"


def lost_server_hello(**road: object) -> Road:
    made = Road(**road)  # type: ignore[arg-type]
    ack = made.handshake()
    made.c(ack + MS, PSH | ACK, HELLO)
    at = ack + MS + made.one_way_ns
    made.s(at, ack=len(HELLO))
    for k in range(4):
        made.s(at, PSH | ACK, FLIGHT, ack=len(HELLO), lost_at=0.3)
        at += (200 << max(0, k - 1)) * MS
    made.s(at, PSH | ACK, FLIGHT, ack=len(HELLO))
    finish(made, at + made.one_way_ns + MS)
    return made


def test_server_hello_lost_looks_slow_at_the_client_but_for_its_ip_ids() -> None:
    assert found(verdict(lost_server_hello(), "client"))[1:] == ("network", "server_hello_loss", "medium")
    row = verdict(lost_server_hello(counts_ids=False), "client")
    assert found(row)[1:] == ("server_process", "server_slow_hello", "medium")
    assert row.would_settle


def test_server_hello_lost_seen_at_the_server() -> None:
    row = verdict(lost_server_hello(), "server")
    assert found(row) == ("sh_cfin", "network", "server_hello_loss", "high")


def test_a_hole_in_the_servers_flight_is_never_a_slow_server() -> None:
    """The first segment is lost and sent again; the one behind it came in time."""
    road = Road()
    ack = road.handshake()
    flight = server_hello(more=record(23, b"\x66" * 2600))
    road.c(ack + MS, PSH | ACK, HELLO)
    at = ack + 7 * MS
    road.s(at, ack=len(HELLO))
    road.s(at + MS, ACK, flight[:1448], ack=len(HELLO), lost_at=0.3)
    road.s(at + MS, PSH | ACK, flight[1448:], offset=1448, ack=len(HELLO))
    road.c(at + 7 * MS, offset=len(HELLO), sack=[(1448, len(flight))])
    road.s(at + 1900 * MS, ACK, flight[:1448], ack=len(HELLO))
    finish(road, at + 1910 * MS, flight=flight)
    for where in ("client", "middle"):
        row = verdict(road, where)
        assert found(row)[:3] == ("ch_sh", "network", "server_hello_loss")


def black_hole(give_up: int = 6 * SECOND) -> Road:
    """Segments that are full vanish; the small one behind the first arrives."""
    hello = client_hello(1800)
    road = Road()
    ack = road.handshake()
    at = ack + 10 * MS
    road.c(at, ACK, hello[:1448], lost_at=0.5)
    road.c(at, PSH | ACK, hello[1448:], offset=1448)
    road.s(at + 6 * MS, sack=[(1448, len(hello))])
    for k in range(4):
        at += (200 << k) * MS
        road.c(at, ACK, hello[:1448], lost_at=0.5)
    road.s(ack + give_up, FIN | ACK, sack=[(1448, len(hello))])
    road.c(ack + give_up + 6 * MS, ACK, offset=len(hello), ack=1)
    return road


def test_mtu_black_hole_at_the_client() -> None:
    assert found(verdict(black_hole(), "client")) == ("ch_ack", "network", "mtu_black_hole", "high")


def test_mtu_black_hole_at_the_server() -> None:
    row = verdict(black_hole(), "server")
    assert found(row) == ("ch_span", "network", "mtu_black_hole", "medium")


def test_a_last_copy_at_the_very_end_is_one_of_those_that_were_not_acknowledged() -> None:
    road = Road()
    ack = road.handshake()
    for at in (10, 500, 1500):
        road.c(ack + at * MS, PSH | ACK, b"x" * 1400, lost_at=0.9)
    row = verdict(road, "client", tls_ports=[443])
    (said,) = [fact for fact in row.evidence if "not acknowledged" in fact.text]
    assert said.text.startswith("1400 bytes of the client, sent 3 times, ")
    assert said.frames == [4, 5, 6]


def test_the_small_segment_lost_is_no_black_hole() -> None:
    hello = client_hello(1800)
    road = Road()
    ack = road.handshake()
    at = ack + 10 * MS
    road.c(at, ACK, hello[:1448])
    road.s(at + 6 * MS, ack=1448)
    for k in range(5):
        road.c(at, PSH | ACK, hello[1448:], offset=1448, lost_at=0.5)
        at += (200 << k) * MS
    road.c(at, PSH | ACK, hello[1448:], offset=1448)
    road.s(at + 5 * MS, ack=len(hello))
    assert found(verdict(road, "client")) == ("ch_ack", "network", "client_hello_loss", "high")


def lost_syn(echoes_first: bool) -> Road:
    """Two SYNs; the SYN-ACK answers the first (its own predecessor was lost) or the second (the first SYN was)."""
    road = Road()
    first = road.c(0, SYN, lost_at=None if echoes_first else 0.5)
    if echoes_first:
        road.s(6 * MS, SYN | ACK, lost_at=0.5)
    second = road.c(SECOND + 20 * MS, SYN)
    road.s(SECOND + 26 * MS, SYN | ACK, echo=first if echoes_first else second)
    at = SECOND + 32 * MS
    road.c(at)
    road.c(at + MS, PSH | ACK, HELLO)
    answer(road, at + MS)
    return road


def test_lost_syn_and_lost_syn_ack_are_told_apart_at_the_client() -> None:
    assert found(verdict(lost_syn(True), "client")) == ("syn_synack", "network", "syn_ack_loss", "high")
    row = verdict(lost_syn(False), "client")
    assert found(row) == ("syn_synack", "unknown", "syn_loss", "medium")
    assert row.would_settle == "a capture at the server"


def test_lost_syn_ack_at_the_server() -> None:
    # Its own host may have dropped it, as far as can be seen from there.
    assert found(verdict(lost_syn(True), "server")) == ("synack_ack", "network", "syn_ack_loss", "medium")
    assert verdict(lost_syn(False), "server").stalled is None


def unseen_ack(hello: bytes) -> Road:
    """The ACK of the SYN-ACK is not in the capture; what comes next is 3 s later."""
    road = Road()
    road.c(0, SYN)
    road.s(5 * MS, SYN | ACK)
    road.c(10 * MS, dropped=True)
    road.c(3 * SECOND, PSH | ACK if hello else ACK, hello)
    if not hello:
        road.c(3 * SECOND + MS, PSH | ACK, HELLO)
    answer(road, 3 * SECOND + MS)
    return road


@pytest.mark.parametrize("view", ["client", "server"])
def test_an_ack_that_nobody_missed_but_the_capture(view: str) -> None:
    """Neither the SYN nor the SYN-ACK was repeated, so that both had been answered."""
    row = verdict(unseen_ack(HELLO), view)
    assert found(row) == ("synack_ack", "client_process", "client_silent", "medium")
    assert "neither the SYN nor the SYN-ACK was repeated" in row.evidence[0].text
    assert found(verdict(unseen_ack(b""), view)) == ("synack_ack", "capture", "missed_by_capture", "medium")


def test_syn_dropped_by_the_servers_host() -> None:
    road = Road()
    road.c(0, SYN)
    road.c(SECOND, SYN)
    last = road.c(3 * SECOND, SYN)
    road.s(3 * SECOND + 5 * MS + 30 * US, SYN | ACK, echo=last)
    at = 3 * SECOND + 11 * MS
    road.c(at)
    road.c(at + MS, PSH | ACK, HELLO)
    answer(road, at + MS)
    assert found(verdict(road, "server")) == ("syn_synack", "server_kernel", "syn_dropped_by_host", "high")
    assert found(verdict(road, "client"))[1:] == ("unknown", "syn_loss", "medium")


def test_accept_queue_full() -> None:
    road = Road()
    road.c(0, SYN)
    syn_ack = road.s(5 * MS + 30 * US, SYN | ACK)
    road.c(10 * MS + 60 * US)
    at = 11 * MS
    for k in range(4):
        road.c(at, PSH | ACK, HELLO)
        at += (200 << k) * MS
    again = road.s(SECOND + 5 * MS, SYN | ACK)
    again.tsecr = syn_ack.tsecr
    road.c(SECOND + 11 * MS, ACK, offset=len(HELLO))
    road.c(at, PSH | ACK, HELLO)
    answer(road, at)
    assert found(verdict(road, "server")) == ("ch_ack", "server_kernel", "accept_queue_full", "high")
    row = verdict(road, "client")
    assert found(row)[1:] == ("unknown", "client_hello_loss", "medium")
    assert row.would_settle == "a capture at the server"


def test_defer_accept_is_no_loss() -> None:
    road = Road()
    ack = road.handshake()
    again = road.s(SECOND + 5 * MS, SYN | ACK)
    again.tsecr = road.sent[0].tsval
    road.c(SECOND + 11 * MS)
    road.c(ack + 3 * SECOND, PSH | ACK, HELLO)
    answer(road, ack + 3 * SECOND)
    row = verdict(road, "client")
    assert found(row)[1:3] == ("client_process", "client_silent")
    assert any("TCP_DEFER_ACCEPT" in evidence.text for evidence in row.evidence)


def test_slow_path_is_no_stall_of_anybody() -> None:
    road = Road(one_way_ns=600 * MS)
    ack = road.handshake()
    road.c(SECOND, SYN)
    road.sent.sort(key=lambda sent: sent.ns)
    road.c(ack + MS, PSH | ACK, HELLO)
    answer(road, ack + MS)
    for at in ("client", "server"):
        assert found(verdict(road, at))[1:3] == ("network", "high_rtt")


def test_zero_window_is_the_receivers() -> None:
    road = Road()
    ack = road.handshake()
    road.s(ack + 6 * MS, window=0)
    road.c(ack + 3 * SECOND, PSH | ACK, HELLO)
    road.s(ack + 3 * SECOND - 8 * MS, window=64000)
    road.sent.sort(key=lambda sent: sent.ns)
    answer(road, ack + 3 * SECOND)
    row = verdict(road, "client")
    assert found(row)[1:] == ("server_process", "zero_window", "high")


def test_nagle_against_delayed_ack() -> None:
    road = Road()
    ack = road.handshake()
    at = ack + MS
    road.c(at, PSH | ACK, HELLO[:100])
    road.s(at + 205 * MS, ack=100)
    road.c(at + 210 * MS + 100 * US, PSH | ACK, HELLO[100:], offset=100)
    road.s(at + 216 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    row = verdict(road, "client", slow=["100ms"])
    assert found(row) == ("ch_span", "client_kernel", "nagle_delayed_ack", "high")
    assert row.side is None


def connect(proxy_ns: int, client_ns: int) -> Road:
    """CONNECT, answered after ``proxy_ns``; the hello ``client_ns`` later."""
    request, reply = b"CONNECT a:443 HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"
    road = Road(server_port=3128)
    ack = road.handshake()
    road.c(ack + MS, PSH | ACK, request)
    at = ack + MS + 5 * MS + proxy_ns
    road.s(at, PSH | ACK, reply, ack=len(request))
    at += 5 * MS
    road.c(at + 20 * US, ACK, offset=len(request), ack=len(reply))
    at += client_ns
    road.c(at, PSH | ACK, HELLO, offset=len(request), ack=len(reply))
    road.s(at + 6 * MS, PSH | ACK, FLIGHT, offset=len(reply), ack=len(request + HELLO))
    said, heard = len(request + HELLO), len(reply + FLIGHT)
    road.c(at + 13 * MS, PSH | ACK, FINISHED, offset=said, ack=heard)
    road.s(at + 19 * MS, PSH | ACK, record(23, b"t" * 80), offset=heard, ack=said + len(FINISHED))
    return road


def test_a_proxys_answer_is_awaited_from_the_server() -> None:
    row = verdict(connect(2 * SECOND, 3 * MS), "client")
    assert found(row)[1:3] == ("server_process", "await_server")
    assert row.preamble == "http_connect"
    assert row.parts_ns["ack_ch"] == {"client_process": 4 * MS, "await_server": 2 * SECOND + 10 * MS}


def test_after_the_proxys_answer_it_is_the_clients_turn() -> None:
    row = verdict(connect(3 * MS, 2 * SECOND), "client")
    assert found(row)[1:] == ("client_process", "client_silent", "high")
    assert row.parts_ns["ack_ch"] == {"client_process": 2001 * MS, "await_server": 13 * MS}


def test_slow_finish_is_the_clients() -> None:
    road = Road()
    ack = road.handshake()
    road.c(ack + MS, PSH | ACK, HELLO)
    road.s(ack + 7 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    road.c(ack + 13 * MS, ACK, offset=len(HELLO), ack=len(FLIGHT))
    finish(road, ack + 2 * SECOND)
    for at in WHERE:
        assert found(verdict(road, at)) == ("sh_cfin", "client_process", "client_slow_finish", "high")


def gives_up(whole: bool) -> Road:
    """The client closes 3 s after the ServerHello; the last segment of the flight has PSH only when it is ``whole``."""
    road = Road()
    ack = road.handshake()
    road.c(ack + MS, PSH | ACK, HELLO)
    road.s(ack + 7 * MS, PSH | ACK if whole else ACK, FLIGHT, ack=len(HELLO))
    road.c(ack + 13 * MS, ACK, offset=len(HELLO), ack=len(FLIGHT))
    road.c(ack + 3 * SECOND, FIN | ACK, offset=len(HELLO), ack=len(FLIGHT))
    return road


def test_a_client_that_may_wait_for_more_of_the_flight_is_not_blamed_for_certain() -> None:
    row = verdict(gives_up(True), "client")
    assert found(row) == ("sh_cfin", "client_process", "client_slow_finish", "medium")
    assert row.would_settle == "knowing that the client had got all that it waited for"


def test_a_flight_without_its_end_is_the_servers_or_lost() -> None:
    row = verdict(gives_up(False), "client")
    assert found(row) == ("sh_cfin", "unknown", "server_slow_hello", "medium")


def test_a_hole_that_was_acknowledged_is_the_captures() -> None:
    """The first segment of the flight is missing in the capture only: the client acknowledges it."""
    road = Road()
    ack = road.handshake()
    flight = server_hello(more=record(23, b"\x66" * 2600))
    road.c(ack + MS, PSH | ACK, HELLO)
    at = ack + 7 * MS
    road.s(at, ACK, flight[:1448], ack=len(HELLO), dropped=True)
    road.s(at, PSH | ACK, flight[1448:], offset=1448, ack=len(HELLO))
    road.c(at + 6 * MS, ACK, offset=len(HELLO), ack=len(flight))
    road.c(at + 3 * SECOND, PSH | ACK, FINISHED, offset=len(HELLO), ack=len(flight))
    row = verdict(road, "client")
    assert row.reason != "server_hello_loss"
    assert row.confidence != "high"


def test_a_rst_from_something_else_on_the_path() -> None:
    road = Road()
    ack = road.handshake()
    road.c(ack + MS, PSH | ACK, HELLO)
    road.s(ack + 6 * MS, ack=len(HELLO))
    rst = road.s(ack + 20 * MS, RST, ack=None)
    rst.ttl = 57
    row = verdict(road, "client")
    assert (row.tls_outcome, row.cause, row.reason, row.confidence) == (
        "reset_by_server",
        "network",
        "peer_reset",
        "medium",
    )
    rst.ttl = 64
    assert verdict(road, "client").cause == "unknown"
    assert verdict(road, "server").cause == "server_process"


@pytest.mark.parametrize(
    ("description", "sender", "cause"),
    [(48, "c", "client_process"), (45, "c", "server_process"), (112, "s", "client_process"), (40, "s", "unknown")],
)
def test_alerts_name_the_side_whose_configuration_they_are_about(description: int, sender: str, cause: str) -> None:
    road = Road()
    ack = road.handshake()
    road.c(ack + MS, PSH | ACK, HELLO)
    road.s(ack + 7 * MS, ack=len(HELLO))
    alert = record(21, bytes([2, description]))
    if sender == "c":
        road.c(ack + 20 * MS, PSH | ACK, alert, offset=len(HELLO))
        road.c(ack + 21 * MS, FIN | ACK, offset=len(HELLO) + 7)
    else:
        road.s(ack + 20 * MS, PSH | ACK, alert, ack=len(HELLO))
        road.s(ack + 21 * MS, FIN | ACK, offset=7, ack=len(HELLO))
    row = verdict(road, "client")
    assert (row.tls_outcome, row.cause, row.reason, row.confidence) == ("alert", cause, "alert", "medium")


@pytest.mark.parametrize("at", ["client", "server"])
def test_the_user_may_say_where_it_was_captured(at: str) -> None:
    road = silent_client(counts_ids=False)
    row = verdict(road, "middle", say=at)
    assert (row.capture_point, row.capture_point_confidence) == (at, "high")
    assert row.cause == ("client_process" if at == "client" else "unknown")


def test_a_capture_that_ends_in_the_stall_is_not_certain() -> None:
    road = Road()
    ack = road.handshake()
    other = Road(client_port=40001)
    other.handshake(ack + 8 * SECOND)
    row = reports(merged(road.captured("client"), other.captured("client")))[0]
    assert found(row) == ("ack_ch", "client_process", "client_silent", "medium")
    assert row.would_settle == "a capture that goes on until the connection ends"


def test_a_hole_before_the_hellos_last_byte_is_not_the_servers_kernel() -> None:
    """The second of three segments comes 3 s after the others: its kernel had nothing more to acknowledge."""
    hello = client_hello(3000)
    road = Road()
    ack = road.handshake()
    at = ack + MS
    road.c(at, ACK, hello[:1448])
    road.c(at, ACK, hello[1448:2896], offset=1448, lost_at=0.5)
    road.c(at + 10 * US, PSH | ACK, hello[2896:], offset=2896)
    road.s(at + 6 * MS, ack=1448, sack=[(2896, len(hello))])
    road.c(at + 3 * SECOND, ACK, hello[1448:2896], offset=1448)
    road.s(at + 3 * SECOND + 6 * MS, ack=len(hello))
    road.s(at + 3 * SECOND + 7 * MS, PSH | ACK, FLIGHT, ack=len(hello))
    row = verdict(road, "server")
    assert found(row) == ("ch_ack", "network", "client_hello_loss", "high")
    assert sum(row.parts_ns["ch_ack"].values()) == row.intervals_ns["ch_ack"]


def test_an_answer_soon_after_a_late_ack_is_not_a_slow_server() -> None:
    """Under a low threshold the ServerHello is late, but all of that was the way of the hello."""
    row = verdict(lost_hello(1), "client", slow=["150ms"])
    assert (row.stalled, row.cause, row.reason) == ("ch_sh", "network", "client_hello_loss")


@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_a_record_header_sent_alone_is_no_silence_before_the_hello(size: int) -> None:
    road = Road()
    at = road.handshake()
    road.c(at + MS, PSH | ACK, HELLO[:size], ack=0)
    road.s(at + 6 * MS, ack=size)
    road.c(at + 3 * SECOND, PSH | ACK, HELLO[size:], offset=size, ack=0)
    answer(road, at + 3 * SECOND)
    row = verdict(road, "client")
    assert found(row) == ("ch_span", "client_process", "client_silent", "high")
    assert row.intervals_ns["ack_ch"] == MS


def test_payload_that_is_no_hello_is_not_called_silence() -> None:
    road = Road()
    at = road.handshake()
    preamble = b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"
    size = len(preamble)
    road.c(at + MS, PSH | ACK, preamble, ack=0)
    road.s(at + 6 * MS, ack=size)
    road.c(at + 3 * SECOND, PSH | ACK, HELLO, offset=size, ack=0)
    road.s(at + 3 * SECOND + 10 * MS, ack=size + len(HELLO))
    row = verdict(road, "client")
    assert found(row) == ("ack_ch", "client_process", "client_silent", "high")
    assert row.evidence[0].text.startswith("Seen at the client itself: it sent 1 segment with payload")
    assert (row.verdict or "").lower().startswith("the client sent the clienthello only after")


def test_where_bytes_lack_their_ack_the_other_end_would_settle_it() -> None:
    """Captured at the client: what it held back and what the network kept from it look alike, but not from afar."""
    road = Road()
    at = road.handshake()
    road.c(at + MS, PSH | ACK, HELLO[:5], ack=0)
    road.c(at + 3 * SECOND, PSH | ACK, HELLO[5:], offset=5, ack=0)
    road.s(at + 3 * SECOND + 10 * MS, ack=len(HELLO))
    row = verdict(road, "client")
    assert found(row) == ("ch_span", "unknown", "client_silent", "medium")
    assert not [one.text for one in row.evidence if "not taken at the client" in one.text]
    assert row.would_settle is not None
    assert row.would_settle.startswith("a capture at the server")


def stalls_besides(row: FlowReport) -> list[tuple[str, list[int]]]:
    return [(piece.text, piece.frames) for piece in row.evidence if "as well" in piece.text]


def test_a_second_stall_is_told_with_its_own_cause() -> None:
    road = Road()
    at = road.handshake()
    answer_late(road, at + 5 * SECOND, finish_after_ns=2500 * MS)
    row = verdict(road, "client")
    assert row.stalled == "ack_ch"
    ((text, frames),) = stalls_besides(row)
    assert text.startswith("It stalled in sh_cfin as well, for 2.5 s: the client ")
    assert text.endswith("(client process, high confidence).")
    assert frames == [row.events[name].frame for name in ("server_hello_first", "client_finished")]  # type: ignore[union-attr]


def test_a_single_stall_has_no_second() -> None:
    road = Road()
    answer_late(road, road.handshake() + 5 * SECOND, finish_after_ns=5 * MS)
    row = verdict(road, "client")
    assert row.stalled == "ack_ch"
    assert stalls_besides(row) == []


def answer_late(road: Road, at: int, finish_after_ns: int) -> None:
    """A healthy answer to a hello that left at ``at``, and a client that takes its time to finish."""
    way = road.one_way_ns
    road.c(at, PSH | ACK, HELLO)
    road.s(at + way, ack=len(HELLO))
    road.s(at + way + MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    road.c(at + 2 * way + 2 * MS, ACK, offset=len(HELLO), ack=len(FLIGHT))
    finish(road, at + 2 * way + MS + finish_after_ns)


def test_a_handshake_of_very_many_segments_asks_for_no_capture_of_its_own() -> None:
    """It is alone in this one already: what was not looked at, of so many, another would not show."""
    road = Road()
    at = road.handshake()
    road.c(at, PSH | ACK, HELLO)
    road.s(at + 20 * MS, PSH | ACK, server_hello(), ack=len(HELLO))
    piece = record(22, b"y" * 100)
    for k in range(200):
        road.s(at + (30 + k) * MS, PSH | ACK, piece, offset=len(server_hello()) + len(piece) * k, ack=len(HELLO))
        road.c(at + (31 + k) * MS, offset=len(HELLO), ack=len(server_hello()) + len(piece) * (k + 1))
    road.c(at + 500 * MS, FIN | ACK, offset=len(HELLO), ack=len(server_hello()) + len(piece) * 200)
    row = verdict(road, "client")
    assert (row.tls_outcome, row.confidence) == ("client_rejected_likely", "medium")
    assert row.would_settle == "the client's log"
