"""TCP events of a flow: handshake, sequence space, copies, close."""

import pytest
from flow_support import ACK, FIN, MS, RST, SECOND, SYN, Talk, only, run, shifted
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.frames import frame_of
from pcapstall.flows.flow import FLAG_MISSED_BYTES, FLAG_SIMULTANEOUS_OPEN


def frames(*refs: int) -> tuple[int, ...]:
    return tuple(frame_of(ref) for ref in refs)


def test_handshake_and_close() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(b"x" * 10)
    talk.server(b"y" * 20)
    talk.close()
    flow = only(talk.packets)
    assert frames(flow.syn_ref, flow.syn_ack_ref, flow.ack_ref) == (1, 2, 3)
    assert frames(flow.client().fin_ref, flow.server().fin_ref) == (6, 7)
    assert flow.direction_source == "syn"
    assert (flow.client().payload_bytes, flow.server().payload_bytes) == (10, 20)
    assert flow.client().retransmits == flow.server().retransmits == 0


def test_syn_retry_keeps_the_first_syn() -> None:
    talk = Talk()
    syn = talk.client(flags=SYN)
    talk.packets.append(shifted(syn, SECOND, ip_id=syn.ip_id + 1))
    talk.ns += SECOND
    talk.server(flags=SYN | ACK)
    talk.client()
    flow = only(talk.packets)
    assert frames(flow.syn_ref, flow.syn_ack_ref, flow.ack_ref) == (1, 3, 4)
    assert flow.syn_retries == 1


def test_copy_of_a_syn_is_no_retry() -> None:
    talk = Talk()
    syn = talk.client(flags=SYN)
    talk.packets.append(shifted(syn, 5_000))
    talk.server(flags=SYN | ACK)
    talk.client()
    flow = only(talk.packets)
    assert (flow.syn_retries, flow.copies) == (0, 1)


def test_interleaved_copies_are_copies() -> None:
    """A mirror that delivers two packets and then both again."""
    talk = Talk()
    talk.handshake()
    first = talk.client(b"a" * 100, after=10_000)
    second = talk.client(b"b" * 100, after=10_000)
    talk.packets += [shifted(first, 30_000), shifted(second, 30_000)]
    flow = only(talk.packets)
    assert flow.copies == 2
    assert flow.client().retransmits == 0
    assert flow.client().payload_bytes == 200


def test_retransmission_with_a_new_ip_id_is_none() -> None:
    talk = Talk()
    talk.handshake()
    data = talk.client(b"a" * 100)
    talk.packets.append(shifted(data, 30 * MS, ip_id=data.ip_id + 1))
    flow = only(talk.packets)
    assert flow.copies == 0
    assert flow.client().retransmits == 1


def test_port_reuse_is_another_flow() -> None:
    talk = Talk()
    talk.handshake()
    talk.close()
    again = Talk(client_isn=77_000, server_isn=88_000)
    again.ns = talk.ns + SECOND
    again.handshake()
    flows = run(talk.packets + again.packets)
    assert [frame_of(flow.first_ref) for flow in flows] == [1, 7]
    assert [flow.id for flow in flows] == [1, 2]


def test_syn_ack_that_the_client_acknowledges_counts() -> None:
    """SYN-ACKs with different ISNs (a SYN cookie server that forgot): the ACK chooses."""
    talk = Talk()
    talk.client(flags=SYN)
    first = talk.server(flags=SYN | ACK)
    second = shifted(first, SECOND, seq=123_456, ip_id=first.ip_id + 1)
    talk.packets.append(second)
    ack = talk.client(after=SECOND + MS)
    ack.ack = 123_457
    flow = only(talk.packets)
    assert frames(flow.syn_ack_ref, flow.ack_ref) == (3, 4)
    assert flow.syn_ack_retries == 1


