"""Text that came from a capture, a trace or a log, made safe for a terminal, and the room it takes there.

Server names, file names and log lines may hold escape sequences, direction overrides or broken encodings. What each
file format must escape besides is said by its renderer.
"""

import unicodedata
from typing import Final

_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Unicode categories that are shown as an escape: controls, direction overrides, surrogates, unassigned, line ends."""

ELLIPSIS: Final = "…"


def printable(text: str) -> str:
    r"""``text`` on one line, with everything that is not a visible character as ``\x1b`` or ``\u202e``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def ascii_only(text: str) -> str:
    """``text`` with everything outside printable ASCII as an escape: for names that are ASCII by definition."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isascii() and c.isprintable() else _escape(c) for c in text)


def display_width(text: str) -> int:
    """How many columns ``text`` takes on a terminal: East Asian wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def shorten(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns, an ellipsis in its middle for what was left out."""
    if display_width(text) <= width:
        return text
    if width < 2:
        return ELLIPSIS[:width]
    tail = (width - 1) // 2
    head = width - 1 - tail
    return _fit(text, head) + ELLIPSIS + _fit(text[::-1], tail)[::-1]


def _fit(text: str, width: int) -> str:
    """The longest start of ``text`` that takes at most ``width`` columns."""
    used = 0
    for index, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:index]
    return text


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _visible(character: str) -> str:
    return _escape(character) if unicodedata.category(character) in _HIDDEN else character


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
