"""Where the capture was taken, from times, TTLs and addresses."""

import pytest
from wire_support import ACK, HELLO, MS, PSH, RST, SECOND, SYN, US, Road, flows_of, follow, merged, reports

from pcapstall.diagnose.capture_point import by_times, with_ttls
from pcapstall.diagnose.knowledge import own_round_trips
from pcapstall.wire.tls_reader import NEVER

UNKNOWN = ("unknown", None)


@pytest.mark.parametrize(
    ("to_server", "to_client", "point"),
    [
        (20 * MS, 50 * US, ("client", "high")),
        (20 * MS, 4 * MS, ("client", "medium")),
        (30 * MS, 10 * MS, ("middle", "medium")),
        (10 * MS, 10 * MS, ("middle", "medium")),
        (4 * MS, 20 * MS, ("server", "medium")),
        (50 * US, 20 * MS, ("server", "high")),
        (30 * US, 20 * US, ("local", "medium")),
        (NEVER, 20 * US, UNKNOWN),
        (20 * US, NEVER, UNKNOWN),
    ],
)
def test_by_times(to_server: int, to_client: int, point: tuple[str, str | None]) -> None:
    assert by_times(to_server, to_client) == point


@pytest.mark.parametrize(
    ("point", "client_ttl", "server_ttl", "result"),
    [
        (("client", "medium"), 64, 51, ("client", "high")),
        (("client", "high"), 64, 128, ("client", "high")),
        (("client", "high"), 63, 64, ("unknown", "low")),
        (("server", "high"), 64, 51, ("unknown", "low")),
        (("server", "medium"), 51, 64, ("server", "high")),
        (("middle", "medium"), 64, 51, ("middle", "medium")),
        (("client", "high"), 63, 51, ("middle", "medium")),
        (("client", "high"), -1, 51, ("client", "high")),
        (UNKNOWN, 64, 51, ("client", "medium")),
        (UNKNOWN, 51, 255, ("server", "medium")),
        (UNKNOWN, 0, 255, UNKNOWN),
        (("local", "high"), 63, 51, ("local", "high")),
    ],
)
def test_with_ttls(
    point: tuple[str, str | None], client_ttl: int, server_ttl: int, result: tuple[str, str | None]
) -> None:
    assert with_ttls(point, client_ttl, server_ttl) == result


def conversation(port: int = 40000, **road: object) -> Road:
    made = Road(client_port=port, **road)  # type: ignore[arg-type]
    ack = made.handshake()
    made.c(ack + 2 * SECOND, PSH | ACK, HELLO)
    return made


@pytest.mark.parametrize("at", ["client", "middle", "server"])
@pytest.mark.parametrize("hops", [0, 4])
def test_capture_point_of_a_flow(at: str, hops: int) -> None:
    (row,) = reports(conversation(hops=hops).captured(at))
    assert row.capture_point == at


def test_loopback_is_local() -> None:
    (row,) = reports(conversation(client=b"\x7f\0\0\1", server=b"\x7f\0\0\1").captured("client"))
    assert (row.capture_point, row.capture_point_confidence) == ("local", "high")


def test_a_host_that_speaks_to_itself_is_local() -> None:
    (row,) = reports(conversation(client=b"\x0a\0\0\1", server=b"\x0a\0\0\1").captured("client"))
    assert row.capture_point == "local"


def test_the_smallest_times_of_all_flows_of_two_hosts_count() -> None:
    """A handshake that took long at one end for once does not change where the capture was taken."""
    slow = Road(client_port=40001)
    slow.c(5 * SECOND, SYN)
    slow.s(5 * SECOND + 5 * MS, SYN | ACK)
    slow.c(5 * SECOND + 60 * MS)
    rows = reports(merged(conversation().captured("client"), slow.captured("client")))
    assert [row.capture_point for row in rows] == ["client", "client"]
    assert [row.capture_point for row in reports(slow.captured("client"))] == ["server"]


def test_an_ack_with_the_hello_is_no_round_trip() -> None:
    """The capture lacks the bare ACK; the hello that acknowledges the SYN-ACK came when the process liked."""
    road = conversation()
    road.sent[2].dropped = True
    collector = follow(road.captured("client"))
    ((_, pair),) = collector.knowledge.pairs.items()
    assert pair.synack_ack_ns == NEVER


def test_round_trips_of_a_retried_handshake() -> None:
    road = Road()
    road.c(0, SYN, lost_at=0.5)
    second = road.c(SECOND, SYN)
    road.s(SECOND + 6 * MS, SYN | ACK, echo=second)
    road.c(SECOND + 11 * MS + 40 * US)
    (flow,) = flows_of(road.captured("client"))
    assert own_round_trips(flow) == (11 * MS, 40 * US)


def test_a_syn_ack_for_the_first_syn_tells_no_round_trip() -> None:
    road = Road()
    first = road.c(0, SYN)
    road.c(SECOND, SYN)
    road.s(SECOND + 6 * MS, SYN | ACK, echo=first)
    road.c(SECOND + 11 * MS + 40 * US)
    (flow,) = flows_of(road.captured("client"))
    assert own_round_trips(flow) == (NEVER, 40 * US)


def test_a_rst_does_not_tell_its_sides_ttl() -> None:
    road = conversation(hops=3)
    road.s(SECOND, RST, ack=None).ttl = 200
    ((_, pair),) = follow(road.captured("client")).knowledge.pairs.items()
    assert (pair.client_ttl, pair.server_ttl) == (64, 61)
