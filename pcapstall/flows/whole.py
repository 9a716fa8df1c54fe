"""The quick way through a segment: record after record, as long as each is whole and none has begun before.

That is all of most connections. What a record means is in the module of TLS events, as it is for those that a reader
finds; where this stops, a reader goes on. Nothing is kept here.
"""

from mypy_extensions import i64

from pcapstall.flows.flow import HalfFlow
from pcapstall.flows.head import Arrival
from pcapstall.flows.roles import data_tells_nothing
from pcapstall.flows.tls_events import TlsEvents
from pcapstall.wire.tls_names import APPLICATION_DATA_RECORD
from pcapstall.wire.tls_skim import behind_data, read_whole


def read_records(events: TlsEvents, half: HalfFlow, buf: bytes, start: i64, end: i64, now: Arrival) -> i64:
    """Read ``buf[start:end]``, which came with ``now``, for a half that has no reader and does not wait for bytes.

    Returns where in ``buf`` a reader has to go on; ``end`` or more when all is read.
    """
    shift: i64 = now.offset - start
    at: i64 = half.record_end - shift
    while at < end:
        behind: i64 = at
        if i64(buf[at]) == APPLICATION_DATA_RECORD and data_tells_nothing(half):
            behind = behind_data(buf, at, end)
        if behind == at:
            behind = read_whole(buf, at, end, shift, half.ccs, events.event)
            if behind < 0:
                break
            events.take(half, now)
        at = behind
    half.record_end = at + shift
    half.watch_offset = half.record_end
    if at >= end and not half.flow.settled:
        # It is asked when the bytes came that lie within a record.
        half.watch_offset = end + shift
        events.progress(half, now)
    return at
