"""ICMP errors that quote a TCP segment, and those that do not."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_support import A4, A6, B4, B6, DPORT, SEQ, SPORT, decode, ethernet, ipv4, ipv6, other, tcp, udp

from pcapstall.wire.decode import Decoder
from pcapstall.wire.icmp import IcmpQuote

ROUTER = bytes((10, 9, 9, 9))
KEY4 = A4 + B4 + struct.pack(">HH", SPORT, DPORT)
KEY6 = A6 + B6 + struct.pack(">HH", SPORT, DPORT)


def icmp(kind: int, code: int, rest: int, quoted: bytes) -> bytes:
    return struct.pack(">BBHI", kind, code, 0, rest) + quoted


def read(frame: bytes) -> IcmpQuote | None:
    decoder = Decoder()
    assert decode(frame, decoder=decoder) == other()
    return decoder.icmp


def read4(message: bytes) -> IcmpQuote | None:
    return read(ethernet(ipv4(message, 1, src=ROUTER)))


def read6(message: bytes) -> IcmpQuote | None:
    return read(ethernet(ipv6(message, 58), 0x86DD))


@pytest.mark.parametrize(
    ("kind", "code", "rest", "mtu"),
    [(3, 0, 0, 0), (3, 1, 99, 0), (3, 4, 1400, 1400), (3, 4, 0, 0), (3, 13, 0, 0), (11, 0, 0, 0), (12, 0, 0, 0)],
)
def test_errors_of_icmp(kind: int, code: int, rest: int, mtu: int) -> None:
    quote = read4(icmp(kind, code, rest, ipv4(tcp())[:28]))  # 8 bytes of TCP are all that RFC 792 asks for
    assert quote is not None
    assert (quote.v6, quote.kind, quote.code, quote.mtu) == (False, kind, code, mtu)
    assert (quote.sender, quote.key, quote.seq) == (ROUTER, KEY4, SEQ)


@pytest.mark.parametrize(
    ("kind", "code", "rest", "mtu"), [(1, 1, 0, 0), (2, 0, 1280, 1280), (3, 0, 0, 0), (4, 1, 6, 0)]
)
def test_errors_of_icmpv6(kind: int, code: int, rest: int, mtu: int) -> None:
    quote = read6(icmp(kind, code, rest, ipv6(tcp())))
    assert quote is not None
    assert (quote.v6, quote.kind, quote.code, quote.mtu) == (True, kind, code, mtu)
    assert (quote.sender, quote.key, quote.seq) == (A6, KEY6, SEQ)


def test_quoted_headers_may_be_long() -> None:
    quote = read4(icmp(3, 1, 0, ipv4(tcp(), options=b"\x94\4\0\0")))
    assert quote is not None
    assert quote.key == KEY4
    quoted = ipv6(b"\x3c\0" + bytes(6) + b"\x33\0" + bytes(6) + b"\x2c\1" + bytes(10) + b"\6\0\0\1\0\0\0\7" + tcp(), 0)
    quote = read6(icmp(2, 0, 1300, quoted))
    assert quote is not None
    assert (quote.key, quote.seq) == (KEY6, SEQ)


@pytest.mark.parametrize(
    "message",
    [
        icmp(8, 0, 0, ipv4(tcp())),  # an echo
        icmp(5, 0, 0, ipv4(tcp())),  # a redirect is no error of the segment's
        icmp(3, 3, 0, ipv4(udp(bytes(20), 9), 17)),
        icmp(3, 4, 1400, ipv4(tcp(), fragment=0x2005)),
        icmp(3, 1, 0, ipv4(tcp())[:27]),
        icmp(3, 1, 0, b"\x44" + ipv4(tcp())[1:]),
        icmp(3, 1, 0, b"\x4f" + ipv4(tcp())[1:]),
        icmp(3, 1, 0, ipv6(tcp())),
        icmp(3, 1, 0, b""),
        b"\3\1\0\0",
        b"",
    ],
)
def test_what_quotes_no_tcp_is_only_other(message: bytes) -> None:
    assert read4(message) is None


@pytest.mark.parametrize(
    "message",
    [
        icmp(128, 0, 0, ipv6(tcp())),
        icmp(135, 0, 0, ipv6(tcp())),
        icmp(1, 0, 0, ipv6(udp(bytes(20), 9), 17)),
        icmp(1, 0, 0, ipv6(b"\6\0\0\x09\0\0\0\7" + tcp(), 44)),
        icmp(1, 0, 0, ipv6(tcp())[:47]),
        icmp(1, 0, 0, ipv6((b"\x3c\0" + bytes(6)) * 20 + tcp(), 60)),
        icmp(1, 0, 0, ipv4(tcp())),
        b"\1\0\0\0",
    ],
)
def test_what_quotes_no_tcp_is_only_other_in_icmpv6(message: bytes) -> None:
    assert read6(message) is None


def test_an_error_ends_with_its_record() -> None:
    decoder = Decoder()
    frame = ethernet(ipv4(icmp(3, 4, 1400, ipv4(tcp())), 1))
    decode(frame, decoder=decoder)
    assert decoder.icmp is not None
    decode(ethernet(ipv4(tcp())), decoder=decoder)
    assert decoder.icmp is None


def test_errors_in_tunnels_count_too() -> None:
    inside = ipv6(icmp(2, 0, 1280, ipv6(tcp())), 58)
    quote = read(ethernet(ipv4(inside, 41)))
    assert quote is not None
    assert quote.mtu == 1280


@given(st.binary(max_size=100), st.sampled_from((3, 4, 11, 12, 1, 2)), st.booleans())
def test_any_quote_has_an_outcome(quoted: bytes, kind: int, v6: bool) -> None:
    message = icmp(kind, 0, 0, bytes((0x60 if v6 else 0x45,)) + quoted)
    quote = (read6 if v6 else read4)(message)
    assert quote is None or len(quote.key) == (36 if v6 else 12)
