"""Stamps of log lines to integers: every usual way to write a time, each with an example, found and not asked for.

A stamp says as much as is printed: a moment, a wall clock without a zone, one without a year or a date, or seconds
since some start. What is missing is found by `match`; which format a file has is told in `formats`.
"""

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from pcapstall.core.times import DAY, SECOND

# What a stamp lacks.
ABSOLUTE: Final = 1
"""Nothing: nanoseconds since the Unix epoch."""
NAIVE: Final = 2
"""The zone: a wall clock's date and time, counted as if it were UTC."""
YEARLESS: Final = 3
"""The zone and the year, which is taken to be 1972 (a leap year, so that February 29 is a date)."""
TIME_OF_DAY: Final = 4
"""The zone and the date: nanoseconds since midnight."""
ELAPSED: Final = 5
"""The start that it counts from."""

KIND_NAMES: Final = {
    ABSOLUTE: "absolute",
    NAIVE: "no zone",
    YEARLESS: "no year and no zone",
    TIME_OF_DAY: "time of day",
    ELAPSED: "seconds since a start",
}
BASE_YEAR: Final = 1972


class Stamp(NamedTuple):
    """A stamp as it is printed."""

    kind: int
    ns: int
    """By its kind."""
    resolution_ns: int
    """What its last digit is worth."""


Parser = Callable[["re.Match[bytes]"], Stamp | None]
"""None when the digits are no time after all: month 13, second 61."""

_MONTHS: Final = {
    name: number for number, name in enumerate(b"jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)
}
MONTH: Final = rb"(?P<mon>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
CLOCK: Final = rb"(?P<h>[012]\d):(?P<mi>[0-5]\d):(?P<s>[0-6]\d)(?:[.,](?P<f>\d{1,9}))?(?!\d)"
ZONE: Final = rb"(?: ?(?P<z>(?:(?<! )z|Z|UTC|GMT|[+-][01]\d:?[0-5]\d)(?![\w:])|(?<! )[+-][01]\d(?![\w:.-])))?"
"""A small z (RFC 3339 section 5.6) and an hour alone (PostgreSQL) only right behind the time: else they are words."""
_EPOCH_DIGITS: Final = {10: 0, 13: 3, 16: 6, 19: 9}
"""Digits of seconds, milliseconds, microseconds and nanoseconds since the epoch, from 2001 to 2286."""
_NUMBER: Final = re.compile(rb"(\d{1,20})(?:\.(\d{1,20}))?(?:[eE]\+?(\d{1,2}))?")
_MAX_NS: Final = 1 << 62


@lru_cache(maxsize=64)
def _days(year: int, month: int, day: int) -> int:
    """Days since the epoch; -1 for no date."""
    try:
        return date(year, month, day).toordinal() - _EPOCH_DAY if year >= 1970 else -1
    except ValueError:
        return -1


_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


_WORTH: Final[tuple[int, ...]] = tuple(10**power for power in range(9, -1, -1))


def resolution_of(digits: int) -> int:
    """What the last of so many decimals of a second is worth."""
    return _WORTH[min(digits, 9)]


def _of_day(match: "re.Match[bytes]") -> tuple[int, int]:
    """Nanoseconds since midnight and the resolution, of `CLOCK`; -1 for no time of day."""
    hour, second = int(match["h"]), int(match["s"])
    if hour > 23 or second > 60:
        return -1, 1
    fraction = match["f"] or b""
    ns = (hour * 3600 + int(match["mi"]) * 60 + second) * SECOND
    return ns + int(fraction.ljust(9, b"0")), resolution_of(len(fraction))


def _dated(
    match: "re.Match[bytes]", year: int, month: int, day: int, zone: bytes | None, yearless: bool
) -> Stamp | None:
    days = _days(year, month, day)
    ns, resolution = _of_day(match)
    if days < 0 or ns < 0:
        return None
    ns += days * DAY
    if yearless:
        return Stamp(YEARLESS, ns, resolution)
    if zone is None:
        return Stamp(NAIVE, ns, resolution)
    if zone[:1] in (b"+", b"-"):
        digits = zone[1:].replace(b":", b"")
        away = (int(digits[:2]) * 60 + int(digits[2:] or b"0")) * 60 * SECOND
        ns += away if zone[:1] == b"-" else -away
    return Stamp(ABSOLUTE, ns, resolution)


def _month(match: "re.Match[bytes]") -> int:
    return _MONTHS[match["mon"].lower()]


def iso(match: "re.Match[bytes]") -> Stamp | None:
    """``2026-11-30T07:24:02.083943Z``, ``2026-11-30 07:24:02,083``, ``2026/11/30 07:24:02``, ``2026.11.30 07:24:02``,
    ``20261130T072402Z``."""
    return _dated(match, int(match["y"]), int(match["m"]), int(match["d"]), match["z"], False)


def day_first(match: "re.Match[bytes]") -> Stamp | None:
    """``30/Nov/2026:07:24:02 +0000``, ``30-Nov-2026 07:24:02.083``, ``Mon, 30 Nov 2026 07:24:02 GMT``."""
    return _dated(match, int(match["y"]), _month(match), int(match["d"]), match["z"], False)


def half_day(match: "re.Match[bytes]") -> Stamp | None:
    """``Nov 30, 2026 7:24:02 AM``."""
    hour = int(match["h"])
    days = _days(int(match["y"]), _month(match), int(match["d"]))
    if days < 0 or not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if match["half"] == b"PM" else 0)
    return Stamp(NAIVE, days * DAY + (hour * 3600 + int(match["mi"]) * 60 + int(match["s"])) * SECOND, SECOND)


