"""Nothing is kept of what is over: any number of flows passes through a bounded number of objects."""

import gc
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from watch_support import HEADER, MS, SECOND, START_NS, Listening, capture, flow, load_soak, stamped

from pcapstall.core.packed import Packer, Unpacker
from pcapstall.diagnose.connections import Connection, connection_at
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.knowledge import Knowledge, server_endpoint
from pcapstall.flows.flow import Flow
from pcapstall.flows.table import FlowSink, FlowTable
from pcapstall.pipeline.watch.flows import WatchedFlows
from pcapstall.pipeline.watch.story import Story
from pcapstall.report.watching import Standing, Told
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import TCP

FLOWS = 20_000
RATE_NS = 2 * MS
"""One flow opens in so long."""


class Counting(Listening):
    """Keeps no line: counts objects each time that it is told how things stand."""

    def __init__(self) -> None:
        super().__init__(max_flows=1500, every_ns=4 * SECOND)
        self.objects: list[int] = []
        self.events_told = 0

    def __call__(self, told: Told | Standing) -> None:
        self.events_told += 1
        if isinstance(told, Standing) and told.event == "summary":
            gc.collect()
            self.objects.append(len(gc.get_objects()))


def of_another_client(record: bytes, number: int) -> bytes:
    """``record`` as if a client of its own had had the same conversation."""
    at = 16 + 14 + 12 + (4 if record[16 + 14 + 12] == 203 else 0)
    return record[:at] + bytes([10, 41, number >> 8, number & 0xFF]) + record[at + 4 :]


def write_many(path: Path) -> None:
    """`FLOWS` flows that end well, stall, are reset or vanish."""
    soak = load_soak()
    kinds = [[*soak.flow(number, "resets", START_NS)] for number in range(12)]
    kinds += [[*soak.flow(number, "vanishes", START_NS)] for number in range(12, 16)]
    kinds += [flow(16), flow(17), flow(18), flow(19, late_ns=2 * SECOND)]
    packets = [
        (ns + number * RATE_NS, of_another_client(record, number))
        for number in range(FLOWS)
        for ns, record in kinds[number % len(kinds)]
    ]
    packets.sort(key=lambda packet: packet[0])
    path.write_bytes(HEADER + b"".join(stamped(ns, record) for ns, record in packets))


