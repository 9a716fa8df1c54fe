"""The arguments of a call: one after the other, and what the simple ones hold: descriptors, strings, flags.

Works on the extents that `lines` hands out. Structures with a meaning of their own are read in `addresses`, `waits` and
`messages`; nothing here knows which call it is.
"""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from pcapstall.strace.numbers import hex_value, read_number
from pcapstall.strace.walk import (
    BACKSLASH,
    COMMA,
    EQUALS,
    LESS,
    QUOTE,
    SLASH,
    SPACE,
    STAR,
    next_separator,
    skip_decoration,
    starts,
)

_CARET: Final = 94
_PIPE: Final = 124
_SIMPLE_ESCAPES: Final[dict[int, int]] = {110: 10, 116: 9, 114: 13, 102: 12, 118: 11, 97: 7, 98: 8, 101: 27}
"""``\\n \\t \\r \\f \\v``, and what other printers of C strings use; anything else stands for itself."""


class ArgCursor:
    """Goes over arguments, the members of a structure or the items of an array: ``a, {b, c}, [d]``."""

    def __init__(self) -> None:
        self.buf: bytes = b""
        self.start: i64 = 0
        self.end: i64 = 0
        """The current argument, without spaces around it."""
        self.value: i64 = 0
        """Where its value starts: after ``name=``, or at its start."""
        self._next: i64 = 0
        self._limit: i64 = 0

    def open(self, buf: bytes, start: i64, end: i64) -> None:
        """Begin with the arguments in this extent."""
        self.buf = buf
        self._next = start
        self._limit = end

    def open_inside(self, buf: bytes, start: i64, end: i64) -> bool:
        """Begin with what is inside the brackets at ``start``: ``{...}`` or ``[...]``; False when there are none."""
        if start >= end or (buf[start] != 123 and buf[start] != 91):
            self.open(buf, end, end)
            return False
        self.open(buf, start + 1, end)
        return True

    def next(self) -> bool:
        """Move to the next argument; False after the last, or at the bracket that closes what was opened."""
        buf = self.buf
        at: i64 = self._next
        limit: i64 = self._limit
        while at < limit and (buf[at] == SPACE or (buf[at] == _CARET and at + 1 < limit and buf[at + 1] == 67)):
            # "read(0, ^C0x7ff, 1024)": what a terminal echoed.
            if buf[at] == _CARET:
                at += 1
            at += 1
        if at >= limit:
            return False
        end: i64 = next_separator(buf, at, limit)
        self.start = at
        self._next = end
        if end < limit:
            if buf[end] == COMMA:
                self._next = end + 1
            else:
                self._limit = end
                if end == at:
                    return False
        while end > at and buf[end - 1] == SPACE:
            end -= 1
        self.end = end
        self.value = at
        return True

    def skip(self, count: i64) -> bool:
        """Move ``count`` arguments on and to the one after; False when there are not so many."""
        while count >= 0:
            if not self.next():
                return False
            count -= 1
        return True

    def named(self, name: bytes) -> bool:
        """Whether the current member is ``name=...``; `value` is then after the sign."""
        after: i64 = self.start + len(name)
        if after < self.end and self.buf[after] == EQUALS and starts(self.buf, self.start, self.end, name):
            self.value = after + 1
            return True
        return False

    def find(self, name: bytes) -> bool:
        """Move on to the member ``name=...``; False when none follows."""
        while self.next():
            if self.named(name):
                return True
        return False


def read_fd(buf: bytes, at: i64, end: i64) -> i64:
    """The descriptor at ``at``: ``3``, ``0x3``, ``3<TCP:[...]>``; -1 for none (AT_FDCWD, a pointer, nothing)."""
    value, after = read_number(buf, at, end)
    if after == at or value < 0 or value > 0x7FFF_FFFF:
        return -1
    return value


