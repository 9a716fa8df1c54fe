"""Preambles of TLS: where the hello begins, what came before, and who owed the next byte."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tls_corpus import streams
from tls_support import client_hello, extension, message, record, server_hello, ssl2_hello

from pcapstall.wire.preamble import (
    NEED_MORE,
    NOT_TLS,
    SEARCH_MAX,
    find_client_hello,
    name_answer,
    server_tls_start,
)
from pcapstall.wire.preamble_names import name_preamble, server_owes, tls_due

HELLO = record(22, client_hello(), 0x0301)
SERVER = record(22, server_hello())

PROXY1 = b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"
PROXY2 = b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x13" + bytes(12) + b"\x03\x00\x04abcd"
CONNECT = b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"
CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
DENIED = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 9\r\n\r\nno entry."
UPGRADE = b"OPTIONS * HTTP/1.1\r\nHost: a.example\r\nUpgrade: TLS/1.2\r\nConnection: Upgrade\r\n\r\n"
SOCKS4 = b"\x04\x01\x01\xbb\xc0\x00\x02\x01user\x00"
SOCKS4A = b"\x04\x01\x01\xbb\x00\x00\x00\x01user\x00a.example\x00"
SOCKS5 = b"\x05\x01\x00" + b"\x05\x01\x00\x03\x09a.example\x01\xbb"
SOCKS5_REPLY = b"\x05\x00" + b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"
SOCKS5_PASSWORD = b"\x05\x02\x00\x02" + b"\x01\x04user\x06secret" + b"\x05\x01\x00\x01\xc0\x00\x02\x01\x01\xbb"
SOCKS5_PASSWORD_REPLY = b"\x05\x02" + b"\x01\x00" + b"\x05\x00\x00\x04" + bytes(18)
SMTP = b"EHLO me.example\r\nSTARTTLS\r\n"
SMTP_REPLY = b"220 mx.example ESMTP\r\n250-mx.example\r\n250 STARTTLS\r\n220 go ahead\r\n"
LMTP = b"LHLO me.example\r\nSTARTTLS\r\n"
IMAP = b"a1 CAPABILITY\r\na2 STARTTLS\r\n"
IMAP_REPLY = b"* OK IMAP4rev1 ready\r\n* CAPABILITY IMAP4rev1 STARTTLS\r\na1 OK done\r\na2 OK begin\r\n"
POP3 = b"CAPA\r\nSTLS\r\n"
POP3_REPLY = b"+OK ready\r\n+OK\r\nSTLS\r\n.\r\n+OK begin\r\n"
FTP = b"FEAT\r\nAUTH TLS\r\n"
FTP_REPLY = b"220-hello\r\n220 FTP ready\r\n211-Features:\r\n AUTH TLS\r\n211 End\r\n234 go on\r\n"
NNTP = b"CAPABILITIES\r\nSTARTTLS\r\n"
NNTP_REPLY = b"200 news ready\r\n101 list\r\nSTARTTLS\r\n.\r\n382 go on\r\n"
SIEVE = b"STARTTLS\r\n"
SIEVE_REPLY = b'"IMPLEMENTATION" "x"\r\n"STARTTLS"\r\nOK "ready"\r\nOK "begin"\r\n'
IRC = b"CAP LS 302\r\nSTARTTLS\r\n"
IRC_REPLY = b":irc.example CAP * LS :tls\r\n:irc.example 670 * :STARTTLS successful\r\n"
XMPP = (
    b"<?xml version='1.0'?><stream:stream to='a.example' xmlns:stream='http://etherx.jabber.org/streams'>"
    b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
)
XMPP_REPLY = b"<stream:stream id='1'><stream:features><starttls/></stream:features><proceed xmlns='x'/>"
PGSQL = bytes.fromhex("0000000804d2162f")
GSSENC = bytes.fromhex("0000000804d21630")
MYSQL_GREETING = bytes.fromhex("4a0000000a") + b"8.0.36\x00" + bytes(67)
MYSQL = bytes.fromhex("20000001 85aeff19 00000001 21") + bytes(23)
RDP = bytes.fromhex("03000013 0e e0 0000 0000 00 01 00 0800 03000000")
RDP_REPLY = bytes.fromhex("03000013 0e d0 0000 1234 00 02 00 0800 01000000")
TDS = bytes.fromhex("1201002f 0000 0000") + bytes(39)
TDS_REPLY = bytes.fromhex("0401002b 0000 0100") + bytes(35)
LDAP = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037"
LDAP_REPLY = bytes.fromhex("300c02010178070a010004000400")

PREAMBLES = {
    "proxy_v1": (PROXY1, b""),
    "proxy_v2": (PROXY2, b""),
    "http_connect": (CONNECT, CONNECTED),
    "http_upgrade": (UPGRADE, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: TLS/1.2\r\n\r\n"),
    "socks4": (SOCKS4, b"\x00\x5a" + bytes(6)),
    "socks4a": (SOCKS4A, b"\x00\x5a" + bytes(6)),
    "socks5": (SOCKS5, SOCKS5_REPLY),
    "smtp_starttls": (SMTP, SMTP_REPLY),
    "lmtp_starttls": (LMTP, SMTP_REPLY),
    "imap_starttls": (IMAP, IMAP_REPLY),
    "pop3_stls": (POP3, POP3_REPLY),
    "ftp_auth_tls": (FTP, FTP_REPLY),
    "nntp_starttls": (NNTP, NNTP_REPLY),
    "sieve_starttls": (SIEVE, SIEVE_REPLY),
    "irc_starttls": (IRC, IRC_REPLY),
    "xmpp_starttls": (XMPP, XMPP_REPLY),
    "postgresql": (PGSQL, b"S"),
    "mysql": (MYSQL, MYSQL_GREETING),
    "rdp": (RDP, RDP_REPLY),
    "tds": (TDS, TDS_REPLY),
    "ldap_starttls": (LDAP, LDAP_REPLY),
}
ONE_SIDED = [name for name in PREAMBLES if name not in {"nntp_starttls", "sieve_starttls"}]
ANSWERED = [name for name, (_, server) in PREAMBLES.items() if server and name != "mysql"]
each = pytest.mark.parametrize("name", PREAMBLES)


def test_the_hello_at_the_very_beginning_is_known_by_two_bytes() -> None:
    for end in range(2, len(HELLO) + 1):
        assert find_client_hello(HELLO[:end], 0) == 0
    assert find_client_hello(b"\x16", 0) == NEED_MORE
    assert find_client_hello(b"", 0) == NEED_MORE


@each
def test_the_hello_is_found_by_its_first_bytes_and_not_before(name: str) -> None:
    before, _ = PREAMBLES[name]
    whole = before + HELLO
    for end in range(2, len(whole) + 1):
        expected = len(before) if end >= len(before) + 11 else NEED_MORE
        assert find_client_hello(whole[:end], 0) == expected, end


def test_a_hello_that_goes_on_in_the_next_record() -> None:
    body = client_hello(extension(21, bytes(2000)))
    for first in (1, 4, 100, len(body)):
        assert find_client_hello(CONNECT + record(22, body[:first]) + record(22, body[first:]), 0) == len(CONNECT)


def test_an_ssl2_hello_is_found_at_the_beginning_and_behind_a_line() -> None:
    for hello in (ssl2_hello(), ssl2_hello(0x0002, padding=3)):
        assert find_client_hello(hello, 0) == 0
        assert find_client_hello(hello[:8], 0) == NEED_MORE
    assert find_client_hello(SMTP + ssl2_hello(), 0) == len(SMTP)
    assert find_client_hello(PGSQL + ssl2_hello(), 0) == NEED_MORE


@pytest.mark.parametrize(
    "data",
    [
        record(22, client_hello()[:1] + b"\x01" + client_hello()[2:]),
        record(22, message(1, b"\x04\x00" + bytes(60))),
        record(22, message(1, b"\x03\x03" + bytes(20))),
        record(22, client_hello() + b"\x00"),
        record(22, server_hello()),
        struct.pack("!BHH", 22, 0x0303, 20_000) + client_hello(),
    ],
    ids=["length", "version", "short", "record longer than the message", "server hello", "record too long"],
)
def test_what_only_looks_like_a_hello(data: bytes) -> None:
    assert find_client_hello(SMTP + data, 0) == NEED_MORE
    assert find_client_hello(data, 0) == NEED_MORE


def test_the_search_starts_where_it_is_told() -> None:
    assert find_client_hello(HELLO + SMTP + HELLO, 0) == 0
    assert find_client_hello(HELLO + SMTP + HELLO, 1) == len(HELLO + SMTP)


def test_the_search_ends() -> None:
    assert find_client_hello(bytes(SEARCH_MAX - 1), 0) == NEED_MORE
    assert find_client_hello(bytes(SEARCH_MAX), 0) == NOT_TLS
    assert find_client_hello(bytes(SEARCH_MAX) + HELLO, 0) == SEARCH_MAX
    assert server_tls_start(bytes(SEARCH_MAX - 1), 0) == NEED_MORE
    assert server_tls_start(bytes(SEARCH_MAX), 0) == NOT_TLS


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", NOT_TLS),
        (PROXY1 + b"POST / HTTP/1.1\r\nHost: a.example\r\n\r\n", NOT_TLS),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", NOT_TLS),
        (b"SSH-2.0-OpenSSH_9.6\r\n", NOT_TLS),
        (b"GET / HTTP/1.1\r\nHost: a.example\r\n", NEED_MORE),
        (UPGRADE, NEED_MORE),
        (CONNECT, NEED_MORE),
        (b"PROXY TCP4 192.0.2.1", NEED_MORE),
        (b"GETTING READY\r\n\r\n", NEED_MORE),
    ],
)
def test_other_protocols_are_given_up_early_when_that_is_safe(data: bytes, expected: int) -> None:
    assert find_client_hello(data, 0) == expected


@pytest.mark.parametrize(
    "data",
    [SERVER, record(21, b"\x02\x28"), record(20, b"\x01"), record(23, bytes(100)), record(22, message(11, bytes(90)))],
    ids=["server hello", "alert", "ccs", "application data", "certificate"],
)
def test_a_server_begins_with_any_record(data: bytes) -> None:
    for end in range(2, len(data) + 1):
        assert server_tls_start(data[:end], 0) == 0
    assert server_tls_start(b"xx" + data, 2) == 2


@each
def test_the_servers_tls_is_found_behind_its_preamble(name: str) -> None:
    _, before = PREAMBLES[name]
    for data in (SERVER, record(21, b"\x02\x28"), record(22, server_hello(version=0x7F13))):
        assert server_tls_start(before + data, 0) == len(before)
        assert server_tls_start(before + data, len(before)) == len(before)
    if before:
        assert server_tls_start(before, 0) in {NEED_MORE, NOT_TLS}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", NOT_TLS),
        (b"HTTP/1.0 503 Unavailable\r\n", NOT_TLS),
        (b"HTTP/1.1 200 OK\r\n\r\n", NEED_MORE),
        (b"HTTP/1.1 101 Switching\r\n", NEED_MORE),
        (b"HTTP/1.1 ", NEED_MORE),
        (b"SSH-2.0-x\r\n", NOT_TLS),
        (b"xx" + record(22, server_hello())[:10], NEED_MORE),
        (b"xx" + record(22, message(11, bytes(90))), NEED_MORE),
        (b"xx" + record(21, b"\x03\x28"), NEED_MORE),
        (b"xx" + record(20, b"\x02") + bytes(9), NEED_MORE),
    ],
)
def test_a_server_that_does_not_speak_tls(data: bytes, expected: int) -> None:
    assert server_tls_start(data, 0) == expected


def test_an_answer_to_connect_that_was_in_flight_is_waited_for() -> None:
    # The client did not wait: the answer to CONNECT comes behind the ClientHello.
    assert server_tls_start(CONNECTED + SERVER, 0) == len(CONNECTED)


@each
def test_names(name: str) -> None:
    client, server = PREAMBLES[name]
    assert name_preamble(client, server) == name


@pytest.mark.parametrize("name", ONE_SIDED)
def test_names_from_the_client_alone(name: str) -> None:
    assert name_preamble(PREAMBLES[name][0], b"") == name


@pytest.mark.parametrize(
    ("client", "server", "name"),
    [
        (PROXY1 + SMTP, SMTP_REPLY, "proxy_v1+smtp_starttls"),
        (PROXY2 + PGSQL, b"S", "proxy_v2+postgresql"),
        (PROXY1 + MYSQL, MYSQL_GREETING, "proxy_v1+mysql"),
        (CONNECT + IMAP, CONNECTED + IMAP_REPLY, "http_connect+imap_starttls"),
        (SOCKS5 + SMTP, SOCKS5_REPLY + SMTP_REPLY, "socks5+smtp_starttls"),
        (SOCKS5_PASSWORD + POP3, SOCKS5_PASSWORD_REPLY + POP3_REPLY, "socks5+pop3_stls"),
        (CONNECT + CONNECT, DENIED + CONNECTED, "http_connect"),
        (GSSENC + PGSQL, b"NS", "postgresql"),
        (CONNECT + b"\x00\x01\x02", CONNECTED, "http_connect+unknown"),
        (b"\x00\x01\x02\x03", b"", "unknown"),
        (b"STARTTLS\r\n", b"", "starttls"),
        (b"", b"\x00\x01\x02\x03", "unknown"),
        (b"", SMTP_REPLY, "smtp_starttls"),
        (b"", FTP_REPLY, "ftp_auth_tls"),
        (b"", b"", ""),
    ],
)
def test_names_of_layers(client: bytes, server: bytes, name: str) -> None:
    assert name_preamble(client, server) == name


@pytest.mark.parametrize("name", ANSWERED)
def test_a_request_is_owed_an_answer_until_it_is_complete(name: str) -> None:
    client, server = PREAMBLES[name]
    for end in range(len(server)):
        # Before the greeting, a bare STARTTLS can be anybody's.
        owed = {name, "starttls"} if b"\n" not in server[:end] else {name}
        assert server_owes(client, server[:end], 0) in owed or end in _COMPLETE.get(name, ()), end
    assert server_owes(client, server, 0) == ""


_COMPLETE = {"xmpp_starttls": range(XMPP_REPLY.index(b"<proceed") + 8, len(XMPP_REPLY))}
"""Where a part of the server's answer is enough already."""


