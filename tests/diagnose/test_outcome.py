"""How connections end: the first terminal event decides."""

import itertools

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
    START_NS,
    SYN,
    Road,
    client_hello,
    flows_of,
    record,
)

from pcapstall.diagnose import outcome as outcomes
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.outcome import Outcome
from pcapstall.report.flow_model import is_failed

FATAL_ALERT = record(21, b"\x02\x28")
CLOSE_NOTIFY = record(23, b"\x66" * 19)


def judged(road: Road, at: str = "client", until_ns: int = 0) -> Outcome:
    (flow,) = flows_of(road.captured(at))
    intervals = Intervals()
    intervals.measure(flow, START_NS + until_ns if until_ns else flow.last_ns)
    outcome = Outcome()
    outcome.judge(flow, intervals)
    return outcome


def connected() -> tuple[Road, int]:
    road = Road()
    return road, road.handshake() + MS


def with_hello(answered: bool = False) -> tuple[Road, int]:
    road, at = connected()
    road.c(at, PSH | ACK, HELLO)
    road.s(at + 6 * MS, PSH | ACK, FLIGHT if answered else b"", ack=len(HELLO))
    if answered:
        road.c(at + 12 * MS, ACK, offset=len(HELLO), ack=len(FLIGHT))
    return road, at + 20 * MS


def established() -> tuple[Road, int]:
    road, at = with_hello(answered=True)
    road.c(at, PSH | ACK, FINISHED, offset=len(HELLO), ack=len(FLIGHT))
    road.s(at + 9 * MS, PSH | ACK, record(23, b"t" * 80), offset=len(FLIGHT), ack=len(HELLO + FINISHED))
    return road, at + 30 * MS


def test_established() -> None:
    road, at = established()
    road.s(at + 60 * SECOND, RST, offset=len(FLIGHT) + 85, ack=None)
    outcome = judged(road)
    assert (outcome.tcp, outcome.tls, outcome.failed) == ("connected", "established", False)
    assert (outcome.closed_by, outcome.close_kind) == ("server", "rst")


@pytest.mark.parametrize(
    ("side", "flags", "outcome"),
    [
        ("s", RST | ACK, "reset_by_server"),
        ("s", FIN | ACK, "closed_by_server"),
        ("c", RST | ACK, "client_gave_up"),
        ("c", FIN | ACK, "client_gave_up"),
    ],
)
def test_closed_before_the_server_hello(side: str, flags: int, outcome: str) -> None:
    road, at = with_hello()
    if side == "s":
        road.s(at, flags, ack=len(HELLO))
        road.c(at + 20 * MS, RST, offset=len(HELLO), ack=None)
    else:
        road.c(at, flags, offset=len(HELLO))
        road.s(at + 20 * MS, FIN | ACK, ack=len(HELLO) + (flags & FIN))
    judgement = judged(road)
    assert judgement.tls == outcome
    assert judgement.failed
    assert judgement.closed_by == ("server" if side == "s" else "client")


def test_an_answer_that_the_capture_lacks_is_no_failure() -> None:
    """Acknowledged bytes of the server's are not here: its ServerHello is among them, whoever closes."""
    road, at = connected()
    road.c(at, PSH | ACK, HELLO)
    road.s(at + 6 * MS, PSH | ACK, FLIGHT, ack=len(HELLO), dropped=True)
    road.c(at + 12 * MS, ACK, offset=len(HELLO), ack=len(FLIGHT))
    for closed in (False, True):
        if closed:
            road.s(at + 300 * MS, FIN | ACK, offset=len(FLIGHT), ack=len(HELLO))
        judgement = judged(road, until_ns=0 if closed else 60 * SECOND)
        assert (judgement.tls, judgement.failed) == ("incomplete", False)


def test_one_direction_alone_is_no_failure() -> None:
    road, at = established()
    road.c(at, RST, offset=len(HELLO + FINISHED), ack=None)
    for sent in road.sent:
        sent.dropped = not sent.from_client
    judgement = judged(road)
    assert (judgement.tls, judgement.one_sided, judgement.failed) == ("incomplete", True, False)


