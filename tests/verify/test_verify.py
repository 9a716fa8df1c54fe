"""`pcapstall verify` with the tshark that is installed: what is the same, what differs, what only one of them reads."""

import json
import os
import re
import ssl
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from verify_support import (
    CAPTURES,
    FDDI,
    FIN,
    SECOND,
    client_hello,
    handshake,
    pieces,
    record,
    segment,
    server_hello,
    tls_session,
    write,
)

from pcapstall.cli.main import main

pytestmark = pytest.mark.usefixtures("tshark")

HELLO = record(client_hello(1800))
ANSWER = record(server_hello()) + record(b"\x02\x28", 21)


def verify(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code, standard output and standard error."""
    code = main(["verify", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def values(capsys: pytest.CaptureFixture[str], path: str, *arguments: str) -> dict[str, Any]:
    """Every value of the only flow of ``path``, by name."""
    _, out, _ = verify(capsys, path, "-f", "json", "--all", *arguments)
    (file,) = json.loads(out)["files"]
    (flow,) = file["flows"]
    return {value["name"]: value for value in flow["values"]}


def test_a_ticket_is_read_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "stalled-client-hello" / "capture.pcap")
    code, out, err = verify(capsys, path)
    assert (code, err) == (0, "")
    said, readers = out.splitlines()
    assert said == f"{path}: 11 flows, 130 values, no difference"
    assert readers.startswith("pcapstall ")


def test_all_shows_every_value(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = verify(capsys, str(CAPTURES / "stalled-client-hello" / "capture.pcap"), "--all")
    assert code == 0
    lines = out.splitlines()
    at = lines.index("Flow 1: 10.40.39.45:34482 -> 10.40.42.129:8086 (influxdb.metrics)")
    assert lines[at + 3].split() == ["sni", "influxdb.metrics", "same"]
    assert re.split("  +", lines[at + 8]) == ["client_hello_first", "frame 4, 0.001760 s", "same"]


def test_a_known_difference_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = verify(capsys, str(CAPTURES / "tcp-fast-open" / "capture.pcap"))
    assert (code, err) == (0, "")
    assert "2 differ, for known reasons" in out
    assert "rejected_syn_data, 2 values:" in out
    assert "RFC 7413" in out
    assert out.count("frame 37, 0.100445 s") == out.count("frame 35, 0.090023 s") == 2


CUTS = [
    ([(0, 5), (5, 1900)], 4),  # the record's header alone: the message begins with it
    ([(0, 1), (1, 4), (4, 6), (6, 900), (900, 1900)], 4),
    ([(0, 700), (1400, 1900), (700, 1400)], 4),  # out of order
    ([(1400, 1900), (700, 1400), (0, 700)], 6),
    ([(0, 700), (0, 700), (700, 1400), (300, 1500), (1400, 1900)], 4),  # sent again in other pieces
]


def test_a_hello_in_pieces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [
        write(tmp_path / f"{number}.pcap", handshake() + pieces(HELLO, cuts)) for number, (cuts, _) in enumerate(CUTS)
    ]
    code, out, _ = verify(capsys, *paths, "-f", "json", "--all")
    assert code == 0
    for file, (_, first) in zip(json.loads(out)["files"], CUTS, strict=True):
        assert file["different"] == 0
        found = {value["name"]: value["tshark"] for value in file["flows"][0]["values"]}
        assert found["client_hello_first"]["frame"] == first
        assert found["sni"] == "example.org"


def test_a_hello_in_three_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hello = client_hello()
    stream = record(hello[:200]) + record(hello[200:500]) + record(hello[500:])
    path = write(tmp_path / "a.pcap", handshake() + pieces(stream, [(0, 100), (100, 300), (300, 301), (301, 2000)]))
    found = values(capsys, path)
    assert [value["name"] for value in found.values() if not value["equal"]] == []
    assert found["client_hello_first"]["tshark"] == {"ns": str(2 * SECOND), "frame": 4}
    assert found["client_hello_last"]["tshark"]["frame"] == 7


@pytest.mark.parametrize("name", [b"", b"x\0y", b"a\\b", "bücher.example".encode(), b'ex\xff\x01"<&.org', b"A" * 300])
def test_a_name_of_any_bytes(name: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.pcap", handshake() + pieces(record(client_hello(99, name)), [(0, 900)]))
    code, out, _ = verify(capsys, path)
    assert (code, "no difference" in out) == (0, True)


def test_an_answer_in_pieces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packets = handshake() + pieces(HELLO, [(0, 1900)])
    packets += pieces(ANSWER, [(0, 20), (20, 50), (50, 60)], 3 * SECOND, client=False)
    found = values(capsys, write(tmp_path / "a.pcap", packets))
    assert [value["name"] for value in found.values() if not value["equal"]] == []
    assert found["alerts"]["tshark"] == "server fatal handshake_failure in frame 6"
    assert [found[f"server_hello_{end}"]["tshark"]["frame"] for end in ("first", "last")] == [5, 6]


def test_tls_on_a_port_that_tshark_takes_for_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packets = handshake(port=80) + [(2 * SECOND, segment(True, 1001, 9001, 0x18, HELLO, port=80))]
    code, out, _ = verify(capsys, write(tmp_path / "a.pcap", packets))
    assert code == 0
    assert "no difference" in out
    assert "Note: tshark takes TLS on port 80 for another protocol; it was read again with -d tcp.port==80,tls." in out


def test_a_link_type_that_only_tshark_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packets = handshake() + pieces(HELLO, [(0, 1900)]) + pieces(ANSWER, [(0, 60)], 3 * SECOND, client=False)
    packets.append((4 * SECOND, segment(False, 9061, 2900, FIN)))
    path = write(tmp_path / "a.pcap", packets, FDDI)
    code, out, _ = verify(capsys, path)
    assert code == 0
    assert "Only tshark has 1 flow: unknown_link_type" in out
    assert "Note: pcapstall does not read the link type FDDI." in out
    names, row = (line.split() for line in out.splitlines() if line.startswith("stream ") or " 10.0.0.1:40000 " in line)
    lengths = dict(zip(names[-6:], row[-6:], strict=True))
    assert lengths == {
        "syn_synack": "1.0",
        "synack_ack": "1.0",
        "ack_ch": "998.0",
        "ch_sh": "1000.0",
        "ch_fin": "2000.0",
        "sni": "example.org",
    }


def test_packets_without_stamps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Simple Packet Blocks, as a small device writes them."""
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    interface = struct.pack("<IIHHII", 1, 20, 101, 0, 0, 20)
    blocks = [struct.pack("<III", 3, 16 + len(packet), len(packet)) + packet for _, packet in handshake()]
    path = tmp_path / "a.pcapng"
    path.write_bytes(section + interface + b"".join(block + block[4:8] for block in blocks))
    code, out, _ = verify(capsys, str(path))
    assert (code, "1 flow, 4 values, no difference" in out) == (0, True)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_what_decryption_adds(version: ssl.TLSVersion, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, keylog = tls_session(tmp_path, version)
    found = values(capsys, path, "--keylog", keylog)
    assert found["client_finished"]["equal"]
    code, out, _ = verify(capsys, path, "--keylog", keylog)
    assert code == 0
    rows = [line.split() for line in out.partition("Decrypted by tshark:")[2].splitlines()[3:-2]]
    told = {(row[1], " ".join(row[2 : row.index("frame")])): row[row.index("s") + 1 :] for row in rows}
    assert told["client", "finished"] == ["client_finished"]
    for side in ("client", "server"):
        assert told[side, "alert warning close_notify"] == ["inferred", "an", "alert"]
    if version == ssl.TLSVersion.TLSv1_3:
        assert ("server", "encrypted_extensions alpn http/1.1") in told
        assert told["server", "new_session_ticket"] == ["server_app_data"]
    assert "Decrypted" not in verify(capsys, path)[1]


def test_secrets_of_another_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keylog = tmp_path / "keylog.txt"
    keylog.write_text(f"CLIENT_RANDOM {'00' * 32} {'11' * 48}\n")
    _, out, _ = verify(capsys, str(CAPTURES / "tls13-healthy" / "capture.pcap"), "--keylog", str(keylog))
    assert f"Note: the secrets in {keylog} are of none of these connections." in out


def test_an_unexplained_difference_is_exit_1(
    tmp_path: Path, tshark: str, fake_tshark: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """tshark is given another file than pcapstall: the ClientHello comes a second later in it."""
    first = write(tmp_path / "first.pcap", handshake() + pieces(HELLO, [(0, 1900)]))
    second = write(tmp_path / "second.pcap", handshake() + pieces(HELLO, [(0, 1900)], 3 * SECOND))
    fake_tshark(f'for a; do shift; [ "$a" = "{first}" ] && a="{second}"; set -- "$@" "$a"; done; exec "{tshark}" "$@"')
    code, out, err = verify(capsys, first)
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == f"{first}: 1 flow, 7 values, 2 differ, unexplained"
    assert lines[2] == "Flow 1: 10.0.0.1:40000 -> 10.0.0.2:443 (example.org)"
    assert lines[5].split("  ") == ["client_hello_first", "frame 4, 1.000000 s", "frame 4, 2.000000 s"]
    code, out, _ = verify(capsys, first, "-f", "markdown")
    assert code == 1
    assert "| client_hello_first | frame 4, 1.000000 s | frame 4, 2.000000 s |" in out


def test_a_file_cut_short_is_compared_as_far_as_it_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.pcap", handshake() + pieces(HELLO, [(0, 1900)]))
    os.truncate(path, os.path.getsize(path) - 100)
    code, out, err = verify(capsys, path)
    assert (code, err) == (0, "")
    assert "no difference" in out
    assert out.splitlines()[1] == "Note: tshark: the file appears to have been cut short in the middle of a packet."


def test_what_neither_can_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(b"this is no capture" * 20)
    code, out, err = verify(capsys, str(path), str(CAPTURES / "refused" / "capture.pcap"))
    assert code == 3
    assert err.count("\n") == 1
    assert f"{path}: tshark" in err
    assert "no difference" in out, "the other file is compared all the same"


def test_the_corpus_differs_only_for_known_reasons(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = (
        "brimcap--non-overlap.pcapng",
        "ndpi--fuzz-2006-09-29-28586.pcap",
        "netverdict--mtu_blackhole.pcap",
        "pcapplusplus--pcapng-example.pcapng.zst",
        "suricata-verify--tlpw-tcp-tfo-data-on-syn-nack.pcap",
        "zeek--rdp-no-cookie-mstshash.pcap",
        "zeek--hrr.pcap",
    )
    code, out, err = verify(capsys, *(str(corpus / name) for name in names), "-f", "json")
    assert (code, err) == (0, "")
    read = json.loads(out)
    kinds = {
        Path(file["file"]).name: {value["known"] for flow in file["flows"] for value in flow["values"]}
        for file in read["files"]
    }
    assert list(kinds.values()) == [
        {"midstream_direction"},
        {"midstream_direction", "damaged_header", "fin_in_rst"},
        {"icmp_quote"},
        {"midstream_direction", "unsigned_stamp"},
        {"rejected_syn_data"},
        set(),
        set(),
    ]
    assert set(read["known"]) == set().union(*kinds.values())
