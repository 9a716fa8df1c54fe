"""Text that came from a capture, a trace or a log, made safe for a terminal, and the room it takes there.

Server names, file names and log lines may hold escape sequences, direction overrides or broken encodings. What each
file format must escape besides is said by its renderer.
"""

from collections.abc import Iterable
from typing import Final

ELLIPSIS: Final = "…"
_UPON_ANOTHER: Final = ("Mn", "Me")
"""Marks that are drawn upon the letter before; not all of them have a class by which they combine."""


def printable(text: str) -> str:
    r"""``text`` on one line, with everything that is neither visible nor a plain space as ``\x1b`` or ``\u202e``.

    That is controls, direction overrides, surrogates, unassigned characters and line ends.
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def display_width(text: str) -> int:
    """How many columns ``text`` takes on a terminal: East Asian wide characters two, marks upon another none."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def padded(text: str, width: int, right: bool = False) -> str:
    """``text`` with spaces to ``width`` columns, before it where it belongs to the ``right``."""
    room = " " * (width - display_width(text))
    return room + text if right else text + room


def widest(texts: Iterable[str]) -> int:
    """How many columns the one takes that takes most; there must be one."""
    texts = list(texts)
    return max(map(len if "".join(texts).isascii() else display_width, texts))


def shorten(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns, an ellipsis in its middle for what was left out."""
    if display_width(text) <= width:
        return text
    if width < 2:
        return ELLIPSIS[:width]
    tail = (width - 1) // 2
    head = width - 1 - tail
    return fit(text, head) + ELLIPSIS + fit(text[::-1], tail)[::-1]


def shorten_end(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns, an ellipsis at its end for what was left out."""
    return text if display_width(text) <= width else fit(text, max(width - 1, 0)) + ELLIPSIS[:width]


def fit(text: str, width: int) -> str:
    """The longest start of ``text`` that takes at most ``width`` columns, with all marks upon its last letter."""
    used = 0
    for index, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:index]
    return text


def _width(character: str) -> int:
    import unicodedata  # few texts need it

    if unicodedata.category(character) in _UPON_ANOTHER:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
