"""TLS events of a flow: where the hellos lie, when their bytes came, what ends a handshake."""

import random
from itertools import pairwise

import pytest
from flow_support import (
    ACK,
    CHANGE_CIPHER_SPEC,
    ENCRYPTED_ALERT,
    FIN,
    FINISHED,
    HELLO_RETRY_RANDOM,
    MS,
    RST,
    SECOND,
    SYN,
    Packet,
    Talk,
    client_hello,
    only,
    record,
    server_hello,
    shifted,
)
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.frames import frame_of
from pcapstall.flows.flow import FLAG_NOT_TLS, FLAG_NOTES_CUT, Flow
from pcapstall.flows.notes import AFTER_MAX

HELLO = client_hello()


def hello_frames(flow: Flow) -> tuple[int, int]:
    return frame_of(flow.client_hello_first_ref), frame_of(flow.client_hello_last_ref)


def established(talk: Talk) -> None:
    """The rest of a TLS 1.3 handshake after the ClientHello, and one record of data each way."""
    talk.server(server_hello() + CHANGE_CIPHER_SPEC + record(23, b"c" * 900))
    talk.client(CHANGE_CIPHER_SPEC + FINISHED)
    talk.client(record(23, b"d" * 100))
    talk.server(record(23, b"e" * 100))


def test_tls13_handshake() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server()
    established(talk)
    flow = only(talk.packets)
    assert hello_frames(flow) == (4, 4)
    assert frame_of(flow.client_hello_acked_ref) == 5
    assert frame_of(flow.server_hello_first_ref) == 6
    assert frame_of(flow.server_flight_last_ref) == 6
    assert frame_of(flow.client_finished_ref) == 7
    assert frame_of(flow.client().app_data_ref) == 8
    assert frame_of(flow.server().app_data_ref) == 9
    assert flow.client_hello is not None
    assert flow.client_hello.sni == "flow.example"
    assert flow.notes() == []
    assert flow.opener.reader is None
    assert flow.opener.head is None


def test_slow_handshake_keeps_its_segments() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO, after=2 * SECOND)
    established(talk)
    flow = only(talk.packets)
    assert len(flow.notes()) == 8


def test_of_what_follows_a_slow_handshake_a_few_segments_are_kept() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO, after=2 * SECOND)
    established(talk)
    for _ in range(200):
        talk.client(record(23, b"d" * 100))
    flow = only(talk.packets)
    assert len(flow.notes()) == 6 + AFTER_MAX
    assert not flow.noting
    assert flow.flags & FLAG_NOTES_CUT == 0


def test_tls12_finish_is_the_clients_change_cipher_spec() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    done = b"\x0b\x00\x00\x03\x00\x00\x00" + b"\x0e\x00\x00\x00"
    talk.server(server_hello(0x0303, more=done))
    talk.client(record(22, b"\x10\x00\x00\x02\x00\x00") + CHANGE_CIPHER_SPEC + record(22, b"\x99" * 40))
    talk.server(CHANGE_CIPHER_SPEC + record(22, b"\x98" * 40))
    talk.client(record(23, b"d" * 100))
    flow = only(talk.packets)
    assert frame_of(flow.server_flight_last_ref) == 5
    assert frame_of(flow.client_finished_ref) == 6
    assert frame_of(flow.client().app_data_ref) == 8


def test_hello_retry_request() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(server_hello(random=HELLO_RETRY_RANDOM))
    talk.client(CHANGE_CIPHER_SPEC + HELLO)
    established(talk)
    flow = only(talk.packets)
    assert hello_frames(flow) == (4, 4)
    assert frame_of(flow.hello_retry_ref) == 5
    assert frame_of(flow.client_hello2_last_ref) == 6
    assert frame_of(flow.server_hello_first_ref) == 7
    assert frame_of(flow.client_finished_ref) == 8


def test_hello_over_segments_in_the_wrong_order() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO[:200])
    talk.client(HELLO[200:])
    talk.server()
    talk.packets[3], talk.packets[4] = talk.packets[4], talk.packets[3]
    flow = only(talk.packets)
    assert hello_frames(flow) == (5, 4)


