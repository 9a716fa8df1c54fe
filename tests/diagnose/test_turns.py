"""Whose turn it was where something is said before TLS, and what is said of ends that do not speak it to each other."""

import pytest
from test_verdicts import answer, finish, found, verdict
from wire_support import ACK, FIN, FLIGHT, HELLO, MS, PSH, RST, SECOND, SYN, Road, record, reports

from pcapstall.report.flow_model import FlowReport

CONNECT = b"CONNECT a.example:443 HTTP/1.1\r\n\r\n"
OPENED = b"HTTP/1.1 200 OK\r\n\r\n"
Said = list[tuple[str, bytes]]

SMTP: Said = [("s", b"220 ready ESMTP\r\n"), ("c", b"EHLO a\r\n"), ("s", b"250 STARTTLS\r\n"), ("c", b"STARTTLS\r\n")]


def talk(port: int, said: Said, *, silence: int = 8 * SECOND, fin: str = "c") -> Road:
    """What was said, each answer after 6 ms, then silence until one side closes."""
    road = Road(server_port=port)
    at = road.handshake() + MS
    lengths = {"c": 0, "s": 0}
    for side, payload in said:
        peer = "s" if side == "c" else "c"
        road.send(side == "c", at, PSH | ACK, payload, offset=lengths[side], ack=lengths[peer])
        lengths[side] += len(payload)
        road.send(side != "c", at + 6 * MS, ACK, offset=lengths[peer], ack=lengths[side])
        at += 12 * MS
    peer = "s" if fin == "c" else "c"
    road.send(fin == "c", at + silence, FIN | ACK, offset=lengths[fin], ack=lengths[peer])
    road.send(fin != "c", at + silence + 6 * MS, ACK, offset=lengths[peer], ack=lengths[fin] + 1)
    return road


