"""A flow that is written on again is like one just made, and nobody has the one that it was."""

import sys
from collections import Counter
from typing import Any

from flow_support import (
    ACK,
    CHANGE_CIPHER_SPEC,
    FIN,
    FINISHED,
    MS,
    RST,
    SECOND,
    START_NS,
    SYN,
    Talk,
    between,
    client_hello,
    record,
    server_hello,
    to_segment,
)
from hypothesis import given
from hypothesis import strategies as st
from test_table import Forgetful, feed, key_of

from pcapstall.diagnose.thresholds import make_thresholds
from pcapstall.flows.flow import HANDED_ON, NOBODY, Flow, HalfFlow
from pcapstall.flows.head import StreamHead
from pcapstall.flows.notebook import NoteBook
from pcapstall.flows.queue import Queue
from pcapstall.flows.rarities import HalfRarities, Rarities
from pcapstall.flows.renewed import clear, renew, reset
from pcapstall.flows.table import FlowSink, FlowTable
from pcapstall.pipeline.scan.collect import Collector
from pcapstall.report.thresholds import parse_thresholds
from pcapstall.wire.tls_client_hello import ClientHello
from pcapstall.wire.tls_hello import ServerHello
from pcapstall.wire.tls_reader import TlsReader
from pcapstall.wire.tls_shape import HelloShapes

OTHERS = {
    "beside": lambda: Flow(b"", 7, 7, 7),
    "flow": lambda: Flow(b"", 7, 7, 7),
    "book": NoteBook,
    "hello_shapes": HelloShapes,
    "_client_hello": ClientHello,
    "server_hello": ServerHello,
    "head": StreamHead,
    "reader": lambda: TlsReader(True, 0),
}
"""Values that are not what a field of an object begins with."""


def state(thing: object) -> dict[str, Any]:
    found: Any = thing.__getstate__()
    return dict(found)


def spoil(thing: Flow | HalfFlow) -> None:
    """Give every field another value."""
    for name, value in state(thing).items():
        other: object
        if name in OTHERS:
            other = OTHERS[name]()
        elif name == "_rarities":
            other = Rarities() if isinstance(thing, Flow) else HalfRarities()
        elif name in ("opener", "answerer"):
            spoil(value)
            continue
        elif isinstance(value, bool):
            other = not value
        elif isinstance(value, int):
            other = value - 1 if value > 0 else value + 1
        else:
            other = value + type(value)(b"." if isinstance(value, bytes) else ".")
        setattr(thing, name, other)
        assert state(thing)[name] is not value


def facts(thing: Flow | HalfFlow) -> dict[str, Any]:
    found = state(thing)
    for name in set(found) & {"opener", "answerer"}:
        half = found.pop(name)
        assert half.flow is thing
        found[name] = {**facts(half), "flow": None}
    return found


def test_every_field_of_a_renewed_flow_is_that_of_a_new_one() -> None:
    flow = Flow(b"before", 1, 2, 3)
    assert len(facts(flow)) > 40
    assert len(facts(flow.opener)) > 20
    spoil(flow)
    clear(flow)
    reset(flow)
    renew(flow, b"key", 5, 6, 7)
    assert facts(flow) == facts(Flow(b"key", 5, 6, 7))


