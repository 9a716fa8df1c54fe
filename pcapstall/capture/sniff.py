"""What a file is, by its first bytes and never by its name; and one clear sentence for what is no capture.

Only recognition lives here: nothing is opened or decoded.
"""

import re
from typing import Final

from pcapstall.core.counts import several
from pcapstall.core.words import u16_be

HEAD: Final = 512
"""Bytes that are enough to recognise anything here; fewer will do when there are no more."""

SHORTEST: Final = 4
"""Bytes of the shortest magic number of a capture."""

_CONVERT: Final = "pcapstall reads pcap and pcapng; convert it with editcap -F pcapng IN OUT"
_CAPTURES: Final[tuple[tuple[bytes, str], ...]] = (
    (b"snoop\0\0\0", "a snoop capture"),
    (b"btsnoop\0", "a Bluetooth snoop capture"),
    (b"RTSS", "a Microsoft Network Monitor 1 capture"),
    (b"GMBU", "a Microsoft Network Monitor 2 capture"),
    (b"TRSNIFF data", "a Sniffer capture"),
    (b"XCP\0", "a NetXRay capture"),
    (b"\x7fver", "an EtherPeek capture"),
    (b"iptrace ", "an AIX iptrace capture"),
    (b"\0\0\2\0\x12\5\x10", "a Tektronix K12 capture"),
    (b"LOGG", "a Vector BLF log"),
    (b"NetScaler", "a NetScaler trace"),
    (b"GIF8", "an image"),
)
_OTHERS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a rar archive"),
    (b"\x1f\x9d", "a file packed by compress"),
    (b"LZIP", "an lzip file"),
    (b"\x89LZO", "an lzop file"),
    (b"\x5d\x00\x00", "an lzma file of the old kind: unpack it with unlzma"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a Windows program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\xd0\xcf\x11\xe0", "an Office or ETL file"),
)
_STRACE: Final = (
    r"(\[pid +\d+\] |\d+(<[^>]*>)? +)?(\d[\d:.]+ )?(\(\+ +[\d.]+\) |\[ *\w+\] )*"
    r"(execve\(|\w+\(.*( = |<unfinished)|<\.{3} \w+ resumed|\+{3} |--- SIG)"
)
AS_STRACE: Final = "strace's output: give it as --strace"
_TEXTS: Final[tuple[tuple[str, str], ...]] = (
    (r"\s*<(!doctype\s+html|html)", "an HTML page"),
    (r"\s*(<\?xml|<pdml|<psml)", "an XML file"),
    (r"\s*[\[{]\s*(\"|[\[{\]}])", "JSON"),
    (_STRACE, AS_STRACE),
    (
        r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d+ .*(IP6?|ARP|ethertype)[ ,]",
        "what tcpdump prints: capture with tcpdump -w FILE",
    ),
    (r"\s*\d+ +[\d.]+ .*(→|->)", "what tshark prints: capture with -w FILE"),
)
_LONGEST_ERF_TYPE: Final = 27


def why_not_a_capture(head: bytes) -> str:
    """The reason why a file that starts with ``head`` is refused, as a sentence."""
    for magic, name in _CAPTURES:
        if head.startswith(magic):
            return f"{name}: {_CONVERT}"
    if len(head) < SHORTEST:
        return f"not a capture: it ends after {several(len(head), 'byte')}"
    start = head[:4].hex(" ")
    for magic, name in _OTHERS:
        if head.startswith(magic):
            return f"not a capture: starts with {start} ({name})"
    if head[257:262] == b"ustar":
        return "not a capture: a tar archive"
    if not head.strip(b"\0"):
        return f"not a capture: the first {len(head)} bytes are all zero"
    text = _as_text(head)
    if text is not None:
        return f"not a capture: {_kind_of_text(text)}"
    if _looks_like_erf(head):
        return f"an ERF capture: {_CONVERT}"
    return f"not a capture: starts with {start}; pcapstall reads pcap and pcapng"


def _as_text(head: bytes) -> str | None:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head[: len(head) & -2].decode("utf-16", "replace")
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return None
        text = head[: error.start].decode("utf-8-sig")
    printable = sum(character.isprintable() or character in "\t\r\n\f\x1b" for character in text)
    return text if printable == len(text) else None


def is_strace(text: bytes) -> bool:
    """Whether most lines of ``text`` are what strace prints."""
    lines = text.decode("utf-8", "replace").splitlines()[:50]
    return 2 * sum(re.match(_STRACE, line) is not None for line in lines) > len(lines) > 0


def _kind_of_text(text: str) -> str:
    for pattern, name in _TEXTS:
        if re.match(pattern, text, re.IGNORECASE):
            return name
    line = text.strip().splitlines()[0][:40] if text.strip() else ""
    if re.match(_STAMP, text):
        return f"text with times ({line!r}): give a log as --log"
    return f"text ({line!r})" if line else "nothing but white space"


_STAMP: Final = r"\W{0,2}\s*\d+[-/:.T]\d|\W?[A-Z][a-z]{2} +\d"
"""How most lines of logs begin: ``2026-11-30``, ``[    0.019574s]``, ``Nov 30``."""


def _looks_like_erf(head: bytes) -> bool:
    """ERF has no magic number: two records whose types are known, whose lengths lead on and whose clock runs."""
    if len(head) < 32:
        return False
    length = int(u16_be(head, 10))
    if not 1 <= head[8] & 0x7F <= _LONGEST_ERF_TYPE or not 16 <= length <= len(head) - 16:
        return False
    first = int.from_bytes(head[:8], "little") >> 32
    second = int.from_bytes(head[length : length + 8], "little") >> 32
    return 1 <= head[length + 8] & 0x7F <= _LONGEST_ERF_TYPE and 0 <= second - first < 86_400
