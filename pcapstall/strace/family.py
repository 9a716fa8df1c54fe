"""Which files make one strace, and their lines as one stream: a file for itself, or the FILE.TID files of `-ff`.

The lines of a family are put in the order in which their calls returned, which is how one file of all threads would
have them; a clone counts when it was entered, so that it stands before its child. Families of thousands are read with
few descriptors open.
"""

import re
from bisect import insort
from typing import Final

from mypy_extensions import i64

from pcapstall.core.errors import InputError
from pcapstall.core.textfile import TextSource
from pcapstall.core.times import DAY
from pcapstall.strace.body import CALL
from pcapstall.strace.detect import Layout, examine
from pcapstall.strace.feed import LineFeed
from pcapstall.strace.leader import NO_STAMP, RELATIVE, TIME_OF_DAY
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.syscalls import CLONE, Syscalls
from pcapstall.strace.tasks import Threads

_TID_SUFFIX: Final = re.compile(r"(.+)\.([1-9][0-9]{0,7})(?:\.(?:gz|zst|lz4|bz2|xz))?")
SETTLED_NS: Final = 10_000_000_000
"""So long after the last time that is asked about reading goes on, for the line after a gap."""
_CHUNK: Final = 128 * 1024
_SMALL_FAMILY: Final = 64
"""Files of a family that may all be open at once."""
_MEMORY: Final = 32 * 1024 * 1024
"""For the chunks of all files of a family."""


class Member:
    """One file of a strace."""

    def __init__(self, source: TextSource, layout: Layout, index: i64, tid: i64) -> None:
        self.source: TextSource = source
        self.layout: Layout = layout
        self.index: i64 = index
        """Its number among all strace files, as line references have it."""
        self.tid: i64 = tid
        """From its name; -1 when its lines tell."""


class Strace:
    """The files that one tracer wrote."""

    def __init__(self, name: str, members: list[Member]) -> None:
        self.name: str = name
        """The path, or what the names of a family begin with."""
        self.members: list[Member] = members

    def close(self) -> None:
        """Drop what was spooled."""
        for member in self.members:
            member.source.close()


def open_straces(paths: list[str]) -> list[Strace]:
    """The straces in these files; FILE.TID files of one FILE are one strace. InputError for what is none."""
    singles: list[Strace] = []
    families: dict[str, Strace] = {}
    for index, path in enumerate(paths):
        source = TextSource(path)
        layout = examine(source)
        match = _TID_SUFFIX.fullmatch(path)
        if match is None or layout.names_tids:
            singles.append(Strace(path, [Member(source, layout, index, -1)]))
            continue
        prefix, tid = match[1], int(match[2])
        if prefix not in families:
            families[prefix] = Strace(prefix, [])
            singles.append(families[prefix])
        family = families[prefix]
        if any(member.tid == tid for member in family.members):
            raise InputError(path, f"is the second file of thread {tid}")
        family.members.append(Member(source, layout, index, tid))
    return singles


class Lines:
    """All lines of one strace, in order. `reader` is at the line that `next` moved to."""

    def __init__(self, strace: Strace, threads: Threads, syscalls: Syscalls) -> None:
        self.readers: list[StraceReader] = []
        self.feeds: list[LineFeed] = []
        self.ordered: bool = True
        """Times told the order of a family's files; otherwise they are read one after the other."""
        self._waiting: list[tuple[int, int]] = []
        self._keys: list[int] = []
        self._current: i64 = -1
        count: i64 = len(strace.members)
        chunk: i64 = _CHUNK
        if count * chunk > _MEMORY:
            chunk = max(4096, _MEMORY // count)
        for member in strace.members:
            stream = member.source.open(chunk, count <= _SMALL_FAMILY)
            feed = LineFeed(stream, member.layout.make_wrapper())
            self.feeds.append(feed)
            self.readers.append(StraceReader(feed, threads, syscalls, member.index, member.tid))
        self.reader: StraceReader = self.readers[0]
        self._single: bool = count == 1
        if not self._single:
            self._start()

    def next(self) -> bool:
        """Move to the next line; False after the last of all files."""
        if self._single:
            return self.reader.next()
        current: i64 = self._current
        if current >= 0 and self.readers[current].next():
            key: i64 = self._key(current)
            waiting = self._waiting
            if not waiting or (-key, -current) >= waiting[-1]:
                return True
            insort(waiting, (-key, -current))
        if not self._waiting:
            self._current = -1
            return False
        _, chosen = self._waiting.pop()
        self._current = -chosen
        self.reader = self.readers[self._current]
        return True

    def skip(self, ref: i64, ns: i64) -> bool:
        """Move to the first line that is ``ref`` or a later one, or of ``ns`` or later; False when there is none."""
        while self.next():
            if not self._single or self.reader.ref >= ref:
                return True
            if self.reader.time_ns >= ns or self.reader.end_ns >= ns:
                return True
        return False

    def close(self) -> None:
        """Close all files."""
        for feed in self.feeds:
            feed.close()

    def _start(self) -> None:
        """Read the first line of each file, which says where in the order it begins."""
        firsts: list[int] = []
        for number, reader in enumerate(self.readers):
            self._keys.append(0)
            if not reader.next():
                firsts.append(-1)
                continue
            firsts.append(reader.time_ns)
            if reader.clock.kind == NO_STAMP or reader.clock.kind == RELATIVE:
                # The differences of -r are to the line before in whichever file.
                self.ordered = False
            if reader.clock.kind == TIME_OF_DAY and reader.time_ns < max(firsts) - DAY // 2:
                self._shift(number)
        latest = max(firsts)
        for number, reader in enumerate(self.readers):
            if firsts[number] < 0 and reader.kind == 0:
                continue
            if reader.clock.kind == TIME_OF_DAY and reader.time_ns < latest - DAY // 2:
                self._shift(number)
            key: i64 = self._key(number)
            insort(self._waiting, (-key, -number))

    def _shift(self, number: i64) -> None:
        """A file that begins after the midnight that others begin before."""
        reader = self.readers[number]
        if reader.clock.day_ns == 0:
            reader.clock.next_day()
            reader.time_ns += DAY
            reader.start_ns += DAY
            if reader.end_ns >= 0:
                reader.end_ns += DAY
            reader.thread.last_ns = reader.time_ns

    def _key(self, number: i64) -> i64:
        """When the line that reader ``number`` is at belongs; the place of the line before when it does not tell."""
        reader = self.readers[number]
        if not self.ordered:
            return 0
        key: i64 = self._keys[number]
        if reader.kind > 0 and reader.time_ns >= 0 and reader.kind <= 5:
            key = reader.time_ns
            if reader.kind == CALL and reader.end_ns >= 0 and reader.syscall.code != CLONE:
                key = reader.end_ns
            self._keys[number] = key
        return key
