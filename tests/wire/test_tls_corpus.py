"""The TLS modules against tshark's reading of the real captures."""

import json
from pathlib import Path

import pytest
from tls_corpus import Stream, streams
from tls_support import Found, drain

from pcapstall.wire.preamble import find_client_hello, server_tls_start
from pcapstall.wire.tls_event import BAD, HANDSHAKE
from pcapstall.wire.tls_hello import ClientHello, ServerHello, parse_client_hello, parse_server_hello
from pcapstall.wire.tls_names import is_grease
from pcapstall.wire.tls_reader import TlsReader

# Captures whose streams the simple reassembly here gets whole; it follows no tunnels.
CAPTURES = {
    "arkime--mysql-tls.pcap": 1,
    "arkime--tls-split-client-hello.pcap": 1,
    "ja4--tls-handshake.pcapng": 59,
    "joy--openssl102n.pcap": 1,
    "mercury--top_100_fingerprints.pcap": 100,
    "mitmengine--OpenSSL_0_9_8zh.pcap": 1,
    "ndpi--dingtalk.pcap": 1,
    "ndpi--steam.pcapng": 4,
    "ndpi--webex.pcap": 49,
    "pcapplusplus--tls2.pcap": 300,
    "suricata-verify--lua-tlslib-02--input.pcap": 1,
    "suricata-verify--ssl-v2-s1.pcap": 1,
    "zeek--chrome-1250-tls-x25519-kyber.pcap": 1,
    "zeek--hrr.pcap": 1,
    "zeek--ldap-starttls.pcap": 1,
    "zeek--socks-with-ssl.pcap": 1,
    "zeek--tls-13draft19-early-data.pcap": 2,
    "zeek--tls-fragmented-handshake.pcap.gz": 1,
    "zeek--tls13-ech.pcap": 2,
    "zeek--tls13_psk_succesfull.pcap": 1,
    "zeek--tls13draft16-ff52.a01-aborted.pcap": 2,
}
"""How many ClientHellos are to be compared at least."""


def events(data: bytes, at: int, *, client: bool) -> list[Found]:
    return drain(TlsReader(client, at), data[at:], at) if at >= 0 else []


def hellos(stream: Stream) -> tuple[list[ClientHello], list[ServerHello]]:
    sent = events(stream.sent, find_client_hello(stream.sent, 0), client=True)
    answered = events(stream.answered, server_tls_start(stream.answered, 0), client=False)
    assert BAD not in {event.kind for event in sent + answered}
    return (
        [parse_client_hello(event.body) for event in sent if (event.kind, event.type) == (HANDSHAKE, 1)],
        [parse_server_hello(event.body) for event in answered if (event.kind, event.type) == (HANDSHAKE, 2)],
    )


@pytest.mark.parametrize("name", CAPTURES)
def test_hellos_are_read_like_tshark_reads_them(corpus: Path, name: str) -> None:
    truth = {}
    for line in (corpus / "truth" / f"{name}.jsonl").read_text().splitlines():
        flow = json.loads(line)
        truth[flow["client"], flow["server"]] = truth[flow["server"], flow["client"]] = flow
    compared = 0
    for stream in streams(corpus / name):
        expected = truth[stream.client, stream.server]
        if not expected.get("client_hello"):
            continue
        offered, chosen = hellos(stream)
        if not offered:
            continue
        hello = offered[0]
        compared += 1
        assert hello.malformed == ""
        assert hello.sni == expected.get("sni")
        assert (hello.ech, hello.early_data, hello.psk) == tuple(
            bool(expected.get(key)) for key in ("ech", "early_data", "psk")
        )
        seen = expected["client_hello"]
        if not seen.get("sslv2"):
            assert hello.length == seen["length"] + 4
        versions = [int(version, 16) for version in seen.get("offered_versions") or []]
        if versions:
            assert list(hello.versions) == [version for version in versions if not is_grease(version)]
        assert len(chosen) == (expected.get("server_hello_count") or 0)
        assert [server.malformed for server in chosen] == [""] * len(chosen)
        assert any(server.is_hello_retry for server in chosen) is bool(expected.get("hello_retry_request"))
        if chosen and expected.get("version"):
            assert chosen[-1].version == int(expected["version"], 16)
    assert compared >= CAPTURES[name]
