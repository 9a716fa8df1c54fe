"""Other names: which properties of addresses, words and bytes they keep, and that they depend on the key alone."""

import ipaddress
import itertools
import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.anonymise.addresses import KEPT_V4, KEPT_V6
from pcapstall.anonymise.free_text import FreeText
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.protocols import protocol_name
from pcapstall.anonymise.secret import Secret, parse_secret
from pcapstall.anonymise.text import binary_text, protocol_text
from pcapstall.core.errors import UsageError

KEY = b"a key of more than sixteen bytes"
MAPPING = Mapping(Secret(KEY))
ALONE = {"0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "::1"}


def common_bits(one: bytes, other: bytes) -> int:
    value = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return 8 * len(one) - value.bit_length()


def addresses(size: int) -> st.SearchStrategy[tuple[bytes, bytes]]:
    """Two addresses that share a beginning of any length."""

    def second(pair: tuple[bytes, bytes, int]) -> tuple[bytes, bytes]:
        one, other, bits = pair
        mask = (1 << 8 * size) - 1 >> bits
        mixed = int.from_bytes(one, "big") & ~mask | int.from_bytes(other, "big") & mask
        return one, (mixed & (1 << 8 * size) - 1).to_bytes(size, "big")

    binary = st.binary(min_size=size, max_size=size)
    return st.tuples(binary, binary, st.integers(0, 8 * size - 1)).map(second)


@given(addresses(4) | addresses(16))
def test_two_addresses_share_as_many_bits_as_before(pair: tuple[bytes, bytes]) -> None:
    texts = {str(ipaddress.ip_address(each)) for each in pair}
    mapped = [MAPPING.ip(each) for each in pair]
    if not texts & ALONE and not any(each.startswith(bytes(10)) for each in pair):
        assert common_bits(*mapped) == common_bits(*pair)


@pytest.mark.parametrize("block", [*KEPT_V4, *KEPT_V6])
def test_an_address_stays_in_its_kind_of_block(block: str) -> None:
    network = ipaddress.ip_network(block)
    for number in (1, 77, network.num_addresses // 3, network.num_addresses - 2):
        address = network.network_address + number
        mapped = ipaddress.ip_address(MAPPING.ip(address.packed))
        assert mapped in network
        assert mapped.is_private == address.is_private
        assert mapped.is_multicast == address.is_multicast
        assert mapped.is_link_local == address.is_link_local


@pytest.mark.parametrize("text", [*sorted(ALONE), "::ffff:127.0.0.1"])
def test_what_names_nobody_stays(text: str) -> None:
    packed = ipaddress.ip_address(text).packed
    assert MAPPING.ip(packed) == packed


def test_the_known_blocks_do_not_swallow_others() -> None:
    for text in ("8.8.8.8", "11.1.1.1", "172.15.0.1", "192.169.1.1", "2001:db8::1"):
        mapped = ipaddress.ip_address(MAPPING.ip(ipaddress.ip_address(text).packed))
        assert text != str(mapped)
        assert not any(mapped in ipaddress.ip_network(block) for block in (*KEPT_V4, "fc00::/7", "fe80::/64"))


def test_an_ipv4_address_within_an_ipv6_one_is_the_same() -> None:
    v4 = bytes((10, 1, 2, 3))
    assert MAPPING.ip(bytes(10) + b"\xff\xff" + v4) == bytes(10) + b"\xff\xff" + MAPPING.ip(v4)


@given(st.binary(min_size=6, max_size=6))
def test_a_mac_address_keeps_its_two_bits(address: bytes) -> None:
    mapped = MAPPING.mac(address)
    assert mapped[0] & 3 == address[0] & 3
    assert (mapped == address) == (address in (bytes(6), b"\xff" * 6))


@pytest.mark.parametrize(("letters", "length"), [("a", 1), ("a", 2), ("9", 1), ("9", 3), ("a9", 2)])
def test_words_of_one_make_are_only_exchanged(letters: str, length: int) -> None:
    alphabets = [string.ascii_lowercase if letter == "a" else string.digits for letter in (letters * length)[:length]]
    words = ["".join(word) for word in itertools.product(*alphabets)]
    assert sorted(map(MAPPING.word, words)) == words


@given(st.text(string.ascii_letters + string.digits + ".-_", max_size=80))
def test_a_name_keeps_its_shape(name: str) -> None:
    mapped = MAPPING.name(name)
    assert len(mapped) == len(name)
    for old, new in zip(name, mapped, strict=True):
        assert (old.isalpha(), old.isdigit(), old.isupper()) == (new.isalpha(), new.isdigit(), new.isupper())
        assert old == new or old.isalnum()
    assert MAPPING.name(name.upper()) == mapped.upper()


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_the_beginning_of_bytes_has_the_beginning_of_their_name(one: bytes, more: bytes) -> None:
    assert MAPPING.blob(one + more)[: len(one)] == MAPPING.blob(one)


def test_the_key_decides() -> None:
    same, other = Mapping(Secret(KEY)), Mapping(Secret(KEY + b"x"))
    address, name = bytes((198, 51, 100, 7)), "api.example.com"
    assert (same.ip(address), same.name(name)) == (MAPPING.ip(address), MAPPING.name(name))
    assert other.ip(address) != MAPPING.ip(address)
    assert other.name(name) != MAPPING.name(name)


def test_a_key_is_a_file_or_digits(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(bytes(range(16)) + b"\n")
    hexadecimal = bytes(range(16)).hex()
    one, other = Mapping(parse_secret(str(tmp_path / "key"))), Mapping(parse_secret(hexadecimal))
    assert one.name("somebody") == other.name("somebody")


@pytest.mark.parametrize(
    ("text", "said"), [("nowhere", "there is no such file"), ("00ff", "2 bytes are too few"), (".", "no regular file")]
)
def test_a_bad_key_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_secret(text)


@pytest.mark.parametrize(
    "said",
    [
        b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n",
        b"CONNECT db.corp.example:443 HTTP/1.1\r\nHost: db.corp.example:443\r\n\r\n",
        b"220 mail.corp.example ESMTP ready\r\n250-STARTTLS\r\n",
        b"a1 STARTTLS\r\n\xff\x00\x81secret",
    ],
)
def test_protocols_are_still_recognised_and_names_are_gone(said: bytes) -> None:
    mapped = protocol_text(said, MAPPING)
    assert len(mapped) == len(said)
    for word in (b"PROXY TCP4", b"CONNECT", b":443", b" HTTP/1.1\r\n", b"Host:", b"220 ", b"ESMTP", b"STARTTLS"):
        assert (word in mapped) == (word in said)
    for word in (b"192.0.2", b"corp", b"example", b"mail.", b"db.", b"secret", b"\xff"):
        assert word not in mapped


@pytest.mark.parametrize(
    ("said", "gone", "left"),
    [
        ("PROXY TCP6 2001:470:1000:2000:3000:4000:5000:6000 2001:db8::7 56324 443\r\n",
         "470 1000 2000 3000 4000 5000 6000 db8", " 56324 443"),
        ("CONNECT [2001:470:1000::6000]:443 HTTP/1.1\r\nHost:[2001:470:1000::6000]:443\r\n", "470 1000 6000", "]:443"),
        ("2001:470:1000:2000:3000", "470 1000 2000 3000", ""),
        ("::ffff:203.0.113.77 203.0.113.77:443", "203 113 77", ":443"),
        ("user:12345", "12345", "user:"),
        ("Host: a:8443\r\nhttp://bob:8443", ": a:", ":8443"),
        ("EHLO ip-10-20-30-40\r\nAUTH PLAIN 042\r\n", "10 20 30 40 042", "EHLO "),
        ("220 mail.org ESMTP 14\r\n250-SIZE 14\r\n250 8BITMIME\r\nbob@mail.org", "mail org 14", "250 8BITMIME"),
        ("CONNECT login.data.org:443 HTTP/1.1\r\n", "login data org", ":443 HTTP/1.1"),
        ("HTTP/1.1 407 No\r\nContent-Length: 31\r\n\r\n407 31 007", "007", "HTTP/1.1 407 No\r\nContent-Length: 31\r\n"),
        (":irc.example 670 bob :STARTTLS", "irc bob example", " 670 "),
    ],
)  # fmt: skip
def test_numbers_and_common_words_are_names_too(said: str, gone: str, left: str) -> None:
    mapped = protocol_text(said.encode(), MAPPING).decode()
    assert len(mapped) == len(said)
    assert left in mapped
    kept = set(re.findall("[a-z0-9]+", mapped.replace(left, "").lower())) if left else set(mapped.split(":"))
    assert not kept & set(gone.split())


@given(st.binary(min_size=16, max_size=16))
def test_an_ipv6_address_in_a_packet_keeps_its_length_and_is_one(packed: bytes) -> None:
    for text in (str(ipaddress.IPv6Address(packed)), ipaddress.IPv6Address(packed).exploded):
        mapped = protocol_text(b"for " + text.encode(), MAPPING).decode()[4:]
        assert len(mapped) == len(text)
        made, whole = ipaddress.IPv6Address(mapped).packed, MAPPING.ip(packed)
        assert made == whole or digits(whole) != digits(packed)


def digits(packed: bytes) -> list[int]:
    """How many digits each group of an IPv6 address has."""
    return [len(group.lstrip("0")) for group in packed.hex(":", 2).split(":")]


def test_binary_requests_keep_their_header_and_lone_bytes() -> None:
    mapped = binary_text(b"00\x02\x01\x01w\x18zanzibar 77\0\x004", MAPPING, 2)
    assert mapped[:7] == b"00\x02\x01\x01w\x18"
    assert mapped[-2:] == b"\x004"
    assert b"zanz" not in mapped
    assert b"z\0a\0" not in binary_text(b"z\0a\0n\0", MAPPING, 0)


def test_free_text() -> None:
    mapping = Mapping(Secret(KEY))
    name = mapping.name("influx.metrics.corp.example")
    text = FreeText(mapping, ["Bluebird"])
    ip, v6 = str(ipaddress.ip_address(mapping.ip(bytes((10, 40, 3, 9))))), "2001:db8::7"
    other = str(ipaddress.ip_address(mapping.ip(ipaddress.ip_address(v6).packed)))
    assert text.line("to 10.40.3.9:443, [2001:db8::7]:443, 07:24:10.5") == f"to {ip}:443, [{other}]:443, 07:24:10.5"
    assert text.line("INFO influx.metrics.corp.example up") == f"INFO {name} up"
    assert text.line("metrics.corp.example") == name.split(".", 1)[1]
    assert text.line("the influx pool of bluebird") == f"the {name.split('.')[0]} pool of {mapping.word('bluebird')}"
    assert "bob" not in text.line("bob@other.example asked")
    assert text.line("ip-10-40-3-9 pod-10.40.3.9") == f"ip-{ip.replace('.', '-')} pod-{ip}"
    assert text.line("peer:2001:db8::7") == f"peer:{other}"
    assert text.line("proxy::app::inner took 1.25 s in v1.2.3") == "proxy::app::inner took 1.25 s in v1.2.3"
    mac = text.line("at 02:42:ac:11:00:02 now")
    assert mac != "at 02:42:ac:11:00:02 now"
    assert mac[3:5] in {f"{first:02x}" for first in range(256) if first & 3 == 2}


@pytest.mark.parametrize(
    "text",
    [
        "IP 10.20.30.40.5678 > 10.20.30.41.https: Flags [S]",
        "10.20.30.40.443.",
        "kafka.10.20.30.40",
        "...10.20.30.40",
        "...2001:db8:77::1",
        "IP6 2001:db8:77::1.443 > 2001:db8:77::2: Flags [S]",
        "2001:db8:77:2:3:4:5:6:443 refused",
        "52:54:00:77:34:56: link down",
        "2:42:ac:77:0:2 at eth0",
        "5254.0077.3456",
        "eth-52-54-00-77-34-56",
        "MAC=52:54:00:77:34:56:52:54:00:77:34:57:08:00 SRC=",
        "sha1 77:CD:EF:00:11:22:33:44:55:66:77:88:99:00:11:22:33:44:55:66",
    ],
)
def test_addresses_in_every_notation(text: str) -> None:
    """No longer run of digits of an address is left; what stands beside it is."""
    mapped = FreeText(MAPPING).line(text)
    for part in ("20.30.4", "db8:77", "54:00:77", "42:ac:77", "0077", "54-00-77", "cd:ef:00"):
        assert part not in mapped.lower()
    for part in ("IP", ".5678", ".443", ": Flags [S]", " refused", ": link down", " at eth0", ":08:00 SRC="):
        assert (part in mapped) == (part in text)


def test_every_notation_of_a_hardware_address_gets_the_same_other_one() -> None:
    text = FreeText(MAPPING)
    mapped = MAPPING.mac(bytes.fromhex("525400773456")).hex()
    for notation in ("52:54:00:77:34:56", "52:54:0:77:34:56", "52-54-00-77-34-56", "5254.0077.3456"):
        assert re.sub("[^0-9a-f]", "", text.line(notation)) == mapped


@pytest.mark.parametrize("text", ["07:24:10.5", "2026-11-30 12:34:56", "a::b::c"])
def test_what_is_no_address_stays(text: str) -> None:
    assert FreeText(MAPPING).line(text) == text


SHAPES = st.tuples(*[st.sampled_from([(0, 9), (10, 99), (100, 255)]).flatmap(lambda ends: st.integers(*ends))] * 4)


@given(st.lists(SHAPES, min_size=2, max_size=40, unique=True))
def test_two_addresses_in_a_packet_s_text_never_become_one(numbers: list[tuple[int, ...]]) -> None:
    texts = [".".join(map(str, each)) for each in numbers]
    mapped = [protocol_text(b"for " + text.encode(), MAPPING).decode()[4:] for text in texts]
    assert len(set(mapped)) == len(texts)
    for text, made in zip(texts, mapped, strict=True):
        whole = ipaddress.IPv4Address(MAPPING.ip(ipaddress.IPv4Address(text).packed))
        assert list(map(len, made.split("."))) == list(map(len, text.split(".")))
        if list(map(len, str(whole).split("."))) == list(map(len, text.split("."))):
            assert made == str(whole)


def test_all_of_a_block_are_exchanged_in_a_packet_s_text() -> None:
    """256 addresses that differ in one number: as many others, with the same numbers before it."""
    mapped = [protocol_text(f"10.1.7.{number} x".encode(), MAPPING).decode() for number in range(256)]
    assert len(set(mapped)) == 256
    assert len({text.rpartition(".")[0] for text in mapped}) == 1


def test_an_address_that_would_become_a_kept_one_becomes_another() -> None:
    block = [bytes((127, 0, 0, last)) for last in range(256)]
    for number in range(40):
        mapping = Mapping(Secret(bytes((number,)) * 16))
        assert len({mapping.ip(each) for each in block}) == 256


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_reverse_name_is_that_of_the_address(size: int) -> None:
    octets = ["45", "39", "40", "10"][-size:]
    name = MAPPING.name(".".join((*octets, "in-addr", "arpa")))
    labels = name.removesuffix(".in-addr.arpa").split(".")
    assert labels[::-1] == str(ipaddress.ip_address(MAPPING.same_length(bytes((10, 40, 39, 45))))).split(".")[:size]
    packed = ipaddress.ip_address("2001:db8:7::9").packed
    backwards = ".".join(reversed(packed.hex())) + ".ip6.arpa"
    assert MAPPING.name(backwards) == ".".join(reversed(MAPPING.ip(packed).hex())) + ".ip6.arpa"
    assert MAPPING.name("300.1.in-addr.arpa").endswith(".in-addr.arpa")


def test_numbers_that_are_addresses_are_those_of_the_packets() -> None:
    mapping = Mapping(Secret(KEY))
    text = FreeText(mapping)
    other = mapping.ip(bytes((10, 40, 39, 45)))
    for before, after in (
        ("ip=0x0a28272d,", f"ip=0x{other.hex()},"),
        ("2D27280A:1F96", f"{other[::-1].hex().upper()}:1F96"),
        ("170403629", str(int.from_bytes(other, "big"))),
        ("010.040.039.045", str(ipaddress.ip_address(other))),
        ("10,40,39,45,195,80", str(ipaddress.ip_address(other)).replace(".", ",") + ",195,80"),
        ("::ffff:a28:272d", str(ipaddress.ip_address(bytes(10) + b"\xff\xff" + other))),
        ("10%2E40%2E39%2E45", str(ipaddress.ip_address(other))),
    ):
        assert text.line(before) == after


@pytest.mark.parametrize(
    "spelled", ["Zoë", "ZOË", "Zoe\u0308", "Zo%C3%AB", "Zo\\303\\253", "Zo\\xc3\\xab", "Zo\\u00eb"]
)
def test_a_hidden_word_is_found_however_it_is_spelled(spelled: str) -> None:
    made = FreeText(Mapping(Secret(KEY)), ["Zoë"]).line(f"for {spelled} at noon")
    assert "zo" not in made.lower()
    assert made.startswith("for ")
    assert made.endswith(" at noon")


@pytest.mark.parametrize("spelled", ["acme2", "AcmeDb", "dbAcme", "ACME_DB", "\\u0061cme", "%61cme"])
def test_a_hidden_word_is_found_in_longer_ones(spelled: str) -> None:
    assert "acme" not in FreeText(Mapping(Secret(KEY)), ["acme"]).line(f"for {spelled} at noon").lower()
    assert FreeText(Mapping(Secret(KEY)), ["acme"]).line("pharmacmetics") == "pharmacmetics"


@pytest.mark.parametrize("name", [b"h2", b"http/1.1", b"\x3a\x3a", b"istio-peer-exchange", b"co"])
def test_protocols_that_everybody_speaks_stay(name: bytes) -> None:
    assert protocol_name(name, MAPPING) == name


@pytest.mark.parametrize("name", [b"acmecorp/1", b"a", b"", b"\xffacmecorp\xff"])
def test_of_other_protocols_only_the_ends_stay(name: bytes) -> None:
    mapped = protocol_name(name, MAPPING)
    assert (mapped[:1], mapped[-1:], len(mapped)) == (name[:1], name[-1:], len(name))
    assert b"acme" not in mapped
    assert b"cmecorp" not in mapped
