"""Anonymised extracts: a report of one is that of the capture with other names, and nothing of the capture is in it."""

import ipaddress
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pcapstall.anonymise.secret import Secret
from pcapstall.capture.captures import open_captures
from pcapstall.cli.main import main
from pcapstall.extract.records import records
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.pipeline.extract import passes
from pcapstall.pipeline.extract.anonymised import Anonymised
from pcapstall.report.flow_model import FlowReport
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import TCP

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
ALL = sorted(path for path in CAPTURES.glob("*/*.pcap*") if path.suffix in (".pcap", ".pcapng"))
TOLD = """
    capture_point capture_point_confidence alpn tls_version cipher ja4 resumed preamble preamble_ns tunnel syn_data
    counts
    intervals_ns open_ns parts_ns tcp_outcome tls_outcome closed_by close_kind server_timer_ns flags stalled cause side
    reason confidence would_settle direction_source client server sni
""".split()
needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
KEY = b"sixteen bytes, and a few more"


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def anonymise(path: Path, out: Path, use: Callable[[Analysis, list[FlowReport], Anonymised], None]) -> Anonymised:
    """All flows of ``path``."""
    anonymised = Anonymised(Secret(KEY))

    def make(analysis: Analysis) -> None:
        chosen = list(analysis.report.flows)
        picked = passes.pick(analysis, chosen, [str(path)], None, anonymised)
        comments = anonymised.comments(passes.comments_of(chosen, picked.firsts, ["the capture"]))
        with open(out, "wb") as file:
            passes.write(file, "pcapng", picked, [str(path)], comments, [], None, anonymised)
        use(analysis, chosen, anonymised)

    analyse([str(path)], Options(all_flows=True), before_closing=make)
    return anonymised


def nothing(_analysis: Analysis, _chosen: list[FlowReport], _anonymised: Anonymised) -> None:
    """Only the file is of interest."""


def told(row: FlowReport) -> dict[str, object]:
    return {
        **{each: getattr(row, each) for each in TOLD},
        "events": {each: event and event.ns for each, event in row.events.items()},
        "alerts": [(alert.side, alert.level, alert.description, alert.inferred) for alert in row.alerts],
        "verdict": row.verdict,
        "evidence": [fact.text for fact in row.evidence],
    }


@pytest.mark.parametrize("path", ALL, ids=name)
def test_a_report_is_the_same_with_other_names(path: Path, tmp_path: Path) -> None:
    expected: list[dict[str, object]] = []

    def note(_: Analysis, chosen: list[FlowReport], anonymised: Anonymised) -> None:
        for row in chosen:
            facts = [fact._replace(text=anonymised.text.line(fact.text)) for fact in row.evidence]
            verdict = row.verdict and anonymised.text.line(row.verdict)
            expected.append(told(anonymised.renamed(row)._replace(verdict=verdict, evidence=facts)))

    anonymise(path, tmp_path / "a.pcapng", note)
    made: list[dict[str, object]] = []
    analyse(
        [str(tmp_path / "a.pcapng")],
        Options(all_flows=True),
        before_closing=lambda alone: made.extend(told(row) for row in alone.report.flows),
    )
    assert made == expected


FIELDS = """
    eth.src eth.dst sll.src.eth ip.src ip.dst ipv6.src ipv6.dst tls.handshake.extensions_server_name x509sat.uTF8String
    x509sat.printableString x509ce.dNSName x509ce.iPAddress dns.qry.name dns.a dns.aaaa http.host http.user_agent
    http.request.uri smtp.rsp.parameter smtp.req.parameter tls.handshake.random tls.handshake.session_id
    tls.handshake.session_ticket socks.remote_name imf.from wlan.sa wlan.da gtp.teid
""".split()
SOME = ["stalled-client-hello", "ipv6", "tls12-healthy", "http-connect", "socks5", "proxy-protocol", "smtp-starttls",
        "postgresql-sslrequest", "client-waits-for-dns", "vxlan", "gre", "vlan", "icmp-prohibited", "plaintext-idle",
        "snaplen-96", "resumption-and-early-data", "any-interface-copies"]  # fmt: skip
SHARED = ["arkime--mysql-tls.pcap", "ja4--https-connect.pcap", "joy--openssl102n.pcap", "ndpi--6in4tunnel.pcap",
          "mercury--sll2_tls.pcap", "ndpi--imaps.pcap", "ndpi--vxlan.pcap", "zeek--ldap-starttls.pcap",
          "zeek--rdp-no-cookie-mstshash.pcap", "zeek--irc-starttls.pcap", "zeek--gtp6_gtp_0x32.pcap",
          "zeek--nflog-http.pcap", "zeek--socks-with-ssl.pcap", "ndpi--fuzz-2006-09-29-28586.pcap",
          "arkime--80211http.pcap", "ptcpdump--tls.pcap", "suricata-verify--ssl-v2-s1.pcap"]  # fmt: skip
