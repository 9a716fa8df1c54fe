"""What is kept of a log file: the lines that somebody asked for, and counts of all.

Plain records, filled by `reader`. When a line was written, on which clock, is found by `match`.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from pcapstall.logs.endpoints import Endpoint
from pcapstall.logs.stamps import Stamp

MAX_TEXT: Final = 1_000
"""Bytes of a line that are kept."""
MAX_MORE: Final = 10
"""Lines that are kept of a continuation."""
_CRI: Final = re.compile(r"^(?:stdout|stderr) [PF] ")
_SAYS: Final = ("log", "message", "msg", "MESSAGE", "@m", "@mt", "event")
"""Fields of JSON that hold what the line says."""


@dataclass(slots=True)
class LogLine:
    """One line, with the lines that belong to it."""

    number: int
    """From 1; of the first line, when it is told in several."""
    text: str
    """As written, at most `MAX_TEXT` bytes of it."""
    stamp: Stamp | None
    stamp_end: int = 0
    """Where the text goes on after a stamp that leads it; 0 for a stamp elsewhere, or none."""
    endpoints: tuple[Endpoint, ...] = ()
    """Those that it names."""
    more: list[str] = field(default_factory=list)
    """Lines without a stamp that follow: a stack trace, a message with line breaks. The first `MAX_MORE`."""
    more_lines: int = 0
    """How many there are."""

    def says(self) -> str:
        """The text without what surrounds it: the stamp that leads it, what a container runtime or JSON adds."""
        text = self.text
        if text.startswith("{"):
            return _said_in_json(text)
        rest = text[self.stamp_end :].lstrip(" ]:|") if self.stamp_end else text
        return _CRI.sub("", rest).strip() or text.strip()


def _said_in_json(text: str) -> str:
    import json  # few logs are written in it

    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for name in _SAYS:
        said = fields.get(name)
        if isinstance(said, str) and said.strip():
            others = [f"{key}={value}" for key, value in fields.items() if key != name and _tells(value)]
            return " ".join([said.strip(), *others]) if name != "log" else said.strip()
    return text


def _tells(value: object) -> bool:
    """Whether a field's value names an endpoint or an error, as far as its look tells."""
    return isinstance(value, str) and bool(
        re.search(r"[\d.\]]:\d|error|fail|timed? ?out|refused|reset", value, re.IGNORECASE)
    )


@dataclass(slots=True)
class LogFile:
    """One log, read once."""

    path: str
    formats: list[str] = field(default_factory=list)
    """Of its stamps, the commonest first."""
    lines: int = 0
    stamped: int = 0
    """Lines with a stamp."""
    continued: int = 0
    """Lines without one, which belong to the line before."""
    unread: int = 0
    """Lines without one and without a line before that has."""
    first_unread: tuple[int, str] | None = None
    """Number and text of the first of them."""
    kept: list[LogLine] = field(default_factory=list)
    """In the order of the file."""
    left_out: int = 0
    """Lines that were asked for and are more than can be kept."""
    trouble: str = ""
    """Why reading ended before the file did; empty when it did not."""
