"""Nanoseconds to text and back. Inside everything is integer nanoseconds; only here do they become words.

Nothing here reads a clock. Compiled: a verdict tells five spans, and a row of the table a dozen.
"""

import re
import time
from typing import Final

from mypy_extensions import i64

US: Final = 1_000
MS: Final = 1_000_000
SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
YEAR: Final = 365 * DAY

_UNITS: Final = {"ns": 1, "us": US, "µs": US, "ms": MS, "s": SECOND, "m": MINUTE, "min": MINUTE, "h": HOUR}
_DURATION: Final = r"(-?[0-9]+(?:\.[0-9]+)?)\s*([a-zµ]+)"


def parse_duration(text: str) -> int:
    """``500ms``, ``1.5 s``, ``2m`` in nanoseconds; ValueError when it is none."""
    match = re.fullmatch(_DURATION, text.strip())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a duration: write 500ms, 1s, 200us, 2m")
    whole, _, fraction = match[1].partition(".")
    unit = _UNITS[match[2]]
    sign = -1 if whole.startswith("-") else 1
    return int(whole) * unit + (sign * int(fraction) * unit // 10 ** len(fraction) if fraction else 0)


def format_ms(ns: int, digits: int = 3) -> str:
    """Milliseconds with ``digits`` decimals, rounded half away from zero in integer arithmetic: ``52091.243``."""
    parts = _POWERS[digits]
    step = MS // parts
    ticks = (abs(ns) + step // 2) // step
    sign = "-" if ns < 0 and ticks else ""
    if digits == 0:
        return f"{sign}{ticks}"
    return f"{sign}{ticks // parts}.{str(ticks % parts).zfill(digits)}"


_POWERS: Final = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


_SPANS: Final = (
    (US, 1, 1, "ns"),
    (MS - US // 2, US, US, "us"),
    (10 * MS - MS // 20, MS // 10, MS, "ms"),
    (SECOND - MS // 2, MS, MS, "ms"),
    (100 * SECOND - SECOND // 20, SECOND // 10, SECOND, "s"),
    (2 * MINUTE - SECOND // 2, SECOND, SECOND, "s"),
)
"""A duration below the first number is rounded to the second (a unit, or a tenth of one) and told in the third."""
_SECONDS_BELOW: Final = 2 * MINUTE - SECOND // 2


def format_span(ns: int) -> str:
    """A duration for a sentence, to two or three digits: ``52.1 s``, ``340 ms``, ``4 min 10 s``, ``227 d 1 h``."""
    size = abs(ns)
    sign = "-" if ns < 0 else ""
    if size < _SECONDS_BELOW:
        return sign + _short_span(size)
    minutes, seconds = divmod((size + SECOND // 2) // SECOND, 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        days, hours = divmod(hours + (minutes >= 30), 24)
        years, rest = divmod(days, 365)
        return f"{sign}{years} y {rest} d" if years >= 2 else f"{sign}{days} d {hours} h"
    return f"{sign}{hours} h {minutes} min" if hours else f"{sign}{minutes} min {seconds} s"


def format_step(most_ns: int, least_ns: int) -> str:
    """By how much a clock was set, that being between two lengths: ``about 5.0 s``, or ``3.0 s or more``."""
    return f"about {format_span(most_ns)}" if 10 * least_ns >= 9 * most_ns else f"{format_span(least_ns)} or more"


def _short_span(size: i64) -> str:
    for limit, of_step, of_unit, name in _SPANS:
        if size < limit:
            step: i64 = of_step
            unit: i64 = of_unit
            rounded: i64 = (size + step // 2) // step * step
            if step < unit:
                return f"{rounded // unit}.{rounded % unit // step} {name}"
            return f"{rounded // unit} {name}"
    raise ValueError(f"{size} ns is no short time")


def format_clock(ns: int) -> str:
    """The time of day of an epoch stamp with its zone: ``07:24:11.449 UTC``."""
    return f"{format_time_of_day(ns)} UTC"


def format_time_of_day(ns: int) -> str:
    """The time of day of an epoch stamp, by UTC: ``07:24:11.449``, cut to the millisecond."""
    ticks: i64 = ns % DAY // MS
    minutes: i64 = ticks // 60_000
    rest: i64 = ticks % 60_000
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d}.{rest % 1000:03d}"


def format_utc(ns: int) -> str:
    """``2021-05-19 17:29:02.123456 UTC``; stamps that no calendar holds stay a number of seconds."""
    seconds, rest = divmod(ns, SECOND)
    if not _YEAR_1 <= seconds < _YEAR_10000:
        return f"epoch {seconds}.{rest:09d}"
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(seconds))}.{rest // 1000:06d} UTC"


_YEAR_1: Final = -62_135_596_800
_YEAR_10000: Final = 253_402_300_800