@pytest.mark.parametrize("name", [name for name in PREAMBLES if name not in {"proxy_v1", "proxy_v2"}])
def test_an_unfinished_request_is_the_clients_turn(name: str) -> None:
    client, _ = PREAMBLES[name]
    greetings = {"smtp_starttls": b"220 x\r\n", "ftp_auth_tls": b"220 FTP\r\n", "pop3_stls": b"+OK\r\n"}
    greeting = greetings.get(name, MYSQL_GREETING if name == "mysql" else b"")
    assert server_owes(client[:1], greeting, 0) == ""


@pytest.mark.parametrize(
    ("client", "server", "port", "owed"),
    [
        (b"", b"", 25, "greeting"),
        (b"", b"", 443, ""),
        (b"", b"", 3306, "greeting"),
        (PROXY1, b"", 25, "greeting"),
        (PROXY1, b"", 443, ""),
        (b"", b"220-wait\r\n", 25, "greeting"),
        (b"", b"22", 25, "greeting"),
        (b"", b"22", 8025, ""),
        (b"", b"220 ready\r\n", 25, ""),
        (b"", b"* OK ready\r\n", 143, ""),
        (b"", b"* O", 143, "greeting"),
        (b"", MYSQL_GREETING[:40], 3306, "greeting"),
        (b"", MYSQL_GREETING, 3306, ""),
        (MYSQL, MYSQL_GREETING, 3306, ""),
        (b"EHLO x\r\n", b"220 x\r\n", 25, "smtp_starttls"),
        (b"EHLO x\r\n", b"220 x\r\n250-x\r\n", 25, "smtp_starttls"),
        (b"EHLO x\r\n", b"220 x\r\n250-x\r\n250 STARTTLS\r\n", 25, ""),
        (CONNECT, b"", 3128, "http_connect"),
        (CONNECT, DENIED, 3128, ""),
        (CONNECT + CONNECT, DENIED, 3128, "http_connect"),
        (CONNECT, b"HTTP/1.1 100 Continue\r\n\r\n", 3128, "http_connect"),
        (CONNECT, CONNECTED, 25, ""),
        (CONNECT + b"EHLO x\r\n", CONNECTED + b"220 x\r\n", 3128, "smtp_starttls"),
        (SOCKS5[:3], b"", 1080, "socks5"),
        (SOCKS5[:3], b"\x05\x00", 1080, ""),
        (SOCKS5[:9], b"\x05\x00", 1080, ""),
        (SOCKS5_PASSWORD[:4], b"\x05\x02", 1080, ""),
        (SOCKS5_PASSWORD[:17], b"\x05\x02", 1080, "socks5"),
        (SOCKS5_PASSWORD[:17], b"\x05\x02\x01\x00", 1080, ""),
        (SOCKS5_PASSWORD, SOCKS5_PASSWORD_REPLY[:9], 1080, "socks5"),
        (SOCKS5_PASSWORD, SOCKS5_PASSWORD_REPLY, 1080, ""),
        (b"a.example says hello\r\n", b"", 7, ""),
    ],
)
def test_whose_turn_it_is(client: bytes, server: bytes, port: int, owed: str) -> None:
    assert server_owes(client, server, port) == owed