def test_the_number_of_objects_stays(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    write_many(path)
    heard = Counting()
    result = heard.watch(str(path))
    assert (result.standing.flows_opened, result.standing.flows_open) == (FLOWS, 0)
    assert result.standing.stalled >= FLOWS // 5
    assert result.standing.failed >= 12 * FLOWS // 20
    assert heard.events_told > FLOWS
    early, *_, late = heard.objects[3:]
    assert len(heard.objects) >= 9
    assert late < 1.05 * early, heard.objects


def all_connections(connections: Packer) -> list[Connection]:
    """All that were packed."""
    them = Unpacker(connections)
    found = []
    while them.next():
        found.append(connection_at(them))
    return found


def test_what_is_known_of_others_is_forgotten() -> None:
    """The latest half stays, and which endpoints speak TLS."""
    knowledge = Knowledge()
    table = FlowTable(Learning(knowledge), SECOND)
    decoder = Decoder()
    for number in range(9):
        for ns, record in flow(number):
            decoder.segment.ts_ns, decoder.segment.ref = ns, 1
            assert decoder.decode(record, 16, len(record) - 16, len(record) - 16, 1) == TCP
            table.add(decoder.segment)
    table.finish()
    connections = all_connections(knowledge.connections)
    endpoints = [server_endpoint(connection.key) for connection in connections]
    assert len(connections) == len(knowledge.pairs) == 9
    knowledge.forget(8)
    assert [one.key for one in all_connections(knowledge.connections)] == [one.key for one in connections[-4:]]
    assert len(knowledge.pairs) == 4
    assert all(map(knowledge.speaks_tls, endpoints))
    knowledge.forget(len(set(endpoints)) - 1)
    assert not any(map(knowledge.speaks_tls, endpoints))


def test_a_jump_of_the_clock_takes_no_longer_than_a_packet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flows that wait, and one packet stamped a year later: nobody is looked at once a second of that year."""
    looks = 0
    look_at = WatchedFlows._look_at

    def counted(flows: WatchedFlows, story: Story) -> None:
        nonlocal looks
        looks += 1
        assert looks < 20
        look_at(flows, story)

    monkeypatch.setattr(WatchedFlows, "_look_at", counted)
    year_ns = 365 * 86_400 * SECOND
    path = tmp_path / "jump.pcap"
    path.write_bytes(capture(flow(1, missing=7), flow(2, START_NS + year_ns, missing=9)))
    heard = Listening()
    assert heard.watch(str(path)).standing.flows_opened == 2
    assert looks > 0


class Learning(FlowSink):
    """Learns and keeps nothing."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge

    def forgets(self, flow: Flow) -> bool:
        return False

    def take(self, flow: Flow) -> bool:
        intervals = Intervals()
        intervals.measure(flow, flow.last_ns)
        self.knowledge.learn(flow, intervals)
        return False


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 3000), st.integers(0, 9)), min_size=1, max_size=6))
def test_every_flow_is_told_of_that_stalls_and_none_else(drawn: list[tuple[int, int, int]]) -> None:
    """Flows that begin, are late and break off at any time, in one capture."""
    flows = [
        flow(number, START_NS + begin * MS, late * MS, missing)
        for number, (begin, late, missing) in enumerate(drawn, 1)
    ]
    end_ns = max(ns for one in flows for ns, _ in one)
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(capture(*flows))
        file.flush()
        heard = Listening()
        result = heard.watch(file.name)
    assert (result.standing.flows_opened, result.standing.flows_open) == (len(flows), 0)
    told = {line.flow.client for line in heard.told() if line.flow.stalled == "ack_ch"}
    for one, (_, late, missing) in zip(flows, drawn, strict=True):
        client = load_soak().client_of(one[0][1])
        if missing <= 6:
            gap_ns = one[3][0] - one[2][0]
        elif missing == 7:
            gap_ns = end_ns - one[2][0]
        else:
            gap_ns = 0
        assert (client in told) == (gap_ns > SECOND), (late, missing)


def test_garbage_is_collected_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And with it CPython's store of freed tuples: else memory seems to grow for half an hour."""
    from pcapstall.pipeline.watch import run

    counts = []
    monkeypatch.setattr(run, "COLLECT_S", 0.0)
    monkeypatch.setattr(gc, "collect", lambda: counts.append(1))
    path = tmp_path / "some.pcap"
    path.write_bytes(capture(flow(1), flow(2, late_ns=2 * SECOND)))
    Listening().watch(str(path))
    assert counts


@pytest.mark.parametrize("late_ns", [30 * 86_400 * SECOND, 3650 * 86_400 * SECOND])
def test_a_clock_that_is_set_far_ahead_takes_no_step_by_step_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_ns: int
) -> None:
    looks = 0
    look_at = WatchedFlows._look_at

    def counted(self: WatchedFlows, story: Story) -> None:
        nonlocal looks
        looks += 1
        assert looks < 200
        look_at(self, story)

    monkeypatch.setattr(WatchedFlows, "_look_at", counted)
    path = tmp_path / "a.pcap"
    after = [flow(number, START_NS + late_ns + number * SECOND) for number in range(1, 9)]
    path.write_bytes(capture(flow(0, late_ns=late_ns), *after, flow(9, START_NS + late_ns + 2 * SECOND, missing=6)))
    heard = Listening()
    heard.watch(str(path))
    # That of which nothing came after its hello is still told of.
    assert ("stalled", "ch_sh") in heard.events() or ("stalled", "ch_ack") in heard.events()
