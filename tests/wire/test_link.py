"""Link types: the same TCP segment under each of them, and what is not IP under them."""

import struct

import pytest
from packet_support import A4, Decoded, decode, ethernet, found, ipv4, ipv6, malformed, other, tcp

from pcapstall.wire.decode import Decoder

P4, P6 = ipv4(tcp()), ipv6(tcp())


def sll(protocol: int, payload: bytes, *, packet_type: int = 0, hardware: int = 1) -> bytes:
    return struct.pack(">HHH8sH", packet_type, hardware, 6, b"", protocol) + payload


def sll2(protocol: int, payload: bytes, *, interface: int = 1, hardware: int = 1, packet_type: int = 0) -> bytes:
    return struct.pack(">HHIHBB8s", protocol, 0, interface, hardware, packet_type, 6, b"") + payload


def nflog(payload: bytes, order: str = "<", family: int = 2) -> bytes:
    def attribute(kind: int, value: bytes) -> bytes:
        return struct.pack(order + "HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)

    head = attribute(1, b"\x08\0\1\0") + attribute(10, b"prefix\0") + attribute(5, b"\0\0\0\7")
    return bytes((family, 0, 0, 5)) + head + attribute(9, payload)


def pktap(dlt: int, payload: bytes) -> bytes:
    return struct.pack("<III", 108, 1, dlt) + bytes(96) + payload


FRAMES: list[tuple[str, int, bytes, bool]] = [
    ("ethernet", 1, ethernet(P4), False),
    ("raw", 101, P4, False),
    ("raw", 101, P6, True),
    ("raw of most systems", 12, P6, True),
    ("raw of OpenBSD", 14, P4, False),
    ("ipv4", 228, P4, False),
    ("ipv6", 229, P6, True),
    ("null, little", 0, b"\2\0\0\0" + P4, False),
    ("null, big", 0, b"\0\0\0\2" + P4, False),
    ("null, NetBSD", 0, struct.pack("<I", 24) + P6, True),
    ("null, FreeBSD", 0, struct.pack(">I", 28) + P6, True),
    ("null, macOS", 0, struct.pack("<I", 30) + P6, True),
    ("loop", 108, struct.pack(">I", 24) + P6, True),
    ("ppp", 9, b"\x00\x21" + P4, False),
    ("ppp, short protocol", 9, b"\x21" + P4, False),
    ("ppp with address and control", 9, b"\xff\x03\x00\x57" + P6, True),
    ("ppp that is Cisco's", 9, b"\x0f\x00\x08\x00" + P4, False),
    ("ppp hdlc", 50, b"\xff\x03\x00\x21" + P4, False),
    ("ppp hdlc of Cisco", 50, b"\x0f\x00\x08\x00" + P4, False),
    ("c_hdlc", 104, b"\x8f\x00\x86\xdd" + P6, True),
    ("ppp with direction", 204, b"\x01\xff\x03\x00\x21" + P4, False),
    ("ppp with direction that is Cisco's", 204, b"\0\x8f\x00\x86\xdd" + P6, True),
    ("ppp_ether", 51, b"\x11\0\0\1" + struct.pack(">H", len(P4) + 2) + b"\0\x21" + P4, False),
    ("llc", 100, b"\xaa\xaa\x03\0\0\0\x08\0" + P4, False),
    ("sll", 113, sll(0x0800, P4), False),
    ("sll", 113, sll(0x86DD, P6), True),
    ("sll, vlan", 113, sll(0x8100, b"\0\5\x08\0" + P4), False),
    ("sll, llc", 113, sll(4, b"\xaa\xaa\x03\0\0\0\x08\0" + P4), False),
    ("sll2", 276, sll2(0x0800, P4), False),
    ("sll2, qinq", 276, sll2(0x88A8, b"\0\5\x81\0\0\6\x86\xdd" + P6), True),
    ("nflog, little", 239, nflog(P4), False),
    ("nflog, big", 239, nflog(P6, ">", 10), True),
    ("pktap of ethernet", 258, pktap(1, ethernet(P4)), False),
    ("pktap of raw", 258, pktap(12, P6), True),
    ("ipnet", 226, bytes((1, 2)) + bytes(22) + P4, False),
    ("ipnet", 226, bytes((1, 26)) + bytes(22) + P6, True),
    ("pflog", 117, bytes((61, 2)) + bytes(62) + P4, False),
    ("mpls", 219, b"\0\0\x11\x40" + P4, False),
    ("netanalyzer", 240, bytes(4) + ethernet(P4), False),
    ("ip over infiniband", 242, bytes(40) + b"\x08\0\0\0" + P4, False),
    ("juniper ethernet", 178, b"MGC\x80\0\4\1\2\0\1" + ethernet(P4), False),
    ("juniper ethernet, no extensions", 178, b"MGC\0" + ethernet(P4), False),
    ("frame relay", 107, b"\x18\x41\x03\xcc" + P4, False),
    ("frame relay of four bytes", 107, b"\x18\x40\0\x41\x03\x8e" + P6, True),
    ("frame relay, snap", 107, b"\x18\x41\x03\0\x80\0\0\0\x86\xdd" + P6, True),
    ("frame relay, bridged", 107, b"\x18\x41\x03\0\x80\0\x80\xc2\0\7" + ethernet(P4), False),
    ("mpacket", 274, b"\x55" * 7 + b"\xd5" + ethernet(P4), False),
]


@pytest.mark.parametrize(
    ("name", "linktype", "frame", "v6"), FRAMES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_link_type(name: str, linktype: int, frame: bytes, v6: bool) -> None:
    assert decode(frame, linktype) == found(v6=v6), name
    payload_at = frame.rindex(b"hello")
    for captured in range(len(frame)):  # nowhere an exception, nowhere a segment out of nothing
        got = decode(frame[:captured], linktype, origlen=len(frame))
        assert got.outcome == ("tcp" if captured >= payload_at else "malformed") or got == other()


INSIDE: list[tuple[str, int, bytes, Decoded]] = [
    ("802.1Q", 0x8100, b"\0\1\x08\0" + P4, found()),
    ("802.1ad", 0x88A8, b"\0\1\x81\0\0\2\x08\0" + P4, found()),
    ("old QinQ", 0x9100, b"\0\1\x92\0\0\2\x86\xdd" + P6, found(v6=True)),
    ("a tag's length is a frame's", 0x8100, b"\0\1\0\x31\xaa\xaa\x03\0\0\0\x08\0" + P4, found()),
    ("mpls", 0x8847, bytes.fromhex("0001 0040 0002 0140") + P4, found()),
    ("mpls, upstream", 0x8848, bytes.fromhex("0001 0140") + P6, found(v6=True)),
    ("mpls, control word", 0x8847, bytes.fromhex("0001 0140 0000 0000") + ethernet(P4), found()),
    ("mpls, ethernet", 0x8847, bytes.fromhex("0001 0140") + ethernet(P6, 0x86DD), found(v6=True)),
    ("mpls, ethernet to a MAC that looks like IPv6", 0x8847, bytes.fromhex("0001 0140 66") + ethernet(P4)[1:], found()),
    ("mpls, nothing known", 0x8847, bytes.fromhex("0001 0140 1000") + bytes(60), other()),
    ("mpls without an end", 0x8847, bytes.fromhex("0001 0040") * 30, malformed("mpls label cut")),
    ("pppoe", 0x8864, b"\x11\0\0\1" + struct.pack(">H", len(P6) + 2) + b"\0\x57" + P6, found(v6=True)),
    ("pppoe, mpls", 0x8864, b"\x11\0\0\1\0\x37\x02\x81\0\0\x11\x40" + P4, found()),
    ("pppoe, LCP", 0x8864, b"\x11\0\0\1\0\4\xc0\x21\1\1", other()),
    ("pppoe, version 2", 0x8864, b"\x21\0\0\1\0\4\0\x21" + P4, other()),
    ("nsh", 0x894F, bytes.fromhex("0fc6 0101 00000a01") + bytes(16) + P4, found()),
    ("nsh of no length", 0x894F, bytes.fromhex("0fc0 0101 00000a01") + P4, malformed("tunnel header cut")),
    ("802.3, SNAP", 49, b"\xaa\xaa\x03\0\0\0\x08\0" + P4, found()),
    ("802.3, SNAP of a bridge tunnel", 49, b"\xaa\xaa\x03\0\0\xf8\x08\0" + P4, found()),
    ("802.3, LLC of IP", 44, b"\x06\x06\x03" + P4, found()),
    ("802.3, spanning tree", 38, b"\x42\x42\x03" + bytes(35), other()),
    ("802.3, SNAP of Cisco", 49, b"\xaa\xaa\x03\0\0\x0c\x20\0" + P4, other()),
    ("802.3, cut", 49, b"\xaa\xaa\x03\0\0", malformed("llc header cut")),
    ("loopback test", 0x9000, bytes(46), other()),
]


@pytest.mark.parametrize(
    ("name", "ethertype", "payload", "want"), INSIDE, ids=lambda value: value if isinstance(value, str) else ""
)
def test_inside_ethernet(name: str, ethertype: int, payload: bytes, want: Decoded) -> None:
    assert decode(ethernet(payload, ethertype)) == want, name


def test_pppoe_ends_a_packet_whose_ip_length_counts_the_padding() -> None:
    # 2a is the length of PPP's protocol and 40 bytes of IP; the IP header says 46 (2e), for the frame was padded.
    pppoe = b"\x11\0\x0f\x07\0\x2a\0\x21" + ipv4(tcp(b""), total=46) + bytes(6)
    assert decode(ethernet(pppoe, 0x8864)) == found(b"")
    in_tunnel = b"\x11\0\x0f\x07" + struct.pack(">H", 2 + 60 + 3) + b"\0\x21" + ipv4(P4, 4, total=20 + 45)[:83]
    assert decode(ethernet(in_tunnel, 0x8864)).payload_len == 5, "a tunnel's own length is believed again"


def test_interfaces_and_directions_that_the_link_tells() -> None:
    decoder = Decoder()
    segment = decoder.segment
    assert decode(sll2(0x0800, P4, interface=7, packet_type=4), 276, decoder=decoder) == found()
    assert (segment.link_interface, segment.packet_type) == (7, 4)
    assert decode(sll(0x0800, P4, packet_type=3), 113, decoder=decoder) == found()
    assert (segment.link_interface, segment.packet_type) == (-1, 3)
    assert decode(nflog(P4), 239, decoder=decoder) == found()
    assert (segment.link_interface, segment.packet_type) == (7, -1)
    assert decode(P4, 101, decoder=decoder) == found()
    assert (segment.link_interface, segment.packet_type) == (-1, -1)


def test_a_protocol_of_linux_is_other() -> None:
    assert decode(sll(0x0800, P4, hardware=824), 113) == other()  # netlink: the field is its family
    assert decode(sll(0x0001, P4), 113) == other()  # Novell's raw 802.3
    assert decode(sll2(0x000C, P4), 276) == other()  # CAN


def test_families_that_are_not_ip_are_other() -> None:
    assert decode(struct.pack("<I", 7) + P4, 0) == other()
    assert decode(nflog(P4, family=7), 239) == other()
    assert decode(bytes((1, 5)) + bytes(22) + P4, 226) == other()
    assert decode(A4 + P4, 0) == other()


def test_nflog_attributes_have_an_end() -> None:
    assert decode(b"\2\0\0\0" + struct.pack("<HH", 3, 1) + P4, 239) == malformed("bad nflog attribute")
    assert decode(b"\2\0\0\0" + struct.pack("<HH", 0, 0) * 20, 239) == malformed("bad nflog attribute")
    assert decode(nflog(b"")[:-4], 239) == other()


def test_pktap_does_not_nest() -> None:
    assert decode(pktap(258, pktap(1, ethernet(P4))), 258) == other()
    assert decode(struct.pack("<III", 5, 1, 1) + ethernet(P4), 258) == malformed("link header cut")


def test_link_types_that_nothing_reads_are_counted() -> None:
    decoder = Decoder()
    for linktype in (147, 192, 147):
        assert decode(ethernet(P4), linktype, decoder=decoder) == other()
    assert decode(ethernet(bytes(50), 0x0806), decoder=decoder) == other()
    assert decoder.unknown_linktypes == {147: 2, 192: 1}
