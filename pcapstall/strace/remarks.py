"""Lines that are no calls: strace's own words, the terminal's, tables of -c, stacks and dumps; and where a line begins.

Rare lines, so this module works on slices and regular expressions. It tells `tasks` of what strace says it attached to.
"""

import re
from typing import Final

from mypy_extensions import i64

from pcapstall.strace.body import CONTINUATION, REMARK, UNREAD, is_word
from pcapstall.strace.leader import NO_STAMP, Leader
from pcapstall.strace.tasks import Threads

_ATTACHED: Final = re.compile(rb"Process (\d{1,8}) attached(?: with (\d{1,6}) threads)?")
_DETACHED: Final = re.compile(rb"Process (\d{1,8}) detached")
_OWN_WORDS: Final = re.compile(
    rb"(?:\S*/)?[\w.-]*strace: "
    rb"|Process \d+ (?:attached|detached|resumed|suspended)"
    rb"|\[ Process PID=\d+ runs in "
    rb"|Script (?:started|done)\b"
    rb"|\[Process \d+ exited|<sched\w* changed"
)
_TABLE_HEAD: Final = re.compile(
    rb"\s*% time +seconds +usecs/call|\s*(?:% time|calls|errors|syscall)[ \w%/,-]* syscall$"
)
_TABLE_ROW: Final = re.compile(rb"[-\s]*$|\s*[\d.]+ +[\d.]+ .*[\w?()]+$|[-+ ]{20,}")
_TABLE_END: Final = re.compile(rb"\s*(?:100\.00|[\d.]+) .* total$")
_EMBEDDED: Final = re.compile(rb"strace: Process \d+ (?:attached(?: with \d+ threads)?|detached)$")
_PATH: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+")
_LOOKED_AT: Final = 512
"""Bytes of a line that tell whether it is a remark."""
_MARKS: Final = (b"<unfinished ...>", b"<detached ...>", b"<ptrace(SYSCALL):No such process>")
_BEGINNINGS: Final = (b"[pid ", b"strace: ", b"+++ ", b"--- ", b"<... ", b"Script ", b" > ", b" | ", b" * ")
_NOT_CALLS: Final = frozenset(
    (
        *(b"htons", b"htonl", b"inet_addr", b"inet_pton", b"makedev", b"if_nametoindex", b"sizeof", b"_IOC", b"_IO"),
        *(b"_IOR", b"_IOW", b"_IOWR", b"WIFEXITED", b"WEXITSTATUS", b"WIFSIGNALED", b"WTERMSIG", b"WIFSTOPPED"),
        *(b"WSTOPSIG", b"WIFCONTINUED", b"WCOREDUMP", b"KERNEL_VERSION", b"BPF_STMT", b"BPF_JUMP", b"MSG"),
    )
)
"""What stands before a parenthesis inside of arguments, so that a broken line may go on with it."""


class Remarks:
    """Tells the kind of lines that are no calls. It remembers whether a table of -c is being printed."""

    def __init__(self) -> None:
        self.in_table: bool = False

    def kind(self, buf: bytes, start: i64, end: i64, threads: Threads, ref: i64) -> i64:
        """REMARK, CONTINUATION or UNREAD."""
        if end - start > 2 and buf[start] == 32 and buf[start + 2] == 32 and buf[start + 1] in (42, 62, 124):
            # " > libc.so.6(read+0x10) [0x10a7c0]", " | 00000  16 03 01", " * 5 bytes in buffer 0"
            return CONTINUATION
        text = buf[start : min(end, start + _LOOKED_AT)]
        stripped = text.strip()
        if not stripped:
            return REMARK
        if _OWN_WORDS.match(stripped):
            self._heard(stripped, threads, ref)
            return REMARK
        if stripped in _MARKS:
            return CONTINUATION
        if self.in_table:
            if _TABLE_END.match(text):
                self.in_table = False
                return REMARK
            if _TABLE_ROW.match(text):
                return REMARK
            self.in_table = False
        if _TABLE_HEAD.match(text):
            self.in_table = True
            return REMARK
        return UNREAD

    def _heard(self, text: bytes, threads: Threads, ref: i64) -> None:
        match = _ATTACHED.search(text)
        if match is not None:
            attached(match, threads)
            return
        match = _DETACHED.search(text)
        if match is not None:
            thread = threads.by_tid.get(int(match[1]))
            if thread is not None:
                threads.ended(thread, b"detached", ref, -1)


def attached(match: re.Match[bytes], threads: Threads) -> None:
    """``Process 31078 attached with 3 threads``."""
    threads.attached(int(match[1]))
    if match[2] is not None:
        threads.groups[int(match[1])] = int(match[2])


def cut_remark(held: bytes, threads: Threads) -> bytes:
    """Without the remark that strace printed into its own line: ``read(4, strace: Process 31078 attached``."""
    if not held.endswith((b"attached", b"detached", b"threads")):
        return held
    cut: i64 = held.rfind(b"strace: Process ")
    if cut < 0 or _EMBEDDED.match(held, cut) is None:
        return held
    told = _ATTACHED.search(held, cut)
    if told is not None:
        attached(told, threads)
    if cut > 0 and held[cut - 1] == 47:
        # "SIGCHLD/usr/bin/strace: Process 9 attached": the path begins at the first slash of the word.
        at: i64 = cut
        while at > 0 and held[at - 1] in _PATH:
            at -= 1
            if held[at] == 47:
                cut = at
    return held[:cut]


def begins_line(text: bytes, leader: Leader, has_stamps: bool, has_tids: bool) -> bool:
    """Whether this is the beginning of a line of strace's, so that it cannot be the rest of the one above."""
    if text.startswith(_BEGINNINGS) or not text.strip():
        return True
    end: i64 = len(text)
    at: i64 = leader.read(text, 0, end)
    if has_stamps and leader.stamp_kind == NO_STAMP:
        return False
    if has_tids and leader.tid < 0:
        return False
    rest = text[at:]
    if rest.startswith((b"<... ", b"--- ", b"+++ ")):
        return True
    name_end: i64 = at
    while name_end < end and is_word(text[name_end]):
        name_end += 1
    if name_end >= end or text[name_end] != 40:
        return rest.startswith(b"???")
    name = text[at:name_end]
    return len(name) > 1 and name not in _NOT_CALLS and not name[:1].isdigit()