def test_simultaneous_open_is_one_flow() -> None:
    talk = Talk()
    talk.client(flags=SYN)
    talk.server(flags=SYN)
    talk.client(flags=SYN | ACK)
    talk.server(flags=SYN | ACK)
    flow = only(talk.packets)
    assert flow.flags & FLAG_SIMULTANEOUS_OPEN
    assert frames(flow.syn_ref) == (1,)


def test_keep_alive_is_no_retransmission() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(b"a" * 10)
    for _ in range(3):
        probe = talk.client(after=SECOND)
        probe.seq -= 1
        probe.payload = b"\0"
        talk.server()
    flow = only(talk.packets)
    assert flow.client().retransmits == 0
    assert flow.client().payload_bytes == 10


def test_bytes_acknowledged_but_not_seen() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(b"a" * 10)
    talk.server()
    del talk.packets[3]
    assert only(talk.packets).flags & FLAG_MISSED_BYTES


@pytest.mark.parametrize("isn", [0xFFFFFFFF, 0xFFFFFFFA, 0x7FFFFFF0, 0])
def test_wrap_around(isn: int) -> None:
    talk = Talk(client_isn=isn, server_isn=isn)
    talk.handshake()
    for _ in range(5):
        talk.client(b"a" * 1000)
        talk.server(b"b" * 1000)
    talk.close()
    flow = only(talk.packets)
    assert flow.client().payload_bytes == flow.server().payload_bytes == 5000
    assert flow.client().retransmits == 0
    assert not flow.flags & FLAG_MISSED_BYTES


def test_reset_by_the_server() -> None:
    talk = Talk()
    talk.client(flags=SYN)
    talk.server(flags=RST | ACK)
    flow = only(talk.packets)
    assert frames(flow.server().rst_ref) == (2,)
    assert flow.ack_ref == 0


def test_midstream_takes_the_higher_port_for_the_client() -> None:
    talk = Talk()
    talk.server(b"b" * 10)
    talk.client(b"a" * 10)
    flow = only(talk.packets)
    assert flow.direction_source == "port"
    assert not flow.opener_is_client


def test_syn_ack_first_tells_the_client() -> None:
    talk = Talk()
    talk.handshake()
    flow = only(talk.packets[1:])
    assert flow.direction_source == "syn_ack"
    assert not flow.opener_is_client
    assert frames(flow.ack_ref) == (2,)


def test_fin_retransmitted_counts_once() -> None:
    talk = Talk()
    talk.handshake()
    fin = talk.client(flags=FIN | ACK)
    talk.packets.append(shifted(fin, SECOND, ip_id=fin.ip_id + 1))
    flow = only(talk.packets)
    assert frames(flow.client().fin_ref) == (4,)
    assert flow.client().retransmits == 1


@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(1, 30), st.sampled_from([MS, 60 * MS])), max_size=14),
    st.integers(0, 0xFFFFFFFF),
    st.booleans(),
)
def test_payload_bytes_are_counted_once(cuts: list[tuple[int, int, int]], isn: int, by_place: bool) -> None:
    """Against a set of byte offsets, the obviously right way: segments in any order, doubled, overlapping, with holes.

    IP IDs are those of the order of sending (``by_place``: the network shuffled them) or of arrival.
    """
    talk = Talk(client_isn=isn)
    talk.handshake()
    base = talk.seq[True]
    seen: set[int] = set()
    for number, (at, length, after) in enumerate(cuts):
        packet = talk.client(b"z" * length, after=after)
        packet.seq = (base + at) & 0xFFFFFFFF
        packet.ip_id = 1000 + (at if by_place else number)
        seen |= set(range(at, at + length))
    flow = only(talk.packets)
    assert flow.client().payload_bytes == len(seen)


