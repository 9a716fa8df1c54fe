"""The same troubles with any delay, round trip, host, threshold, capture point and length of capture.

The truth of each conversation is known; a verdict of high confidence never names another party.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import example, given
from hypothesis import strategies as st
from test_properties import PARTY, check_manners
from test_verdicts import finish
from wire_support import ACK, FLIGHT, HELLO, MS, PSH, SECOND, SYN, US, Road, reports

V6 = bytes.fromhex("20010db8000000000000000000000001")


@dataclass(frozen=True)
class Setting:
    """What may vary from run to run."""

    delay_ns: int
    one_way_ns: int
    ipv6: bool
    counts_ids: bool
    timestamps: bool
    tick_hz: int
    hops: int
    losses: int

    @property
    def first_retry_ns(self) -> int:
        return max(200 * MS, 3 * self.one_way_ns)

    def road(self) -> Road:
        ends = {"client": V6, "server": V6[:-1] + b"\2"} if self.ipv6 else {}
        return Road(
            one_way_ns=self.one_way_ns,
            counts_ids=self.counts_ids,
            timestamps=self.timestamps,
            tick_hz=self.tick_hz,
            hops=self.hops,
            **ends,
        )


def answered(road: Road, at: int, *, process_ns: int = MS, finish_ns: int = MS) -> None:
    """The rest of a handshake whose hello left at ``at`` and arrives."""
    way = road.one_way_ns
    road.s(at + way + 20 * US, ack=len(HELLO))
    road.s(at + way + process_ns, PSH | ACK, FLIGHT, ack=len(HELLO))
    got = at + 2 * way + process_ns
    road.c(got + 30 * US, ACK, offset=len(HELLO), ack=len(FLIGHT))
    finish(road, got + finish_ns)


def late(setting: Setting, *, hello_ns: int = MS, process_ns: int = MS, finish_ns: int = MS) -> Road:
    """Nothing is lost, and one of the two takes its time."""
    road = setting.road()
    at = road.handshake() + hello_ns
    road.c(at, PSH | ACK, HELLO)
    answered(road, at, process_ns=process_ns, finish_ns=finish_ns)
    return road


def lost_hello(setting: Setting) -> Road:
    road = setting.road()
    at = road.handshake() + MS
    for k in range(setting.losses):
        road.c(at, PSH | ACK, HELLO, lost_at=0.7)
        at += setting.first_retry_ns << k
    road.c(at, PSH | ACK, HELLO)
    answered(road, at)
    return road


def silent_then_lost(setting: Setting) -> Road:
    """The client's time is at least twice that of the loss."""
    road = setting.road()
    at = road.handshake() + max(setting.delay_ns, 2 * setting.first_retry_ns)
    road.c(at, PSH | ACK, HELLO, lost_at=0.7)
    at += setting.first_retry_ns
    road.c(at, PSH | ACK, HELLO)
    answered(road, at)
    return road


def lost_flight(setting: Setting) -> Road:
    road = setting.road()
    at = road.handshake() + MS
    road.c(at, PSH | ACK, HELLO)
    at += road.one_way_ns + 20 * US
    road.s(at, ack=len(HELLO))
    for k in range(setting.losses):
        road.s(at + MS, PSH | ACK, FLIGHT, ack=len(HELLO), lost_at=0.3)
        at += setting.first_retry_ns << k
    road.s(at + MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    finish(road, at + road.one_way_ns + 2 * MS)
    return road


def lost_syn(setting: Setting) -> Road:
    road = setting.road()
    at = 0
    for k in range(setting.losses):
        road.c(at, SYN, lost_at=0.7)
        at += SECOND << k
    begin = road.handshake(at) + MS
    road.c(begin, PSH | ACK, HELLO)
    answered(road, begin)
    return road


def lost_syn_ack(setting: Setting) -> Road:
    """The server's kernel repeats it after 1 s, 2 s and so on; the client its SYN at about the same times."""
    road = setting.road()
    way = road.one_way_ns
    first = road.c(0, SYN)
    at = way + 30 * US
    for k in range(setting.losses):
        road.s(at, SYN | ACK, lost_at=0.3, echo=first)
        road.c(SECOND * ((2 << k) - 1), SYN)
        at += SECOND << k
    at = SECOND * ((1 << setting.losses) - 1) + way + 40 * US
    road.s(at, SYN | ACK, echo=first)
    road.c(at + way + 30 * US)
    road.sent.sort(key=lambda sent: sent.ns)
    begin = at + way + MS
    road.c(begin, PSH | ACK, HELLO)
    answered(road, begin)
    return road


TROUBLES: dict[str, tuple[str, Callable[[Setting], Road]]] = {
    "silent client": ("client", lambda setting: late(setting, hello_ns=setting.delay_ns)),
    "slow server": ("server", lambda setting: late(setting, process_ns=setting.delay_ns)),
    "slow finish": ("client", lambda setting: late(setting, finish_ns=setting.delay_ns)),
    "silent client and a loss": ("client", silent_then_lost),
    "lost hello": ("network", lost_hello),
    "lost flight": ("network", lost_flight),
    "lost SYN": ("network", lost_syn),
    "lost SYN-ACK": ("network", lost_syn_ack),
}
SETTINGS = st.builds(
    Setting,
    delay_ns=st.sampled_from([1200 * MS, 3 * SECOND, 30 * SECOND]) | st.integers(1, 60 * SECOND),
    one_way_ns=st.sampled_from([100 * US, 5 * MS, 60 * MS, 400 * MS]),
    ipv6=st.booleans(),
    counts_ids=st.booleans(),
    timestamps=st.booleans(),
    tick_hz=st.sampled_from([100, 250, 1000]),
    hops=st.integers(0, 12),
    losses=st.integers(1, 5),
)
THRESHOLDS = st.sampled_from([(), ("150ms",), ("300ms",), ("ch_ack=100ms",), ("5s",)])


@given(
    st.sampled_from(sorted(TROUBLES)), SETTINGS, st.sampled_from(["client", "middle", "server"]), THRESHOLDS,
    st.floats(0, 0.6), st.floats(0.4, 1),
)  # fmt: skip
@example("lost hello", Setting(SECOND, 5 * MS, False, True, True, 1000, 0, 1), "client", ("150ms",), 0, 1)
def test_never_another_party_for_certain(
    trouble: str, setting: Setting, at: str, slow: tuple[str, ...], begin: float, end: float
) -> None:
    party, build = TROUBLES[trouble]
    segments = build(setting).captured(at)
    whole = reports([*segments], slow=slow)
    cut = reports(segments[round(begin * len(segments)) : round(end * len(segments))], slow=slow)
    for row in (*whole, *cut):
        check_manners(row)
        if row.confidence == "high" and row.reason != "high_rtt":
            assert PARTY[row.cause or ""] == party, f"{row.stalled}: {row.verdict}"
