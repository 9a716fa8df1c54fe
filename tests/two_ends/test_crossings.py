"""Which segments came to the other end: offloaded frames, repetitions, what only a capture lacks, what nobody sent."""

from dataclasses import dataclass

import pytest

from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.two_ends.crossings import cross
from pcapstall.diagnose.two_ends.pieces import ARRIVED, COPY, LOST, MISSED, UNWATCHED, Crossings, Shift
from pcapstall.flows.notebook import NEW, RETRANSMISSION
from pcapstall.wire.segment import ACK, PSH, RST, SYN

MS, SECOND = 10**6, 10**9
WAY = 10 * MS
MSS = 1448


@dataclass
class Notes:
    """The segments of one capture, as `History` hands them out."""

    segs: list[Seg]

    def of(self, from_client: bool) -> list[Seg]:
        return [seg for seg in self.segs if seg.from_client == from_client]

    def full_size(self, from_client: bool) -> int:
        return MSS


def seg(ns: int, from_client: bool, offset: int = 0, length: int = 0, **more: int) -> Seg:
    """A segment; times in nanoseconds, its IP ID and timestamps by its time unless they are given."""
    return Seg(
        ns=ns,
        ref=more.get("ref", ns // MS + 1),
        from_client=from_client,
        offset=offset,
        end=offset + length,
        ack=more.get("ack", 0),
        flags=more.get("flags", ACK | (PSH if length else 0)),
        kind=more.get("kind", NEW),
        window=1000,
        ttl=64,
        ip_id=more.get("ip_id", 1000 + ns // MS % 60_000),
        tsval=more.get("tsval", ns // MS),
        tsecr=more.get("tsecr", 0),
        mss=-1,
        sacks=(),
    )


def come(one: Seg, late: int = WAY) -> Seg:
    """The same segment at the other end."""
    measures = {"ack": one.ack or 0, "flags": one.flags, "kind": one.kind, "ip_id": one.ip_id, "tsval": one.tsval}
    return seg(
        one.ns + late,
        one.from_client,
        one.offset,
        one.payload_len,
        ref=one.ref + 500,
        tsecr=one.tsecr,
        **measures,
    )


@dataclass
class Running:
    """What is known of when the captures were running: always the same."""

    known: bool

    def had_begun(self, at_client: bool, ns: int, by_client: bool) -> bool:
        return self.known

    def goes_on(self, at_client: bool, ns: int, by_client: bool, way: bool) -> bool:
        return self.known

    def leaves_out(self, at_client: bool, ns: int, by_client: bool) -> bool:
        return False


def crossed(client: list[Seg], server: list[Seg], *, floor: int | None = WAY, watched: bool = True) -> Crossings:
    def order(segs: list[Seg]) -> Notes:
        return Notes(sorted(segs, key=lambda one: one.ns))

    return cross(
        order(client),
        order(server),
        Shift(),
        lambda _to_server: floor,
        Running(watched),
    )


def fates(crossings: Crossings, from_client: bool = True) -> list[str]:
    return [piece.fate for piece in crossings.of(from_client).sent]


def test_what_leaves_and_comes() -> None:
    hello = seg(0, True, 0, 500)
    found = crossed([hello], [come(hello)])
    assert fates(found) == [ARRIVED]
    assert found.to_server.foreign() == []


def test_the_copy_that_came_is_told_by_its_ip_id() -> None:
    copies = [seg(at, True, 0, 500, kind=RETRANSMISSION if at else NEW) for at in (0, 200 * MS, 600 * MS)]
    found = crossed(copies, [come(copies[1])])
    assert fates(found) == [LOST, ARRIVED, LOST]
    assert found.to_server.certain


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_without_ids_and_timestamps_time_tells_but_is_not_certain(lost: int) -> None:
    copies = [
        seg(at, True, 0, 500, kind=RETRANSMISSION if at else NEW, ip_id=-1, tsval=-1) for at in (0, 200 * MS, 600 * MS)
    ]
    found = crossed(copies, [come(copy) for at, copy in enumerate(copies) if at != lost])
    assert not found.to_server.certain
    # The first of several is taken for the lost one only if the others came too late for it.
    assert fates(found).count(LOST) == 1
    if lost < 2:
        assert fates(found)[lost] == LOST


def test_a_large_frame_at_the_sender_is_several_segments_on_the_wire() -> None:
    big = seg(0, True, 0, 3 * MSS, ip_id=7, tsval=5)
    small = [seg(0, True, at * MSS, MSS, ip_id=7 + at, tsval=5) for at in range(3)]
    found = crossed([big], [come(one) for one in small])
    assert fates(found) == [ARRIVED] * 3
    assert fates(crossed([big], [come(small[0]), come(small[2])])) == [ARRIVED, LOST, ARRIVED]


def test_segments_that_the_receiver_joins() -> None:
    small = [seg(at, True, at * MSS, MSS, ip_id=7 + at, tsval=5) for at in range(3)]
    joined = come(seg(0, True, 0, 3 * MSS, ip_id=7, tsval=5))
    assert fates(crossed(small, [joined])) == [ARRIVED] * 3


def test_small_segments_that_the_receiver_joins() -> None:
    """Each has an IP ID of its own, of which the joined frame shows the first only."""
    small = [seg(at, True, at * 10, 10, ip_id=7 + at, tsval=5) for at in range(3)]
    joined = come(seg(0, True, 0, 30, ip_id=7, tsval=5))
    assert fates(crossed(small, [joined])) == [ARRIVED] * 3


def test_bytes_that_the_other_host_acknowledged_were_not_lost() -> None:
    hello = seg(0, True, 0, 500)
    ack = seg(WAY + MS, False, 0, ack=500)
    found = crossed([hello, come(ack)], [ack])
    assert fates(found) == [MISSED]
    assert fates(found, False) == [ARRIVED]


def test_a_syn_that_was_answered_was_not_lost() -> None:
    syn = seg(0, True, flags=SYN)
    answer = seg(WAY, False, flags=SYN | ACK)
    assert fates(crossed([syn, come(answer)], [answer])) == [MISSED]


def test_an_ack_that_was_heeded_was_not_lost() -> None:
    """Whoever sends nothing again for two seconds has its ACK."""
    hello = seg(0, True, 0, 500)
    ack = seg(WAY, False, ack=500)
    answer = seg(2 * SECOND, False, 0, 800, ack=500)
    found = crossed([hello, come(answer)], [come(hello), ack, answer])
    assert fates(found, False) == [MISSED, ARRIVED]
    again = seg(300 * MS, True, 0, 500, kind=RETRANSMISSION)
    found = crossed([hello, again, come(answer)], [come(hello), come(again), ack, answer])
    assert fates(found, False) == [LOST, ARRIVED]


def test_before_the_beginning_and_after_the_end_of_the_other_capture_nothing_is_certain() -> None:
    hello = seg(0, True, 0, 500)
    assert fates(crossed([hello], [], watched=False)) == [UNWATCHED]
    assert fates(crossed([hello], [], watched=True)) == [LOST]
    later = seg(SECOND, True, 500, 10)
    assert fates(crossed([hello, later], [come(later)], watched=False)) == [UNWATCHED, ARRIVED]
    earlier = seg(-SECOND, True, flags=SYN)
    assert fates(crossed([earlier, hello, later], [come(earlier), come(later)], watched=False))[1] == LOST


def test_a_reset_that_nobody_sent() -> None:
    hello = seg(0, True, 0, 500)
    injected = seg(5 * MS, False, 0, flags=RST | ACK, ip_id=0, tsval=-1)
    found = crossed([hello, injected], [come(hello)])
    (foreign,) = found.to_client.foreign()
    assert foreign.seg is injected
    assert foreign.flags & RST


def test_an_injected_reset_is_not_taken_for_the_real_one() -> None:
    real = [seg(20 * MS + at, True, 500, flags=RST, ip_id=0, tsval=-1, ack=-1) for at in (0, 50_000)]
    injected = seg(12 * MS, True, 500, flags=RST, ip_id=0, tsval=-1, ack=-1)
    found = crossed(real, [injected, *(come(one) for one in real)])
    assert fates(found) == [ARRIVED, ARRIVED]
    assert [piece.seg for piece in found.to_server.foreign()] == [injected]


def test_a_syn_ack_that_was_acknowledged_was_not_lost() -> None:
    syn = seg(0, True, flags=SYN)
    answer = seg(WAY, False, flags=SYN | ACK)
    ack = seg(3 * WAY, True)
    found = crossed([syn, ack], [come(syn), answer, come(ack)])
    assert fates(found, False) == [MISSED]


def test_a_copy_that_one_capture_has_is_nobodys_packet() -> None:
    """A RST has no IP ID: nothing but time tells its copy from one that was sent again."""
    hello = seg(0, True, 0, 500)
    reset = seg(5 * MS, False, 0, flags=RST | ACK, ip_id=0, tsval=-1)
    copy = come(reset, WAY + 9_000)
    found = crossed([hello, come(reset), copy], [come(hello), reset])
    assert [piece.fate for piece in found.to_client.came if piece.partner is None] == [COPY]
    assert found.to_client.foreign() == []
    later = come(reset, 3 * WAY)
    found = crossed([hello, come(reset), later], [come(hello), reset])
    assert [piece.seg for piece in found.to_client.foreign()] == [later]