@pytest.mark.parametrize("name", [name for name in PREAMBLES if name not in {"proxy_v1", "proxy_v2"}])
def test_tls_is_due_once_it_was_asked_for_and_until_it_begins(name: str) -> None:
    client, server = PREAMBLES[name]
    assert tls_due(client, server)
    assert tls_due(client, b"") or name in {"sieve_starttls"}
    assert not tls_due(client + b"QUIT\r\n", server)
    assert not tls_due(client[:1], server)


@pytest.mark.parametrize(
    ("client", "server"),
    [
        (b"STARTTLS\r\n", b"220 x\r\n454 not now\r\n"),
        (b"STLS\r\n", b"+OK\r\n-ERR no\r\n"),
        (b"a STARTTLS\r\n", b"* OK\r\na BAD what\r\n"),
        (b"STARTTLS\r\n", b":irc.example 691 * :no\r\n"),
        (b"AUTH TLS\r\n", b"220 FTP\r\n502 no\r\n"),
        (PGSQL, b"N"),
        (CONNECT, DENIED),
        (CONNECT.replace(b":443", b":25"), CONNECTED),
        (PROXY1, b""),
        (b"EHLO x\r\n", b"220 x\r\n"),
        (b"\x00\x01\x02\x03", b""),
        (b"", SMTP_REPLY),
        (b"", b""),
    ],
)
def test_tls_is_not_due_where_it_was_refused_or_not_asked_for(client: bytes, server: bytes) -> None:
    assert not tls_due(client, server)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (DENIED, "http_407"),
        (b"HTTP/1.1 400 Bad Request\r\n", "http_400"),
        (b"HTTP/1.1 x", "unknown"),
        (b"\n<HTML><body>", "html"),
        (b"SSH-2.0-x\r\n", "ssh"),
        (b"-ERR\r\n", "unknown"),
    ],
)
def test_names_of_answers_that_are_no_tls(data: bytes, name: str) -> None:
    assert name_answer(data) == name


