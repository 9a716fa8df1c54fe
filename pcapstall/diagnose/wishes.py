"""What would settle a verdict, in one phrase: each wish once, and what is wished of one capture or strace together.

Rules and limits name their wishes one by one and know nothing of each other's. Words only: no wish is made here.
"""

import re
from collections.abc import Iterable
from typing import Final

_OF_A_RECORDING: Final = re.compile(
    r"(?P<kind>a (?:capture|strace))(?P<place>(?: at the (?:client|server)(?: itself)?)?)"
    r"(?: (?P<quality>(?:that|whose|of|in which|with|without) [^:]*))?"
)
"""``a capture at the server``, ``a capture whose clock did not step``; none that gives its reason behind a colon."""
_NOTHING: Final = "nothing:"
"""How a wish begins that says why there is none."""


def wish_for(wishes: Iterable[str]) -> str:
    """``wishes`` as one phrase; what is empty, said twice, or no wish beside another, is left out.

    ``a capture at the server``, ``a capture that lacks no packets`` and ``a capture whose clock did not step`` are
    ``a capture at the server that lacks no packets and whose clock did not step``.
    """
    distinct = list(dict.fromkeys(filter(None, wishes)))
    wanted = [wish for wish in distinct if not wish.startswith(_NOTHING)] or distinct[:1]
    groups: dict[str, list[str]] = {}
    for wish in wanted:
        found = _OF_A_RECORDING.fullmatch(wish)
        qualities = groups.setdefault(wish if found is None else found["kind"] + found["place"], [])
        if found is not None and found["quality"] and found["quality"] not in qualities:
            qualities.append(found["quality"])
    for kind in ("a capture", "a strace"):
        placed = [subject for subject in groups if subject.startswith(f"{kind} at the ")]
        if kind in groups and len(placed) == 1:
            groups[placed[0]] += [quality for quality in groups.pop(kind) if quality not in groups[placed[0]]]
    return " and ".join(_qualified(subject, qualities) for subject, qualities in groups.items())


def _qualified(subject: str, qualities: list[str]) -> str:
    if not qualities:
        return subject
    *others, last = qualities
    return f"{subject} {', '.join(others)} and {last}" if others else f"{subject} {last}"