def test_retransmitted_hello_has_the_time_of_its_first_copy() -> None:
    talk = Talk()
    talk.handshake()
    hello = talk.client(HELLO)
    talk.packets.append(shifted(hello, 200 * MS, ip_id=hello.ip_id + 1))
    talk.ns += 200 * MS
    talk.server()
    assert hello_frames(only(talk.packets)) == (4, 4)


def test_part_of_a_hello_stays_partial() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO[:100])
    talk.server(flags=FIN | ACK, after=10 * SECOND)
    flow = only(talk.packets)
    assert flow.client_hello_first_ref == 0
    assert frame_of(flow.partial_hello_ref) == 4


def test_hello_whose_beginning_was_not_captured_is_partial() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO[:100])
    talk.client(HELLO[100:])
    talk.server(flags=FIN | ACK, after=10 * SECOND)
    del talk.packets[3]
    flow = only(talk.packets)
    assert flow.client_hello_first_ref == 0
    assert frame_of(flow.partial_hello_ref) == 4


def test_server_hello_beyond_a_hole_that_was_acknowledged() -> None:
    """The server's first segment was not captured; what follows is read all the same."""
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(server_hello()[:50])
    talk.client()
    for _ in range(12):
        talk.server(record(23, b"c" * 1000))
        talk.client()
    talk.client(record(23, b"d" * 200))
    del talk.packets[4]
    flow = only(talk.packets)
    assert flow.server_hello_first_ref == 0
    assert frame_of(flow.client().app_data_ref) == len(talk.packets)
    assert flow.server().app_data_ref == 0, "before the client has finished it is the server's flight"
    talk.server(record(23, b"e" * 200))
    flow = only(talk.packets)
    assert frame_of(flow.server().app_data_ref) == len(talk.packets)


def test_late_hello_after_the_servers_fin() -> None:
    talk = Talk()
    talk.handshake()
    talk.server(flags=FIN | ACK, after=10 * SECOND)
    talk.client()
    talk.client(HELLO, after=42 * SECOND)
    talk.server(flags=RST)
    flow = only(talk.packets)
    assert hello_frames(flow) == (6, 6)
    assert frame_of(flow.server().fin_ref) == 4
    assert flow.notes()


def test_clear_alert() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(record(21, b"\x02\x28"))
    flow = only(talk.packets)
    assert flow.alerts is not None
    (alert,) = flow.alerts
    assert (alert.from_client, alert.level, alert.description, alert.inferred) == (False, 2, 40, False)
    assert frame_of(flow.server().alert_ref) == 5


def test_encrypted_alert_instead_of_finished() -> None:
    """A TLS 1.3 client that refuses the certificate: the record is too short for a Finished."""
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(server_hello() + record(23, b"c" * 900))
    talk.client(ENCRYPTED_ALERT)
    talk.client(flags=FIN | ACK)
    flow = only(talk.packets)
    assert flow.client_finished_ref == 0
    assert flow.alerts is not None
    assert [(alert.from_client, alert.inferred, frame_of(alert.ref)) for alert in flow.alerts] == [(True, True, 6)]


def test_short_data_that_more_data_follows_is_no_alert() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    established(talk)
    talk.client(ENCRYPTED_ALERT)
    talk.client(record(23, b"d" * 30))
    talk.close()
    assert only(talk.packets).alerts is None


def test_fast_open_accepted() -> None:
    talk = Talk()
    talk.client(HELLO, flags=SYN)
    talk.server(flags=SYN | ACK)
    talk.client()
    established(talk)
    flow = only(talk.packets)
    assert flow.syn_data == "accepted"
    assert hello_frames(flow) == (1, 1)
    assert frame_of(flow.server_hello_first_ref) == 4


def test_fast_open_rejected() -> None:
    talk = Talk()
    talk.client(HELLO, flags=SYN)
    talk.seq[True] -= len(HELLO)
    talk.server(flags=SYN | ACK)
    talk.client()
    talk.client(HELLO)
    established(talk)
    flow = only(talk.packets)
    assert flow.syn_data == "rejected"
    assert hello_frames(flow) == (4, 4)
    assert frame_of(flow.client_hello_acked_ref) == 5


