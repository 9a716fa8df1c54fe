"""A connection that the server's process never accepted: only its listener is in the strace."""

from datetime import datetime, timedelta, timezone

import pytest
from process_support import HELLO, PUSH, strace, told
from test_receiver import START, accept, nap, read
from wire_support import MS, SECOND, Road

from pcapstall.wire.segment import ACK, RST

OTHER = (
    0.5,
    'accept4(3, {sa_family=AF_INET, sin_port=htons(40009), sin_addr=inet_addr("10.0.0.1")}, [16], 0) = 4 <0.1>',
)


def unanswered() -> Road:
    """The kernel takes connection and hello; the server's process ends after five seconds."""
    road = Road()
    acked = road.handshake()
    road.c(acked + MS, PUSH, HELLO, ack=0)
    road.s(acked + 6 * MS + MS // 10, ACK, ack=len(HELLO))
    road.s(acked + 5 * SECOND, ACK | RST, ack=len(HELLO))
    return road


def end(at: float = 5.02) -> tuple[float, str]:
    return at, "+++ killed by SIGKILL +++"


@pytest.mark.parametrize("prefix", ["epoch", "time of day"])
def test_nobody_accepted_it(prefix: str) -> None:
    text = strace([*START, nap(-0.1, 5.1), end()])
    if prefix == "time of day":
        text = "".join(f"7 {_of_day(line.split()[1])} {line.split(' ', 2)[2]}\n" for line in text.splitlines())
    row, _ = told(unanswered(), text, "server")
    assert (row.stalled, row.cause, row.reason) == ("ch_sh", "server_process", "late_accept")
    assert (row.activity, row.confidence, row.match) == ("blocked_in_syscall", "medium", "listener")
    assert "nobody accepted it for 5.0 s; thread 7 was in clock_nanosleep for 5.0 s" in (row.verdict or "")
    assert row.would_settle == "a strace of every process that listens there"


def _of_day(stamp: str) -> str:
    """As -tt prints it, two hours east of UTC."""
    seconds, micros = stamp.split(".")
    return datetime.fromtimestamp(int(seconds), timezone(timedelta(hours=2))).strftime("%H:%M:%S.") + micros


@pytest.mark.parametrize(
    "calls",
    [
        [accept(0.012, 0.00003), read(0.0165), nap(0.0168, 5.0)],
        [(-0.1, "accept4(3, NULL, NULL, 0) = 4 <0.200000>"), nap(0.11, 4.9)],
        [nap(-0.1, 0.5), OTHER, nap(0.7, 4.2)],
        [(-0.1, "accept(3,  <unfinished ...>")],
        [(at, rest.replace("htons(443)", "htons(80)")) for at, rest in START],
    ],
)
def test_what_may_have_been_accepted_is_not_said_to_have_waited(calls: list[tuple[float, str]]) -> None:
    """Accepted; accepted by somebody whose address was not printed; another one was; a thread waited for it."""
    begun = START if "htons(80)" not in str(calls) else []
    row, _ = told(unanswered(), strace([*begun, *calls, end()]), "server")
    assert row.reason != "late_accept"
