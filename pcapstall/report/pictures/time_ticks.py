"""Round times of day along a picture's axis: as far apart as they are easily read.

What is longer than days has ticks of whole days.
"""

from collections.abc import Sequence
from typing import Final

from pcapstall.core.times import DAY, HOUR, MINUTE, MS, SECOND, US, format_time_of_day

_MOST: Final = 8
_STEPS: Final = (
    *(n * unit for unit in (US, MS) for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(n * SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
)


def ticks(first_ns: int, span_ns: int) -> Sequence[tuple[int, str]]:
    """At most a few round stamps from ``first_ns`` on, each in words: ``07:24:10``, ``07:24:10.500``, ``day 2``."""
    step = next((step for step in _STEPS if span_ns <= step * _MOST), 0)
    if not step:
        days = span_ns // DAY // _MOST + 1
        return [(first_ns + at * DAY, f"day {at}") for at in range(0, span_ns // DAY + 1, days)]
    start = -(-first_ns // step) * step
    return [(ns, _words(ns, step)) for ns in range(start, first_ns + span_ns + 1, step)]


def _words(ns: int, step: int) -> str:
    whole = format_time_of_day(ns)
    if step >= SECOND:
        return whole.partition(".")[0]
    if step >= MS:
        return whole
    return f"{whole}{ns // US % 1000:03d}"
