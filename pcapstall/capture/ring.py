"""The files of one capture, put in order: which there are, which start when, which cannot be read.

Each of many files is opened once to read its first record, and closed again until its turn comes, so that a ring of
hundreds needs neither hundreds of descriptors nor hundreds of buffers. Records are handed out by `captures`.
"""

import glob
import os
import stat
from collections.abc import Iterable
from typing import Final

from pcapstall.capture.info import CaptureInfo, CaptureWarning
from pcapstall.capture.opening import open_capture
from pcapstall.capture.reader import MAX_NS, FileCursor
from pcapstall.capture.source import STDIN, Stop
from pcapstall.core.errors import InputError

_KEEP_OPEN: Final = 4
"""So few files are not worth closing and opening again."""


class RingFile:
    """One file: where it starts, and its cursor as long as it is open."""

    def __init__(self, path: str, cursor: FileCursor) -> None:
        self.path = path
        self.cursor = cursor
        """The closed cursor of a file that is not being read still knows what was read."""
        self.first_ns: int = MAX_NS
        """Stamp of its first record; MAX_NS without one, so that it comes last."""
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
        self.files.sort(key=lambda file: file.first_ns)
        for index, file in enumerate(self.files):
            file.index = index
            file.cursor.set_file_index(index)

    def activate(self, file: RingFile) -> bool:
        """Have the first record of ``file`` in its cursor. False when there is none (any more)."""
        if file.reopens:
            if self.stop.count:
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
            if not glob.has_magic(path) or os.path.lexists(path):
                names.append(path)
                continue
            found = sorted(glob.glob(path))
            if not found:
                self.failed.append(InputError(path, "no file has a name like this"))
            names += found
        return names

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
            file.first_ns = int(cursor.ts_ns)
        # A pipe cannot be opened twice.
        if count > _KEEP_OPEN and file.has_record and file.size is not None and path not in STDIN:
            cursor.close()
            file.reopens = True
