"""However a stream is cut into segments, the same is told of it; a time is that of the segment that brought the byte.

Also of rubbish: junk before TLS, prefaces of other protocols, records that are empty, unknown or cut, hellos that end
in the middle. What is not captured is no cut, and is not looked at here.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import pytest
from flow_support import (
    CHANGE_CIPHER_SPEC,
    FINISHED,
    MS,
    SECOND,
    START_NS,
    Kept,
    Talk,
    record,
    server_hello,
    to_segment,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from test_whole import CERTIFICATE, DONE, OF_FLOW, OF_HALF, OLD_CLIENT, RECORDS

from pcapstall.flows.begun import begun_hello
from pcapstall.flows.flow import FLAG_NOTES_CUT, Flow
from pcapstall.flows.table import FlowTable

US = 1000
# One hello for all, so that what Hypothesis found is found again.
EXTENSIONS = bytes.fromhex("000a00040002001d000b00020100002b0003020304")
BODY = b"\3\3" + bytes(range(32)) + b"\0\0\4\x13\1\xc0\x2f\1\0" + len(EXTENSIONS).to_bytes(2, "big") + EXTENSIONS
HELLO = record(22, b"\1" + len(BODY).to_bytes(3, "big") + BODY)
SPECS = b"\1\3\1\0\6\0\0\0\x10" + bytes(range(6)) + bytes(16)
SSL2 = (0x8000 | len(SPECS)).to_bytes(2, "big") + SPECS
PADDED_SSL2 = (len(SPECS) + 5).to_bytes(2, "big") + b"\5" + SPECS + bytes(5)
FLIGHT = server_hello() + CHANGE_CIPHER_SPEC + record(23, b"c" * 90)
OLD_FLIGHT = server_hello(0x0303, more=CERTIFICATE + DONE)

TALKS: dict[str, tuple[bytes, bytes]] = {
    "proxy_v1": (b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", b""),
    "proxy_v2": (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12), b""),
    "http_connect": (b"CONNECT a:443 HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"),
    "socks5": (b"\5\1\0\5\1\0\1\x0a\0\0\2\1\xbb", b"\5\0\5\0\0\1" + bytes(6)),
    "socks4": (b"\4\1\1\xbb\x0a\0\0\2u\0", b"\0\x5a" + bytes(6)),
    "smtp_starttls": (b"EHLO x\r\nSTARTTLS\r\n", b"220 x\r\n250 STARTTLS\r\n220 go\r\n"),
    "imap_starttls": (b"a1 STARTTLS\r\n", b"* OK\r\na1 OK\r\n"),
    "postgresql": (bytes.fromhex("0000000804d2162f"), b"S"),
    "rdp": (b"\3\0\0\x13\x0e\xe0" + bytes(13), b"\3\0\0\x0b\6\xd0" + bytes(5)),
    "http_upgrade": (b"OPTIONS * HTTP/1.1\r\nUpgrade: TLS/1.0\r\n\r\n", b"HTTP/1.1 101 X\r\n\r\n"),
}
CLIENT = [said for said, _ in TALKS.values()] + [b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n", b"\n", b"\r\n"]
SERVER = [said for _, said in TALKS.values() if said] + [b"HTTP/1.1 400 Bad\r\n\r\n", b"SSH-2.0-y\r\n", b"220 go\r\n"]
JUNK = [
    b"\x16", b"\x16\3", b"\x16\3\1", b"\x16\3\3\0", b"\x16\3\x09", b"\x17\3", b"\x17\3\3", b"\3", b"\0", b"\x80",
    b"\x80\x2e\1", b"\1\3\1", b"xyz", bytes(40), b"\xff" * 7, b"\x14\3\3\0\2\1\1", b"\n\x80", HELLO[:7], HELLO[:40],
    SSL2[:20], server_hello()[:20],
]  # fmt: skip
RUBBISH = [
    SSL2, PADDED_SSL2, record(22, b""), record(20, b""), record(21, b""), record(21, b"\2"), record(24, b""),
    record(25, b"abc"), record(0, b"abc"), record(21, b"\1\0"), record(22, HELLO[5:25]) + record(22, HELLO[25:]),
    record(22, HELLO[5:] * 2), record(22, HELLO[5:7]) + CHANGE_CIPHER_SPEC + record(22, HELLO[7:]),
    record(22, HELLO[5:30]) + record(23, b"x" * 30) + record(22, HELLO[30:]),
    record(22, HELLO[5:30]) + record(22, b"") + record(22, HELLO[30:]),
    record(22, HELLO[5:30]) + record(21, b"\1\0") + record(22, HELLO[30:]), *JUNK,
]  # fmt: skip
# Those of the other tests, without the large ones.
ORDINARY = [each for each in RECORDS if len(each) < 200]

Turn = tuple[bool, tuple[bytes, ...]]


def atoms(hellos: Sequence[bytes], talk: Sequence[bytes]) -> st.SearchStrategy[tuple[bytes, ...]]:
    choices = [st.sampled_from(kind) for kind in (hellos, talk, RUBBISH, ORDINARY)]
    return st.lists(st.one_of(*choices, st.binary(min_size=1, max_size=9)), min_size=1, max_size=4).map(tuple)


TURNS = st.one_of(
    st.tuples(st.just(True), atoms([HELLO], CLIENT)),
    st.tuples(st.just(False), atoms([FLIGHT, OLD_FLIGHT, server_hello()], SERVER)),
)
OPENINGS: list[list[Turn]] = [[], [], [(True, (HELLO,))], [(True, (HELLO,)), (False, (FLIGHT,))]]
CONVERSATIONS = st.tuples(st.sampled_from(OPENINGS), st.lists(TURNS, min_size=1, max_size=5)).map(
    lambda found: found[0] + found[1]
)
# Which atom, and how many bytes of it come before the cut: at its end, in a header, or anywhere.
CUTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 12) | st.integers(0, 150)), min_size=4, max_size=24
)
OVERLAPS = st.lists(st.sampled_from([0, 0, 1, 3, 50]), max_size=8)


def spans(turns: Sequence[Turn], cuts: Iterable[tuple[int, int, int]]) -> list[list[tuple[int, int]]]:
    """Of each turn where its segments begin and end."""
    found = []
    cuts = list(cuts)
    for number, (_, said) in enumerate(turns):
        starts = [0, *accumulate(len(each) for each in said)]
        places = {starts[atom % len(starts)] + within for turn, atom, within in cuts if turn == number}
        found.append(list(pairwise([0, *sorted(place for place in places if 0 < place < starts[-1]), starts[-1]])))
    return found


def segments_of(turns: Sequence[Turn], cuts: list[tuple[int, int, int]] | None) -> list[list[tuple[int, int]]]:
    return byte_by_byte(turns) if cuts is None else spans(turns, cuts)


def byte_by_byte(turns: Sequence[Turn]) -> list[list[tuple[int, int]]]:
    return [[(at, at + 1) for at in range(sum(map(len, said)))] for _, said in turns]


class Telling:
    """What is told of a conversation that came in some segments, each byte of which has a number."""

    def __init__(
        self,
        turns: Sequence[Turn],
        segments: Sequence[Sequence[tuple[int, int]]],
        ends: bool = True,
        midway: bool = False,
        overlaps: Sequence[int] = (),
        number_turns: bool = False,
    ) -> None:
        self.came_with: dict[int, int] = {}
        """The number of the first byte of a byte's segment."""
        talk = Talk()
        if not midway:
            talk.handshake()
        sink = Kept()
        table = FlowTable(sink, SECOND)
        for number, packet in enumerate(talk.packets, 1):
            packet.ns = START_NS + number * US
            table.add(to_segment(packet, number))
        number, sent = 10, 0
        for (from_client, said), bounds in zip(turns, segments, strict=True):
            data, base_seq = b"".join(said), talk.seq[from_client]
            for start, end in bounds:
                again = min(start, overlaps[sent % len(overlaps)] if overlaps else 0)
                sent += 1
                talk.seq[from_client] = base_seq + start - again
                packet = talk.send(from_client, 0x18, data[start - again : end])
                frame = number if number_turns else number + start
                packet.ns = START_NS + frame * US
                self.came_with.update(dict.fromkeys(range(number + start, number + end), frame))
                table.add(to_segment(packet, frame))
            number += len(data) + 5
        flows = table._flows.in_order()
        if ends:
            table.finish()
            flows = sink.flows
        self.facts = facts(flows[0], ends) if flows else {}

    def at_segments_of(self, other: "Telling") -> dict[str, object]:
        """The facts, with each time and frame that of the segment of ``other`` that brought the byte."""
        found: dict[str, object] = {}
        for name, value in self.facts.items():
            moved = value
            if isinstance(value, int) and value:
                if name.endswith("_ns"):
                    byte = (value - START_NS) // US
                    moved = START_NS + other.came_with.get(byte, byte) * US
                elif name.endswith("_ref"):
                    byte = value & 0xFFFFFF
                    moved = value - byte + other.came_with.get(byte, byte)
            found[name] = moved
        # A length, not a time: of bytes that came one by one it is another one.
        found.pop("preamble_ns", None)
        return found


