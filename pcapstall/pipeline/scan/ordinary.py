"""Interval lengths of ordinary handshakes, a row for each flow: every step is there, and none took as long as 2 s.

Nearly all flows of most captures are like that. Their rows are written in one go and take half the room that their
lengths would take one by one; a column is read when somebody asks for its lengths. Compiled, since it sees every flow.
"""

from typing import Final

from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le, write_i64_le
from librt.vecs import vec
from mypy_extensions import i32, i64

from pcapstall.core.lengths import Column, Lengths
from pcapstall.core.packed import PIECE_LEN
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.thresholds import (
    ACK_CH,
    CH_ACK,
    CH_CLOSE,
    CH_FIN,
    CH_SH,
    CH_SPAN,
    SH_CFIN,
    SYN_SYNACK,
    SYNACK_ACK,
)

STEPS: Final = (SYN_SYNACK, SYNACK_ACK, ACK_CH, CH_SPAN, CH_ACK, CH_SH, SH_CFIN)
"""Of an ordinary handshake, by position in `NAMES`: all are there, in the order of the columns."""
LENGTH_END: Final = 1 << 31
"""No step is as long, so that four bytes are enough."""
_CH_FIN_AT: Final = 4 * 7
"""Behind the steps, in eight bytes each: the two lifetimes, either of which may not be there, or be of any length."""
_CH_CLOSE_AT: Final = _CH_FIN_AT + 8
_ROW_LEN: Final = _CH_CLOSE_AT + 8


PackedOrdinary = tuple[list[bytes], int, int, int]
"""All rows in pieces, for another process; how many there are, and how many of them have a ch_fin and a ch_close."""


class OrdinaryLengths:
    """The rows."""

    def __init__(self) -> None:
        self._fresh: BytesWriter = BytesWriter()
        """Rows that are in no piece yet."""
        self._pieces: list[bytes] = []
        self._rows: i64 = 0
        self._ch_fins: i64 = 0
        """How many rows have one."""
        self._ch_closes: i64 = 0
        """Likewise."""

    def __len__(self) -> int:
        return self._rows

    def take(self, intervals: Intervals) -> bool:
        """Write down the flow that ``intervals`` has measured last; False when it is none of an ordinary handshake."""
        if intervals.handshake_bits >= LENGTH_END or intervals.handshake_bits < 0:
            return False
        if len(self._fresh) >= PIECE_LEN:
            self.pieces()
        writer = self._fresh
        write_i32_le(writer, i32(intervals.syn_synack))
        write_i32_le(writer, i32(intervals.synack_ack))
        write_i32_le(writer, i32(intervals.ack_ch))
        write_i32_le(writer, i32(intervals.ch_span))
        write_i32_le(writer, i32(intervals.ch_ack))
        write_i32_le(writer, i32(intervals.ch_sh))
        write_i32_le(writer, i32(intervals.sh_cfin))
        write_i64_le(writer, intervals.ch_fin)
        write_i64_le(writer, intervals.ch_close)
        self._rows += 1
        if intervals.ch_fin != ABSENT:
            self._ch_fins += 1
        if intervals.ch_close != ABSENT:
            self._ch_closes += 1
        return True

    def absorb(self, other: "OrdinaryLengths") -> None:
        """All of ``other``'s rows as well."""
        self.pieces().extend(other.pieces())
        self._rows += other._rows
        self._ch_fins += other._ch_fins
        self._ch_closes += other._ch_closes

    def pieces(self) -> list[bytes]:
        """All rows."""
        if len(self._fresh) > 0:
            self._pieces.append(self._fresh.getvalue())
            self._fresh.truncate(0)
        return self._pieces

    def add_to(self, closed: list[Lengths]) -> None:
        """Let ``closed``, by position in `NAMES`, have what the columns hold. No row comes after that."""
        pieces = self.pieces()
        at: i64 = 0
        for which in STEPS:
            closed[which].absorb_column(_Steps(self._rows, pieces, at))
            at += 4
        closed[CH_FIN].absorb_column(_Lifetimes(self._ch_fins, pieces, _CH_FIN_AT))
        closed[CH_CLOSE].absorb_column(_Lifetimes(self._ch_closes, pieces, _CH_CLOSE_AT))


class _InRows(Column):
    """Lengths at ``at`` in each row."""

    def __init__(self, count: i64, pieces: list[bytes], at: i64) -> None:
        super().__init__(count)
        self._pieces: list[bytes] = pieces
        self._at: i64 = at


class _Steps(_InRows):
    """Those of four bytes, which every row has."""

    def write(self, values: vec[i64], start: i64) -> None:
        """Put them at ``values[start]`` and behind it."""
        number: i64 = start
        for rows in self._pieces:
            at: i64 = self._at
            while at < len(rows):
                values[number] = i64(read_i32_le(rows, at))
                number += 1
                at += _ROW_LEN


class _Lifetimes(_InRows):
    """Those of eight bytes, in the rows that have one."""

    def write(self, values: vec[i64], start: i64) -> None:
        """Put them at ``values[start]`` and behind it."""
        number: i64 = start
        for rows in self._pieces:
            at: i64 = self._at
            while at < len(rows):
                ns: i64 = read_i64_le(rows, at)
                if ns != ABSENT:
                    values[number] = ns
                    number += 1
                at += _ROW_LEN


def packed(lengths: OrdinaryLengths) -> PackedOrdinary:
    """All rows, for another process; `unpacked` is the inverse."""
    return lengths.pieces(), lengths._rows, lengths._ch_fins, lengths._ch_closes


def unpacked(told: PackedOrdinary) -> OrdinaryLengths:
    """What `packed` has packed."""
    found = OrdinaryLengths()
    found._pieces, found._rows, found._ch_fins, found._ch_closes = told
    return found
