"""Any number of captures as one cursor: a ring's files after one another, overlapping ones merged by time.

`open_captures` is the way in. The common ring, whose files follow each other, costs one compare a record; an overlap
is noticed when a record is later than the first one of the next file. Finding and ordering the files is in `ring`.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.capture.cursor import RecordCursor
from pcapstall.capture.info import CaptureInfo, CaptureWarning
from pcapstall.capture.reader import MAX_NS, FileCursor
from pcapstall.capture.ring import BATCH_NS, Ring
from pcapstall.capture.source import Stop
from pcapstall.core.errors import InputError

_OPEN_MAX: Final = 32
"""Files that are open while they wait for each other."""
_YEAR_NS: Final = 366 * 86_400_000_000_000


class Captures(RecordCursor):
    """The records of several files in the order of time; each file's own records keep their order.

    ``frame`` counts per file, ``file_index`` says which file (`infos` has the same order), ``ref`` is both in one.
    """

    def __init__(self, paths: list[str], stop: Stop) -> None:
        super().__init__()
        self._ring = Ring(paths, stop)
        self._next_file: i64 = 0
        """The first file that is not being read yet."""
        self._waiting: list[FileCursor] = []
        """Files that are being read, each with a record that waits; without the current one."""
        self._current: FileCursor | None = None
        self.bound_ns: i64 = -MAX_NS
        """Records up to this stamp of the file whose turn it is come before anybody else's."""

    @property
    def failed(self) -> list[InputError]:
        """The files that cannot be read, each with the reason; complete after the last record."""
        return self._ring.failed

    @property
    def warnings(self) -> list[CaptureWarning]:
        """Everything noticed so far, about the files named and then file by file."""
        found = list(self._ring.warnings)
        for file in self._ring.files:
            found += file.cursor.warnings
        return found

    @property
    def paths(self) -> list[str]:
        """The files that could be opened, in the order of ``file_index``."""
        return [file.path for file in self._ring.files]

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, compressed ones where files are compressed."""
        return sum([file.cursor.source.bytes_read for file in self._ring.files if not file.reopens])

    @property
    def total_bytes(self) -> int | None:
        """Bytes of all files; None when one of them is a pipe."""
        total = 0
        for file in self._ring.files:
            if file.size is None:
                return None
            total += file.size
        return total

    def sizes(self) -> dict[str, int]:
        """Bytes of each file that has a size, by path."""
        return {file.path: file.size for file in self._ring.files if file.size is not None}

    @property
    def stopped(self) -> bool:
        """Whether the end was asked for before it came."""
        return self._ring.stop.is_reached

    @property
    def stop_asked_s(self) -> float | None:
        """When that was, by the monotonic clock; None when it was not."""
        return self._ring.stop.since_s if self._ring.stop.is_reached else None

    def infos(self) -> list[CaptureInfo]:
        """What is known of each file so far, in the order of ``file_index``."""
        return [file.info(self._ring.warnings) for file in self._ring.files]

    def have_several_interfaces(self) -> bool:
        """Whether any file is known to be of more than one interface, so that its records may come in batches."""
        return any(file.cursor.interface_count() > 1 for file in self._ring.files)

    def stop(self, by: str = "") -> None:
        """Ask for the end, from a signal handler too: what lies in a pipe is still read. Twice: at once."""
        self._ring.stop.throw(by)

    def close(self) -> None:
        """Give all descriptors back."""
        for file in self._ring.files:
            file.cursor.close()
        self._ring.stop.close()

    def next(self) -> bool:
        """Move to the next record of whichever file has the earliest; False after the last."""
        cursor = self._current
        if cursor is None or not cursor.next() or cursor.ts_ns > self.bound_ns:
            cursor = self.turn()
            if cursor is None:
                return False
        self.ts_ns = cursor.ts_ns
        self.buf = cursor.buf
        self.start = cursor.start
        self.caplen = cursor.caplen
        self.origlen = cursor.origlen
        self.linktype = cursor.linktype
        self.interface = cursor.interface
        self.frame = cursor.frame
        self.ref = cursor.ref
        return True

    def turn(self) -> FileCursor | None:
        """The file whose turn it is, at a record of it; None after the last record.

        For whoever reads the files themselves, which saves a call a record: to be asked at first, and each time that
        file has ended or has come to a record later than ``bound_ns``.
        """
        cursor = self._current
        if cursor is None:
            if not self._first():
                return None
        elif cursor.has_ended():
            if not self._ended():
                return None
        else:
            self._overtake(cursor)
        return self._current

    def _first(self) -> bool:
        """Begin with the first file, or say that there is no more."""
        return self._admit() and self._choose()

    def _ended(self) -> bool:
        """The current file has no more records."""
        cursor = self._current
        self._current = None
        if cursor is not None:
            cursor.close()
        if not self._waiting and not self._admit():
            return False
        return self._choose()

    def _overtake(self, cursor: FileCursor) -> None:
        """The current record is later than another file's: let that one go first.

        Not when the clock jumped by more than a year since the record before: such a stamp says nothing about order.
        """
        if cursor.jump_ns() > _YEAR_NS:
            return
        if self._ring.files[cursor.file_index].in_batches and not self._is_late(cursor):
            return
        self._wait(cursor)
        while self._next_file < len(self._ring.files) and self._first_of_next() < cursor.ts_ns:
            if not self._admit():
                break
        self._choose()

    def _is_late(self, cursor: FileCursor) -> bool:
        """Whether a record is later than one of another file that it can be compared with.

        A batch of one interface may stand before an earlier one of another: then stamps of one interface count, or such
        as no batch is long.
        """
        ts_ns: i64 = cursor.ts_ns
        for other in self._waiting:
            if other.ts_ns < ts_ns and (other.interface == cursor.interface or ts_ns - other.ts_ns > BATCH_NS):
                return True
        if self._next_file >= len(self._ring.files):
            return False
        file = self._ring.files[self._next_file]
        first_ns: i64 = file.firsts.get(cursor.interface, file.first_ns + BATCH_NS)
        return first_ns < ts_ns

    def _first_of_next(self) -> i64:
        """Stamp of the first record of the file that comes next; MAX_NS when there is no such file."""
        if self._next_file >= len(self._ring.files):
            return MAX_NS
        return self._ring.files[self._next_file].first_ns

    def _admit(self) -> bool:
        """Put the next file that has records among those that are being read."""
        while self._next_file < len(self._ring.files):
            file = self._ring.files[self._next_file]
            self._next_file += 1
            if self._ring.activate(file):
                self._wait(file.cursor)
                return True
            file.cursor.close()
        return False

    def _wait(self, cursor: FileCursor) -> None:
        """Let a file wait for its turn; of many, each gives its descriptor back meanwhile."""
        self._waiting.append(cursor)
        if len(self._waiting) > _OPEN_MAX:
            cursor.source.rest()

    def _choose(self) -> bool:
        """Make the waiting file with the earliest record the current one; the lower index when they are equal."""
        best = self._waiting[0]
        for cursor in self._waiting:
            if cursor.ts_ns < best.ts_ns or (cursor.ts_ns == best.ts_ns and cursor.file_index < best.file_index):
                best = cursor
        self._waiting.remove(best)
        bound: i64 = self._first_of_next()
        for cursor in self._waiting:
            if cursor.ts_ns < bound:
                bound = cursor.ts_ns
        self._current = best
        self.bound_ns = bound
        self.file_index = best.file_index
        return True


def open_captures(paths: list[str], stop: Stop | None = None) -> Captures:
    """Open ``paths`` (files, FIFOs, ``-``, glob patterns) as one capture; their order does not matter.

    Nothing is raised for a file that cannot be read: it is in `Captures.failed`. ``stop`` can be thrown while this
    still waits for the first bytes of a pipe; without one, `Captures.stop` does it afterwards.
    """
    return Captures(paths, stop if stop is not None else Stop())
