"""The loop that every packet passes: cursor, decoder, flow table; and the counts that must add up.

Compiled. What becomes of finished flows is the table's sink's business.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.capture.captures import Captures
from pcapstall.capture.reader import MAX_NS, FileCursor
from pcapstall.flows.table import FlowTable
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import MALFORMED, OTHER, TCP, UdpDatagram
from pcapstall.wire.spread import NOT_PLAIN, glance, spread_of
from pcapstall.wire.unread import UnreadPackets

EXPIRE_EVERY: Final = 4096
"""Records between two looks for flows that are done."""
SILENT_NS: Final = 3_600_000_000_000
"""Where nothing at all was captured for so long, or the clock stepped so far, nobody can say that it was watched."""
GAPS_MAX: Final = 65_536
"""Gaps that are remembered of one capture: a clock that jumps from one packet to the next tells nothing."""
FOREIGN: Final = 3
"""Beside TCP, OTHER and MALFORMED: whoever has another share of the flows takes the record, and counts it."""
FILE_GAP_NS: Final = 60_000_000_000
"""Files that are further apart are two captures: nothing was watched between them."""


class FileCounts:
    """What the records of one file were. records = tcp + other + the sum of malformed."""

    def __init__(self) -> None:
        self.tcp: i64 = 0
        self.other: i64 = 0
        self.malformed: dict[str, int] = {}
        """By reason."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Listener:
    """Is told what is no TCP, and now and then that reading goes on. Override what is of interest."""

    def __init__(self) -> None:
        self.due_ns: i64 = MAX_NS
        """Before a record of this stamp or a later one, `look` is called."""

    def dns(self, datagram: UdpDatagram, ns: i64, ref: i64) -> None:
        """A DNS message."""

    def progress(self, now_ns: i64) -> None:
        """Another `EXPIRE_EVERY` records were read; ``now_ns`` is what two of them have reached."""

    def look(self, now_ns: i64) -> None:
        """The capture's time has come to ``now_ns``, which `due_ns` asked for. To be set on."""


