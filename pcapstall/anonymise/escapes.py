r"""Text as it stands within other text: percent-encoded, ``\u0061``, ``\303\251``, ``\x61``.

Decoded to be looked at, and what was not as it looked is given back decoded. What is replaced in it is not known here.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

_ESCAPE: Final = re.compile(
    r"(?P<unicode>\\u[0-9A-Fa-f]{4})|(?P<bytes>(?:%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\[0-3]?[0-7]{2})+)"
    r"|&#(?:x(?P<hex>[0-9A-Fa-f]{1,6})|(?P<decimal>\d{1,7}));"
)
_RUN: Final = re.compile(
    r"(?:\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\[0-3]?[0-7]{2}|&#\w{1,8};|[\w.@:/+~=?&#!*$-])+"
)
"""What belongs together where a part of it is escaped."""
_BYTE: Final = re.compile(r"%(..)|\\x(..)|\\(\d+)")
_LIKE: Final = re.compile(r"[^\w.@:/+~=?&#!*$;-]", re.ASCII)
_ZONE: Final = re.compile(r"[^%]*:[0-9A-Fa-f:.]*%[\w.-]*")
"""An address of a link, whose interface stands behind the sign (RFC 4007 section 11)."""


def is_escaped(text: str) -> bool:
    """Whether anything in ``text`` is."""
    return ("%" in text or "\\" in text or "&#" in text) and _ESCAPE.search(text) is not None


def runs(text: str) -> Iterator[tuple[str, str | None, Callable[[str], str]]]:
    """The parts of ``text`` in their order: one in which something is escaped with what it says, decoded, and how other
    text is escaped in its place; None for one in which nothing is.
    """
    at = 0
    for match in _RUN.finditer(text):
        if _ESCAPE.search(match[0]) is not None and _ZONE.fullmatch(match[0]) is None:
            if at < match.start():
                yield text[at : match.start()], None, str
            yield match[0], _unescaped(match[0]), partial(_escaped, match[0])
            at = match.end()
    if at < len(text):
        yield text[at:], None, str


def _unescaped(text: str) -> str:
    """``text`` without escapes; bytes are UTF-8, or else Latin-1."""
    pairs = _ESCAPE.sub(_decoded, text)
    return pairs.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _decoded(match: re.Match[str]) -> str:
    if match["bytes"] is not None:
        data = bytes(
            int(octal, 8) if octal else int(percent or hexadecimal, 16)
            for percent, hexadecimal, octal in _BYTE.findall(match["bytes"])
        )
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode("latin-1")
    if match["unicode"] is not None:
        return chr(int(match["unicode"][2:], 16))
    code = int(match["hex"], 16) if match["hex"] else int(match["decimal"])
    return chr(code) if code < 0x110000 else "x"


def _escaped(like: str, text: str) -> str:
    """What may not stand plainly where ``like`` stood, escaped as that was."""

    def one(match: re.Match[str]) -> str:
        data = match[0].encode("utf-8", "surrogatepass")
        if "%" in like:
            return "".join(f"%{byte:02X}" for byte in data)
        if "\\u" in like:
            units = match[0].encode("utf-16-be", "surrogatepass").hex()
            return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
        if "\\" in like:
            return "".join(f"\\x{byte:02x}" for byte in data)
        return f"&#{ord(match[0])};"

    return _LIKE.sub(one, text)