def asctime(match: "re.Match[bytes]") -> Stamp | None:
    """``Mon Nov 30 07:24:02.083943 2026``."""
    return _dated(match, int(match["y"]), _month(match), int(match["d"]), None, False)


def syslog(match: "re.Match[bytes]") -> Stamp | None:
    """``Nov 30 07:24:02``."""
    return _dated(match, BASE_YEAR, _month(match), int(match["d"]), None, True)


def klog(match: "re.Match[bytes]") -> Stamp | None:
    """``I1130 07:24:02.083943``; newer glog writes the year, ``I20261130 07:24:02.083943``."""
    year = match["y"]
    return _dated(match, int(year or BASE_YEAR), int(match["m"]), int(match["d"]), None, year is None)


def time_of_day(match: "re.Match[bytes]") -> Stamp | None:
    """``07:24:02.083``."""
    ns, resolution = _of_day(match)
    return Stamp(TIME_OF_DAY, ns, resolution) if ns >= 0 else None


def elapsed(match: "re.Match[bytes]") -> Stamp | None:
    """``[    19.545603s]``."""
    fraction = match["f"]
    if len(match["s"]) > 9:
        return epoch_number(match["s"] + b"." + fraction)
    ns = int(match["s"]) * SECOND + int(fraction.ljust(9, b"0"))
    return Stamp(ELAPSED, ns, resolution_of(len(fraction)))


def counted_seconds(match: "re.Match[bytes]") -> Stamp | None:
    """``INFO[0003]``."""
    return Stamp(ELAPSED, int(match["s"]) * SECOND, SECOND)


def epoch(match: "re.Match[bytes]") -> Stamp | None:
    """``1796023451.443837``, ``1796023451443``, ``1796023451443837``."""
    return epoch_number(match["n"])


def epoch_number(text: bytes) -> Stamp | None:
    """A number that counts from the epoch, in the unit that makes it a time of our days; None when none does."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    fraction, power = match[2] or b"", int(match[3] or b"0")
    digits = match[1] + fraction.ljust(power, b"0")[:power] if power else match[1]
    fraction = fraction[power:]
    places = _EPOCH_DIGITS.get(len(digits))
    if places is None:
        return None
    all_digits = (digits + fraction)[: 10 + 9]
    ns = int(all_digits.ljust(19, b"0"))
    return Stamp(ABSOLUTE, ns, resolution_of(len(all_digits) - 10)) if ns < _MAX_NS else None


def text_value(text: bytes) -> Stamp | None:
    """The value of a field that is known to be a time: any of the formats, or a number."""
    number = epoch_number(text.strip())
    if number is not None:
        return number
    for pattern, parse in _VALUES:
        match = pattern.match(text)
        if match is not None:
            return parse(match)
    return None


ISO: Final = rb"(?P<y>\d{4})(?P<sep>[-/.])(?P<m>[01]\d)(?P=sep)(?P<d>[0-3]\d)[Tt _]" + CLOCK + ZONE
COMPACT: Final = (
    rb"(?P<y>\d{4})(?P<m>[01]\d)(?P<d>[0-3]\d)T(?P<h>[012]\d)(?P<mi>[0-5]\d)(?P<s>[0-6]\d)(?:[.,](?P<f>\d{1,9}))?"
    + ZONE
)
DAY_FIRST: Final = rb"(?P<d>\d{1,2})[-/ ]" + MONTH + rb"[-/ ](?P<y>\d{4})[: T]" + CLOCK + ZONE
ASCTIME: Final = MONTH + rb" +(?P<d>\d{1,2}) " + CLOCK + rb" (?P<y>\d{4})(?!\d)"
_VALUES: Final[tuple[tuple["re.Pattern[bytes]", Parser], ...]] = tuple(
    (re.compile(rb"\s*(?:\w{3},? )?" + pattern), parse)
    for pattern, parse in ((ISO, iso), (COMPACT, iso), (DAY_FIRST, day_first), (ASCTIME, asctime), (CLOCK, time_of_day))
)