def test_a_short_encrypted_record_among_missing_bytes_is_no_alert() -> None:
    road, at = with_hello(answered=True)
    road.c(at, PSH | ACK, FINISHED, offset=len(HELLO), ack=len(FLIGHT), dropped=True)
    road.s(at + 9 * MS, PSH | ACK, CLOSE_NOTIFY, offset=len(FLIGHT), ack=len(HELLO + FINISHED))
    road.s(at + 9 * MS, FIN | ACK, offset=len(FLIGHT + CLOSE_NOTIFY), ack=len(HELLO + FINISHED))
    assert judged(road).tls == "incomplete"


def test_a_client_that_leaves_after_the_flight_has_rejected_it() -> None:
    road, at = with_hello(answered=True)
    road.c(at, FIN | ACK, offset=len(HELLO), ack=len(FLIGHT))
    assert judged(road).tls == "client_rejected_likely"


def test_a_server_hello_that_the_client_never_accepted_is_none() -> None:
    road, at = connected()
    road.c(at, PSH | ACK, HELLO)
    road.s(at + 6 * MS, PSH | ACK, FLIGHT, ack=len(HELLO), lost_at=0.9)
    road.c(at + 3 * SECOND, FIN | ACK, offset=len(HELLO))
    assert judged(road, "server").tls == "client_gave_up"


def test_a_server_hello_after_the_clients_fin_comes_too_late() -> None:
    """The client closed its side and its kernel went on to acknowledge: the FIN decides."""
    road, at = connected()
    road.c(at, PSH | ACK, HELLO)
    road.c(at + 200 * MS, FIN | ACK, offset=len(HELLO))
    road.s(at + 600 * MS, PSH | ACK, FLIGHT, ack=len(HELLO) + 1)
    road.c(at + 606 * MS, ACK, offset=len(HELLO) + 1, ack=len(FLIGHT))
    assert judged(road).tls == "client_gave_up"


@pytest.mark.parametrize("side", ["c", "s"])
def test_alert_before_the_close(side: str) -> None:
    road, at = with_hello()
    if side == "s":
        road.s(at, PSH | ACK, FATAL_ALERT, ack=len(HELLO))
        road.s(at + MS, FIN | ACK, offset=len(FATAL_ALERT), ack=len(HELLO))
    else:
        road.c(at, PSH | ACK, FATAL_ALERT, offset=len(HELLO))
        road.c(at + MS, RST | ACK, offset=len(HELLO + FATAL_ALERT))
    assert judged(road).tls == "alert"


def test_a_late_alert_is_a_consequence() -> None:
    road, at = with_hello()
    road.s(at, FIN | ACK, ack=len(HELLO))
    road.c(at + 20 * MS, PSH | ACK, FATAL_ALERT, offset=len(HELLO), ack=1)
    assert judged(road).tls == "closed_by_server"


def test_a_close_notify_after_finished_is_no_alert() -> None:
    road, at = with_hello(answered=True)
    sent = HELLO + FINISHED
    road.c(at, PSH | ACK, FINISHED, offset=len(HELLO), ack=len(FLIGHT))
    road.c(at + MS, PSH | ACK, CLOSE_NOTIFY, offset=len(sent), ack=len(FLIGHT))
    road.c(at + 2 * MS, FIN | ACK, offset=len(sent + CLOSE_NOTIFY), ack=len(FLIGHT))
    assert judged(road).tls == "established"


def test_a_server_that_refuses_the_clients_certificate_sends_an_alert() -> None:
    road, at = with_hello(answered=True)
    road.c(at, PSH | ACK, FINISHED, offset=len(HELLO), ack=len(FLIGHT))
    road.s(at + 9 * MS, PSH | ACK, CLOSE_NOTIFY, offset=len(FLIGHT), ack=len(HELLO + FINISHED))
    road.s(at + 10 * MS, FIN | ACK, offset=len(FLIGHT + CLOSE_NOTIFY), ack=len(HELLO + FINISHED))
    assert judged(road).tls == "alert"


def test_server_timer_and_late_hello() -> None:
    road, at = connected()
    road.s(at + 10 * SECOND, FIN | ACK)
    road.c(at + 52 * SECOND, PSH | ACK, HELLO, ack=1)
    road.s(at + 52 * SECOND + 6 * MS, RST, offset=1, ack=None)
    outcome = judged(road)
    assert (outcome.tls, outcome.flags()) == ("closed_before_client_hello", ["late_hello"])
    assert outcome.server_timer_ns == 10 * SECOND + 6 * MS
    assert (outcome.closed_by, outcome.close_kind) == ("server", "fin")


