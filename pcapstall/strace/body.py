"""The body of a line: a call, one half of one, a signal, an exit. Extents and numbers only, no memory of other lines.

`Body.read` says which it is and where its parts lie; who made the call and when is `lines`' matter, what the arguments
mean that of `args` and its neighbours.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.numbers import read_decimal, read_number, skip_digits
from pcapstall.strace.walk import EQUALS, GREATER, LESS, SPACE, find_close, skip_spaces, starts

CALL: Final = 1
UNFINISHED: Final = 2
"""The first half of a call: ``read(4,  <unfinished ...>``."""
RESUMED: Final = 3
"""The second half, joined to the first: ``<... read resumed>"y", 1) = 1``."""
SIGNAL: Final = 4
EXIT: Final = 5
REMARK: Final = 6
"""strace's own words, script(1)'s, a table of -c, an empty line."""
CONTINUATION: Final = 7
"""More of the line above: a stack (-k), a dump (-e read=), the rest of a call that was broken."""
UNREAD: Final = 8
OPEN: Final = 9
"""A call without an end, which may come on the next line. Never the kind of a line that `lines` hands out."""
NOTHING: Final = 0
"""None of the above: `remarks` looks at it."""

KIND_NAMES: Final = ("", "call", "unfinished", "resumed", "signal", "exit", "remark", "continuation", "unread")

# How a first half ends.
HALF: Final = 0
DETACHED: Final = 1
PID_CHANGED: Final = 2

_UNFINISHED_MARK: Final = b"<unfinished ...>"
_DETACHED_MARK: Final = b"<detached ...>"
_RESUMED_MARK: Final = b" resumed>"
_PAREN: Final = 40
_QUESTION: Final = 63
_DOT: Final = 46


def _words() -> bytes:
    table = bytearray(256)
    for character in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_":
        table[character] = 1
    return bytes(table)


_WORD: Final[bytes] = _words()


class Body:
    """The parts of the body that was read last."""

    def __init__(self) -> None:
        self.name_start: i64 = 0
        self.name_end: i64 = 0
        self.args_start: i64 = 0
        self.args_end: i64 = 0
        """The text between the parentheses, or as much of it as stands on this line."""
        self.result_start: i64 = 0
        self.result_end: i64 = 0
        """The text after ``= ``, without the duration."""
        self.ret: i64 = 0
        self.returned: bool = False
        """`ret` was printed; not so for ``= ?``."""
        self.duration_ns: i64 = -1
        """What -T printed, -1 for nothing."""
        self.half_end: i64 = HALF
        self.again: bool = False
        """A first half that is the second of one: ``<... execve resumed> <unfinished ...>``."""
        self.changed_pid: i64 = 0
        """``<pid changed to N ...>``."""

    def read(self, buf: bytes, at: i64, end: i64) -> i64:
        """The kind of the body at ``at``; the attributes say where its parts are."""
        first: i64 = buf[at]
        if _WORD[first] != 0 or first == _QUESTION:
            return self._call(buf, at, end)
        if first == LESS:
            return self._resumed(buf, at, end)
        if end - at < 9:
            return NOTHING
        if starts(buf, at, end, b"--- ") and starts(buf, end - 4, end, b" ---"):
            self.args_start = at + 4
            self.args_end = end - 4
            return SIGNAL
        if starts(buf, at, end, b"+++ ") and starts(buf, end - 4, end, b" +++"):
            self.args_start = at + 4
            self.args_end = end - 4
            return EXIT
        return NOTHING

    def read_tail(self, buf: bytes, at: i64, end: i64) -> i64:
        """A second half without its ``<... resumed>``, which -z and -Z leave out: ``[...], 0, NULL) = 30903``."""
        if end - at < 5:
            return NOTHING
        self.args_start = at
        return self._ending(buf, at, end, RESUMED)

    def _call(self, buf: bytes, at: i64, end: i64) -> i64:
        self.name_start = at
        if buf[at] == _QUESTION:
            while at < end and buf[at] == _QUESTION:
                at += 1
        else:
            while at < end and _WORD[buf[at]] != 0:
                at += 1
        if at >= end or buf[at] != _PAREN:
            return NOTHING
        self.name_end = at
        self.args_start = at + 1
        if buf[end - 1] == GREATER and buf[end - 2] == _DOT and self._half(buf, end):
            self.again = False
            return UNFINISHED
        return self._ending(buf, at + 1, end, CALL)

    def _half(self, buf: bytes, end: i64) -> bool:
        """Whether the line ends in the mark of a first half; sets where its arguments end."""
        mark: i64 = end - 16
        self.half_end = HALF
        if mark < self.args_start or not starts(buf, mark, end, _UNFINISHED_MARK):
            mark = end - 14
            self.half_end = DETACHED
            if mark < self.args_start or not starts(buf, mark, end, _DETACHED_MARK):
                return self._pid_changed(buf, end)
        # One space belongs to the mark: "read(4,  <unfinished ...>" is "read(4, " so far.
        if mark > self.args_start and buf[mark - 1] == SPACE:
            mark -= 1
        self.args_end = mark
        return True

    def _pid_changed(self, buf: bytes, end: i64) -> bool:
        mark: i64 = end - 6
        if mark < self.args_start:
            return False
        while mark > self.args_start and buf[mark] != LESS:
            mark -= 1
        if not starts(buf, mark, end, b"<pid changed to "):
            return False
        after: i64 = skip_digits(buf, mark + 16, end)
        if not starts(buf, after, end, b" ...>") or after == mark + 16 or after - mark > 24:
            return False
        self.changed_pid = read_decimal(buf, mark + 16, after)
        self.half_end = PID_CHANGED
        if buf[mark - 1] == SPACE:
            mark -= 1
        self.args_end = mark
        return True

    def _resumed(self, buf: bytes, at: i64, end: i64) -> i64:
        """``<... epoll_wait resumed>[], 1023, 1000) = 0 <1.001111>``."""
        if not starts(buf, at, end, b"<... "):
            return NOTHING
        at += 5
        self.name_start = at
        while at < end and (_WORD[buf[at]] != 0 or buf[at] == _QUESTION):
            at += 1
        if at == self.name_start or not starts(buf, at, end, _RESUMED_MARK):
            return NOTHING
        self.name_end = at
        self.args_start = at + 9
        if buf[end - 1] == GREATER and buf[end - 2] == _DOT and self.args_start < end and self._half(buf, end):
            self.again = True
            return UNFINISHED
        return self._ending(buf, self.args_start, end, RESUMED)

    def _ending(self, buf: bytes, at: i64, end: i64, kind: i64) -> i64:
        """The closing parenthesis, the result and the duration of a line whose arguments start at ``at``."""
        self.duration_ns = -1
        if buf[end - 1] == GREATER:
            end = self._duration(buf, at, end)
        close: i64 = find_close(buf, at, end)
        while close >= 0:
            after: i64 = skip_spaces(buf, close + 1, end)
            if after < end and buf[after] == EQUALS:
                self.args_end = close
                self._result(buf, after + 1, end)
                return kind
            # A parenthesis too many: a tracee's own output between ours.
            close = find_close(buf, close + 1, end)
        return OPEN

    def _result(self, buf: bytes, at: i64, end: i64) -> None:
        at = skip_spaces(buf, at, end)
        self.result_start = at
        self.result_end = end
        self.returned = False
        self.ret = 0
        value, after = read_number(buf, at, end)
        if after > at:
            self.ret = value
            self.returned = True

    def _duration(self, buf: bytes, start: i64, end: i64) -> i64:
        """``... <0.000039>`` at the end of the line: keeps it and returns where the text before it ends."""
        at: i64 = end - 2
        point: i64 = 0
        while at > start:
            character: i64 = buf[at]
            if character == _DOT:
                point = at
            elif character < 48 or character > 57:
                break
            at -= 1
        if at + 2 >= end or at <= start or buf[at] != LESS or buf[at - 1] != SPACE or end - at > 24:
            return end
        value: i64 = 0
        digits: i64 = 0
        k: i64 = at + 1
        while k < end - 1:
            if k == point:
                digits = 0
            else:
                value = value * 10 + i64(buf[k]) - 48
                digits += 1
                if digits > 9:
                    return end
            k += 1
        if point == 0:
            digits = 0
        while digits < 9:
            value *= 10
            digits += 1
        self.duration_ns = value
        return at - 1

    def errno(self, buf: bytes) -> bytes:
        """The error in the result: ``EINPROGRESS``, ``ERESTARTSYS``; empty when there is none."""
        at: i64 = self.result_start
        end: i64 = self.result_end
        while at < end and buf[at] != SPACE:
            at += 1
        at += 1
        start: i64 = at
        while at < end and _WORD[buf[at]] != 0 and buf[at] < 97:
            at += 1
        if at - start < 2 or at - start > 32 or buf[start] != 69:
            return b""
        return buf[start:at]


def is_word(character: i64) -> bool:
    """Whether the character may stand in a name."""
    return _WORD[character] != 0


def strip_interrupt(buf: bytes, at: i64, end: i64) -> i64:
    """Past the ``^C`` that a terminal echoed."""
    while at + 1 < end and buf[at] == 94 and 64 <= buf[at + 1] <= 95:
        at += 2
    return at