@pytest.mark.parametrize(
    ("port", "said", "preamble"),
    [
        (25, SMTP, "smtp_starttls"),
        (3128, [("c", CONNECT)], "http_connect"),
        (1080, [("c", b"\x05\x01\0"), ("s", b"\x05\0"), ("c", b"\x05\x01\0\x03\x01a\x01\xbb")], "socks5"),
        (5432, [("c", bytes.fromhex("0000000804d2162f"))], "postgresql"),
        (389, [("c", b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037")], "ldap_starttls"),
        (143, [("s", b"* OK ready\r\n"), ("c", b"a STARTTLS\r\n")], "imap_starttls"),
    ],
)
def test_a_server_that_owes_an_answer_is_what_is_waited_for(port: int, said: Said, preamble: str) -> None:
    for at in ("client", "server"):
        row = verdict(talk(port, said), at)
        assert (row.stalled, row.cause, row.reason, row.preamble) == (
            "ack_ch",
            "server_process",
            "await_server",
            preamble,
        )
        assert row.parts_ns["ack_ch"]["await_server"] > 7 * SECOND
        assert row.confidence == ("medium" if at == "client" else "high")


@pytest.mark.parametrize(
    ("port", "said"),
    [
        (25, [*SMTP, ("s", b"220 go ahead\r\n")]),
        (3128, [("c", CONNECT), ("s", OPENED)]),
        (5432, [("c", bytes.fromhex("0000000804d2162f")), ("s", b"S")]),
        (443, [("c", b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n")]),
        (143, [("s", b"* OK ready\r\n"), ("c", b"a STARTTLS\r\n"), ("s", b"a OK begin\r\n")]),
    ],
)
def test_after_the_answer_or_a_proxy_header_the_client_owes_its_hello(port: int, said: Said) -> None:
    row = verdict(talk(port, said), "client")
    assert found(row) == ("ack_ch", "client_process", "client_silent", "high")
    assert row.tls_outcome == "closed_before_client_hello"


@pytest.mark.parametrize(
    ("port", "said"),
    [
        (25, [*SMTP, ("s", b"454 TLS not available\r\n")]),
        (25, SMTP[:3]),
        (3128, [("c", CONNECT), ("s", b"HTTP/1.1 407 Authenticate\r\n\r\n")]),
        (3128, [("c", b"CONNECT a:25 HTTP/1.1\r\n\r\n"), ("s", OPENED)]),
        (5432, [("c", bytes.fromhex("0000000804d2162f")), ("s", b"N")]),
        (110, [("s", b"+OK\r\n"), ("c", b"STLS\r\n"), ("s", b"-ERR no\r\n")]),
    ],
)
def test_where_no_tls_is_due_nothing_stalls(port: int, said: Said) -> None:
    row = verdict(talk(port, said), "client")
    assert (row.stalled, row.tls_outcome) == (None, "not_tls")


def test_a_greeting_that_never_comes_is_the_servers() -> None:
    row = verdict(talk(25, [], fin="s"), "client")
    assert found(row)[1:] == ("server_process", "await_server", "medium")
    assert row.verdict == (
        "the client waited 8.0 s for the greeting that the server owed; the server closed at 8.0 s, so 8.0 s is its "
        "timer"
    )


def test_bytes_of_no_known_protocol_blame_nobody() -> None:
    row = verdict(talk(5555, [("c", b"\x10\x64\x87\x80hello")]), "client")
    assert found(row) == ("ack_ch", "unknown", "await_server", "low")
    assert row.would_settle == "knowing what port 5555 speaks (--tls 5555)"


def lost_request(times: int) -> Road:
    road = Road(server_port=3128)
    at = road.handshake() + MS
    for k in range(times):
        road.c(at, PSH | ACK, CONNECT, lost_at=0.5)
        at += (200 << k) * MS
    road.c(at + 4 * SECOND, FIN | ACK, offset=len(CONNECT))
    return road


@pytest.mark.parametrize(("times", "confidence"), [(1, "low"), (4, "medium")])
def test_a_request_that_was_not_acknowledged_is_not_the_servers_debt(times: int, confidence: str) -> None:
    assert found(verdict(lost_request(times), "client"))[1:] == ("unknown", "await_server", confidence)


def test_an_answer_that_takes_a_round_trip_is_the_paths() -> None:
    road = Road(server_port=3128, one_way_ns=400 * MS)
    at = road.handshake() + MS
    road.c(at, PSH | ACK, CONNECT)
    road.s(at + 402 * MS, PSH | ACK, OPENED, ack=len(CONNECT))
    at += 803 * MS
    road.c(at, PSH | ACK, HELLO, offset=len(CONNECT), ack=len(OPENED))
    row = verdict(road, "client", slow=["500ms"])
    assert (row.stalled, row.cause, row.reason) == ("ack_ch", "network", "await_server")
    assert sum(row.parts_ns["ack_ch"].values()) == row.intervals_ns["ack_ch"]
    assert row.parts_ns["ack_ch"]["await_server"] == 802 * MS


def test_the_shortest_round_trip_is_the_shortest_of_all() -> None:
    """A handshake and an answer that took longer than an acknowledgment did."""
    rtt = 450 * MS
    road = Road(one_way_ns=rtt // 2, server_port=3128)
    road.c(0, SYN)
    road.s(rtt // 2 + 150 * MS, SYN | ACK)
    at = rtt + 151 * MS
    road.c(at)
    road.c(at, PSH | ACK, CONNECT)
    road.s(at + rtt // 2 + 160 * MS, PSH | ACK, OPENED, ack=len(CONNECT))
    at += rtt + 161 * MS
    road.c(at, PSH | ACK, HELLO, offset=len(CONNECT), ack=len(OPENED))
    road.s(at + rtt // 2, offset=len(OPENED), ack=len(CONNECT) + len(HELLO))
    row = verdict(road, "client", slow=["500ms"])
    assert row.intervals_ns["ch_ack"] == rtt
    assert (row.cause, row.reason) == ("network", "await_server")
    assert "450 ms of that was the way there and back" in row.verdict
    assert "The shortest round trip between the hosts takes 450 ms." in [fact.text for fact in row.evidence]


@pytest.mark.parametrize(("rtt", "reason"), [(2 * SECOND, "high_rtt"), (20 * MS, "syn_loss")])
def test_a_path_is_slow_only_where_nothing_was_acknowledged_soon(rtt: int, reason: str) -> None:
    """SYN and ClientHello are answered late both; then the client's Finished is, or is not."""
    road = Road(one_way_ns=10 * MS)
    road.c(0, SYN)
    road.s(2 * SECOND, SYN | ACK)
    at = 2 * SECOND + 11 * MS
    road.c(at)
    road.c(at, PSH | ACK, HELLO)
    road.s(at + 2 * SECOND - 10 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    at += 2 * SECOND + MS
    road.c(at, PSH | ACK, record(20, b"\1") + record(23, bytes(40)), offset=len(HELLO), ack=len(FLIGHT))
    road.s(at + rtt - 10 * MS, offset=len(FLIGHT), ack=len(HELLO) + 51)
    row = verdict(road, "client")
    assert (row.stalled, row.reason) == ("syn_synack", reason)


def plain_answer(payload: bytes, late: int = 8 * MS, close: bool = True) -> Road:
    road = Road(server_port=80)
    at = road.handshake() + MS
    road.c(at, PSH | ACK, HELLO)
    road.s(at + 5 * MS, ack=len(HELLO))
    road.s(at + late, PSH | ACK, payload, ack=len(HELLO))
    if close:
        road.s(at + late + MS, FIN | ACK, offset=len(payload), ack=len(HELLO))
        road.c(at + late + 12 * MS, RST, offset=len(HELLO), ack=None)
    return road


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "plain HTTP (status 400)"),
        (b"<!DOCTYPE HTML>\n<html></html>", "a page of HTML"),
        (b"SSH-2.0-OpenSSH_9\r\n", "an SSH banner"),
        (b"-ERR unknown command\r\n", "bytes that are no TLS"),
    ],
)
@pytest.mark.parametrize("late", [8 * MS, 3 * SECOND])
def test_a_server_that_does_not_speak_tls_is_told_as_such(payload: bytes, said: str, late: int) -> None:
    row = verdict(plain_answer(payload, late), "client")
    assert (row.tls_outcome, row.cause, row.reason, row.confidence) == (
        "closed_by_server",
        "unknown",
        "not_tls",
        "medium",
    )
    assert row.verdict is not None
    assert said in row.verdict


def test_an_alert_is_no_other_protocol() -> None:
    row = verdict(plain_answer(record(21, b"\x02\x28")), "client")
    assert row.reason == "alert"


def test_closing_on_a_port_that_may_not_speak_tls_blames_nobody() -> None:
    road = Road(server_port=5555)
    at = road.handshake()
    road.s(at + 7 * MS, PSH | ACK, b"hello")
    road.c(at + 100 * MS, FIN | ACK, ack=5)
    row = verdict(road, "client")
    assert (row.cause, row.reason, row.confidence) == ("unknown", "closed_before_client_hello", "low")
    assert verdict(road, "client", tls_ports=[5555]).cause == "client_process"


def test_a_gap_in_a_count_that_connections_share_is_no_loss() -> None:
    """A host that gives its SYN-ACK part in the count, as Windows does and Linux does not."""

    def slow(syn_ack_id: int) -> FlowReport:
        road = Road()
        ack = road.handshake()
        road.sent[1].ip_id = syn_ack_id
        road.c(ack + MS, PSH | ACK, HELLO)
        road.s(ack + 6 * MS, ack=len(HELLO))
        road._ids[False] += 3
        road.s(ack + 1300 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
        finish(road, ack + 1310 * MS)
        return verdict(road, "client")

    assert (slow(0).cause, slow(0).reason) == ("network", "server_hello_loss")
    assert (slow(5000).cause, slow(5000).confidence) == ("server_process", "medium")


def test_a_windows_client_counts_for_all_its_connections() -> None:
    road = Road()
    ack = road.handshake()
    road._ids[True] += 3
    road.c(ack + 1300 * MS, PSH | ACK, HELLO)
    answer(road, ack + 1300 * MS)
    assert verdict(road, "server").reason == "client_hello_loss"
    for sent in road.sent:
        if sent.from_client:
            sent.ttl = 128
    row = verdict(road, "server")
    assert (row.cause, row.reason) == ("unknown", "client_silent")


def test_an_excerpt_without_bare_acks_is_not_certain_of_a_late_one() -> None:
    road = Road()
    ack = road.handshake()
    road.c(ack + MS, PSH | ACK, HELLO)
    road.s(ack + 700 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    finish(road, ack + 710 * MS)
    kept = [segment for segment in road.captured("middle") if segment.payload_len]
    (row,) = reports(kept)
    assert (row.stalled, row.cause, row.confidence) == ("ch_ack", "unknown", "low")
    assert row.would_settle is not None
    assert "a capture of all packets" in row.would_settle
