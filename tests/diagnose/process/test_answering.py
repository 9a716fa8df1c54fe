"""A proxy that takes its time over a CONNECT: what its process did meanwhile."""

from process_support import HELLO, PUSH, SERVER_HELLO, strace, told
from test_receiver import START, accept, nap, read
from wire_support import MS, SECOND, Road

CONNECT = b"CONNECT server.test:443 HTTP/1.1\r\nHost: server.test:443\r\n\r\n"
ANSWER = b"HTTP/1.1 200 Connection established\r\n\r\n"
ASKED = (0.0163, f'recvfrom(4, "CONNECT server.test:443 HTTP/1.1"..., 4096, 0, NULL, NULL) = {len(CONNECT)} <0.000020>')
ANSWERED = f'sendto(4, "HTTP/1.1 200 Connection establis"..., {len(ANSWER)}, 0, NULL, 0) = {len(ANSWER)} <0.000030>'


def tunnel(seconds: float) -> Road:
    road = Road()
    acked = road.handshake()
    road.c(acked + MS, PUSH, CONNECT, ack=0)
    answered = acked + round(seconds * SECOND)
    road.s(answered, PUSH, ANSWER, ack=len(CONNECT))
    road.c(answered + 11 * MS, PUSH, HELLO, offset=len(CONNECT), ack=len(ANSWER))
    road.s(answered + 17 * MS, PUSH, SERVER_HELLO, offset=len(ANSWER), ack=len(CONNECT) + len(HELLO))
    return road


def test_what_a_proxy_did_before_it_answered() -> None:
    calls = [accept(-0.1, 0.1155), ASKED, nap(0.017, 2.98), (3.0055, ANSWERED), read(3.05)]
    row, _ = told(tunnel(3), strace([*START, *calls]), "client")
    assert (row.stalled, row.cause, row.reason) == ("ack_ch", "server_process", "await_server")
    assert (row.activity, row.confidence) == ("blocked_in_syscall", "high")
    assert "took 3.0 s to answer; thread 7 was in clock_nanosleep for 3.0 s" in (row.verdict or "")


def test_a_proxy_that_answered_in_time_is_told_no_such_thing() -> None:
    calls = [accept(-0.1, 0.1155), ASKED, (0.0175, ANSWERED), nap(0.018, 2.98), read(3.05)]
    row, _ = told(tunnel(3), strace([*START, *calls]), "client")
    assert (row.reason, row.activity) == ("await_server", None)
    assert "to answer" not in (row.verdict or "")