def test_shuffled_segments_are_neither_copies_nor_sent_again() -> None:
    """Five segments 0.1 ms apart in the order 0, 2, 4, 3, 1: every byte is new."""
    talk = Talk()
    talk.handshake()
    for piece in range(5):
        talk.client(bytes([piece]) * 100, after=MS // 10)
    sent = talk.packets[3:]
    talk.packets[3:] = [sent[at] for at in (0, 2, 4, 3, 1)]
    flow = only(talk.packets)
    assert flow.copies == flow.client().retransmits == 0
    assert flow.client().payload_bytes == 500


def test_fin_that_overtook_data_makes_no_copy_of_it() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(b"late")
    talk.client(flags=FIN | ACK)
    talk.packets[3], talk.packets[4] = talk.packets[4], talk.packets[3]
    flow = only(talk.packets)
    assert flow.copies == 0
    assert flow.client().payload_bytes == 4


def test_repeated_acks_and_resets_without_ip_id_are_no_copies() -> None:
    talk = Talk()
    talk.handshake()
    talk.ids = {True: -1, False: -1}
    for _ in range(4):
        talk.ids[True] = -1
        talk.client(after=MS // 5).ip_id = 0
    talk.server(flags=RST, after=MS // 5).ip_id = 0
    talk.server(flags=RST, after=MS // 5).ip_id = 0
    assert only(talk.packets).copies == 0


def test_data_seen_twice_without_ip_id_is_a_copy() -> None:
    talk = Talk()
    talk.handshake()
    data = talk.client(b"a" * 100)
    data.ip_id = 0
    talk.packets.append(shifted(data, 20_000))
    assert only(talk.packets).copies == 1


def test_overtaken_fin_is_no_copy() -> None:
    """The FIN's IP ID is behind that of the ACK that overtook it."""
    talk = Talk()
    talk.handshake()
    ack = talk.server()
    fin = talk.server(flags=FIN | ACK)
    ack.ip_id, fin.ip_id = fin.ip_id, ack.ip_id
    flow = only(talk.packets)
    assert frames(flow.server().fin_ref) == (5,)
    assert flow.copies == 0


def test_syn_ack_of_the_client_is_not_the_servers() -> None:
    talk = Talk()
    talk.client(flags=SYN)
    talk.server(flags=SYN | ACK)
    answer = talk.client(flags=SYN | ACK)
    answer.seq = 424_242
    talk.server().ack = 424_243
    flow = only(talk.packets)
    assert frames(flow.syn_ack_ref) == (2,)


@pytest.mark.parametrize("isn", [9000, 0x9000_0000])
def test_an_acknowledgment_tells_where_a_stream_begins_that_was_not_seen(isn: int) -> None:
    talk = Talk(server_isn=isn)
    talk.client(b"x" * 10)
    assert only(talk.packets).server().base_seq == isn


@pytest.mark.parametrize(("flags", "acked"), [(ACK, 10), (RST | ACK, 0)])
def test_a_reset_acknowledges_nothing(flags: int, acked: int) -> None:
    talk = Talk()
    talk.handshake()
    talk.client(b"x" * 10)
    talk.server(flags=flags)
    assert only(talk.packets).client().acked_offset == acked


@pytest.mark.parametrize("answered", [True, False])
def test_a_fin_beside_a_syn_is_one(answered: bool) -> None:
    """RFC 9293 section 3.10.7.2: what else a SYN has is looked at once the connection is there."""
    talk = Talk()
    talk.client(b"data", flags=SYN | FIN)
    if answered:
        talk.server(flags=SYN | ACK | FIN)
        talk.client()
    flow = only(talk.packets)
    assert frames(flow.syn_ref, flow.client().fin_ref) == (1, 1)
    assert frames(flow.syn_ack_ref, flow.server().fin_ref) == ((2, 2) if answered else (0, 0))
    assert (flow.client().payload_bytes, flow.client().next_offset) == (4, 5)


@pytest.mark.parametrize("flags", [SYN | RST, SYN | RST | ACK])
def test_a_reset_opens_no_connection(flags: int) -> None:
    talk = Talk()
    talk.handshake()
    talk.close()
    damaged = talk.server(flags=flags)
    damaged.seq += 1_000_000
    damaged.ack = 5
    talk.client()
    assert len(run(talk.packets)) == 1
