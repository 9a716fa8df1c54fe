"""From a flow to a row: names, events, alerts, evidence of several files."""

import struct
from pathlib import Path

from pcapstall.core.frames import frame_ref
from pcapstall.diagnose.verdict import Fact
from pcapstall.pipeline import Options, analyse
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.from_flow import _evidence
from pcapstall.report.names import EVENTS, INTERVALS

SECOND = 1_000_000_000
ADDRESSES = (bytes.fromhex("20010db8000000000000000000000001"), bytes.fromhex("20010db8000000000000000000000002"))
HELLO = (
    b"\x01\x00\x00\x39\x03\x03" + b"\x22" * 32 + b"\x00\x00\x02\x13\x01\x01\x00"
    b"\x00\x0e\x00\x00\x00\x0a\x00\x08\x00\x00\x05a.org"
)


def packet(from_client: bool, seq: int, ack: int, flags: int, payload: bytes = b"") -> bytes:
    ports = (50000, 8443) if from_client else (8443, 50000)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 64240, 0, 0) + payload
    addresses = ADDRESSES if from_client else ADDRESSES[::-1]
    return b"\0" * 12 + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + b"".join(addresses) + tcp


def row(tmp_path: Path) -> FlowReport:
    hello = b"\x16\x03\x01" + struct.pack(">H", len(HELLO)) + HELLO
    alert = b"\x15\x03\x03\x00\x02\x02\x28"
    packets = [
        (1 * SECOND, packet(True, 99, 0, 0x02)),
        (1 * SECOND + 5_000_000, packet(False, 499, 100, 0x12)),
        (1 * SECOND + 5_030_000, packet(True, 100, 500, 0x10)),
        (1 * SECOND + 6_000_000, packet(True, 100, 500, 0x18, hello)),
        (1 * SECOND + 12_000_000, packet(False, 500, 100 + len(hello), 0x18, alert)),
        (1 * SECOND + 13_000_000, packet(False, 507, 100 + len(hello), 0x11)),
    ]
    path = tmp_path / "six.pcap"
    records = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    for ns, data in packets:
        records.append(struct.pack("<IIII", ns // SECOND, ns % SECOND, len(data), len(data)) + data)
    path.write_bytes(b"".join(records))
    (made,) = analyse([str(path)], Options(all_flows=True)).report.flows
    return made


def test_a_row(tmp_path: Path) -> None:
    made = row(tmp_path)
    assert (made.client, made.server) == ("[2001:db8::1]:50000", "[2001:db8::2]:8443")
    assert (made.sni, made.tls_version, made.cipher, made.resumed, made.preamble, made.tunnel) == (
        "a.org",
        None,
        None,
        None,
        None,
        None,
    )
    assert list(made.events) == list(EVENTS)
    assert list(made.intervals_ns) == list(INTERVALS)
    hello = made.events["client_hello_first"]
    assert hello is not None
    assert (hello.ns, hello.rel_ns, hello.frame, hello.file) == (1_006_000_000, 6_000_000, 4, 0)
    assert made.events["server_alert"] is not None
    assert made.events["client_fin"] is None
    (alert,) = made.alerts
    assert (alert.side, alert.level, alert.description, alert.inferred, alert.frame) == (
        "server",
        "fatal",
        "handshake_failure",
        False,
        5,
    )
    assert (made.tcp_outcome, made.tls_outcome, made.closed_by, made.close_kind) == (
        "connected",
        "alert",
        "server",
        "fin",
    )
    assert made.failed
    assert made.counts.packets == 6
    assert made.counts.client_bytes == len(HELLO) + 5


def test_evidence_of_two_files_is_told_for_each() -> None:
    fact = Fact("Seen.", (frame_ref(0, 3), frame_ref(1, 9), frame_ref(0, 3), frame_ref(0, 4)))
    assert [(piece.text, piece.frames, piece.file) for piece in _evidence(fact)] == [
        ("Seen.", [3, 4], 0),
        ("Seen.", [9], 1),
    ]
    (bare,) = _evidence(Fact("Known."))
    assert (bare.frames, bare.file) == ([], None)
