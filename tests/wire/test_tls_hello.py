"""The two hellos: fields, malformed lists kept as far as they go, shapes shared, resumption."""

import ssl
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tls_support import (
    client_hello,
    contexts,
    extension,
    message,
    read_all,
    server_hello,
    shake,
    ssl2_hello,
)

from pcapstall.wire.tls_hello import (
    ClientHello,
    ServerHello,
    ServerHellos,
    parse_client_hello,
    parse_server_hello,
    resumed,
)
from pcapstall.wire.tls_shape import HelloShapes

HELLO_RETRY_RANDOM = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")


def listed(body: bytes) -> bytes:
    return struct.pack("!H", len(body)) + body


def server_name(name: bytes) -> bytes:
    return extension(0, listed(b"\0" + listed(name)))


def alpn(*names: bytes) -> bytes:
    return extension(16, listed(b"".join(bytes([len(name)]) + name for name in names)))


def versions(*numbers: int) -> bytes:
    return extension(43, bytes([2 * len(numbers)]) + b"".join(number.to_bytes(2, "big") for number in numbers))


def key_shares(*groups: int) -> bytes:
    return extension(51, listed(b"".join(struct.pack("!H", group) + listed(bytes(7)) for group in groups)))


SIGNATURES = extension(13, listed(bytes.fromhex("04030804")))
FULL = (
    extension(0x3A3A, b"")
    + server_name(b"www.a.example")
    + alpn(b"h2", b"http/1.1")
    + versions(0x2A2A, 0x0304, 0x0303)
    + key_shares(0x4A4A, 0x11EC, 29)
    + SIGNATURES
    + extension(35, bytes(90))
    + extension(42, b"")
    + extension(0xFE0D, bytes(60))
    + extension(41, bytes(80))
)


def exchange(**changes: object) -> tuple[ClientHello, ServerHello]:
    client, server = contexts()
    for name, value in changes.items():
        setattr(server, name, value)
    done, _ = shake(client, server)
    return hellos(done.client, done.server)


def hellos(client: bytes, server: bytes) -> tuple[ClientHello, ServerHello]:
    return (
        parse_client_hello(read_all(client, client=True)[0].body),
        parse_server_hello(read_all(server, client=False)[0].body),
    )


def test_everything_in_a_client_hello() -> None:
    body = client_hello(FULL, ciphers=bytes.fromhex("9a9a1301130300ff"), session_id=bytes(range(32)))
    hello = parse_client_hello(body)
    assert hello.malformed == ""
    assert hello.length == len(body)
    assert hello.legacy_version == 0x0303
    assert hello.random == bytes(range(32))
    assert hello.session_id == bytes(range(32))
    assert hello.sni == "www.a.example"
    assert hello.alpn == ("h2", "http/1.1")
    assert hello.versions == (0x0304, 0x0303)
    assert hello.cipher_suites == (0x1301, 0x1303, 0x00FF)
    assert hello.key_share_groups == (0x11EC, 29)
    assert hello.session_ticket
    assert hello.ech
    assert hello.early_data
    assert hello.psk
    assert hello.shape.extensions() == (0, 13, 16, 35, 41, 42, 43, 51, 0xFE0D)
    assert hello.ja4.startswith("t13d0309h2_")


def test_a_plain_client_hello() -> None:
    hello = parse_client_hello(client_hello(None, version=0x0301))
    assert (hello.sni, hello.alpn, hello.versions, hello.malformed) == (None, (), (0x0301,), "")
    assert (hello.ech, hello.early_data, hello.psk, hello.session_ticket) == (False, False, False, False)
    assert hello.ja4 == "t10i020000_" + hello.ja4[11:23] + "_000000000000"


def test_real_hellos_of_tls_1_3() -> None:
    client, server = exchange()
    assert (client.sni, client.versions, client.malformed) == ("a.example", (0x0304, 0x0303), "")
    assert (server.version, server.malformed, server.psk_selected) == (0x0304, "", False)
    assert server.key_share_group in client.key_share_groups
    assert (len(client.session_id), server.session_id) == (32, b"")
    assert server.cipher in client.cipher_suites


