"""Endpoints in the spellings of real programs."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.logs.endpoints import addresses_in, endpoints_in

A = ("1.2.3.4", 80)
B = ("2001:db8::1", 443)


def named(text: str) -> list[tuple[str, int]]:
    return [(str(ipaddress.ip_address(address)), port) for address, port in endpoints_in(text.encode())]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("from 1.2.3.4:80", [A]),
        ("1.2.3.4:80->1.2.3.4:81", [A, ("1.2.3.4", 81)]),
        ("(1.2.3.4:80)", [A]),
        ("client.addr=1.2.3.4:80}", [A]),
        ("http://1.2.3.4:80/x", [A]),
        ("/1.2.3.4:80", [A]),
        ("1.2.3.4:80.", [A]),
        ("1.2.3.4 port 80 ssh2", [A]),
        ("1.2.3.4, port 80", [A]),
        ("1.2.3.4 Port: 80", [A]),
        ("client=1.2.3.4 client_port=80", [A]),
        ("('1.2.3.4', 80)", [A]),
        ("('2001:db8::1', 443, 0, 0)", [B]),
        ("('1.2.3.4', 80 bytes)", []),
        ("1.2.3.4#80", [A]),
        ('{"address":"1.2.3.4","port":80}', [A]),
        ('{"address": "1.2.3.4", "portValue": 80}', [A]),
        ("::ffff:1.2.3.4:80", [A]),
        ("[::ffff:1.2.3.4]:80", [A]),
        ("[::ffff:102:304]:80", [A]),
        ("::ffff:1.2.3.4 port 80", [A]),
        ("[2001:db8::1]:443", [B]),
        ("[2001:DB8:0:0::1]:443", [B]),
        ("2001:db8::1 port 443", [B]),
        ("2001:db8::1#443", [B]),
        ("[fe80::1%eth0]:443", [("fe80::1", 443)]),
        ("1.2.3.4:80 [2001:db8::1]:443", [A, B]),
        ("1.2.3.4:80 1.2.3.4:80", [A]),
        ("1.2.3.4:99999", []),
        ("1.2.3.400:80", []),
        ("11.2.3.4.5:80", []),
        ("1.2.3.4:80808", []),
        ("version 1.2.3.4", []),
        ("07:24:02.083", []),
        ("[12:34:56]:80", []),
    ],
)
def test_spellings(text: str, wanted: list[tuple[str, int]]) -> None:
    assert named(text) == wanted


addresses = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


@given(addresses, st.integers(1, 65535), st.sampled_from(["{}:{}", "peer={}:{};", "<{}:{}>", '"{}:{}"']))
def test_what_is_written_is_found(address: ipaddress.IPv4Address, port: int, form: str) -> None:
    text = form.format(f"[{address}]" if address.version == 6 else address, port)
    packed = address.packed
    mapped = getattr(address, "ipv4_mapped", None)
    assert endpoints_in(text.encode()) == [((mapped.packed if mapped else packed), port)]


@given(st.binary(max_size=300))
def test_any_bytes_end(data: bytes) -> None:
    assert all(len(address) in (4, 16) and 0 <= port <= 65535 for address, port in endpoints_in(data))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('1.2.3.4 - - [30/Nov/2026:07:24:02 +0000] "GET / HTTP/1.1" 200 6', ["1.2.3.4"]),
        ("[info] 7#7: *1 client 1.2.3.4 closed keepalive connection", ["1.2.3.4"]),
        ("SSL_do_handshake() failed while SSL handshaking, client: 1.2.3.4, server: 0.0.0.0:443", ["1.2.3.4"]),
        ('{"remote_addr":"2001:db8::1"}', ["2001:db8::1"]),
        ('::ffff:1.2.3.4 - - "GET /"', ["1.2.3.4"]),
        ("1.2.3.4:80 [2001:db8::1]:443 1.2.3.4/24 1.2.3.4.5 v1.2.3.4-rc", []),
        ("07:24:02 12:00", []),
    ],
)
def test_addresses_without_a_port(text: str, wanted: list[str]) -> None:
    assert [str(ipaddress.ip_address(address)) for address in addresses_in(text.encode())] == wanted
