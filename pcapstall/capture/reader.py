"""What the cursors of all formats share: bytes from a source, and the statistics that cost a compare a record.

Only the record that straddles the end of a chunk is joined; everything else is handed out where it was read. The
formats themselves are in `pcap` and `pcapng`.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.capture.cursor import RecordCursor
from pcapstall.capture.info import CaptureInfo, CaptureWarning, ClockSteps, InterfaceInfo
from pcapstall.capture.linktypes import linktype_name
from pcapstall.capture.source import Source
from pcapstall.core.counts import sum_known
from pcapstall.core.frames import frame_ref

MAX_CAPLEN: Final = 262144
"""The largest record that libpcap and wiretap accept; more is damage."""
MAX_NS: Final = (1 << 62) - 1
MIN_NS: Final = -(1 << 61)
"""Stamps lie between these (1896 to 2116), so that the difference of any two fits 64 bits."""
DAY_NS: Final = 86_400_000_000_000
"""A step of the clock by more than this, from one record to the next, is counted."""
NO_STAMP: Final = -(1 << 62)
"""Before the first stamp. The distance to any real stamp is more than a day, so the first one takes the cold road."""


class FileCursor(RecordCursor):
    """A cursor over one source. Subclasses read records with `_refill` and end with `_at_end` or `_damage`."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.path: str = source.path
        self.format: str = ""
        self.big_endian: bool = False
        self.first_ns: i64 = MAX_NS
        """The earliest stamp; `packets` tells whether there is any."""
        self.last_ns: i64 = NO_STAMP
        """The latest stamp."""
        self.cut_count: i64 = 0
        """Records with fewer bytes captured than were on the wire."""
        self.unstamped: i64 = 0
        self.absurd: i64 = 0
        self.options_ref: i64 = 0
        """The latest record with options of its own (pcapng): they are in ``buf``, from ``options_at`` to
        ``options_end``, as long as the record is the current one."""
        self.options_at: i64 = 0
        self.options_end: i64 = 0
        self._not_packets: i64 = 0
        """Of the frame numbers, how many went to blocks without a packet."""
        self._damages: list[CaptureWarning] = []
        self._tallies: dict[str, list[int]] = {}
        self._prev_ns: i64 = NO_STAMP
        self._back_count: i64 = 0
        self._back_max_ns: i64 = 0
        self._ahead_count: i64 = 0
        self._ahead_max_ns: i64 = 0
        self._jump_frame: i64 = 0
        """The latest record that is more than a day later than the one before it."""
        self._jump_ns: i64 = 0
        self._pos: i64 = 0
        """Where in ``buf`` the next record starts."""
        self._end: i64 = 0
        """Where ``buf`` ends."""
        self._base: i64 = 0
        """Offset in the file of ``buf[0]``."""
        self._chunk: bytes = b""
        """What was read and is not (all) in ``buf``."""
        self._chunk_pos: i64 = 0
        self._chunk_len: i64 = 0
        self._done: bool = False

    @property
    def packets(self) -> int:
        """Records handed out so far."""
        return self.frame - self._not_packets

    @property
    def warnings(self) -> list[CaptureWarning]:
        """Everything noticed so far, damage last."""
        noticed = [CaptureWarning(self.path, t[1], t[2], what, t[3], t[4], t[0]) for what, t in self._tallies.items()]
        return noticed + self._damages

    def set_file_index(self, file_index: i64) -> None:
        """Say which file of several this is; also in the middle of reading."""
        self.file_index = file_index
        self.ref = frame_ref(file_index, self.frame)

    def has_ended(self) -> bool:
        """Whether the last `next` was False, or it was closed."""
        return self._done

    def jump_ns(self) -> i64:
        """How far the clock went ahead from the record before to this one; 0 for anything up to a day."""
        if self._jump_frame != self.frame:
            return 0
        return self._jump_ns

    def close(self) -> None:
        """Give the source back; `next` is False from then on."""
        self._stop_reading()
        self.source.close()

    def info(self) -> CaptureInfo:
        """The summary of what was read so far."""
        stamped = self.last_ns != NO_STAMP
        interfaces = self._interfaces()
        return CaptureInfo(
            path=self.path,
            format=self.format,
            compression=self.source.compression,
            byte_order="big" if self.big_endian else "little",
            packets=self.packets,
            first_ns=self.first_ns if stamped else None,
            last_ns=self.last_ns if stamped else None,
            clock=ClockSteps(self._back_count, self._back_max_ns, self._ahead_count, self._ahead_max_ns),
            linktypes=tuple(dict.fromkeys(interface.linktype for interface in interfaces)),
            interfaces=interfaces,
            dropped=sum_known([interface.dropped for interface in interfaces]),
            snaplen_cut=self.cut_count,
            unstamped=self.unstamped,
            absurd_stamps=self.absurd,
            warnings=tuple(self.warnings),
        )

    def interface_count(self) -> int:
        """How many interfaces were described so far."""
        return 1

    def _interfaces(self) -> tuple[InterfaceInfo, ...]:
        return (InterfaceInfo(0, linktype_name(self.linktype)),)

    def _stamp(self, ts_ns: i64) -> None:
        """The stamp of a record that is the first, or earlier than the one before, or more than a day later."""
        step: i64 = ts_ns - self._prev_ns
        if self._prev_ns != NO_STAMP:
            if step < 0:
                self._back_count += 1
                if -step > self._back_max_ns:
                    self._back_max_ns = -step
            else:
                self._jump_frame = self.frame
                self._jump_ns = step
                self._ahead_count += 1
                if step > self._ahead_max_ns:
                    self._ahead_max_ns = step
        if ts_ns < self.first_ns:
            self.first_ns = ts_ns
        if ts_ns > self.last_ns:
            self.last_ns = ts_ns

    def _count(self, what: str, needed: i64, got: i64) -> None:
        """Note something about the current record that does not end the reading; told once, with a count."""
        tally = self._tallies.get(what)
        if tally is None:
            offset: i64 = self._base + self._pos
            self._tallies[what] = [1, self.frame, offset, needed, got]
        else:
            tally[0] += 1

    def _damage(self, what: str, needed: i64, got: i64) -> bool:
        """End here, at the record that starts at ``_pos``; always False, for `next` to return."""
        if not self._done:
            offset: i64 = self._base + self._pos
            self._damages.append(CaptureWarning(self.path, self.frame + 1, offset, what, needed, got))
        self._stop_reading()
        return False

    def _at_end(self, what: str, needed: i64) -> bool:
        """The source has no more: a clean end when nothing is left in ``buf``. Always False."""
        left: i64 = self._end - self._pos
        if not self._done:
            trouble = self.source.trouble
            if trouble:
                self._damages.append(CaptureWarning(self.path, self.frame + 1, self._base + self._end, trouble))
            if left > 0 and not self.source.stopped:
                return self._damage(what, needed, left)
            # Whoever asked for the end has cut the record, not the file: half of it is no damage. Of a file the report
            # says how much of it was read; of a pipe this is all that is known to be missing.
            if left > 0 and self.source.total_bytes is None:
                return self._damage("reading was stopped within this record", needed, left)
        self._stop_reading()
        return False

    def _stop_reading(self) -> None:
        self._done = True
        self._pos = self._end
        self._chunk = b""
        self._chunk_pos = 0
        self._chunk_len = 0

    def _refill(self, needed: i64) -> bool:
        """Make ``needed`` bytes lie in ``buf`` from ``_pos`` on; False when the source ends before that."""
        have: i64 = self._end - self._pos
        if have >= needed:
            return True
        if have == 0:
            if self._chunk_pos >= self._chunk_len and not self._read_chunk():
                return False
            self._base += self._pos - self._chunk_pos
            self.buf = self._chunk
            self._pos = self._chunk_pos
            self._end = self._chunk_len
            self._chunk_pos = self._chunk_len
            have = self._end - self._pos
            if have >= needed:
                return True
        parts: list[bytes] = [self.buf[self._pos : self._end]]
        while have < needed:
            if self._chunk_pos >= self._chunk_len and not self._read_chunk():
                break
            take: i64 = self._chunk_len - self._chunk_pos
            if take > needed - have:
                take = needed - have
            parts.append(self._chunk[self._chunk_pos : self._chunk_pos + take])
            self._chunk_pos += take
            have += take
        self._base += self._pos
        self.buf = b"".join(parts)
        self._pos = 0
        self._end = have
        return have >= needed

    def _skip(self, size: i64) -> i64:
        """Step over ``size`` bytes without keeping them; how many there were."""
        left: i64 = size
        while left > 0:
            if self._end == self._pos and not self._refill(1):
                break
            step: i64 = self._end - self._pos
            if step > left:
                step = left
            self._pos += step
            left -= step
        return size - left

    def _read_chunk(self) -> bool:
        if self._done:
            return False
        chunk = self.source.read()
        self._chunk = chunk
        self._chunk_pos = 0
        self._chunk_len = len(chunk)
        return self._chunk_len > 0
