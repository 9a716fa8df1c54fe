"""Captures that are damaged in any way never let a name, an address or content through."""

import random
from pathlib import Path

import pytest

from pcapstall.anonymise.secret import Secret
from pcapstall.capture.captures import open_captures
from pcapstall.extract.pcap_file import PcapFile
from pcapstall.extract.records import records
from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.extract import passes
from pcapstall.pipeline.extract.anonymised import Anonymised

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
NAMES = {
    "stalled-client-hello": [b"influxdb", b"metrics"],
    "tls12-healthy": [b"server.example", b"example"],
    "http-connect": [b"server.example", b"CONNECT 10."],
    "proxy-protocol": [b"server.", b"10.40.42"],
    "smtp-starttls": [b"mail.example"],
    "ml-kem-hello": [b"server.example"],
}
ADDRESSES = [bytes((10, 40, 39, 45)), bytes((10, 40, 42, 129))]
SPEAKS_FIRST = {"http-connect", "proxy-protocol", "smtp-starttls"}
"""Where words of protocols stay."""
Frame = tuple[int, bytes, int, int]


def frames_of(path: Path) -> list[Frame]:
    cursor = open_captures([str(path)])
    return [(int(r.ts_ns), passes.data_of(r), int(r.origlen), int(r.linktype)) for r in records(cursor)]


def damaged(frames: list[Frame], source: random.Random) -> list[Frame]:
    """Some frames lost, cut, swapped and changed."""
    kind = source.randrange(5)
    made = []
    for ns, data, origlen, linktype in frames:
        frame = bytearray(data)
        if kind in (0, 4) and source.random() < 0.1:
            continue
        if kind in (1, 4) and source.random() < 0.3:
            frame = frame[: source.randrange(15, len(frame) + 1)]
        if kind >= 2 and source.random() < 0.5:
            for _ in range(source.randrange(1, 4)):
                # Ethernet's own header says nothing that is not in others.
                frame[source.randrange(14, len(frame))] = source.choice(
                    [0, 1, 3, 10, 16, 22, 0x45, source.randrange(256)]
                )
        made.append((ns, bytes(frame), origlen, linktype))
    if kind in (3, 4):
        for _ in range(len(made) // 5):
            at = source.randrange(len(made) - 1)
            (first, one, *rest), (second, other, *more) = made[at], made[at + 1]
            made[at], made[at + 1] = (first, other, *more), (second, one, *rest)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize("folder", NAMES)
def test_damage_lets_nothing_through(folder: str, tmp_path: Path) -> None:
    frames = frames_of(CAPTURES / folder / "capture.pcap")
    source = random.Random(folder)
    for turn in range(15):
        path, out = tmp_path / "damaged.pcap", tmp_path / "out.pcapng"
        changed = damaged(frames, source)
        with open(path, "wb") as file:
            capture = PcapFile(file, True)
            for ns, data, origlen, linktype in changed:
                capture.write(ns, data, max(origlen, len(data)), linktype)
        anonymised = Anonymised(Secret(b"a key that is long enough"))

        def make(analysis: object, path: Path = path, out: Path = out, anonymised: Anonymised = anonymised) -> None:
            chosen = list(analysis.report.flows)  # type: ignore[attr-defined]
            picked = passes.pick(analysis, chosen, [str(path)], None, anonymised)  # type: ignore[arg-type]
            with open(out, "wb") as file:
                passes.write(file, "pcapng", picked, [str(path)], {}, [], None, anonymised)

        analyse([str(path)], Options(all_flows=True), before_closing=make)
        data = out.read_bytes()
        left = [each for each in (*NAMES[folder], *ADDRESSES) if each in data]
        assert left == [], f"turn {turn}: {[data[max(data.index(e) - 60, 0) : data.index(e) + 40] for e in left]}"
        assert folder in SPEAKS_FIRST or longest_common(changed, [frame for _, frame, _, _ in frames_of(out)]) < 12


def longest_common(before: list[Frame], after: list[bytes]) -> int:
    """The most printable letters in a row that both have, behind the headers."""
    words = {data[at : at + 12] for _, data, _, _ in before for at in range(54, len(data) - 12)}
    words = {
        word
        for word in words
        if word.isascii() and word.decode().isprintable() and sum(map(bytes.isalpha, cut(word))) > 9
    }
    return 12 if any(word in data for data in after for word in words) else 0


def cut(word: bytes) -> list[bytes]:
    return [word[at : at + 1] for at in range(len(word))]