def test_real_hellos_of_tls_1_2() -> None:
    client, server = exchange(maximum_version=ssl.TLSVersion.TLSv1_2)
    assert (server.version, server.malformed) == (0x0303, "")
    assert server.cipher in client.cipher_suites


def test_the_protocol_chosen_is_in_the_clear_before_tls_1_3() -> None:
    client, server = contexts()
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    client.set_alpn_protocols(["h2", "http/1.1"])
    server.set_alpn_protocols(["http/1.1"])
    done, _ = shake(client, server)
    offered, chosen = hellos(done.client, done.server)
    assert (offered.alpn, chosen.alpn) == (("h2", "http/1.1"), "http/1.1")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_resumption(version: ssl.TLSVersion) -> None:
    client, server = contexts()
    client.maximum_version = version
    first, session = shake(client, server)
    again, _ = shake(client, server, session=session)
    for done, expected in ((first, False), (again, True)):
        events = read_all(done.server, client=False)
        certificate = any(event.type == 11 for event in events)
        offered, chosen = hellos(done.client, done.server)
        assert resumed(offered, chosen, certificate) is expected
        assert offered.psk is (expected and version == ssl.TLSVersion.TLSv1_3)
    assert offered.session_ticket is (version == ssl.TLSVersion.TLSv1_2)


def test_an_echoed_session_id_with_a_certificate_is_no_resumption() -> None:
    client = parse_client_hello(client_hello(session_id=bytes(32)))
    server = parse_server_hello(server_hello(session_id=bytes(32)))
    assert resumed(client, server, certificate_seen=False)
    assert not resumed(client, server, certificate_seen=True)
    assert not resumed(parse_client_hello(client_hello()), parse_server_hello(server_hello()), certificate_seen=False)


def test_an_echo_in_tls_1_3_is_no_resumption() -> None:
    client = parse_client_hello(client_hello(session_id=bytes(32)))
    chosen = parse_server_hello(server_hello(extension(43, b"\x03\x04"), session_id=bytes(32)))
    assert not resumed(client, chosen, certificate_seen=False)
    psk = extension(43, b"\x03\x04") + extension(41, b"\0\0")
    assert resumed(client, parse_server_hello(server_hello(psk)), certificate_seen=False)


def test_a_hello_retry_request() -> None:
    hello = parse_server_hello(server_hello(extension(51, b"\x00\x18"), random=HELLO_RETRY_RANDOM))
    assert hello.is_hello_retry
    assert hello.key_share_group == 24
    assert not parse_server_hello(server_hello(random=HELLO_RETRY_RANDOM[:-1] + b"\x9d")).is_hello_retry


def test_drafts_of_tls_1_3() -> None:
    # Up to draft 21 the version stood in the first field, with neither session id nor compression method behind it.
    old = message(2, b"\x7f\x13" + bytes(32) + b"\x13\x02" + listed(extension(51, b"\x00\x1d" + bytes(34))))
    hello = parse_server_hello(old)
    assert (hello.version, hello.cipher, hello.key_share_group, hello.malformed) == (0x7F13, 0x1302, 29, "")
    new = parse_server_hello(server_hello(extension(43, b"\x7f\x1c"), cipher=0x1301))
    assert (new.version, new.cipher, new.malformed) == (0x7F1C, 0x1301, "")


def test_an_ssl2_hello() -> None:
    for hello in (ssl2_hello(0x0303, session_id=bytes(16)), ssl2_hello(0x0303, padding=7, session_id=bytes(16))):
        found = parse_client_hello(hello)
        assert found.malformed == ""
        assert (found.legacy_version, found.versions) == (0x0303, (0x0303,))
        assert found.cipher_suites == (0x010080, 0x00002F, 0x00000A)
        assert (found.random, found.session_id) == (bytes(range(16)), bytes(16))
        assert (found.sni, found.ja4) == (None, "")


