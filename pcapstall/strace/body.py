"""The body of a line: a call, one half of one, a signal, an exit. Extents and numbers only, no memory of other lines.

`Body.read` says which it is and where its parts lie; who made the call and when is `lines`' matter, what the arguments
mean that of `args` and its neighbours.
"""

from typing import Final

from librt.strings import read_i64_le
from mypy_extensions import i64

from pcapstall.strace.ending import WORD, Ending
from pcapstall.strace.numbers import read_decimal, skip_digits
from pcapstall.strace.walk import GREATER, LESS, OPEN_PAREN, SPACE, starts

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

_UNFINISHED_FIRST: Final = read_i64_le(b"<unfinished ...>", 0)
_UNFINISHED_LAST: Final = read_i64_le(b"<unfinished ...>", 8)
_DETACHED_MARK: Final = b"<detached ...>"
RESUMED_START: Final = b"<... "
_RESUMED: Final = read_i64_le(b" resumed>", 0)
_QUESTION: Final = 63
_DOT: Final = 46


class Body(Ending):
    """The parts of the body that was read last."""

    def __init__(self) -> None:
        super().__init__()
        self.name_start: i64 = 0
        self.name_end: i64 = 0
        self.args_start: i64 = 0
        self.half_end: i64 = HALF
        self.again: bool = False
        """A first half that is the second of one: ``<... execve resumed> <unfinished ...>``."""
        self.changed_pid: i64 = 0
        """``<pid changed to N ...>``."""

    def read(self, buf: bytes, at: i64, end: i64, name_end: i64) -> i64:
        """The kind of the body at ``at``; the attributes say where its parts are.

        ``name_end`` is where the name of the call ends when that is known, else 0.
        """
        first: i64 = buf[at]
        if WORD[first] != 0 or first == _QUESTION:
            return self._call(buf, at, end, name_end)
        if first == LESS:
            return self._resumed(buf, at, end, name_end)
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
        return RESUMED if self.read_ending(buf, at, end) else OPEN

    def _call(self, buf: bytes, at: i64, end: i64, name_end: i64) -> i64:
        self.name_start = at
        if name_end > 0:
            at = name_end
        elif buf[at] == _QUESTION:
            while at < end and buf[at] == _QUESTION:
                at += 1
        else:
            while at < end and WORD[buf[at]] != 0:
                at += 1
        if at >= end or buf[at] != OPEN_PAREN:
            return NOTHING
        self.name_end = at
        self.args_start = at + 1
        if buf[end - 1] == GREATER and buf[end - 2] == _DOT and self._half(buf, end):
            self.again = False
            return UNFINISHED
        return CALL if self.read_ending(buf, at + 1, end) else OPEN

    def _half(self, buf: bytes, end: i64) -> bool:
        """Whether the line ends in the mark of a first half; sets where its arguments end."""
        mark: i64 = end - 16
        self.half_end = HALF
        if (
            mark < self.args_start
            or read_i64_le(buf, mark) != _UNFINISHED_FIRST
            or read_i64_le(buf, mark + 8) != _UNFINISHED_LAST
        ):
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

    def _resumed(self, buf: bytes, at: i64, end: i64, name_end: i64) -> i64:
        """``<... epoll_wait resumed>[], 1023, 1000) = 0 <1.001111>``."""
        if not starts(buf, at, end, RESUMED_START):
            return NOTHING
        at += 5
        self.name_start = at
        if name_end > 0:
            at = name_end
        while at < end and (WORD[buf[at]] != 0 or buf[at] == _QUESTION):
            at += 1
        if at == self.name_start or at + 9 > end or read_i64_le(buf, at) != _RESUMED or buf[at + 8] != GREATER:
            return NOTHING
        self.name_end = at
        self.args_start = at + 9
        if buf[end - 1] == GREATER and buf[end - 2] == _DOT and self.args_start < end and self._half(buf, end):
            self.again = True
            return UNFINISHED
        return RESUMED if self.read_ending(buf, self.args_start, end) else OPEN


def is_word(character: i64) -> bool:
    """Whether the character may stand in a name."""
    return WORD[character] != 0


def strip_interrupt(buf: bytes, at: i64, end: i64) -> i64:
    """Past the ``^C`` that a terminal echoed."""
    while at + 1 < end and buf[at] == 94 and 64 <= buf[at + 1] <= 95:
        at += 2
    return at
