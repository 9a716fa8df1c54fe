"""Parts of an interval: what it is made of, adding up to it exactly, none negative.

A part is laid down from where the last one ended to a given time; times out of order or out of the interval take
nothing. Which part is whose is decided by the rules.
"""

from collections.abc import Iterable, Mapping


def split(start_ns: int, end_ns: int, marks: Iterable[tuple[int, str]], rest: str) -> Mapping[str, int]:
    """The parts from ``start_ns`` to ``end_ns``: up to each mark's time its part, what is left ``rest``.

    Empty when the interval is negative: there is nothing to share out.
    """
    if end_ns < start_ns:
        return {}
    parts: dict[str, int] = {}
    at_ns = start_ns
    for until_ns, part in [*marks, (end_ns, rest)]:
        until_ns = min(until_ns, end_ns)
        if until_ns > at_ns:
            parts[part] = parts.get(part, 0) + until_ns - at_ns
            at_ns = until_ns
    return parts or {rest: 0}