def facts(flow: Flow, ends: bool) -> dict[str, object]:
    """All that is known of the TLS of ``flow``, but for what the number of its segments is bound to change."""
    found: dict[str, object] = {name: getattr(flow, name) for name in (*OF_FLOW, "owes")}
    found["flags"] = flow.flags & ~FLAG_NOTES_CUT
    for half in (flow.opener, flow.answerer):
        side = "opener" if half is flow.opener else "answerer"
        found |= {f"{side}.{name}": getattr(half, name) for name in OF_HALF if name != "watch_offset"}
        if ends:
            # Where nothing was kept, nothing was stopped.
            del found[f"{side}.phase"]
    hello = flow.server_hello
    found["server_hello"] = hello and (hello.version, hello.cipher, hello.length, hello.is_hello_retry)
    begun = None if ends else begun_hello(flow)
    found["begun_ns"] = begun and begun.ns
    for number, alert in enumerate(flow.alerts or []):
        found[f"alert {number}"] = (alert.level, alert.description, alert.inferred, alert.from_client)
        found[f"alert {number}_ns"], found[f"alert {number}_ref"] = alert.ns, alert.ref
    return found


@settings(max_examples=max(400, settings().max_examples))
@given(CONVERSATIONS, CUTS | st.just([]), CUTS | st.none(), OVERLAPS, st.booleans(), st.booleans())
def test_two_ways_to_cut_a_conversation_tell_the_same(
    turns: list[Turn],
    some: list[tuple[int, int, int]],
    others: list[tuple[int, int, int]] | None,
    overlaps: list[int],
    ends: bool,
    midway: bool,
) -> None:
    """All segments of a turn come at the same time, in the same frame."""
    first = Telling(turns, spans(turns, some), ends, midway, number_turns=True)
    second = Telling(turns, segments_of(turns, others), ends, midway, overlaps, number_turns=True)
    assert first.facts == second.facts


