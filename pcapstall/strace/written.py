"""Finds texts among what a strace shows being written: which call wrote a line of a log, and when.

Only the beginning of what each call writes is looked at, as far as strace prints it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from pcapstall.strace.body import CALL, RESUMED
from pcapstall.strace.family import Lines, Strace
from pcapstall.strace.syscalls import Syscalls
from pcapstall.strace.tasks import Threads

KEY_LEN: Final = 24
"""Characters that tell one text from another; of the 32 that strace prints by default a few may be escaped."""
_CALLS: Final = frozenset((b"write", b"writev", b"pwrite64", b"sendto", b"sendmsg", b"send"))
_QUOTE: Final = b'"'


class Written(NamedTuple):
    """A call that wrote a text."""

    ref: int
    start_ns: int
    tid: int


def key_of(text: str) -> bytes:
    """``text`` as strace prints its beginning; empty for one that is too short, or holds what is printed in octal."""
    head = text[:KEY_LEN]
    if len(head) < KEY_LEN or not head.isascii() or not head.isprintable():
        return b""
    return head.replace("\\", "\\\\").replace('"', '\\"').encode()[:KEY_LEN]


def find_written(strace: Strace, wanted: Mapping[bytes, object]) -> dict[bytes, Written]:
    """Of the keys ``wanted`` those that a call wrote, with the first one that did."""
    found: dict[bytes, Written] = {}
    lines = Lines(strace, Threads(), Syscalls())
    try:
        while lines.next() and len(found) < len(wanted):
            reader = lines.reader
            if (reader.kind != CALL and reader.kind != RESUMED) or reader.syscall.name not in _CALLS:
                continue
            quote = reader.args.find(_QUOTE, int(reader.args_start), int(reader.args_end))
            if quote < 0:
                continue
            key = bytes(reader.args[quote + 1 : quote + 1 + KEY_LEN])
            if key in wanted and key not in found and reader.start_ns >= 0:
                ref = int(reader.half_ref) if reader.kind == RESUMED and reader.half_ref else int(reader.ref)
                found[key] = Written(ref, int(reader.start_ns), int(reader.thread.tid))
    finally:
        lines.close()
    return found