def fd_decoration(buf: bytes, at: i64, end: i64) -> bytes:
    """What -y printed for the descriptor at ``at``: ``TCP:[a:p->b:q]``; empty when it printed nothing."""
    _, at = read_number(buf, at, end)
    if at >= end or buf[at] != LESS:
        return b""
    after: i64 = skip_decoration(buf, at, end)
    if after < 0:
        return b""
    return buf[at + 1 : after - 1]


def read_string(buf: bytes, at: i64, end: i64, limit: i64) -> tuple[bytes, bool]:
    """The bytes of the string at ``at``, the first ``limit`` of them, and whether that is all of it.

    Octal escapes are as short as can be (``\\0`` before no digit, ``\\1778`` is 0x7f and an 8); -x and -xx print
    ``\\x16``. A string that strace cut ends in ``"...``. Not a string at all (``0x7f12``, ``NULL``): nothing, not all.
    """
    if at < end and buf[at] == 64:
        at += 1  # sun_path=@"abstract"
    if at >= end or buf[at] != QUOTE:
        return b"", False
    at += 1
    start: i64 = at
    # Without escapes the text is its own value.
    while at < end and at - start < limit:
        character: i64 = buf[at]
        if character == QUOTE:
            return buf[start:at], not starts(buf, at + 1, end, b"...")
        if character == BACKSLASH:
            break
        at += 1
    return _unescape(buf, start, end, limit)


def _unescape(buf: bytes, at: i64, end: i64, limit: i64) -> tuple[bytes, bool]:
    out = BytesWriter()
    count: i64 = 0
    while at < end and count < limit:
        character: i64 = buf[at]
        at += 1
        if character == QUOTE:
            return out.getvalue(), not starts(buf, at, end, b"...")
        if character == BACKSLASH and at < end:
            character = buf[at]
            at += 1
            if 48 <= character <= 55:
                character -= 48
                digits: i64 = 1
                while at < end and digits < 3 and 48 <= buf[at] <= 55:
                    character = character * 8 + i64(buf[at]) - 48
                    at += 1
                    digits += 1
                character &= 0xFF
            elif character == 120:
                character = 0
                digits = 0
                while at < end and digits < 2:
                    digit: i64 = hex_value(buf[at])
                    if digit < 0:
                        break
                    character = character * 16 + digit
                    at += 1
                    digits += 1
            else:
                plain = _SIMPLE_ESCAPES.get(character)
                if plain is not None:
                    character = plain
        out.append(u8(character))
        count += 1
    whole = at < end and buf[at] == QUOTE and not starts(buf, at + 1, end, b"...")
    return out.getvalue(), whole


def read_flags(buf: bytes, at: i64, end: i64, table: dict[bytes, int]) -> i64:
    """The flags at ``at`` as a number; -1 when they are not printed as flags (a pointer to them, ``NULL``).

    ``EPOLLIN|EPOLLET``, ``0x4``, ``0x80000 /* O_CLOEXEC */``, ``0x1|0x80000``, ``SOCK_STREAM|0x10``; names that
    ``table`` lacks count 0.
    """
    value: i64 = 0
    known = False
    while at < end:
        character: i64 = buf[at]
        if character == SPACE or character == _PIPE:
            at += 1
        elif character == SLASH and at + 1 < end and buf[at + 1] == STAR:
            at += 2
            while at + 1 < end and not (buf[at] == STAR and buf[at + 1] == SLASH):
                at += 1
            at += 2
        elif 48 <= character <= 57:
            number, after = read_number(buf, at, end)
            value |= number & 0xFFFF_FFFF
            known = True
            at = after
        elif 65 <= character <= 90:
            start: i64 = at
            while at < end and (65 <= buf[at] <= 90 or buf[at] == 95 or 48 <= buf[at] <= 57):
                at += 1
            name = buf[start:at]
            value |= table.get(name, 0)
            known = known or name != b"NULL"
        else:
            break
    if not known:
        return -1
    return value
