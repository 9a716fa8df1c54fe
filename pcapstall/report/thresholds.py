"""Above what length an interval is called stalled: the defaults, and `--slow`.

Whether an interval stalled is decided by the layer that measures it; this module only reads what the user asked for.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from pcapstall.core.errors import UsageError
from pcapstall.core.times import HOUR, MS, SECOND, YEAR, parse_duration
from pcapstall.report.names import INTERVALS, STALL_INTERVALS

DEFAULT_NS: Final = SECOND
LONGEST_NS: Final = 100 * YEAR
"""No threshold is longer: with a round trip added it must still fit 64 bits."""
CH_ACK_NS: Final = 500 * MS
"""RFC 9293 section 3.8.6.3 lets an ACK be delayed for up to 500 ms."""


def parse_thresholds(options: Iterable[str]) -> dict[str, int]:
    """The values of `--slow`, in nanoseconds: ``default`` and the intervals that have their own.

    Each option is ``500ms`` (every interval) or ``ch_ack=200ms`` (that one); the last of a kind counts. ch_ack keeps
    its 500 ms under a lower default, since a delayed ACK is legal, and follows a higher one. UsageError names what is
    wrong.
    """
    default = DEFAULT_NS
    own: dict[str, int] = {}
    for option in options:
        name, equals, duration = option.partition("=")
        if not equals:
            default = _length(option, option)
            continue
        name = name.strip()
        if name not in STALL_INTERVALS:
            why = "is a lifetime, never a stall by itself" if name in INTERVALS else "is no interval"
            raise UsageError(f"--slow {option}: {name!r} {why}; choose one of {', '.join(STALL_INTERVALS)}")
        own[name] = _length(duration, option)
    own.setdefault("ch_ack", max(CH_ACK_NS, default if default > DEFAULT_NS else 0))
    return {"default": default} | {name: own[name] for name in STALL_INTERVALS if name in own}


def threshold_ns(thresholds: Mapping[str, int], interval: str) -> int:
    """The threshold of ``interval``."""
    return thresholds.get(interval, thresholds["default"])


def _length(text: str, option: str) -> int:
    try:
        length = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--slow {option}: {error}") from None
    if length > LONGEST_NS:
        raise UsageError(f"--slow {option}: a threshold is at most {LONGEST_NS // HOUR} h")
    if length <= 0:
        raise UsageError(f"--slow {option}: a threshold is more than zero")
    return length