def test_names_are_safe_to_print() -> None:
    name = b"\x1b[2J\xc3\xa9.a\\b\x00"
    assert parse_client_hello(client_hello(server_name(name))).sni == r"\x1b[2J\xc3\xa9.a\\b\x00"
    assert parse_client_hello(client_hello(alpn(b"h2\n"))).alpn == (r"h2\x0a",)
    assert parse_server_hello(server_hello(alpn(b"\x9b"))).alpn == r"\x9b"


def test_only_the_first_of_an_extension_that_comes_twice_is_a_bit() -> None:
    once = parse_client_hello(client_hello(SIGNATURES))
    twice = parse_client_hello(client_hello(SIGNATURES + SIGNATURES))
    assert (once.shape.extensions(), twice.shape.extensions()) == ((13,), (13, 13))
    assert once.ja4 != twice.ja4


@pytest.mark.parametrize("number", [0, 1, 31, 32, 43, 51, 59, 60, 61, 63, 64, 0x4469, 0xFE0D, 0xFF01, 0xFFFF])
def test_each_extension_keeps_its_number(number: int) -> None:
    # Compiled, a shift by 32 or more is where a set of bits goes wrong.
    assert parse_client_hello(client_hello(extension(number, b""))).shape.extensions() == (number,)


def test_many_key_shares() -> None:
    groups = (23, 24, 25, 29, 30, 0x11EC)
    for count in range(len(groups) + 1):
        assert parse_client_hello(client_hello(key_shares(*groups[:count]))).key_share_groups == groups[:count]
    assert parse_client_hello(client_hello(key_shares(0, 0, 29))).key_share_groups == (0, 0, 29)


MALFORMED = {
    "header": (HEADER := client_hello(FULL))[:-1],
    "random": message(1, bytes(30)),
    "session_id": message(1, bytes(34) + b"\xff" + bytes(20)),
    "cipher_suites": message(1, bytes(35) + b"\x00\x03" + bytes(20)),
    "compression_methods": message(1, bytes(35) + b"\x00\x02\x13\x01\x05\x00"),
    "extensions": message(1, HEADER[4:] + b"\x00"),
    "extension 51": client_hello(server_name(b"b.example") + struct.pack("!HH", 51, 90) + bytes(9)),
    "server_name": client_hello(SIGNATURES + extension(0, b"\x00\x09\x00\x00\x01a")),
    "application_layer_protocol_negotiation": client_hello(extension(16, b"\x00\x03\x05h2")),
    "signature_algorithms": client_hello(extension(13, b"\x00\x03\x04\x03\x08")),
    "supported_versions": client_hello(extension(43, b"\x03\x03\x04")),
    "key_share": client_hello(extension(51, b"\x00\x05\x00\x1d\x00\x09\x00")),
}


@pytest.mark.parametrize("reason", MALFORMED)
def test_malformed_client_hellos_say_what_is_wrong(reason: str) -> None:
    hello = parse_client_hello(MALFORMED[reason])
    assert hello.malformed == reason


def test_a_malformed_hello_keeps_what_could_be_read() -> None:
    cut = parse_client_hello(MALFORMED["extension 51"])
    assert (cut.sni, cut.cipher_suites, cut.ja4) == ("b.example", (0x1301, 0xC02F), "")
    # The lists end where they should, one of them is odd inside: the fingerprint stands.
    assert parse_client_hello(MALFORMED["server_name"]).ja4 != ""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (message(1, bytes(50)), "header"),
        (server_hello()[:-1], "header"),
        (message(2, bytes(20)), "random"),
        (message(2, b"\x03\x03" + bytes(32) + b"\x20" + bytes(9)), "session_id"),
        (message(2, b"\x7f\x12" + bytes(33)), "cipher_suite"),
        (message(2, server_hello()[4:] + b"\x00"), "extensions"),
        (server_hello(struct.pack("!HH", 43, 9) + b"\x03"), "extension 43"),
    ],
)
def test_malformed_server_hellos_say_what_is_wrong(body: bytes, reason: str) -> None:
    assert parse_server_hello(body).malformed == reason


