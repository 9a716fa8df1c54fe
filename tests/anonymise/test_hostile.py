"""From beginning to end: of a capture, straces and logs that tell something everywhere, nothing is found afterwards."""

import ipaddress
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import Marks, capture, spellings
from hostile_text import log, strace

from pcapstall.anonymise.free_text import FreeText
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.secret import Secret
from pcapstall.anonymise.strace_text import StraceText
from pcapstall.capture.captures import open_captures
from pcapstall.cli.main import main
from pcapstall.extract.records import records
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.pipeline.extract import passes
from pcapstall.pipeline.extract.anonymised import Anonymised

CAPTURES = Path(__file__).resolve().parents[2] / "captures"


def left(marks: Marks, data: bytes) -> list[str]:
    """Which marks are in ``data``, and where those were put."""
    small = data.lower()
    found = [
        f"{word}: {place}"
        for word, place in marks.words.items()
        if any(each.lower() in small for each in spellings(word))
    ]
    for packed, place in marks.addresses.items():
        texts = [packed.hex(), packed[::-1].hex()]
        if len(packed) == 6:
            texts += [packed.hex(sign) for sign in ":-."] + [packed.hex(".", 2)]
        else:
            texts.append(str(ipaddress.ip_address(packed)))
        if packed in data or packed[::-1] in data or any(text.encode() in small for text in texts):
            found.append(f"{packed.hex()}: {place}")
    return found


def test_nothing_of_a_hostile_capture_is_left(tmp_path: Path) -> None:
    marks = Marks()
    (tmp_path / "c.pcapng").write_bytes(capture(marks))
    assert len(left(marks, (tmp_path / "c.pcapng").read_bytes())) == len(marks.words) + len(marks.addresses)
    command = ["extract", str(tmp_path / "c.pcapng"), "--flow", "syn_retries >= 0", "--anonymize"]
    for name in ("out.pcapng", "out.pcap"):
        assert main([*command, "-o", str(tmp_path / name)]) == 0
        assert left(marks, (tmp_path / name).read_bytes()) == []
        assert told(tmp_path / name) == told(tmp_path / "c.pcapng")


SAID = "preamble ja4 tls_version cipher tcp_outcome tls_outcome closed_by intervals_ns counts tunnel cause".split()


def told(path: Path) -> list[list[object]]:
    """What a report says of each flow, but for names."""
    made: list[list[object]] = []

    def note(analysis: Analysis) -> None:
        made.extend([getattr(row, name) for name in SAID] for row in analysis.report.flows)

    analyse([str(path)], Options(all_flows=True), before_closing=note)
    return made


def test_nothing_is_left_of_frames_that_no_flow_is_of(tmp_path: Path) -> None:
    """DNS and ARP come along only where a verdict cites them, which none here does."""
    marks = Marks()
    (tmp_path / "c.pcapng").write_bytes(capture(marks))
    anonymised = Anonymised(Secret(bytes(32)))
    cursor = open_captures([str(tmp_path / "c.pcapng")])
    made = [
        anonymised.rewrite(n, passes.data_of(each), int(each.linktype)) for n, each in enumerate(records(cursor), 1)
    ]
    assert len(made) > 200
    assert left(marks, b"".join(each or b"" for each in made)) == []


@pytest.mark.parametrize(("kind", "lines_of"), [("strace", strace), ("log", log)])
def test_nothing_of_a_hostile_text_is_left(kind: str, lines_of: Callable[[Marks], list[str]], tmp_path: Path) -> None:
    marks, stall = Marks(), CAPTURES / "stalled-client-hello" / "capture.pcap"
    path = tmp_path / f"given.{kind}"
    path.write_text("".join(f"{line}\n" for line in lines_of(marks)))
    assert left(marks, path.read_bytes()) != []
    out = tmp_path / "out"
    command = ["extract", str(stall), "--flow", "6", "--anonymize", "-o", f"{out}/", f"--{kind}", f"x={path}"]
    assert main(command) == 0
    made = (out / f"x.{kind}").read_bytes()
    assert left(marks, made) == []
    assert made.count(b"\n") == len(lines_of(Marks()))


MARK = b"zqmarkword"
SIGNS = (b" ", b"<", b"(", b'"', b"/", b"=", b"[", b"{", b"-", b":", b"'", b"\\", b"/* ")


def test_no_word_within_a_strace_is_left() -> None:
    """Anywhere in any line, whether that makes sense or not; and of a line that was cut anywhere."""
    mapping = Mapping(Secret(bytes(32)))
    text = StraceText(mapping, FreeText(mapping))
    source = random.Random(7)
    lines = [line.encode() for line in strace(Marks())]
    lines += (CAPTURES / "stalled-client-hello" / "outbound.strace").read_bytes().split(b"\n")[:200]
    for _ in range(3000):
        line = source.choice(lines)
        at = source.randrange(len(line) + 1)
        mark = source.choice([MARK, source.choice(SIGNS) + MARK.upper()])
        line = line[:at] + mark + source.choice([b"", *SIGNS]) + line[at:]
        assert MARK not in text.line(line).lower(), line
    marks = Marks()
    for line in map(str.encode, strace(marks)):
        for at in range(len(line)):
            made = text.line(line[:at])
            assert not any(word.encode() in made.lower() for word in marks.words), line[:at]
