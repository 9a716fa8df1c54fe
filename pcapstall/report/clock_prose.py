"""How a clock stands to the capture's, in words: of straces and logs alike.

Plain text, not yet escaped. What is said of them besides is in `strace_prose` and `log_prose`.
"""

from pcapstall.core.times import HOUR, MINUTE, format_span


def zone_words(zone_ns: int) -> str:
    """``UTC+05:30``."""
    hours, rest = divmod(abs(zone_ns), HOUR)
    return f"UTC{'-' if zone_ns < 0 else '+'}{hours:02d}:{rest // MINUTE:02d}"


def offset_words(offset_ns: int, error_ns: int | None) -> str:
    """``its clock is 3 s behind, give or take 2 ms``; ``offset_ns`` is what to add to have the capture's time."""
    if error_ns is not None and abs(offset_ns) <= error_ns:
        return f"its clock and the capture's agree within {format_span(error_ns)}"
    side = "behind" if offset_ns > 0 else "ahead"
    return f"its clock is {format_span(abs(offset_ns))} {side}{give_or_take(error_ns)}"


def give_or_take(error_ns: int | None) -> str:
    """``, give or take 2 ms``; empty when nothing tells."""
    return "" if error_ns is None else f", give or take {format_span(error_ns)}"