PIECES = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from([part for pair in PREAMBLES.values() for part in pair]),
        st.sampled_from([HELLO, SERVER, ssl2_hello(), CONNECTED, DENIED, SOCKS5_PASSWORD, b"\r\n", b"\x16\x03"]),
    ),
    max_size=5,
).map(b"".join)


@given(PIECES, PIECES, st.integers(0, 70), st.integers(0, 70))
def test_any_bytes_are_searched_and_named_without_an_error(client: bytes, server: bytes, cut: int, start: int) -> None:
    client, server = client[: max(0, len(client) - cut)], server[: max(0, len(server) - cut)]
    for found in (find_client_hello(client, start), server_tls_start(server, start)):
        assert found in {NEED_MORE, NOT_TLS} or found >= start
    assert name_preamble(client, server) or not (client or server)
    assert isinstance(server_owes(client, server, 25), str)
    assert tls_due(client, server) in (True, False)
    assert name_answer(server)


@given(PIECES, st.data())
def test_a_search_is_not_given_up_before_a_hello(data: bytes, draw: st.DataObject) -> None:
    at = find_client_hello(data, 0)
    if at >= 0:
        for end in range(max(2, at + 11), len(data) + 1):
            assert find_client_hello(data[:end], 0) == at
    # Fewer bytes at the very beginning are believed, if nothing contradicts them.
    cut = draw.draw(st.integers(min(11, len(data)), len(data)))
    assert find_client_hello(data[:cut], 0) in {NEED_MORE, at} or at == NOT_TLS