class Telling(FlowSink):
    """Tells of every flow what it was, and wants none."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def forgets(self, flow: Flow) -> bool:
        self._tell(flow)
        return True

    def take(self, flow: Flow) -> bool:
        self._tell(flow)
        return False

    def _tell(self, flow: Flow) -> None:
        hello = flow.client_hello
        self.told.append((plain(flow), plain(flow.opener), plain(flow.answerer), flow.key, hello and hello.sni))
        self.told.append([plain(note) for note in flow.notes()])


def plain(thing: object) -> dict[str, Any]:
    """All that it says and its rarities say, without its place in a table and who else it knows."""
    found = state(thing)
    rare = found.pop("_rarities", None)
    found.update(beside=None, mixed=0, turn=0, hello_place=0, **(state(rare) if rare is not None else {}))
    return {
        name: [plain(part) for part in value] if name in ("alerts", "holes") and value else value
        for name, value in found.items()
        if value is None or isinstance(value, int | str | bytes | list | tuple)
    }


def talk_of(kind: int, isn: int, ns: int) -> Talk:
    """From a lone SYN to a whole connection, by ``kind``."""
    talk = Talk(client_isn=isn, server_isn=isn + 7)
    talk.ns += ns
    if kind == 0:
        talk.client(flags=SYN)
        return talk
    if kind > 1:
        talk.handshake()
    if kind > 2:
        talk.client(HELLO)
        talk.server(server_hello() + CHANGE_CIPHER_SPEC + FINISHED, after=(3 * SECOND if kind == 4 else MS))
        talk.client(FINISHED)
        talk.client(record(23, bytes(200)))
    if kind == 5:
        talk.server(flags=RST | ACK)
    elif kind == 6:
        talk.client(flags=FIN | ACK)
    else:
        talk.close()
    if kind == 7:
        talk.packets.append(talk.packets[-2])
    return talk


HELLO = client_hello()
STEPS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2), st.sampled_from([0, 1, 2, 150])), max_size=30)


@given(STEPS)
def test_flows_that_were_renewed_are_told_like_others(steps: list[tuple[int, int, int]]) -> None:
    """Where somebody watches flows from their first segment on, none is written on again."""
    sinks = Telling(), Telling()
    always, never = (FlowTable(sink, SECOND, max_flows=6) for sink in sinks)
    never.opened = Queue()
    seconds = 0
    for number, (kind, host, later) in enumerate(steps):
        seconds += later
        talk = talk_of(kind, 1000 * number, seconds * SECOND)
        for table in (always, never):
            feed(table, talk, host + 10 * (kind == 0) * number)
            table.expire(talk.ns)
    for table in (always, never):
        table.finish()
    assert not never._spare
    assert sinks[0].told == sinks[1].told


def test_nobody_has_a_flow_that_will_be_renewed() -> None:
    collector = Collector(make_thresholds(parse_thresholds(())), False)
    collector.outlined = True
    table = FlowTable(collector, SECOND)
    for number in range(60):
        talk = talk_of(number % 8, 1000 * number, number * SECOND)
        feed(table, talk, number)
    for later in (10, 100):
        table.expire(talk.ns + later * SECOND)
    assert len(table._spare) > 3
    queued = Counter(id(flow) for flow in table._closing._queue._waiting + table._done._queue._waiting)
    alone = [Flow(b"", 1, 1, 1)]
    alone[0].untie()
    (expected,) = (sys.getrefcount(flow) for flow in alone)
    assert [sys.getrefcount(flow) - queued[id(flow)] for flow in table._spare] == [expected] * len(table._spare)
    assert all(flow.opener.flow is flow.answerer.flow is NOBODY for flow in table._spare)


def test_flows_that_nobody_has_hold_no_hello() -> None:
    """Neither those that will be renewed nor those that wait in a queue: what they held is counted no more."""
    table = FlowTable(Forgetful(), SECOND)
    for number in range(60):
        feed(table, talk_of(number % 8, 1000 * number, number * SECOND), number % 50)
    table.expire(START_NS + 70 * SECOND)
    feed(table, talk_of(3, 99, 75 * SECOND), 99)
    feed(table, talk_of(0, 98, 76 * SECOND), 99)
    queued = [flow for flow in table._closing._queue._waiting if flow.state == HANDED_ON]
    new = held(Flow(b"", 1, 1, 1))
    assert len(table._spare) > 10
    assert queued
    assert [held(flow) for flow in (*table._spare, *queued)] == [new] * (len(table._spare) + len(queued))


def held(flow: Flow) -> list[dict[str, Any]]:
    """What the flow and its halves hold but numbers, and the names of the flow."""
    return [
        {
            name: value
            for name, value in state(thing).items()
            if not isinstance(value, int) and name not in ("_key", "tunnel", "flow", "opener", "answerer")
        }
        for thing in (flow, flow.opener, flow.answerer)
    ]


def test_a_table_that_was_given_up_leaves_no_flow_behind() -> None:
    table = FlowTable(Telling(), SECOND)
    segment = to_segment(talk_of(0, 1, 0).packets[0], 1)
    between(segment, key_of(1, True))
    table.add(segment)
    (flow,) = table._flows.in_order()
    assert flow.opener.flow is flow
    del table
    assert flow.opener.flow is NOBODY
