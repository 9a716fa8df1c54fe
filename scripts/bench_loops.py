"""The loops of `scripts/bench stages`; compiled inside a copy of the package, never installed with it.

Each does what the real run does up to one layer and throws the result away.
"""

import gc
import time

from mypy_extensions import i64

from pcapstall import _build
from pcapstall.capture.opening import open_capture
from pcapstall.capture.reader import FileCursor
from pcapstall.flows.flow import Flow
from pcapstall.flows.table import FlowSink, FlowTable
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import TCP


class Counting(FlowSink):
    """Counts flows and forgets them."""

    def __init__(self) -> None:
        self.count: i64 = 0

    def forgets(self, flow: Flow) -> bool:
        """Count a flow that is done."""
        self.count += 1
        return True

    def take(self, flow: Flow) -> bool:
        """Count ``flow``."""
        self.count += 1
        return False


def read(cursor: FileCursor) -> i64:
    """Records only."""
    count: i64 = 0
    while cursor.next():
        count += 1
    return count


def decode(cursor: FileCursor) -> i64:
    """Records and their segments; the number of TCP segments."""
    decoder = Decoder()
    segment = decoder.segment
    count: i64 = 0
    while cursor.next():
        segment.ts_ns = cursor.ts_ns
        segment.ref = cursor.ref
        segment.interface = cursor.interface
        if decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype) == TCP:
            count += 1
    return count


def follow(cursor: FileCursor, sink: FlowSink) -> i64:
    """Records, segments and flows; the number of TCP segments."""
    decoder = Decoder()
    table = FlowTable(sink, 1_000_000_000)
    segment = decoder.segment
    count: i64 = 0
    while cursor.next():
        segment.ts_ns = cursor.ts_ns
        segment.ref = cursor.ref
        segment.interface = cursor.interface
        if decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype) == TCP:
            table.add(segment)
            count += 1
            if count & 1023 == 0:
                table.expire(cursor.ts_ns)
    table.finish()
    return count


def measure(stage: str, path: str) -> None:
    """Print nanoseconds of CPU a packet, packets, TCP segments, flows, and how this is built."""
    cursor = open_capture(path)
    sink = Counting()
    tcp: i64 = 0
    gc.disable()
    began = time.process_time_ns()
    if stage == "read":
        read(cursor)
    elif stage == "decode":
        tcp = decode(cursor)
    else:
        tcp = follow(cursor, sink)
    spent = time.process_time_ns() - began
    packets = int(cursor.frame)
    print(spent / max(packets, 1), packets, tcp, sink.count, _build.kind().partition(" ")[0])