def test_a_server_that_closes_at_once_has_no_timer() -> None:
    road, at = connected()
    road.s(at + 20 * MS, FIN | ACK)
    outcome = judged(road)
    assert outcome.tls == "closed_before_client_hello"
    assert outcome.server_timer_ns < 0


def test_probe() -> None:
    road, at = connected()
    road.c(at + 200 * MS, FIN | ACK)
    outcome = judged(road)
    assert (outcome.tls, outcome.failed) == ("probe", False)
    road, at = connected()
    road.c(at + 1200 * MS, FIN | ACK)
    assert judged(road).tls == "closed_before_client_hello"


def test_refused() -> None:
    road = Road()
    road.c(0, SYN)
    road.s(6 * MS, RST | ACK, ack=0)
    outcome = judged(road)
    assert (outcome.tcp, outcome.tls, outcome.failed) == ("refused", "", True)


def test_filtered_needs_time_for_an_answer() -> None:
    road = Road()
    road.c(0, SYN)
    outcome = judged(road, until_ns=30 * MS)
    assert (outcome.tcp, outcome.flags(), outcome.failed) == ("handshake_incomplete", ["near_capture_end"], False)
    road.c(SECOND, SYN)
    assert judged(road).tcp == "filtered"


def test_reset_during_handshake() -> None:
    road = Road()
    road.c(0, SYN)
    road.s(6 * MS, SYN | ACK)
    road.c(12 * MS, RST, ack=None)
    assert judged(road).tcp == "reset_during_handshake"


def test_no_hello_and_no_end() -> None:
    road, at = connected()
    outcome = judged(road, until_ns=at + 5 * SECOND)
    assert (outcome.tls, outcome.flags(), outcome.failed) == ("no_client_hello", ["near_capture_end"], False)


def test_partial_hello() -> None:
    hello = client_hello(1800)
    road, at = connected()
    road.c(at, ACK, hello[:1448])
    road.s(at + 6 * MS, ack=1448)
    road.s(at + 3 * SECOND, FIN | ACK, ack=1448)
    outcome = judged(road)
    assert (outcome.tls, outcome.failed) == ("partial_client_hello", True)


def test_not_tls_is_no_failure() -> None:
    road, at = connected()
    road.c(at, PSH | ACK, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    road.c(at + 9 * SECOND, RST | ACK, offset=27)
    outcome = judged(road)
    assert (outcome.tls, outcome.failed) == ("not_tls", False)


def test_seen_midway() -> None:
    road = Road()
    road.c(0, PSH | ACK, HELLO)
    road.s(6 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    outcome = judged(road)
    assert (outcome.tcp, outcome.tls) == ("seen_midway", "incomplete")


def test_failed_means_the_same_as_in_the_report() -> None:
    """`Outcome.failed` is the compiled twin of the model's `is_failed`."""
    names = [value for name, value in vars(outcomes).items() if name.isupper() and isinstance(value, str)]
    tcp = [name for name in names if name not in ("client", "server")]
    for tcp_outcome, tls_outcome, cut in itertools.product(tcp, ["", *tcp], (False, True)):
        outcome = Outcome()
        outcome.tcp, outcome.tls, outcome.near_capture_end = tcp_outcome, tls_outcome, cut
        assert outcome._failed() == is_failed(tcp_outcome, tls_outcome or None, outcome.flags())


def test_a_client_whose_finished_the_capture_lacks_has_rejected_nothing() -> None:
    road, at = with_hello(answered=True)
    said, heard = len(HELLO + FINISHED), len(FLIGHT)
    road.c(at, PSH | ACK, FINISHED, offset=len(HELLO), ack=heard, dropped=True)
    road.c(at + MS, PSH | ACK, record(23, b"r" * 60), offset=said, ack=heard)
    road.s(at + 9 * MS, PSH | ACK, record(23, b"t" * 80), offset=heard, ack=said + 65, dropped=True)
    road.s(at + 10 * MS, ACK, offset=heard + 85, ack=said + 65)
    road.c(at + 60 * MS, FIN | ACK, offset=said + 65, ack=heard + 85)
    assert not judged(road).failed


def test_a_client_that_spoke_unseen_was_not_silent() -> None:
    road, at = connected()
    road.c(at, PSH | ACK, HELLO, dropped=True)
    road.s(at + 6 * MS, ACK, ack=len(HELLO))
    road.c(at + 3 * SECOND, FIN | ACK, offset=len(HELLO))
    assert judged(road).tls == "incomplete"
