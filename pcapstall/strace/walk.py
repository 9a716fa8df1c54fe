"""Walking over the text of a call: strings, descriptor decorations, brackets.

Every function takes an extent of a buffer and returns offsets; none copies. A string may hold anything, also `) = 5`
and `<unfinished ...>`, so nothing here searches: it walks. What the arguments mean is in `args` and its neighbours.
"""

from typing import Final

from mypy_extensions import i64

QUOTE: Final = 34
BACKSLASH: Final = 92
SPACE: Final = 32
COMMA: Final = 44
LESS: Final = 60
GREATER: Final = 62
EQUALS: Final = 61
SLASH: Final = 47
STAR: Final = 42
OPEN_BRACKET: Final = 91
CLOSE_BRACKET: Final = 93
OPEN_PAREN: Final = 40
CLOSE_PAREN: Final = 41
_UNDERSCORE: Final = 95
_LOWER: Final = 32

_MAX_FALSE_ANGLES: Final = 16
"""After so many ``<`` of one line that opened nothing no further one is tried: each try may look to its end."""

_OPENING: Final = 1
_CLOSING: Final = 2
_STRING: Final = 3
_ANGLE: Final = 4
_COMMENT: Final = 5
_SEPARATOR: Final = 6


def _classes() -> bytes:
    table = bytearray(256)
    for character in b"([{":
        table[character] = _OPENING
    for character in b")]}":
        table[character] = _CLOSING
    table[QUOTE] = _STRING
    table[LESS] = _ANGLE
    table[SLASH] = _COMMENT
    table[COMMA] = _SEPARATOR
    return bytes(table)


_CLASS: Final[bytes] = _classes()


def skip_string(buf: bytes, at: i64, end: i64) -> i64:
    """Past the string that opens at ``at``; -1 when it does not close before ``end``."""
    at += 1
    while at < end:
        character: i64 = buf[at]
        if character == BACKSLASH:
            at += 2
        elif character == QUOTE:
            return at + 1
        else:
            at += 1
    return -1


def skip_decoration(buf: bytes, at: i64, end: i64) -> i64:
    """Past the decoration that opens at ``at``: ``3<TCP:[a:p->b:q]>``, ``5</dev/null<char 1:3>>``; -1 when it is none.

    In a path every `<` and `>` is escaped (``a b\\74c\\76``), so the first bare one ends it; elsewhere an arrow stands
    between brackets.
    """
    at += 1
    if at >= end:
        return -1
    is_path = buf[at] == SLASH
    angles: i64 = 1
    brackets: i64 = 0
    while at < end:
        character: i64 = buf[at]
        if character == BACKSLASH:
            at += 1
        elif character == GREATER:
            if is_path or brackets == 0:
                angles -= 1
                if angles == 0:
                    return at + 1
        elif character == LESS:
            angles += 1
        elif not is_path:
            if character == OPEN_BRACKET:
                brackets += 1
            elif character == CLOSE_BRACKET:
                brackets -= 1
            elif character == QUOTE:
                # <UNIX-STREAM:[1->2,"/run/x"]>
                at = skip_string(buf, at, end)
                if at < 0:
                    return -1
                continue
        at += 1
    return -1


def _is_word(character: i64) -> bool:
    if character <= 57:
        return character >= 48
    letter: i64 = character | _LOWER
    return 97 <= letter <= 122 or character == _UNDERSCORE


def skip_special(buf: bytes, at: i64, end: i64, kind: i64) -> i64:
    """Past a string, decoration or comment; one byte on when the ``<`` or ``/`` is just that; -1: it never closes."""
    if kind == _STRING:
        return skip_string(buf, at, end)
    if kind == _ANGLE:
        # A decoration follows a number or a name at once: 3<...>, AT_FDCWD<...>; 1<<CAP_CHOWN has none.
        if at + 1 < end and at > 0 and _is_word(buf[at - 1]) and buf[at + 1] != LESS:
            after = skip_decoration(buf, at, end)
            if after > 0:
                return after
        elif at + 1 < end and buf[at + 1] == LESS:
            return at + 2
        return at + 1
    if at + 1 < end and buf[at + 1] == STAR:
        # 0x7ffe756546e8 /* 35 vars */
        at += 2
        while at + 1 < end:
            if buf[at] == STAR and buf[at + 1] == SLASH:
                return at + 2
            at += 1
        return -1
    return at + 1


def find_close(buf: bytes, at: i64, end: i64) -> i64:
    """Where the parenthesis is that closes the arguments starting at ``at``.

    -1: not before ``end``; -2: not, and a string or comment is still open at ``end``. A closing bracket whose opening
    one was in the unfinished half (``<... accept4 resumed> => 16], 0) = 7``) is passed over.
    """
    depth: i64 = 0
    false_angles: i64 = 0
    while at < end:
        character: i64 = buf[at]
        kind: i64 = _CLASS[character]
        if kind == 0 or kind == _SEPARATOR:
            at += 1
        elif kind == _OPENING:
            depth += 1
            at += 1
        elif kind == _CLOSING:
            if depth > 0:
                depth -= 1
            elif character == CLOSE_PAREN:
                return at
            at += 1
        elif kind == _ANGLE and false_angles > _MAX_FALSE_ANGLES:
            at += 1
        else:
            after: i64 = skip_special(buf, at, end, kind)
            if after < 0:
                return -2
            if kind == _ANGLE and after == at + 1:
                false_angles += 1
            at = after
    return -1


def next_separator(buf: bytes, at: i64, end: i64) -> i64:
    """Where the argument or member that starts at ``at`` ends: its comma, the bracket around it, or ``end``."""
    depth: i64 = 0
    false_angles: i64 = 0
    while at < end:
        kind: i64 = _CLASS[buf[at]]
        if kind == 0:
            at += 1
        elif kind == _OPENING:
            depth += 1
            at += 1
        elif kind == _CLOSING:
            if depth == 0:
                return at
            depth -= 1
            at += 1
        elif kind == _SEPARATOR:
            if depth == 0:
                return at
            at += 1
        elif kind == _ANGLE and false_angles > _MAX_FALSE_ANGLES:
            at += 1
        else:
            after: i64 = skip_special(buf, at, end, kind)
            if after < 0:
                return end
            if kind == _ANGLE and after == at + 1:
                false_angles += 1
            at = after
    return end


def skip_spaces(buf: bytes, at: i64, end: i64) -> i64:
    """Past the spaces at ``at``."""
    while at < end and buf[at] == SPACE:
        at += 1
    return at


def starts(buf: bytes, at: i64, end: i64, text: bytes) -> bool:
    """Whether ``text`` stands at ``at``, before ``end``."""
    length: i64 = len(text)
    if at + length > end:
        return False
    k: i64 = 0
    while k < length:
        if buf[at + k] != text[k]:
            return False
        k += 1
    return True


def text_at(buf: bytes, at: i64, end: i64, text: bytes) -> i64:
    """Where ``text`` first stands in the extent, -1 when nowhere. For short extents; knows nothing of strings."""
    length: i64 = len(text)
    while at + length <= end:
        if starts(buf, at, end, text):
            return at
        at += 1
    return -1
