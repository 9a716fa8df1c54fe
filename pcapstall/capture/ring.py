"""The files of one capture, put in order: which there are, which start when, which cannot be read.

Each of many files is opened once to read its first record, and closed again until its turn comes, so that a ring of
hundreds needs neither hundreds of descriptors nor hundreds of buffers. Records are handed out by `captures`.
"""

import os
import stat
from collections.abc import Iterable
from functools import cmp_to_key
from typing import Final

from pcapstall.capture.info import CaptureInfo, CaptureWarning
from pcapstall.capture.opening import is_url, open_capture
from pcapstall.capture.reader import MAX_NS, FileCursor
from pcapstall.capture.source import STDIN, Stop
from pcapstall.core.errors import InputError
from pcapstall.core.files import files_named, is_pattern

BATCH_NS: Final = 2_000_000_000
"""Records of several interfaces are out of order by less than this."""
_LOOK_MAX: Final = 2000
"""Records in which the first one of each interface is looked for."""
_KEEP_OPEN: Final = 4
"""So few files are not worth closing and opening again."""


class RingFile:
    """One file: where it starts, and its cursor as long as it is open."""

    def __init__(self, path: str, cursor: FileCursor) -> None:
        self.path = path
        self.cursor = cursor
        """The closed cursor of a file that is not being read still knows what was read."""
        self.first_ns: int = MAX_NS
        """The earliest of ``firsts``; MAX_NS without one, so that it comes last."""
        self.firsts: dict[int, int] = {}
        """Stamp of the first record of each interface, of those that soon come."""
        self.in_batches = False
        """Whether its records are in the order of time only interface by interface."""
        self.size = cursor.source.total_bytes
        self.index = 0
        self.reopens = False
        """Whether it was closed after its first record was read."""
        self.looked_at = False
        """Whether the first record was looked for."""
        self.has_record = False
        """Whether it was found, and waits in the cursor."""

    def info(self, remarks: Iterable[CaptureWarning] = ()) -> CaptureInfo:
        """What was read of it, with those of ``remarks`` that are about it.

        A file whose turn never came has no packets, though its first record was looked at.
        """
        info = self.cursor.info()
        own = tuple(remark for remark in remarks if remark.file == self.path)
        if own:
            info = info._replace(warnings=own + info.warnings)
        if not self.reopens:
            return info
        return info._replace(packets=0, first_ns=None, last_ns=None, snaplen_cut=0, unstamped=0, absurd_stamps=0)


class Ring:
    """Files in the order of their first records."""

    def __init__(self, paths: list[str], stop: Stop) -> None:
        self.stop = stop
        self.failed: list[InputError] = []
        self.warnings: list[CaptureWarning] = []
        """About names, each of the file that it was read as."""
        self.files: list[RingFile] = []
        self._seen: dict[tuple[int, int], str] = {}
        names = self._expand(paths)
        for name in names:
            if not self._is_double(name):
                self._open(name, len(names))
        # A stable sort: files without a stamp keep the order in which they were named.
        self.files.sort(key=cmp_to_key(_order))
        for index, file in enumerate(self.files):
            file.index = index
            file.cursor.set_file_index(index)

    def activate(self, file: RingFile) -> bool:
        """Have the first record of ``file`` in its cursor. False when there is none (any more)."""
        if file.reopens:
            if self.stop.is_reached:
                return False
            file.reopens = False
            try:
                file.cursor = open_capture(file.path, file.index, self.stop)
            except InputError as error:
                self.failed.append(error)
                return False
            file.looked_at = False
        if not file.looked_at:
            file.looked_at = True
            file.has_record = file.cursor.next()
        return file.has_record

    def _expand(self, paths: list[str]) -> list[str]:
        names: list[str] = []
        for path in paths:
            if is_url(path):
                names += self._expand_url(path)
                continue
            found = files_named(path)
            if not found and is_pattern(path):
                self.failed.append(InputError(path, "no file has a name like this"))
            else:
                names += found or [path]
        return names

    def _expand_url(self, path: str) -> list[str]:
        from pcapstall.capture.remote import expand_url  # few are

        try:
            return expand_url(path)
        except InputError as error:
            self.failed.append(error)
            return []

    def _is_double(self, path: str) -> bool:
        """Whether this very file was named before. A file that cannot be looked at is dealt with on opening."""
        try:
            status = os.fstat(0) if path in STDIN else os.stat(path)
        except OSError:
            return False
        if stat.S_ISDIR(status.st_mode):
            return False
        identity = (status.st_dev, status.st_ino)
        before = self._seen.get(identity)
        if before is None:
            self._seen[identity] = path
            return False
        other = "" if before == path else f" (also as {path})"
        self.warnings.append(CaptureWarning(before, 0, -1, f"named more than once{other}, read once"))
        return True

    def _open(self, path: str, count: int) -> None:
        """Open one of ``count`` files, and look where it starts."""
        try:
            cursor = open_capture(path, 0, self.stop)
        except InputError as error:
            self.failed.append(error)
            return
        file = RingFile(path, cursor)
        self.files.append(file)
        if count == 1:
            # There is nothing to order, and a pipe may be long in bringing its first packet.
            return
        file.looked_at = True
        file.has_record = cursor.next()
        if file.has_record and cursor.unstamped < cursor.packets:
            file.firsts[int(cursor.interface)] = file.first_ns = int(cursor.ts_ns)
        # A pipe cannot be opened twice.
        if not file.has_record or file.size is None or path in STDIN:
            return
        interfaces = cursor.interface_count()
        if interfaces > 1:
            self._look_on(file, interfaces)
        if count > _KEEP_OPEN or interfaces > 1:
            cursor.close()
            file.reopens = True

    def _look_on(self, file: RingFile, interfaces: int) -> None:
        """dumpcap writes a batch of each interface in turns, so the first record need not be the earliest."""
        file.in_batches = True
        cursor = file.cursor
        for _ in range(_LOOK_MAX):
            if len(file.firsts) >= interfaces or not cursor.next():
                break
            file.firsts.setdefault(int(cursor.interface), int(cursor.ts_ns))
        file.first_ns = min(file.firsts.values(), default=MAX_NS)


def _order(one: RingFile, other: RingFile) -> int:
    """Which of two files comes first, below 0 if it is ``one``: by an interface that both have, if there is any."""
    both = one.firsts.keys() & other.firsts.keys()
    if both:
        return one.firsts[min(both)] - other.firsts[min(both)]
    apart_ns = one.first_ns - other.first_ns
    if one.in_batches and other.in_batches and abs(apart_ns) < BATCH_NS and one.path != other.path:
        # A batch of one interface and one of another: whoever writes a ring names its files in order.
        return -1 if one.path < other.path else 1
    return apart_ns