@settings(max_examples=max(60, settings().max_examples))
@given(CONVERSATIONS, CUTS, OVERLAPS, st.booleans())
def test_a_time_is_that_of_the_segment_that_brought_the_byte(
    turns: list[Turn], cuts: list[tuple[int, int, int]], overlaps: list[int], ends: bool
) -> None:
    """However a conversation is cut, of that which came byte by byte all times are known."""
    single = Telling(turns, byte_by_byte(turns), ends)
    cut = Telling(turns, spans(turns, cuts), ends, overlaps=overlaps)
    assert single.at_segments_of(cut) == {name: value for name, value in cut.facts.items() if name != "preamble_ns"}


@pytest.mark.parametrize("name", TALKS)
@pytest.mark.parametrize("hello", [HELLO, SSL2], ids=["hello", "ssl2"])
def test_a_preface_may_be_cut_anywhere(name: str, hello: bytes) -> None:
    asks, answers = TALKS[name]
    turns = [(True, (asks,)), (False, (answers,)), (True, (hello,)), (False, (FLIGHT,)), (True, (FINISHED,))]
    turns = [turn for turn in turns if turn[1] != (b"",)]
    at = len(turns) - 3
    whole = Telling(turns, spans(turns, []), number_turns=True)
    if hello is HELLO:
        assert whole.facts["preamble"] == name
        assert whole.facts["preamble_ns"]
    for turn, said in enumerate((b"".join(said) for _, said in turns)):
        for place in range(1, len(said)):
            assert Telling(turns, spans(turns, [(turn, 0, place)]), number_turns=True).facts == whole.facts
    # The preface and the hello in one segment, or in two that are cut in either.
    joined: list[Turn] = [(True, (asks, hello)), *turns[at + 1 :]]
    whole = Telling(joined, spans(joined, []), number_turns=True)
    for place in range(1, len(asks + hello)):
        assert Telling(joined, spans(joined, [(0, 0, place)]), number_turns=True).facts == whole.facts