BYTES = st.one_of(
    st.binary(max_size=120),
    st.binary(max_size=120).map(lambda body: message(1, body)),
    st.binary(max_size=120).map(lambda body: message(2, body)),
    st.binary(max_size=90).map(client_hello),
    st.binary(max_size=90).map(server_hello),
    st.lists(st.tuples(st.sampled_from([0, 13, 16, 35, 41, 43, 51]), st.binary(max_size=12)), max_size=6).map(
        lambda items: client_hello(b"".join(extension(number, body) for number, body in items))
    ),
    st.integers(0, len(HEADER)).map(lambda cut: HEADER[:cut]),
    st.binary(max_size=60).map(lambda body: b"\x80" + bytes([len(body)]) + body),
)


@given(BYTES)
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    client = parse_client_hello(data)
    server = parse_server_hello(data)
    assert client.length == server.length == len(data)
    assert isinstance(client.cipher_suites, tuple)
    assert client.ja4 == "" or len(client.ja4) == 36
    assert all(name.isprintable() for name in client.alpn)
    assert client.sni is None or client.sni.isprintable()


@given(st.permutations(range(5)), st.integers(0, 15), st.integers(0, 15))
def test_hellos_that_differ_in_order_and_grease_share_a_shape(order: list[int], one: int, two: int) -> None:
    grease = (one << 4 | 0xA) * 0x0101
    items = [server_name(b"c.example"), alpn(b"h2"), versions(grease, 0x0304), SIGNATURES, extension(0xFF01, b"\0")]
    shuffled = extension((two << 4 | 0xA) * 0x0101, b"") + b"".join(items[i] for i in order)
    shapes = HelloShapes()
    straight = parse_client_hello(client_hello(b"".join(items), ciphers=bytes.fromhex("0a0a13011302")), shapes)
    ciphers = grease.to_bytes(2, "big") + bytes.fromhex("13011302")
    hello = parse_client_hello(client_hello(shuffled, ciphers=ciphers), shapes)
    assert hello.shape is straight.shape
    assert hello.sni is straight.sni


def test_parts_of_different_lists_are_not_confused() -> None:
    # The same bytes, once as ciphers and once as versions: a joined key would be the same.
    shapes = HelloShapes()
    a = parse_client_hello(client_hello(versions(0x0304), ciphers=bytes.fromhex("13010303")), shapes)
    b = parse_client_hello(client_hello(versions(0x0303, 0x0304), ciphers=bytes.fromhex("1301")), shapes)
    assert a.shape is not b.shape
    assert (a.cipher_suites, b.cipher_suites) == ((0x1301, 0x0303), (0x1301,))


def test_memory_of_shapes_and_names_is_bounded() -> None:
    shapes = HelloShapes()
    for i in range(5000):
        name = server_name(b"%d.example" % i)
        hello = parse_client_hello(client_hello(name, ciphers=struct.pack("!HH", i, 0xC000 | i & 0xFFF)), shapes)
        assert hello.sni == f"{i}.example"
    assert 0 < len(shapes.known) <= 4096
    before = len(shapes.known)
    parse_client_hello(client_hello(ciphers=bytes(range(250)) * 40), shapes)
    assert len(shapes.known) == before, "too large to be remembered"


def test_long_lists_are_kept_until_somebody_fills_memory_with_them() -> None:
    def kept(number: int, shapes: HelloShapes) -> int:
        names = [f"{number * 700 + at:05}".encode() for at in range(700)]
        return len(parse_client_hello(client_hello(alpn(*names)), shapes).alpn)

    shapes = HelloShapes()
    shapes.long_entries = 499_000
    assert [kept(number, shapes) for number in range(3)] == [700, 64, 64]
    assert kept(3, HelloShapes()) == 700


