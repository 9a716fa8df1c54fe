"""Which stamps the lines of a file have: the formats as a table, and how one is told from a sample.

Only where a stamp stands in a line is looked at here; what it says is read in `stamps`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pcapstall.logs import stamps
from pcapstall.logs.stamps import Parser, Stamp

REACH: Final = 200
"""A stamp begins within so many bytes of its line; fields of JSON may come later."""
_FIELD_REACH: Final = 16 * 1024


class Format(NamedTuple):
    """One way to stamp a line."""

    name: str
    pattern: "re.Pattern[bytes]"
    parse: Parser
    reach: int = REACH
    """Where it may begin at most."""

    def find(self, line: bytes, latest: int | None = None) -> tuple[int, Stamp, int] | None:
        """Where in ``line`` the stamp begins, what it says, where it ends; begun at ``latest`` at the latest."""
        limit = self.reach if latest is None else min(latest, self.reach)
        match = self.pattern.search(line, 0, limit + LONGEST)
        while match is not None and match.start() <= limit:
            stamp = self.parse(match)
            if stamp is not None:
                return match.start(), stamp, match.end()
            match = self.pattern.search(line, match.end(), limit + LONGEST)
        return None


LONGEST: Final = 64
"""No stamp is longer."""


def _field(match: "re.Match[bytes]") -> Stamp | None:
    return stamps.text_value(match["v"] if match["v"] is not None else match["n"])


def _format(name: str, pattern: bytes, parse: Parser, reach: int = REACH) -> Format:
    return Format(name, re.compile(pattern), parse, reach)


_BEFORE: Final = rb"(?<![\w.:/-])"
"""What a stamp does not follow: the middle of a word, a number or a path."""
_COUNTED: Final = rb"(?:^[\[(<\"']{0,2}|(?<![\w])(?i:ts|time|timestamp|t)=[\"']?|audit\()"
"""What a number follows that is a time: nothing, a bracket, the name of a field."""

FORMATS: Final[Sequence[Format]] = (
    # {"log":"...","stream":"stdout","time":"2026-11-30T07:24:02.083943123Z"}, {"level":"info","ts":1796023451.443837}
    _format(
        "json field",
        rb'"(?i:time|ts|@?timestamp|@t|asctime|datetime|date|eventtime|start_time|time_?local|time_iso8601|\$date'
        rb'|time_?unix_?nano|__REALTIME_TIMESTAMP)"\s*:\s*(?:"(?P<v>[^"\\]{5,48})"|(?P<n>\d[\d.eE+]{8,30}))',
        _field,
        _FIELD_REACH,
    ),
    # 2026-11-30T07:24:02.083943Z INFO; [2026-11-30T07:24:02.083Z] "GET"; 2026-11-30 07:24:02,083 - root; time="2026-...
    _format("ISO 8601", _BEFORE + stamps.ISO, stamps.iso),
    _format("ISO 8601, compact", _BEFORE + stamps.COMPACT, stamps.iso),
    # 10.0.0.1 - - [30/Nov/2026:07:24:02 +0000] "GET; 1:M 30 Nov 2026 07:24:02.083 * Ready
    _format("day, month and year", _BEFORE + stamps.DAY_FIRST, stamps.day_first),
    # [Mon Nov 30 07:24:02.083943 2026] [ssl:info]
    _format("asctime", _BEFORE + stamps.ASCTIME, stamps.asctime),
    # Nov 30, 2026 7:24:02 AM org.example.Foo main
    _format(
        "half day",
        _BEFORE + stamps.MONTH + rb" (?P<d>\d{1,2}), (?P<y>\d{4}),? (?P<h>\d{1,2}):(?P<mi>[0-5]\d):(?P<s>[0-5]\d)"
        rb"[ \xe2\x80\xaf]{1,3}(?P<half>AM|PM)",
        stamps.half_day,
    ),
    # <34>Nov 30 07:24:02 host sshd[7]:
    _format("syslog", _BEFORE + stamps.MONTH + rb" (?P<d>[ \d]\d) " + stamps.CLOCK, stamps.syslog),
    # I1130 07:24:02.083943       1 controller.go:7]
    _format(
        "klog",
        _BEFORE + rb"[IWEFDV](?P<y>20\d\d)?(?P<m>[01]\d)(?P<d>[0-3]\d) " + stamps.CLOCK,
        stamps.klog,
    ),
    # [    19.545603s]  INFO
    _format("seconds since start", rb"^\W*\[ *(?P<s>\d{1,10})\.(?P<f>\d{1,9})s?\]", stamps.elapsed, 16),
    # INFO[0003] Listening: what logrus writes to a terminal
    _format(
        "whole seconds since start",
        rb"^(?:TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[(?P<s>\d{4,9})\]",
        stamps.counted_seconds,
        0,
    ),
    # 1796023451.443837 host sshd[7]:; ts=1796023451443; type=SYSCALL msg=audit(1796023451.443:7):
    _format("epoch", _COUNTED + rb"(?P<n>[12]\d{9}(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?)(?![\w.-])", stamps.epoch),
    # 07:24:02.083 [main] INFO
    _format("time of day", _BEFORE + stamps.CLOCK, stamps.time_of_day, 40),
)
"""In the order in which they are tried: the ones that say more, or cannot be taken for another, first."""


LEADING: Final = 8
"""A stamp that begins so early leads its line: after a bracket, a priority, a quote."""


@dataclass(slots=True)
class Found:
    """A format that a file has."""

    format: Format
    latest: int
    """Where its stamps begin at most."""
    lines: int
    """Of the sample."""


def formats_of(lines: Sequence[bytes]) -> list[Found]:
    """The formats of these lines, most lines first.

    Each line has the first of `FORMATS` that it has a stamp of. Where nearly all lines begin with their stamp, one in
    the middle of a line is what that line speaks of.
    """
    starts: dict[str, list[int]] = {}
    for line in lines:
        for candidate in FORMATS:
            hit = candidate.find(line)
            if hit is not None:
                starts.setdefault(candidate.name, []).append(hit[0])
                break
    found = []
    most = max(map(len, starts.values()), default=0)
    for candidate in FORMATS:
        begins = starts.get(candidate.name, [])
        leading = sum(begin <= LEADING for begin in begins)
        if leading * 10 >= len(begins) * 9 and begins:
            found.append(Found(candidate, LEADING, leading))
        elif len(begins) * 10 >= most and begins:
            found.append(Found(candidate, max(begins), len(begins)))
    return sorted(found, key=lambda item: -item.lines)