PROTOCOL_WORDS = {"8bitmime", "starttls"}
"""Words of protocols that tshark finds in these captures."""
KEPT_WORDS = re.compile(r"[ -~]{0,3}|0+|(00:){5}00|(ff:){5}ff|cf21ad74e59a6111.*|client", re.IGNORECASE)
"""Too short to mean anything, HelloRetryRequest's random, and a word that is in every verdict."""
STAYS = {"127.0.0.1", "::1", "0.0.0.0", "::", "255.255.255.255"}


def values(path: Path) -> set[str]:
    """What tshark finds in a capture that is somebody's."""
    fields = [part for field in FIELDS for part in ("-e", field)]
    ports = [part for port in (8086, 8443) for part in ("-d", f"tcp.port=={port},tls")]
    how = ["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=|"]
    command = ["tshark", "-n", "-r", str(path), *ports, *how, *fields]
    shown = subprocess.run(command, capture_output=True, check=True)
    found = set(re.split(r"[|\t\n]", shown.stdout.decode("latin-1")))
    return {each for each in found if each not in STAYS and not is_kept(each)}


def is_kept(value: str) -> bool:
    if re.fullmatch(r"(\d{1,3}\.){3}\d{1,3}", value):
        return False
    words = re.findall("[a-z0-9]+", value.lower())
    return KEPT_WORDS.fullmatch(value) is not None or all(word in PROTOCOL_WORDS for word in words)


def spellings(value: str) -> Iterator[bytes]:
    """A value as it may stand in a file: as text, and as bytes in either order."""
    yield value.encode("latin-1")
    packed = b""
    try:
        packed = ipaddress.ip_address(value).packed
    except ValueError:
        if re.fullmatch(r"([0-9a-f]{2}:?){6,}", value):
            packed = bytes.fromhex(value.replace(":", ""))
    if len(set(packed)) > 2:
        yield packed
        yield packed[::-1]


def leaks(path: Path, out: Path) -> list[str]:
    data = out.read_bytes()
    lower = data.lower()
    return [
        value
        for value in sorted(values(path))
        for spelling in spellings(value)
        if (spelling.lower() in lower if spelling.isascii() and len(spelling) > 5 else spelling in data)
    ]


@needs_tshark
@pytest.mark.parametrize("folder", SOME)
def test_nothing_of_a_capture_is_left(folder: str, tmp_path: Path) -> None:
    path = CAPTURES / folder / "capture.pcap"
    anonymise(path, tmp_path / "a.pcapng", nothing)
    assert values(path)
    assert leaks(path, tmp_path / "a.pcapng") == []


@needs_tshark
@pytest.mark.parametrize("file", SHARED)
def test_nothing_of_a_public_capture_is_left(file: str, corpus: Path, tmp_path: Path) -> None:
    anonymise(corpus / file, tmp_path / "a.pcapng", nothing)
    assert leaks(corpus / file, tmp_path / "a.pcapng") == []


def payloads(path: Path) -> Iterator[tuple[int, bytes]]:
    decoder = Decoder()
    cursor = open_captures([str(path)])
    for record in records(cursor):
        decoder.segment.ts_ns, decoder.segment.ref = record.ts_ns, record.ref
        if decoder.decode(record.buf, record.start, record.caplen, record.origlen, record.linktype) == TCP:
            at = decoder.segment.payload_offset
            yield int(record.ts_ns), decoder.segment.buf[at : at + decoder.segment.captured_len]


HELLOS = re.compile(rb"[\x16][\x03][\x00-\x04]..[\x01\x02]|\x80", re.DOTALL)


@pytest.mark.parametrize("folder", [each for each in SOME if each not in ("postgresql-sslrequest", "proxy-protocol")])
def test_content_is_gone_but_for_the_shape_of_records(folder: str, tmp_path: Path) -> None:
    """Of a segment without a hello no more is kept in its place than headers are long."""
    path = CAPTURES / folder / "capture.pcap"
    anonymise(path, tmp_path / "a.pcapng", nothing)
    new = list(payloads(tmp_path / "a.pcapng"))
    old = [payload for payload in payloads(path) if payload[0] in {ns for ns, _ in new}]
    assert [(ns, len(data)) for ns, data in new] == [(ns, len(data)) for ns, data in old]
    for (_, before), (_, after) in zip(old, new, strict=True):
        if before[:1] not in {b"\x14", b"\x15", b"\x17"} or HELLOS.search(before):
            continue
        same = "".join("=" if a == b else " " for a, b in zip(before, after, strict=True))
        assert max(map(len, same.split())) <= 12, before.hex()


@needs_tshark
@pytest.mark.parametrize("folder", ["tls12-healthy", "ipv6", "vxlan", "gre", "icmp-prohibited", "any-interface-copies"])
def test_checksums_are_as_right_as_before(folder: str, tmp_path: Path) -> None:
    path = CAPTURES / folder / "capture.pcap"
    anonymise(path, tmp_path / "a.pcapng", nothing)
    assert checksums(tmp_path / "a.pcapng")[0] > 0
    assert main(["extract", str(path), "--flow", "syn_retries >= 0", "-o", str(tmp_path / "plain.pcapng")]) == 0
    assert checksums(tmp_path / "a.pcapng") == checksums(tmp_path / "plain.pcapng")


