"""Real captures, against what tshark reads in them. Skips without them."""

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from capture_support import records

from pcapstall.capture.captures import open_captures
from pcapstall.capture.info import CaptureInfo
from pcapstall.capture.opening import open_capture
from pcapstall.core.errors import InputError

COMPARED = [
    "ndpi--steam.pcapng",
    "ndpi--fuzz-2006-09-29-28586.pcap",
    "ptcpdump--tls.pcap",
    "broken/brimcap--bad-caplen.pcap",
    "broken/suricata-verify--tls_DER-incomplete-header.pcap",
    "pcapng-conformance/advanced-test102.pcapng",
]


def tshark(path: Path) -> list[list[str]]:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    fields = ["frame.number", "frame.time_epoch", "frame.cap_len", "frame.len"]
    command = ["tshark", "-r", str(path), "-T", "fields", *[part for field in fields for part in ("-e", field)]]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [line.split("\t") for line in output.splitlines()]


@pytest.mark.parametrize("name", COMPARED)
def test_frames_times_and_lengths_are_tsharks(corpus: Path, name: str) -> None:
    cursor = open_capture(str(corpus / name))
    ours = {r.frame: (r.ts_ns, len(r.data), r.origlen) for r in records(cursor)}
    theirs = {}
    for frame, seconds, caplen, length in tshark(corpus / name):
        if int(frame) not in ours and seconds == "":
            continue  # a custom block: a frame in tshark, not a packet
        whole, _, fraction = seconds.partition(".")
        ns = int(whole) * 10**9 + int(fraction.ljust(9, "0")) if seconds else ours[int(frame)][0]
        theirs[int(frame)] = (ns, int(caplen), int(length))
    assert ours == theirs
    assert ours
    cursor.close()


def test_every_packet_of_every_flow_is_there(corpus: Path) -> None:
    looked_at = 0
    for truth in sorted((corpus / "truth").glob("*.jsonl")):
        name = truth.name.removesuffix(".jsonl").removeprefix("broken__")
        path = next(p for p in (corpus / name, corpus / "broken" / name) if p.exists())
        streams = [json.loads(line) for line in truth.read_text().splitlines()]
        if not streams:
            continue
        stamps = {}
        captures = open_captures([str(path)])
        while captures.next():
            stamps[captures.frame] = captures.ts_ns
        assert not captures.failed
        assert len(stamps) >= sum(1 for stream in streams if stream["frames"])
        for stream in streams:
            seconds, _, fraction = stream["first_time"].partition(".")
            if len(seconds) > 10:
                continue  # a stamp that no 64 bits of nanoseconds hold
            assert stamps[stream["first_frame"]] == int(seconds) * 10**9 + int(fraction)
        captures.close()
        looked_at += 1
    assert looked_at > 50


def test_packet_counts_are_those_of_the_table(corpus: Path) -> None:
    """README.md says ``packets/streams/...`` for every file."""
    rows = re.findall(r"^\| (\S+) \| \d+ \| [^|]+ \|[^|]*\| (\d+)/", (corpus / "README.md").read_text(), re.MULTILINE)
    assert len(rows) > 60
    for name, count in rows:
        try:
            cursor = open_capture(str(corpus / name))
        except InputError:
            assert count == "0", name
            continue
        assert len(records(cursor)) == int(count), name
        cursor.close()


def test_block_by_block(corpus: Path) -> None:
    """Each .txt counts the blocks: packets are EPB and SPB, interfaces are IDB, CB and DCB take a frame number."""
    with (corpus / "pcapng-conformance" / "COUNTS.tsv").open() as file:
        frames = {row["file"]: int(row["tshark packets"]) for row in csv.DictReader(file, delimiter="\t")}
    assert len(frames) == 24
    for name, count in frames.items():
        path = corpus / "pcapng-conformance" / name
        blocks = {
            k: int(v) for k, v in re.findall(r"^\t(\w+): (\d+)$", path.with_suffix(".txt").read_text(), re.MULTILINE)
        }
        cursor = open_capture(str(path))
        found = records(cursor)
        info = cursor.info()
        assert not info.warnings, name
        assert len(found) == info.packets == blocks.get("EPB", 0) + blocks.get("SPB", 0), name
        assert len(info.interfaces) == blocks.get("IDB", 0), name
        assert info.unstamped == blocks.get("SPB", 0), name
        assert cursor.frame == count, name
        cursor.close()


def test_options_of_the_conformance_files(corpus: Path) -> None:
    def info_of(number: str) -> CaptureInfo:
        cursor = open_capture(str(corpus / "pcapng-conformance" / f"basic-test{number}.pcapng"))
        records(cursor)
        cursor.close()
        return cursor.info()

    first = info_of("007")
    assert first.application
    assert first.os
    assert first.comments
    assert all(interface.name and interface.description for interface in info_of("008").interfaces)


def test_what_libpcap_and_tshark_refuse_is_refused(corpus: Path) -> None:
    for name, reason in [
        ("libpcap--pcap-invalid-version-1.pcap", r"pcap version 1\.4 is not supported"),
        ("libpcap--shb-option-too-long.pcapng", "section header is damaged"),
    ]:
        with pytest.raises(InputError, match=reason):
            open_capture(str(corpus / "broken" / name))


def test_the_clock_of_46_years_is_told(corpus: Path) -> None:
    cursor = open_capture(str(corpus / "pcapplusplus--pcapng-example.pcapng.zst"))
    found = records(cursor)
    info = cursor.info()
    assert info.absurd_stamps == 100
    assert info.clock.forward_max_ns > 46 * 365 * 86400 * 10**9
    # tshark says 18446744073204.126329 s, which is 2**64 us less 505.425287 s: the distances are right.
    assert found[60].ts_ns - found[59].ts_ns == 9_000
    cursor.close()
