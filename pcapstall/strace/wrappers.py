"""What others put around the lines of a strace: log shippers' and syslog's prefixes, `ts`, quotes, quoted-printable.

A wrapper is found in a sample by `detect`, once a file; unwrapping is the slow road, taken only by files that need it.
"""

import quopri
import re
from datetime import datetime
from typing import Final

_RFC3339: Final = rb"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d))"
_BSD_STAMP: Final = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?"
PREFIXES: Final = {
    "syslog": re.compile(
        rb"(?:<\d{1,3}>)?(?:(?:" + _RFC3339 + rb"|" + _BSD_STAMP + rb") )?(?:\S+ )?\S*strace\[\d+\]: "
    ),
    "container log": re.compile(_RFC3339 + rb" (?:stdout|stderr) [FP] "),
    "stamped log": re.compile(_RFC3339 + rb"[ \t]+"),
    "ts": re.compile(_BSD_STAMP + rb" "),
    "quoted mail": re.compile(rb"(?:> ?)+"),
}
"""The first that fits most lines of a sample is taken off."""


class Wrapper:
    """Takes one kind of prefix off, and undoes quoted-printable (RFC 2045 section 6.7)."""

    def __init__(self, name: str, quoted_printable: bool) -> None:
        self.name = name
        """A key of `PREFIXES`, or empty."""
        self.quoted_printable = quoted_printable
        self.stamp_ns: int = -1
        """The time in the prefix, nanoseconds since the epoch; -1 when it has none."""
        self.wants_more: bool = False
        """The line ended in a soft line break."""
        self._prefix = PREFIXES.get(name)

    def unwrap(self, line: bytes) -> bytes:
        """The line inside."""
        self.stamp_ns = -1
        if self._prefix is not None:
            match = self._prefix.match(line)
            if match is not None:
                line = line[match.end() :]
                groups = match.groupdict()
                if groups.get("stamp"):
                    self.stamp_ns = epoch_ns(groups["stamp"])
        if self.quoted_printable:
            if line.endswith(b"="):
                self.wants_more = True
                line = line[:-1]
            line = quopri.decodestring(line)
        return line


def epoch_ns(stamp: bytes) -> int:
    """An RFC 3339 stamp in nanoseconds since the epoch; -1 when the calendar does not have it."""
    text = stamp.decode("ascii", "replace").replace(",", ".").replace("Z", "+00:00")
    whole, point, rest = text.partition(".")
    digits = ""
    if point:
        size = len(rest) - len(rest.lstrip("0123456789"))
        digits, rest = rest[:size], rest[size:]
        whole += rest
    try:
        seconds = int(datetime.fromisoformat(whole).timestamp())
    except (ValueError, OverflowError):
        return -1
    if seconds < 0:
        return -1
    return seconds * 1_000_000_000 + int((digits + "000000000")[:9])
