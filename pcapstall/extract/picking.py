"""Which records belong to the wanted flows: their segments, all fragments of these, ICMP errors that quote them.

Also what may have been a segment of theirs and could not be read. Compiled: all records pass here; a glance tells of
most that they are of no wanted flow. What a record says is the decoder's matter.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.capture.captures import Captures
from pcapstall.capture.reader import FileCursor
from pcapstall.extract.records import FrameSet, Records
from pcapstall.flows.flow import Flow
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import TCP, Segment
from pcapstall.wire.spread import NOT_PLAIN, SPREAD_BITS, glance, spread_of_key

_DATAGRAMS_MAX: Final = 4096
"""Datagrams whose fragments are remembered; the decoder lets far fewer wait."""


class _Life:
    """Where a wanted flow is in the captures."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.first_ref: i64 = flow.first_ref
        self.last_ref: i64 = flow.last_ref
        self.begun = False
        self.over = False


@mypyc_attr(allow_interpreted_subclasses=True)
class SegmentListener:
    """Is told what the wanted segments hold. Override what is of interest."""

    def segment(self, flow: Flow, segment: Segment, number: int) -> None:
        """A segment of a wanted flow, in record ``number`` of all in their order."""

    def datagram(self, key: bytes, number: int, data: bytes) -> None:
        """The packet of the segment told last, put together from the fragments that have ``key`` in common."""


class Picker:
    """Takes every record in its turn and remembers those that are wanted."""

    def __init__(self, flows: Sequence[Flow], cited: Iterable[int], listener: SegmentListener | None = None) -> None:
        self._listener = listener
        self._number: i64 = 0
        self.frames = FrameSet()
        """Those that are wanted; complete after `end`."""
        self._flows = flows
        self._cited = FrameSet(cited)
        self._lives: dict[bytes, list[_Life]] = {}
        self._spreads = bytearray(1 << SPREAD_BITS)
        """1 for each number that a segment of a wanted flow may have."""
        for flow in flows:
            life = _Life(flow)
            for key in {flow.key, flow.answer_key}:
                self._lives.setdefault(key, []).append(life)
                self._spreads[spread_of_key(key)] = 1
        self._decoder = Decoder()
        self._fragments: OrderedDict[bytes, list[int]] = OrderedDict()
        """The fragments so far, by what those of a datagram have in common."""
        self._wanted_datagrams: set[bytes] = set()

    def run(self, captures: Captures) -> None:
        """Every record that ``captures`` have."""
        found = Records(captures)
        spreads, cited = bytes(self._spreads), self._cited
        cursor = found.next()
        while cursor is not None:
            spread: i64 = glance(cursor.buf, cursor.start, cursor.caplen, cursor.linktype)
            if spread == NOT_PLAIN or spreads[spread] or cited.has(cursor.ref):
                self._number = found.number
                self._take(cursor)
            cursor = found.next()
        self._end()

    def _take(self, cursor: FileCursor) -> None:
        """The record that ``cursor`` is at."""
        decoder = self._decoder
        segment = decoder.segment
        ref: i64 = cursor.ref
        segment.ts_ns = cursor.ts_ns
        segment.ref = ref
        segment.interface = cursor.interface
        outcome: i64 = decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype)
        wanted = self._cited.has(ref)
        if outcome == TCP:
            life = self._life(segment.key, ref)
            if life is not None:
                wanted = True
                self._tell(life, segment, ref)
        elif decoder.icmp is not None:
            wanted = any(life.begun for life in self._lives.get(decoder.icmp.key, ())) or wanted
        if decoder.fragments.ref == ref:
            wanted = self._is_fragment(ref, wanted)
        if wanted:
            self.frames.add(ref)

    def _tell(self, life: _Life, segment: Segment, ref: i64) -> None:
        if self._listener is not None:
            self._listener.segment(life.flow, segment, self._number)
            if self._decoder.fragments.ref == ref:
                self._listener.datagram(self._decoder.fragments.key, self._number, segment.buf)

    def _life(self, key: bytes, ref: i64) -> _Life | None:
        """Endpoints' packets from a flow's first frame to its last one are its own, whatever their stamps say."""
        found = None
        for life in self._lives.get(key, ()):
            life.begun = life.begun or ref == life.first_ref
            if life.begun and not life.over:
                found = life
                life.over = ref == life.last_ref
        return found

    def _is_fragment(self, ref: i64, wanted: bool) -> bool:
        """Remember a fragment; one that completes a wanted datagram makes the ones before it wanted, and copies."""
        key = self._decoder.fragments.key
        refs = self._fragments.setdefault(key, [])
        refs.append(ref)
        if len(self._fragments) > _DATAGRAMS_MAX:
            self._wanted_datagrams.discard(self._fragments.popitem(last=False)[0])
        if wanted:
            self._wanted_datagrams.add(key)
        if key not in self._wanted_datagrams:
            return False
        for fragment in refs:
            self.frames.add(fragment)
        refs.clear()
        return True

    def _end(self) -> None:
        """Everything was read: what the hosts of a flow sent each other in its time and nobody can read comes along.

        The verdict looks there for what it does not find.
        """
        self._decoder.fragments.give_up()
        incomplete = {refs[0]: refs for refs in self._fragments.values() if refs}
        for flow in self._flows:
            half = (len(flow.key) - 4) // 2
            hosts = flow.key[:half], flow.key[half:-4]
            for unread in self._decoder.unread.between(*hosts, flow.first_ns, flow.last_ns):
                for ref in incomplete.get(int(unread.ref), [int(unread.ref)]):
                    self.frames.add(ref)