def test_plain_http_is_not_tls() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(b"GET / HTTP/1.1\r\nHost: flow.example\r\n\r\n")
    talk.server(b"HTTP/1.1 200 OK\r\n\r\n")
    flow = only(talk.packets)
    assert flow.flags & FLAG_NOT_TLS
    assert flow.notes() == []


def test_hello_after_connect() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(b"CONNECT flow.example:443 HTTP/1.1\r\nHost: flow.example:443\r\n\r\n")
    talk.server(b"HTTP/1.1 200 Connection established\r\n\r\n", after=SECOND)
    talk.client(HELLO)
    established(talk)
    flow = only(talk.packets)
    assert flow.preamble == "http_connect"
    assert flow.preamble_ns == SECOND + MS
    assert hello_frames(flow) == (6, 6)
    assert frame_of(flow.server_hello_first_ref) == 7
    assert frame_of(flow.client_finished_ref) == 8


def test_hello_after_a_servers_greeting() -> None:
    talk = Talk()
    talk.handshake()
    talk.server(b"220 mail.example ESMTP\r\n")
    talk.client(b"EHLO flow.example\r\n")
    talk.server(b"250-mail.example\r\n250 STARTTLS\r\n")
    talk.client(b"STARTTLS\r\n")
    talk.server(b"220 go ahead\r\n")
    talk.client(HELLO)
    established(talk)
    flow = only(talk.packets)
    assert flow.preamble == "smtp_starttls"
    assert frame_of(flow.server_hello_first_ref) == 10


def test_midstream_hello_tells_the_client() -> None:
    """The hello comes from the lower port."""
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    established(talk)
    swapped = [Packet(p.ns, not p.from_client, p.seq, p.ack, p.flags, p.payload, p.ip_id) for p in talk.packets[3:]]
    flow = only(swapped)
    assert flow.direction_source == "client_hello"
    assert flow.client().app_data_ref != 0
    assert flow.opener_is_client


def test_early_data_is_no_finished() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO + record(23, b"0" * 300))
    established(talk)
    flow = only(talk.packets)
    assert frame_of(flow.client_finished_ref) == 6


@pytest.mark.parametrize("seed", range(20))
def test_many_cuts(seed: int) -> None:
    """Every byte's time is that of its earliest copy, however the hello is cut, doubled and shuffled."""
    check_arrival(random.Random(seed))


@given(st.randoms(use_true_random=False))
def test_any_cut(source: random.Random) -> None:
    check_arrival(source)


