"""Tunnels: each kind, every order of them, and UDP that must not pass for one."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_support import Decoded, decode, ethernet, found, gre, ipv4, ipv6, malformed, other, tcp, udp

from pcapstall.wire.decode import Decoder
from pcapstall.wire.tunnels import GRE, VXLAN, TunnelNames

P4, P6 = ipv4(tcp()), ipv6(tcp())
E4 = ethernet(P4)


def vxlan(payload: bytes, vni: int = 42, flags: int = 0x08) -> bytes:
    return struct.pack(">BBHI", flags, 0, 0, vni << 8) + payload


def geneve(payload: bytes, proto: int = 0x6558, vni: int = 42, options: bytes = b"", bits: int = 0) -> bytes:
    return struct.pack(">BBHI", len(options) // 4, bits, proto, vni << 8) + options + payload


def gtp(payload: bytes, teid: int = 7, flags: int = 0x30, extra: bytes = b"", kind: int = 255) -> bytes:
    return struct.pack(">BBHI", flags, kind, len(extra) + len(payload), teid) + extra + payload


def in_gre(proto: int, payload: bytes, flags: int = 0, fields: bytes = b"") -> bytes:
    return ethernet(ipv4(gre(payload, proto, flags, fields), 47))


def in_udp(payload: bytes, dport: int = 45678, sport: int = 50000) -> bytes:
    return ethernet(ipv4(udp(payload, dport, sport), 17))


def in_ip(protocol: int, payload: bytes) -> bytes:
    return ethernet(ipv4(payload, protocol))


def in_ip6(protocol: int, payload: bytes) -> bytes:
    return ethernet(ipv6(payload, protocol), 0x86DD)


TAGGED = ethernet(b"\0\1\x08\0" + P4, 0x8100)
NSH = bytes.fromhex("0fc2 0101 00000a01")
EXTENSIONS = b"\0\0\0\x85\1\x10\1\xc0\2" + bytes(6) + b"\0"
ERSPAN_II = bytes.fromhex("1007 0005 00000012")
ERSPAN_III = bytes.fromhex("2007 0005 00000012 0000 0000")
ERSPAN_III_LONG = bytes.fromhex("2007 0005 00000012 0000 0001") + bytes(8)
ERSPAN_III_IP = bytes.fromhex("2007 0005 00000012 0000 0800")

KINDS: list[tuple[str, bytes, Decoded]] = [
    ("gre", in_gre(0x0800, P4), found(tunnel="gre")),
    ("gre, checksum", in_gre(0x0800, P4, 0x8000, bytes(4)), found(tunnel="gre")),
    ("gre, key", in_gre(0x86DD, P6, 0x2000, b"\0\0\0\5"), found(v6=True, tunnel="gre:5")),
    ("gre, all fields", in_gre(0x0800, P4, 0xB000, bytes(7) + b"\x09" + bytes(4)), found(tunnel="gre:9")),
    ("gre, source route", in_gre(0x0800, P4, 0x4000, bytes(4) + b"\x08\0\0\4" + bytes(8)), found(tunnel="gre")),
    ("gre, bridging", in_gre(0x6558, E4), found(tunnel="gre")),
    ("gre, mpls", in_gre(0x8847, b"\0\0\x11\x40" + P4), found(tunnel="gre")),
    ("gre, nsh", in_gre(0x894F, bytes.fromhex("0fc2 0103 00000a01") + E4), found(tunnel="gre")),
    ("gre, wccp 1", in_gre(0x883E, P4), found(tunnel="gre")),
    ("gre, wccp 2", in_gre(0x883E, bytes(4) + P4), found(tunnel="gre")),
    ("gre, keepalive", in_gre(0, b""), other()),
    ("gre, version 2", in_gre(0x0800, P4, 2), other()),
    ("gre, cut", in_gre(0x0800, b"", 0xB000, bytes(5)), malformed("tunnel header cut")),
    ("gre, source route cut", in_gre(0x0800, b"", 0x4000, bytes(4) + b"\x08\0\0\xff"), malformed("tunnel header cut")),
    ("pptp", in_gre(0x880B, b"\xff\x03\0\x21" + P4, 0x3001, bytes(3) + b"\x06" + bytes(4)), found(tunnel="pptp:6")),
    (
        "pptp, acknowledging",
        in_gre(0x880B, b"\x21" + P4, 0x3081, bytes(3) + b"\x06" + bytes(8)),
        found(tunnel="pptp:6"),
    ),
    ("pptp, acknowledgment alone", in_gre(0x880B, b"", 0x2081, bytes(8)), other()),
    ("pptp, compressed", in_gre(0x880B, b"\0\xfd" + bytes(40), 0x3001, bytes(8)), other()),
    ("erspan I", in_gre(0x88BE, E4), found(tunnel="gre/erspan")),
    ("erspan II", in_gre(0x88BE, ERSPAN_II + E4, 0x1000, bytes(4)), found(tunnel="gre/erspan:5")),
    ("erspan II of a tag", in_gre(0x88BE, ERSPAN_II + TAGGED, 0x1000, bytes(4)), found(tunnel="gre/erspan:5")),
    ("erspan III", in_gre(0x22EB, ERSPAN_III + E4, 0x1000, bytes(4)), found(tunnel="gre/erspan:5")),
    ("erspan III, platform", in_gre(0x22EB, ERSPAN_III_LONG + E4, 0x1000, bytes(4)), found(tunnel="gre/erspan:5")),
    ("erspan III, ip", in_gre(0x22EB, ERSPAN_III_IP + P4, 0x1000, bytes(4)), found(tunnel="gre/erspan:5")),
    ("erspan III, cut", in_gre(0x22EB, ERSPAN_III_LONG[:13]), malformed("tunnel header cut")),
    ("gre in udp", in_udp(gre(P4, 0x0800), 4754), found(tunnel="gre")),
    ("vxlan", in_udp(vxlan(E4), 4789), found(tunnel="vxlan:42")),
    ("vxlan of Linux", in_udp(vxlan(E4), 8472), found(tunnel="vxlan:42")),
    ("vxlan, group policy", in_udp(vxlan(E4, flags=0x88), 4789), found(tunnel="vxlan:42")),
    ("vxlan over IPv6", in_ip6(17, udp(vxlan(E4), 4789)), found(tunnel="vxlan:42")),
    ("vxlan-gpe, ip", in_udp(struct.pack(">BHBI", 0x0C, 0, 2, 42 << 8) + P6, 4790), found(v6=True, tunnel="vxlan:42")),
    ("vxlan-gpe, nsh", in_udp(b"\x0c\0\0\4\0\0\x2a\0" + NSH + P4, 4790), found(tunnel="vxlan:42")),
    ("vxlan-gpe, unknown", in_udp(struct.pack(">BHBI", 0x0C, 0, 9, 42 << 8) + P6, 4790), other()),
    ("vxlan port, something else", in_udp(b"\x47" + bytes(60), 4789), other()),
    ("geneve", in_udp(geneve(E4), 6081), found(tunnel="geneve:42")),
    ("geneve, options", in_udp(geneve(E4, options=bytes(8)), 6081), found(tunnel="geneve:42")),
    ("geneve, ip", in_udp(geneve(P6, 0x86DD, bits=0x40), 6081), found(v6=True, tunnel="geneve:42")),
    ("geneve, options cut", in_udp(geneve(b"", options=bytes(8))[:12], 6081), other()),
    ("gtp", in_udp(gtp(P4), 2152), found(tunnel="gtp:7")),
    ("gtp, from the port", in_udp(gtp(P4), 9999, 2152), found(tunnel="gtp:7")),
    ("gtp, sequence", in_udp(gtp(P6, flags=0x32, extra=bytes(4)), 2152), found(v6=True, tunnel="gtp:7")),
    ("gtp, extensions", in_udp(gtp(P4, flags=0x34, extra=EXTENSIONS), 2152), found(tunnel="gtp:7")),
    ("gtp, extension of no length", in_udp(gtp(P4, flags=0x34, extra=b"\0\0\0\x85" + bytes(4)), 2152), other()),
    ("gtp, extension cut", in_udp(gtp(b"", flags=0x34, extra=b"\0\0\0\x85\x09\0"), 2152), other()),
    ("gtp, echo", in_udp(gtp(b"\x0e\0", kind=1, flags=0x32, extra=bytes(4)), 2152), other()),
    ("gtp, ethernet", in_udp(gtp(E4), 2152), other()),
    ("teredo", in_udp(P6, 3544), found(v6=True, tunnel="teredo")),
    ("teredo, origin", in_udp(bytes(8) + P6, 9, 3544), found(v6=True, tunnel="teredo")),
    ("teredo, both", in_udp(b"\0\1\1\2" + bytes(12) + bytes(8) + P6, 3544), found(v6=True, tunnel="teredo")),
    ("teredo, cut", in_udp(b"\0\1\xff\xff" + bytes(12), 3544), other()),
    ("mpls in udp", in_udp(b"\0\0\x11\x40" + P4, 6635), found(tunnel="mpls/udp")),
    ("ipip", in_ip(4, P4), found(tunnel="ipip")),
    ("6in4", in_ip(41, P6), found(v6=True, tunnel="6in4")),
    ("4in6", in_ip6(4, P4), found(tunnel="4in6")),
    ("6in6", in_ip6(41, P6), found(v6=True, tunnel="6in6")),
    ("mpls in ip", in_ip(137, b"\0\0\x11\x40" + P4), found(tunnel="mpls/ip")),
    ("etherip", in_ip(97, b"\x30\0" + E4), found(tunnel="etherip")),
    ("ethernet", in_ip6(143, E4), found(tunnel="ethernet/ip")),
    ("esp", in_ip(50, bytes(8) + P4), other()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "frame", "want"), KINDS, ids=lambda value: value if isinstance(value, str) else "")
def test_kinds(name: str, frame: bytes, want: Decoded) -> None:
    assert decode(frame) == want, name
    for captured in range(len(frame)):  # no cut makes a segment that is not there
        got = decode(frame[:captured], origlen=len(frame))
        if got.outcome == "tcp":
            assert want.outcome == "tcp"
            assert (got.key, got.seq, got.payload_len, got.tunnel) == (want.key, want.seq, 5, want.tunnel)


BY_CONTENT = [
    vxlan(E4),
    geneve(E4),
    geneve(P4, 0x0800),
    geneve(E4, options=bytes(12)),
    gtp(P4),
    gtp(P6, flags=0x32, extra=bytes(4)),
]


@pytest.mark.parametrize("payload", BY_CONTENT, ids=lambda payload: payload[:4].hex())
def test_tunnels_are_told_by_content_on_any_port(payload: bytes) -> None:
    assert decode(in_udp(payload)).outcome == "tcp"
    # The inner IP packet must fill the datagram, and its header must hold: else it is someone's data.
    assert decode(in_udp(payload + bytes(64))) == other()
    broken = bytearray(payload)
    broken[payload.index(P4[:4] if P4 in payload else P6[:4]) + (1 if P4 in payload else 0)] ^= 0x10
    assert decode(in_udp(bytes(broken))) == other()


def dns_query(ident: int) -> bytes:
    return struct.pack(">HHHHHH", ident, 0x0100, 1, 0, 0, 0) + b"\3www\7example\3com\0\0\1\0\1"


@given(st.integers(0, 0xFFFF), st.sampled_from((53, 5353, 1053)))
def test_dns_is_no_tunnel(ident: int, port: int) -> None:
    assert decode(in_udp(dns_query(ident), port)) == other()
    assert decode(in_udp(dns_query(ident), 4789, port)) == other()


@given(st.binary(min_size=8, max_size=200), st.sampled_from((4754, 6635)))
def test_a_port_alone_makes_nothing_malformed(payload: bytes, port: int) -> None:
    assert decode(in_udp(payload, port)) == other()


@pytest.mark.parametrize("port", [4754, 6635])
@pytest.mark.parametrize("payload", [b"\0\0\x08\0", b"\0\0\x11\x40", b"\0\0\x65\x58", b"\xb0\0\x08\0", b"\0\0\x08\x01"])
def test_a_header_without_a_packet_behind_it_is_someones_data(payload: bytes, port: int) -> None:
    for rest in (bytes(8), b"\x45" + bytes(19), b"\x45\0\0\x20" + bytes(16), b"\x60" + bytes(39)):
        assert decode(in_udp(payload + rest, port)) == other()


def test_tunnels_by_these_ports_may_hold_more_layers() -> None:
    mpls = b"\0\0\x10\x40\0\0\x11\x40"
    assert decode(in_udp(gre(mpls + P4, 0x8847), 4754)) == found(tunnel="gre")
    assert decode(in_udp(gre(E4, 0x6558), 4754)) == found(tunnel="gre")
    assert decode(in_udp(gre(TAGGED, 0x6558), 4754)) == found(tunnel="gre")
    assert decode(in_udp(mpls + P6, 6635)) == found(v6=True, tunnel="mpls/udp")
    assert decode(in_udp(b"\0\0\x11\x40" + bytes(4) + E4, 6635)) == found(tunnel="mpls/udp")


@given(st.binary(min_size=20, max_size=200), st.sampled_from((443, 123, 1194, 51820, 5004, 45678)))
def test_other_udp_is_no_tunnel(payload: bytes, port: int) -> None:
    assert decode(in_udp(payload, port)) == other()
    assert decode(in_udp(bytes((payload[0] & 0x3F,)) + payload[1:], port)) == other()


def test_wireguard_is_no_tunnel() -> None:
    assert decode(in_udp(b"\4\0\0\0" + bytes(12) + P4, 51820)) == other()


# Each layer wraps an Ethernet frame, an IPv4 or an IPv6 packet into another of the three, with the name of the tunnel.
LAYERS = {
    "eth>eth:vlan": lambda p: p[:12] + b"\x81\0\0\7" + p[12:],
    "ip4>eth": ethernet,
    "ip6>eth": lambda p: ethernet(p, 0x86DD),
    "ip4>eth:mpls": lambda p: ethernet(b"\0\0\x10\x40\0\0\x11\x40" + p, 0x8847),
    "ip6>eth:pppoe": lambda p: ethernet(b"\x11\0\0\1" + (len(p) + 2).to_bytes(2, "big") + b"\0\x57" + p, 0x8864),
    "eth>eth:pseudowire": lambda p: ethernet(b"\0\0\x11\x40\0\0\0\0" + p, 0x8847),
    "eth>ip4:vxlan:42": lambda p: ipv4(udp(vxlan(p), 4789), 17),
    "eth>ip6:vxlan:42": lambda p: ipv6(udp(vxlan(p), 8472), 17),
    "eth>ip4:geneve:42": lambda p: ipv4(udp(geneve(p, options=bytes(4)), 6081), 17),
    "eth>ip6:gre/erspan:5": lambda p: ipv6(gre(ERSPAN_II + p, 0x88BE, 0x1000, bytes(4)), 47),
    "eth>ip4:gre": lambda p: ipv4(gre(p, 0x6558), 47),
    "ip4>ip6:gtp:7": lambda p: ipv6(udp(gtp(p), 2152), 17),
    "ip6>ip4:gtp:7": lambda p: ipv4(udp(gtp(p), 2152), 17),
    "ip4>ip4:gre:5": lambda p: ipv4(gre(p, 0x0800, 0x2000, b"\0\0\0\5"), 47),
    "ip6>ip6:gre": lambda p: ipv6(gre(p, 0x86DD), 47),
    "ip4>ip4:ipip": lambda p: ipv4(p, 4),
    "ip4>ip6:4in6": lambda p: ipv6(p, 4),
    "ip6>ip4:6in4": lambda p: ipv4(p, 41),
    "ip6>ip6:6in6": lambda p: ipv6(b"\x29\0" + bytes(6) + p, 60),
}
NO_TUNNEL = {"vlan", "mpls", "pppoe", "pseudowire", ""}


@given(st.data(), st.booleans(), st.binary(max_size=40))
def test_any_stack_of_layers_holds_the_same_segment(data: st.DataObject, v6: bool, payload: bytes) -> None:
    packet, kind = (ipv6(tcp(payload)), "ip6") if v6 else (ipv4(tcp(payload)), "ip4")
    tunnels: list[str] = []
    for _ in range(data.draw(st.integers(0, 10))):
        name = data.draw(st.sampled_from([layer for layer in LAYERS if layer.startswith(kind + ">")]))
        packet = LAYERS[name](packet)
        kind, _, tunnel = name.partition(">")[2].partition(":")
        if tunnel not in NO_TUNNEL:
            tunnels.insert(0, tunnel)
    frame = {"eth": lambda p: p, "ip4": ethernet, "ip6": lambda p: ethernet(p, 0x86DD)}[kind](packet)
    assert decode(frame) == found(payload, v6=v6, tunnel="/".join(tunnels))


def test_a_mirrored_frame_that_was_cut_keeps_its_length() -> None:
    inner = ethernet(ipv4(tcp(bytes(1000))))
    got = decode(in_gre(0x88BE, ERSPAN_II + inner[:100], 0x1000, bytes(4)))
    assert (got.payload_len, len(got.payload)) == (1000, 100 - 54)


def test_names_are_made_once_and_bounded() -> None:
    names = TunnelNames()
    first = names.inside("", VXLAN, 42)
    assert first == "vxlan:42"
    assert names.inside("", GRE, -1) == "gre"
    assert names.inside("", GRE, 0) == "gre:0"
    assert names.inside("", VXLAN, 42) is first
    inner = names.inside(first, GRE, 0xFFFFFFFF)
    assert inner == "vxlan:42/gre:4294967295"
    assert names.inside(names.inside("", VXLAN, 42), GRE, 0xFFFFFFFF) is inner


def test_a_name_in_every_packet_does_not_fill_the_memory() -> None:
    decoder = Decoder()
    for vni in range(TunnelNames.LIMIT + 10):
        assert decoder.names.inside("", VXLAN, vni) == f"vxlan:{vni}"
    assert decoder.names.kept <= TunnelNames.LIMIT