def checksums(path: Path) -> tuple[int, int]:
    """How many are right and how many wrong, as tshark sees it."""
    protocols = ("ip", "tcp", "udp", "icmp")
    preferences = [part for each in protocols[:3] for part in ("-o", f"{each}.check_checksum:TRUE")]
    fields = [part for each in protocols for part in ("-e", f"{each}.checksum.status")]
    command = ["tshark", "-n", "-r", str(path), *preferences, "-T", "fields", *fields]
    found = re.split(rb"[,\s]+", subprocess.run(command, capture_output=True, check=True).stdout)
    return found.count(b"1"), found.count(b"0")


@needs_tshark
def test_a_wrong_checksum_stays_wrong(tmp_path: Path) -> None:
    data = bytearray((CAPTURES / "tls12-healthy" / "capture.pcap").read_bytes())
    data[24 + 16 + 14 + 20 + 16] ^= 0x11  # that of the first segment
    (tmp_path / "bad.pcap").write_bytes(data)
    before = checksums(tmp_path / "bad.pcap")
    anonymise(tmp_path / "bad.pcap", tmp_path / "a.pcapng", nothing)
    assert before[1] == 1
    assert checksums(tmp_path / "a.pcapng") == before


@needs_tshark
def test_tshark_reads_certificates_with_other_names(tmp_path: Path) -> None:
    anonymised = anonymise(CAPTURES / "tls12-healthy" / "capture.pcap", tmp_path / "a.pcapng", nothing)
    fields = ["-T", "fields", "-e", "x509ce.dNSName", "-e", "_ws.malformed"]
    command = ["tshark", "-n", "-r", str(tmp_path / "a.pcapng"), *fields]
    shown = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert anonymised.mapping.words("server.example") in shown
    assert "Malformed" not in shown


@needs_tshark
def test_both_ends_get_the_same_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = []
    for end in ("capture", "capture_server"):
        path = CAPTURES / "tls13-healthy" / f"{end}.pcap"
        out = tmp_path / f"{end}.pcapng"
        assert main(["extract", str(path), "--flow", "1", "-o", str(out), "--anonymize", "--key", "00" * 16]) == 0
        made.append(values(out))
        assert "a key that is gone" not in capsys.readouterr().out
    names = [{each for each in found if ":" not in each} for found in made]
    assert names[0] == names[1]
    assert main(["compare", *(str(tmp_path / f"{end}.pcapng") for end in ("capture", "capture_server"))]) == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--key", "00" * 16],
        ["--hide", "word"],
        ["--anonymize", "--hide", ""],
        ["--anonymize", "--hide", "-."],
        ["--anonymize", "--key", "00"],
    ],
)
def test_wrong_usage(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["extract", str(ALL[0]), "--flow", "1", "-o", "x.pcap", *options]) == 2
    assert not (tmp_path / "x.pcap").exists()


def test_a_large_key_changes_everything_but_the_times(tmp_path: Path) -> None:
    path = CAPTURES / "stalled-client-hello" / "capture.pcap"
    for number in range(2):
        out = tmp_path / f"{number}.pcapng"
        assert main(["extract", str(path), "--flow", "6", "-o", str(out), "--anonymize"]) == 0
    first, second = (list(payloads(tmp_path / f"{number}.pcapng")) for number in range(2))
    assert [ns for ns, _ in first] == [ns for ns, _ in second]
    assert first != second


def test_random_damage_never_leaks(tmp_path: Path) -> None:
    """Frames cut anywhere and bytes changed anywhere: names of 6 letters and addresses do not come through."""
    source = random.Random(1)
    anonymised = Anonymised(Secret(KEY))
    path = CAPTURES / "stalled-client-hello" / "capture.pcap"
    hosts = [bytes((10, 40, 39, 45)), bytes((10, 40, 42, 129))]
    cursor = open_captures([str(path)])
    for number, record in enumerate(records(cursor), 1):
        whole = passes.data_of(record)
        for _ in range(20):
            frame = bytearray(whole[: source.randrange(len(whole) + 1)])
            for _ in range(source.randrange(4)):
                if frame:
                    frame[source.randrange(len(frame))] = source.randrange(256)
            made = anonymised.rewrite(number, bytes(frame), int(record.linktype))
            if made is None:
                continue
            assert len(made) == len(frame)
            assert b"influx" not in made
            for host in hosts:
                assert host not in made
    for _ in range(3000):
        frame = bytearray(source.randbytes(source.randrange(200)))
        linktype = source.choice(
            [0, 1, 9, 12, 101, 105, 107, 108, 113, 117, 119, 127, 163, 178, 204, 226, 239, 240, 242, 258, 276, 4711]
        )
        made = anonymised.rewrite(1, bytes(frame), linktype)
        assert made is None or len(made) == len(frame)