@pytest.mark.parametrize(
    "turns",
    [
        [(False, (b"220 hello", server_hello())), (True, (HELLO,)), (False, (FLIGHT,))],
        [(True, (b"xy", record(23, bytes(40)), HELLO)), (False, (FLIGHT,))],
        [(True, (HELLO,)), (False, (b"xyz", FLIGHT))],
        [(True, (HELLO,)), (False, (b"HTTP/1.1 400 Bad\r\n\r\n", FLIGHT))],
        [(True, (b"GET / HTTP/1.1\r\n\r\n", HELLO)), (False, (FLIGHT,))],
        [(True, (HELLO,)), (False, (FLIGHT,)), (True, (FINISHED,)), (False, (record(21, b"\2\x28"),))],
        [(True, (record(23, bytes(40)), HELLO)), (False, (FLIGHT,)), (True, (OLD_CLIENT,))],
        [(True, (HELLO[:-9],)), (True, (record(25, b"abc"),))],
        [(True, (SSL2[:-9],)), (False, (record(21, b"\2\x28"),))],
        [(True, (HELLO, record(22, b""), record(24, b""), record(25, b"a"))), (False, (record(21, b""), FLIGHT))],
    ],
)
@pytest.mark.parametrize("ends", [False, True])
def test_rubbish_may_be_cut_anywhere(turns: list[Turn], ends: bool) -> None:
    whole = Telling(turns, spans(turns, []), ends, number_turns=True)
    for turn, said in enumerate((b"".join(said) for _, said in turns)):
        for place in range(1, len(said)):
            assert Telling(turns, spans(turns, [(turn, 0, place)]), ends, number_turns=True).facts == whole.facts, place


def test_an_alert_has_the_time_of_its_first_byte() -> None:
    last = (record(23, bytes(40)), record(21, b"\1\0"))
    turns: list[Turn] = [(True, (HELLO,)), (False, (FLIGHT,)), (True, (FINISHED,)), (False, last)]
    for cut in range(1, 7):
        told = Telling(turns, spans(turns, [(3, 1, cut)]))
        first = sum(len(b"".join(said)) + 5 for _, said in turns[:3]) + 10 + 45
        assert told.facts["alert 0_ns"] == START_NS + told.came_with[first] * US


def test_an_ssl2_hello_that_is_never_completed_is_a_partial_one() -> None:
    for length in range(11, len(SSL2)):
        turns: list[Turn] = [(True, (SSL2[:length],))]
        for segments in (spans(turns, []), byte_by_byte(turns)):
            assert Telling(turns, segments).facts["partial_hello_ns"] == START_NS + 10 * US


def test_a_hello_behind_data_is_read_although_it_is_cut() -> None:
    """Where segments came in another order than they were sent, a ServerHello may come behind the client's data."""
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.client(record(23, bytes(400)))
    first = talk.server(FLIGHT[:20], after=MS)
    talk.server(FLIGHT[20:], after=MS)
    sink = Kept()
    table = FlowTable(sink, SECOND)
    for frame, packet in enumerate(talk.packets, 1):
        table.add(to_segment(packet, frame))
    (flow,) = table._flows.in_order()
    assert flow.settled
    hello = flow.server_hello
    assert hello is not None
    assert (hello.version, flow.server_hello_first_ns) == (0x0304, first.ns)