REAL = [
    ("zeek--smtp-starttls.pcap", "smtp_starttls", "smtp_starttls"),
    ("zeek--pop3-starttls.pcap", "pop3_stls", "pop3_stls"),
    ("zeek--ldap-starttls.pcap", "ldap_starttls", "ldap_starttls"),
    ("zeek--ftp-auth-tls.pcap", "ftp_auth_tls", "ftp_auth_tls"),
    ("suricata-verify--pgsql-upgrade-tls--input.pcap", "postgresql", "postgresql"),
    ("arkime--mysql-tls.pcap", "mysql", ""),
    ("ja4--https-connect.pcap", "http_connect", "http_connect"),
    ("zeek--socks-with-ssl.pcap", "socks5", "socks5"),
    ("zeek--rdp-no-cookie-mstshash.pcap", "rdp", "rdp"),
    ("zeek--irc-starttls.pcap", "irc_starttls", "irc_starttls"),
]


@pytest.mark.parametrize(("name", "expected", "owed"), REAL)
def test_real_preambles(corpus: Path, name: str, expected: str, owed: str) -> None:
    found = []
    for stream in streams(corpus / name):
        at = find_client_hello(stream.sent, 0)
        if at < 0:
            continue
        answer = server_tls_start(stream.answered, 0)
        assert answer > 0
        client, server = stream.sent[:at], stream.answered[:answer]
        found.append((name_preamble(client, server), server_owes(client, server, 0)))
        # One byte less from the server, and it would have been its turn.
        assert server_owes(client, server[:-1], 0) == owed
    assert found == [(expected, "")]


def test_a_real_proxy_header(corpus: Path) -> None:
    # The only packet of the capture: Ethernet, IPv4 and TCP headers, PROXY line, ClientHello.
    data = (corpus / "ndpi--haproxy.pcap").read_bytes()
    payload = data[data.index(b"PROXY ") :]
    at = find_client_hello(payload, 0)
    assert payload[at - 2 : at] == b"\r\n"
    assert name_preamble(payload[:at], b"") == "proxy_v1"
