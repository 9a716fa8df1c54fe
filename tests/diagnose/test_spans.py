"""Which lengths of a connection hold the step of the capture's clock by which it stalled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_verdicts import FLIGHT, HELLO, finish
from wire_support import ACK, FIN, MS, PSH, SECOND, START_NS, Road, follow

from pcapstall.capture.source import Stop
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.spans import holds_step
from pcapstall.pipeline.findings import Findings
from pcapstall.pipeline.totals import as_tally
from pcapstall.report.flow_grid import CLOCK_SET, flow_grid
from pcapstall.report.percentiles import Tally

HOUR_NS = 3_600 * SECOND


@given(st.lists(st.integers(0, 1 << 40), min_size=4, max_size=8), st.data())
def test_what_shares_half_of_the_stall_holds_the_step(waits: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(waits) - 1))
    first = data.draw(st.integers(0, at))
    last = data.draw(st.integers(at + 1, len(waits)))
    waits[at] += sum(waits[first:last]) + 1
    moments = [sum(waits[:count]) for count in range(len(waits) + 1)]
    for begin in range(len(moments)):
        for end in range(begin + 1, len(moments)):
            length_ns, stall_ns = moments[end] - moments[begin], moments[last] - moments[first]
            assert holds_step(moments[begin], length_ns, moments[first], stall_ns) == (begin <= at < end)


def test_of_a_start_that_is_not_here_the_length_tells() -> None:
    for starts in ((ABSENT, 5), (5, ABSENT)):
        assert [holds_step(starts[0], length, starts[1], 9) for length in (8, 9)] == [False, True]


@pytest.mark.parametrize(
    ("before", "stepped"),
    [("acked", ["ch_ack", "ch_sh", "ch_fin", "ch_close"]), ("answered", ["ch_sh", "ch_fin", "ch_close"]),
     ("said", ["ack_ch"])],
)  # fmt: skip
def test_the_clock_is_set_before_a_slow_server(before: str, stepped: list[str]) -> None:
    """By an hour, and the server takes 3 s besides: no length that has the hour is one, and all others are."""
    road = Road()
    said_ns = road.handshake() + 20 * MS
    way = road.one_way_ns
    answered_ns = said_ns + way + 3 * SECOND
    road.c(said_ns, PSH | ACK, HELLO)
    road.s(said_ns + way, ack=len(HELLO))
    road.s(answered_ns, PSH | ACK, FLIGHT, ack=len(HELLO))
    finish(road, answered_ns + way + MS)
    road.c(answered_ns + 4 * way, FIN | ACK, offset=road.sent[-2].offset + len(road.sent[-2].payload), ack=len(FLIGHT))
    segments = road.captured("client")
    since_ns = {"said": said_ns, "acked": said_ns + MS, "answered": answered_ns}[before]
    for segment in segments:
        if segment.ts_ns >= START_NS + since_ns:
            segment.ts_ns += HOUR_NS
    findings = Findings(follow(segments), "", frozenset(), show_all=True)
    counted = as_tally(findings.settle(Stop()), {})
    (row,) = findings.rows(START_NS)
    assert row.reason == "clock_step"
    rows = Tally()
    rows.add(row)
    assert sorted(counted.untrusted) == sorted(rows.untrusted) == sorted(stepped)
    kept = [name for name, length in row.intervals_ns.items() if length is not None and name not in stepped]
    for name in kept:
        assert counted.lengths(name).values() == rows.lengths(name).values() == [row.intervals_ns[name]]
        assert (row.intervals_ns[name] or 0) < HOUR_NS
    grid = flow_grid([row])
    shown = {column.name for at, column in enumerate(grid.columns) if grid.rows[0][at] == CLOCK_SET}
    assert shown == {*stepped} - {"ch_close"}