class Scan:
    """Reads captures to their end."""

    def __init__(self, table: FlowTable, decoder: Decoder, listener: Listener) -> None:
        self._table: FlowTable = table
        self._decoder: Decoder = decoder
        self._listener: Listener = listener
        self.files: dict[int, FileCounts] = {}
        """By file index."""
        self.watched_until: list[int] = []
        """The last stamps before each gap in what was watched, ascending; the last one is the end."""
        self._file_index: i64 = -1
        self._last_ns: i64 = 0
        """Stamp of the record before."""
        self._latest_ns: i64 = 0
        """The latest stamp since the last gap."""
        self._jump_ref: i64 = 0
        """The record at which the clock jumped last."""
        self._before_jump_ns: i64 = 0
        """The latest stamp before that."""
        self._until_expiry: i64 = EXPIRE_EVERY
        self._records: i64 = 0
        """Before the last look for finished flows."""

    def run(self, captures: Captures) -> None:
        """Take every record that ``captures`` still have."""
        cursor = captures.turn()
        listener = self._listener
        while cursor is not None:
            if cursor.ts_ns >= listener.due_ns:
                listener.look(self._reached(cursor.file_index, cursor.ts_ns))
            self._begin(cursor.file_index, cursor.ts_ns)
            bound_ns: i64 = captures.bound_ns
            if listener.due_ns < bound_ns:
                bound_ns = listener.due_ns
            self._read(cursor, bound_ns)
            if cursor.has_ended() or cursor.ts_ns > captures.bound_ns:
                cursor = captures.turn()

    def _reached(self, file_index: i64, ts_ns: i64) -> i64:
        """How far the capture was watched when a record of ``ts_ns`` comes: up to it, unless there is a gap before."""
        gap_ns: i64 = ts_ns - self._latest_ns
        if self._file_index >= 0 and (gap_ns > SILENT_NS or (file_index != self._file_index and gap_ns > FILE_GAP_NS)):
            return self._latest_ns
        return ts_ns

    def _begin(self, file_index: i64, ts_ns: i64) -> None:
        """A file goes on, or begins, with a record of ``ts_ns``."""
        if self._file_index < 0:
            self._last_ns = ts_ns
            self._latest_ns = ts_ns
        elif file_index != self._file_index and ts_ns - self._latest_ns > FILE_GAP_NS:
            self.watched_until.append(self._latest_ns)
            self._latest_ns = ts_ns
        self._file_index = file_index

    def _jump(self, ts_ns: i64, latest_ns: i64, ref: i64) -> i64:
        """The clock jumped, so that nobody watched meanwhile; unless it jumps back at once: then one stamp was wrong.

        Returns the latest stamp since the last gap.
        """
        step_ns: i64 = ts_ns - self._before_jump_ns
        if ref - self._jump_ref == 1 and -SILENT_NS <= step_ns <= SILENT_NS:
            self.watched_until.pop()
            self._jump_ref = 0
            if step_ns < 0:
                return self._before_jump_ns
            return ts_ns
        self._before_jump_ns = latest_ns
        self._jump_ref = 0
        if len(self.watched_until) < GAPS_MAX:
            self.watched_until.append(latest_ns)
            self._jump_ref = ref
        return ts_ns

    def _read(self, cursor: FileCursor, bound_ns: i64) -> None:
        """Take the record that ``cursor`` is at, and those after it up to the first that is later than ``bound_ns``."""
        table = self._table
        decoder = self._decoder
        segment = decoder.segment
        counts = self._counts_of(cursor.file_index)
        last_ns: i64 = self._last_ns
        before_ns: i64
        latest_ns: i64 = self._latest_ns
        until_expiry: i64 = self._until_expiry
        share = table.share
        is_shared: bool = share.count > 1
        spread: i64 = NOT_PLAIN
        outcome: i64
        while True:
            ts_ns: i64 = cursor.ts_ns
            if ts_ns - last_ns > SILENT_NS or last_ns - ts_ns > SILENT_NS:
                latest_ns = self._jump(ts_ns, latest_ns, cursor.ref)
            before_ns = last_ns
            last_ns = ts_ns
            if ts_ns > latest_ns:
                latest_ns = ts_ns
                self._latest_ns = ts_ns
            if is_shared:
                spread = glance(cursor.buf, cursor.start, cursor.caplen, cursor.linktype)
            if spread != NOT_PLAIN and not share.is_own(spread):
                outcome = FOREIGN
            else:
                segment.ts_ns = ts_ns
                segment.ref = cursor.ref
                segment.interface = cursor.interface
                outcome = decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype)
                if is_shared:
                    share.record = self._records + EXPIRE_EVERY - until_expiry + 1
                    if spread == NOT_PLAIN:
                        outcome = self._own(outcome, ts_ns, cursor.ref)
            if outcome == TCP:
                counts.tcp += 1
                if segment.link_interface >= 0:
                    # The host's own number: "any" is one interface of the file and many of the host.
                    segment.interface = segment.link_interface
                table.add(segment)
            elif outcome == MALFORMED:
                reason = decoder.reason
                counts.malformed[reason] = counts.malformed.get(reason, 0) + 1
            elif outcome == OTHER:
                counts.other += 1
                quote = decoder.icmp
                if quote is not None:
                    table.icmp(quote, ts_ns, cursor.ref)
                datagram = decoder.dns
                if datagram is not None:
                    self._listener.dns(datagram, ts_ns, cursor.ref)
            until_expiry -= 1
            if until_expiry == 0:
                until_expiry = EXPIRE_EVERY
                self._records += EXPIRE_EVERY
                if is_shared:
                    share.record = self._records
                # A single stamp may be wrong, so the capture's time is what two records have reached.
                if before_ns > ts_ns:
                    before_ns = ts_ns
                table.expire(before_ns)
                self._listener.progress(before_ns)
            if not cursor.next() or cursor.ts_ns > bound_ns:
                break
        self._last_ns = last_ns
        self._latest_ns = latest_ns
        self._until_expiry = until_expiry
        if is_shared:
            share.record = self._records + EXPIRE_EVERY - until_expiry

    def _own(self, outcome: i64, ts_ns: i64, ref: i64) -> i64:
        """``outcome`` of decoding a record whose share could not be told at a glance; `FOREIGN` if it is not this one.

        What is no plain TCP is decoded by all: any of them may have the flow that an ICMP error is about, or need the
        fragment. If it holds no segment, the first share counts it.
        """
        decoder = self._decoder
        share = self._table.share
        if outcome == TCP:
            if not share.is_own(spread_of(decoder.segment)):
                return FOREIGN
        elif share.index != 0:
            quote = decoder.icmp
            if quote is not None:
                self._table.icmp(quote, ts_ns, ref)
            return FOREIGN
        return outcome

    @property
    def latest_ns(self) -> int:
        """The latest stamp since the last gap; 0 before the first."""
        return self._latest_ns

    @property
    def unread(self) -> UnreadPackets:
        """Packets that may have held a segment; complete after `end`."""
        return self._decoder.unread

    def end(self, until_ns: i64 = 0) -> None:
        """The reading is over, by itself or not; the capture went on until ``until_ns`` where that is after its end."""
        if until_ns > self._latest_ns:
            self._latest_ns = until_ns
        self.watched_until.append(self._latest_ns)
        self.watched_until.sort()
        self._decoder.fragments.give_up()

    def _counts_of(self, file_index: i64) -> FileCounts:
        counts = self.files.get(file_index)
        if counts is None:
            counts = FileCounts()
            self.files[file_index] = counts
        return counts