def check_arrival(source: random.Random) -> None:
    talk = Talk(client_isn=source.choice([5, 0xFFFFFF00]))
    talk.handshake()
    base, start = talk.seq[True], talk.ns
    cuts = sorted(source.sample(range(1, len(HELLO)), source.randint(0, 6)))
    pieces = list(zip([0, *cuts], [*cuts, len(HELLO)], strict=True))
    pieces += [source.choice(pieces) for _ in range(source.randint(0, 3))]
    for _ in range(source.randint(0, 2)):  # resent with other borders
        begin = source.randrange(len(HELLO) - 1)
        pieces.append((begin, source.randint(begin + 1, len(HELLO))))
    source.shuffle(pieces)
    arrivals: dict[int, int] = {}
    for number, (begin, end) in enumerate(pieces):
        packet = talk.client(HELLO[begin:end], after=source.choice([MS // 10, 60 * MS]))
        packet.seq = (base + begin) & 0xFFFFFFFF
        packet.ip_id = 1000 + source.choice([number, begin])
        for byte in range(begin, end):
            arrivals.setdefault(byte, packet.ns)
    flow = only(talk.packets)
    assert flow.client_hello_first_ns - start == arrivals[0] - start
    assert flow.client_hello_last_ns == arrivals[len(HELLO) - 1]


def test_reset_flow_lets_go_of_its_bytes() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO[:300])
    talk.server(flags=RST)
    flow = only(talk.packets)
    assert flow.opener.reader is None
    assert flow.opener.head is None


def test_hello_cut_short_behind_a_preamble_has_the_time_of_its_first_piece() -> None:
    """Seven bytes are too few to tell a hello behind other bytes; its first byte still came with them."""
    talk = Talk()
    talk.handshake()
    talk.client(b"CONNECT flow.example:443 HTTP/1.1\r\n\r\n")
    talk.server(b"HTTP/1.1 200 OK\r\n\r\n")
    talk.client(HELLO[:7])
    talk.client(HELLO[7:])
    assert hello_frames(only(talk.packets)) == (6, 7)


def test_finished_of_a_cipher_with_a_short_tag() -> None:
    """TLS_AES_128_CCM_8_SHA256 (RFC 8446 appendix B.4): its tag has 8 bytes, the record of a Finished 45."""
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(server_hello().replace(b"\x13\x01", b"\x13\x05", 1) + record(23, b"c" * 900))
    talk.client(record(23, b"f" * 45))
    talk.client(record(23, b"d" * 200))
    assert frame_of(only(talk.packets).client_finished_ref) == 6


def test_short_data_of_tls12_is_no_alert() -> None:
    """Three bytes under ChaCha20-Poly1305 make a record of 19; TLS 1.2 has a type of its own for alerts."""
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(server_hello(0x0303, more=b"\x0e\x00\x00\x00"))
    talk.client(record(22, b"\x10\x00\x00\x02\x00\x00") + CHANGE_CIPHER_SPEC + record(22, b"\x99" * 40))
    talk.server(CHANGE_CIPHER_SPEC + record(22, b"\x98" * 40))
    talk.server(record(23, b"e" * 19))
    talk.server(flags=FIN | ACK)
    flow = only(talk.packets)
    assert flow.alerts is None
    assert frame_of(flow.server().app_data_ref) == 8


def test_short_data_that_more_data_follows_has_its_own_time() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(server_hello() + record(23, b"c" * 900))
    talk.client(FINISHED)
    talk.client(ENCRYPTED_ALERT)
    talk.client(record(23, b"d" * 100))
    assert frame_of(only(talk.packets).client().app_data_ref) == 7


def test_flow_that_is_no_tls_after_a_hole_lets_go_of_its_bytes() -> None:
    """`run` asserts that nothing waits afterwards."""
    talk = Talk()
    talk.handshake()
    talk.client(b"GET / HTTP/1.1\r\n")
    for _ in range(43):
        talk.client(b"x" * 1000)
    del talk.packets[3]
    only(talk.packets)


def test_server_hello_after_a_long_talk() -> None:
    """20 kB of POP3 before STLS."""
    talk = Talk()
    talk.handshake()
    talk.server(b"+OK ready\r\n")
    talk.client(b"CAPA\r\n")
    for _ in range(20):
        talk.server(b"+OK " + b"x" * 1000 + b"\r\n")
    talk.client(b"STLS\r\n")
    talk.server(b"+OK begin\r\n")
    talk.client(HELLO)
    established(talk)
    flow = only(talk.packets)
    assert frame_of(flow.server_hello_first_ref) == len(talk.packets) - 3


@pytest.mark.parametrize("cuts", [[n] for n in range(1, 12)] + [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [5, 6, 9]])
@pytest.mark.parametrize("preamble", [b"", b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"])
def test_a_hello_begins_with_the_first_byte_of_its_record(cuts: list[int], preamble: bytes) -> None:
    talk = Talk()
    talk.handshake()
    if preamble:
        talk.client(preamble)
    first = len(talk.packets) + 1
    for start, end in pairwise([0, *cuts, len(HELLO)]):
        talk.client(HELLO[start:end], after=SECOND)
    last = len(talk.packets)
    for start, end in pairwise([0, *cuts, len(server_hello())]):
        talk.server(server_hello()[start:end], after=SECOND)
    flow = only(talk.packets)
    assert hello_frames(flow) == (first, last)
    assert frame_of(flow.server_hello_first_ref) == last + 1


@pytest.mark.parametrize("size", [5, 6, 8, 9, 20])
def test_a_hello_of_which_little_more_than_the_records_header_came_is_partial(size: int) -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO[:size])
    talk.server()
    assert frame_of(only(talk.packets).partial_hello_ref) == 4
    talk.packets[3].payload = b"\x16\x03\x01\x01\x00\x02"[:size].ljust(size, b"\x00")
    assert (only(talk.packets).partial_hello_ref != 0) == (size == 5)