def test_thousands_of_extensions_are_noted_up_to_a_bound() -> None:
    """To note each of 16,000 by copying those before it takes a second for a hundred hellos."""
    many = b"".join(extension(0x1000 + number, b"") for number in range(15_000))
    hello = parse_client_hello(client_hello(many + server_name(b"late.example")))
    assert (hello.sni, hello.malformed, hello.ja4) == ("late.example", "extensions", "")
    assert len(hello.shape.extensions()) <= 1025
    groups = key_shares(*range(0x100, 0x100 + 4000))
    assert len(parse_client_hello(client_hello(groups)).key_share_groups) <= 1027


FIELDS = (
    "length", "version", "cipher", "is_hello_retry", "session_id", "alpn", "psk_selected", "key_share_group",
    "malformed",
)  # fmt: skip


def facts(hello: ServerHello) -> list[object]:
    return [getattr(hello, field) for field in FIELDS]


CHOICES = st.tuples(
    st.sampled_from([b"", bytes(32), b"\1" * 32]),
    st.sampled_from([0x1301, 0x1302, 0xC02F]),
    st.sampled_from([b"", extension(43, b"\3\4"), extension(43, b"\3\4") + key_shares(29), alpn(b"h2"), b"\0\1"]),
    st.sampled_from([bytes(32), b"\7" * 32]),
)


def parsed(table: ServerHellos, body: bytes) -> ServerHello:
    """``body`` read among other bytes, that look as if it went on."""
    return table.parse(b"\x16\3\3" + body + b"\0\2\x13\1\0\0\x2b\0\2\3\4" * 4, 3, 3 + len(body))


@given(st.lists(CHOICES, max_size=12), st.integers(4, 130))
def test_server_hellos_are_read_alike_whoever_was_met_before(
    choices: list[tuple[bytes, int, bytes, bytes]], cut: int
) -> None:
    table = ServerHellos()
    for session_id, cipher, extensions, random in choices:
        body = server_hello(extensions, session_id=session_id, cipher=cipher, random=random)
        for whole in (body, body[: len(body) - 3], message(2, body[4:cut])):
            assert facts(parsed(table, whole)) == facts(parse_server_hello(whole))


# Pairs that differ in one field, and lie in one place of the table.
TWINS = {
    "length": (server_hello(extension(0x1000, bytes(4))), server_hello(extension(0x1000, bytes(68)))),
    "version": (server_hello(), server_hello(version=0x0302)),
    "cipher": (server_hello(cipher=0xC02F), server_hello(cipher=0xC06F)),
    "is_hello_retry": (server_hello(), server_hello(random=HELLO_RETRY_RANDOM)),
    "session_id": (server_hello(extension(0x1000, bytes(28))), server_hello(session_id=bytes(32))),
    "alpn": (server_hello(alpn(b"h2")), server_hello(alpn(b"h3"))),
    "psk_selected": (server_hello(extension(0x1000, bytes(2))), server_hello(extension(41, bytes(2)))),
    "key_share_group": (server_hello(extension(51, b"\0\x1d")), server_hello(extension(51, b"\0\x5d"))),
    "malformed": (server_hello(b"\x10\0\0\0"), server_hello(b"\x10\0\0\1")),
}


@pytest.mark.parametrize("name", TWINS)
def test_server_hellos_that_differ_in_one_field_stay_two(name: str) -> None:
    one, other = TWINS[name]
    alone = parse_server_hello(one), parse_server_hello(other)
    assert [field for field in FIELDS if getattr(alone[0], field) != getattr(alone[1], field)] == [name]
    for pair in ((one, other), (other, one)):
        table = ServerHellos()
        for body in pair:
            assert facts(parsed(table, body)) == facts(parse_server_hello(body))


def test_servers_that_choose_alike_share_a_hello() -> None:
    table = ServerHellos()
    modern = [
        server_hello(extension(43, b"\3\4"), session_id=bytes([at]) * 32, random=bytes([at]) * 32) for at in (1, 2)
    ]
    assert parsed(table, modern[0]) is parsed(table, modern[1])
    older = [parsed(table, server_hello(session_id=bytes([at]) * 32)) for at in (1, 2)]
    assert [hello.session_id[0] for hello in older] == [1, 2]
