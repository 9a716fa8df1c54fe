"""JA4 against its specification's own examples, and against what FoxIO's tools print for real captures."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tls_corpus import streams
from tls_support import read_all

from pcapstall.wire import ja4
from pcapstall.wire.ja4 import alpn_mark, ja4_fingerprint
from pcapstall.wire.preamble import find_client_hello
from pcapstall.wire.tls_hello import parse_client_hello

# The example of technical_details/JA4.md.
CIPHERS = [int(x, 16) for x in "1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035".split(",")]
EXTENSIONS = [
    int(x, 16) for x in "001b,0000,0033,0010,4469,0017,002d,000d,0005,0023,0012,002b,ff01,000b,000a,0015".split(",")
]
ALGORITHMS = [int(x, 16) for x in "0403,0804,0401,0503,0805,0501,0806,0601".split(",")]


def test_the_example_of_the_specification() -> None:
    assert ja4_fingerprint(0x0304, CIPHERS, EXTENSIONS, ALGORITHMS, b"h2") == "t13d1516h2_8daaf6152771_e5627efa2ab1"


def test_without_signature_algorithms_there_is_no_underscore() -> None:
    assert ja4_fingerprint(0x0304, CIPHERS, EXTENSIONS, [], b"h2") == "t13d1516h2_8daaf6152771_6d807ffa2a79"


def test_empty_lists_are_zeros() -> None:
    assert ja4_fingerprint(0x0303, [], [], [], b"") == "t12i000000_000000000000_000000000000"
    # Server name and ALPN are counted, and not hashed.
    assert ja4_fingerprint(0x0303, [], [0, 16], [], b"h2") == "t12d0002h2_000000000000_000000000000"


def test_counts_end_at_99() -> None:
    assert ja4_fingerprint(0x0303, list(range(150)), list(range(1, 120)), [], b"")[:10] == "t12i999900"


@pytest.mark.parametrize(
    ("version", "mark"),
    [(0x0304, "13"), (0x0303, "12"), (0x0302, "11"), (0x0301, "10"), (0x0300, "s3"), (0x0002, "s2"), (0x7F1C, "00")],
)
def test_versions(version: int, mark: str) -> None:
    assert ja4_fingerprint(version, [], [], [], b"")[1:3] == mark


@pytest.mark.parametrize(
    ("protocol", "mark"),
    [
        (b"h2", "h2"),
        (b"http/1.1", "h1"),
        (b"", "00"),
        (b"x", "xx"),
        # The specification's own.
        (b"\xab", "ab"),
        (b"\xab\xcd", "ad"),
        (b"\x30\xab", "3b"),
        (b"\x30\x31\xab\xcd", "3d"),
        (b"\x30\xab\xcd\x31", "01"),
    ],
)
def test_the_mark_of_the_first_protocol(protocol: bytes, mark: str) -> None:
    assert alpn_mark(protocol) == mark


CAPTURES = ["https-connect.pcap", "ipv6.pcapng", "latest.pcapng", "tls-handshake.pcapng"]


def computed(path: Path) -> dict[tuple[str, str], str]:
    found = {}
    for stream in streams(path):
        at = find_client_hello(stream.sent, 0)
        if at >= 0:
            hello = read_all(stream.sent[at:], client=True)[0]
            found[stream.client, stream.server] = parse_client_hello(hello.body).ja4
    return found


def endpoint(address: str, port: str) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


@pytest.mark.parametrize("name", CAPTURES)
def test_what_the_python_reference_prints(corpus: Path, name: str) -> None:
    expected = {
        (endpoint(flow["src"], flow["srcport"]), endpoint(flow["dst"], flow["dstport"])): flow["JA4.1"]
        for flow in json.loads((corpus / f"peers/ja4--{name}.ja4-python.json").read_text())
        if flow.get("JA4.1", "").startswith("t")
    }
    found = computed(corpus / f"ja4--{name}")
    assert {pair: found.get(pair) for pair in expected} == expected


@pytest.mark.parametrize("name", CAPTURES)
def test_what_the_rust_reference_prints(corpus: Path, name: str) -> None:
    text = (corpus / f"peers/ja4--{name}.ja4-rust.snap").read_text()
    expected = {}
    for flow in re.split(r"^- stream: ", text, flags=re.MULTILINE)[1:]:
        fields = dict(re.findall(r"^  (\w+): (\S+)$", flow, flags=re.MULTILINE))
        if fields.get("ja4", "").startswith("t"):
            pair = endpoint(fields["src"], fields["src_port"]), endpoint(fields["dst"], fields["dst_port"])
            expected[pair] = fields["ja4"]
    assert expected
    found = computed(corpus / f"ja4--{name}")
    assert {pair: found.get(pair) for pair in expected} == expected


def test_openssl_is_not_loaded_for_it() -> None:
    program = (
        "import sys; from pcapstall.wire import ja4\n"
        f"assert ja4._short_hash('1301') == {hashlib.sha256(b'1301').hexdigest()[:12]!r}\n"
        "assert not {'hashlib', '_hashlib'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_python_without_its_own_sha256_takes_hashlib(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ja4_fingerprint(0x0304, CIPHERS, EXTENSIONS, ALGORITHMS, b"h2")
    ja4._hashes.clear()
    monkeypatch.setitem(sys.modules, ja4._OWN_SHA256, None)
    try:
        assert ja4_fingerprint(0x0304, CIPHERS, EXTENSIONS, ALGORITHMS, b"h2") == known
        assert ja4._hashes == [hashlib.sha256]
    finally:
        ja4._hashes.clear()
