"""From the segments that tshark shows to its flows: who is the client, and when each event of the handshake came.

The definitions are those of the measurement contract (docs/measurements.md), applied to tshark's reading of the bytes
and to nothing else: none of pcapstall's own decoding is used here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pcapstall.core.seq import seq_diff
from pcapstall.pipeline.tshark.messages import CLIENT_HELLO, ENCRYPTED_EXTENSIONS, SERVER_HELLO, Message
from pcapstall.pipeline.tshark.packets import TsharkSegment, TsharkStray
from pcapstall.report.comparison_model import COMPARED_EVENTS, Decrypted, Seen, SeenAlert, SeenFlow
from pcapstall.report.known_differences import DAMAGED_HEADER
from pcapstall.wire.segment import ACK, FIN, RST, SYN
from pcapstall.wire.tls_names import ALERT_LEVELS, HANDSHAKE_NAMES, alert_name, version_name

_MASK: Final = 0xFFFFFFFF


@dataclass(slots=True)
class Stream:
    """The packets of one connection that were handed over."""

    numbers: list[int]
    """`tcp.stream`."""
    segments: list[TsharkSegment] = field(default_factory=list)
    strays: dict[str, int] = field(default_factory=dict)
    """See `SeenFlow.strays`."""


class Streams:
    """Collects packets by stream."""

    def __init__(self) -> None:
        self._streams: dict[int, Stream] = {}
        self._begun_by: dict[int, TsharkStray] = {}
        """The streams whose first packet nobody sent in them."""
        self._latest: dict[frozenset[str], Stream] = {}
        """The stream in which the latest segment between two endpoints was."""
        self._times: dict[int, int] = {}

    def add(self, found: TsharkSegment | TsharkStray | None) -> None:
        """Take a packet, as `read_packet` returns it."""
        if isinstance(found, TsharkStray):
            if found.stream not in self._streams:
                self._begun_by.setdefault(found.stream, found)
        elif found is not None:
            self._add(found)

    def _add(self, segment: TsharkSegment) -> None:
        self._times[segment.frame] = segment.ns
        ends = frozenset((segment.source, segment.destination))
        stream = self._streams.get(segment.stream)
        if stream is None:
            stream = self._streams[segment.stream] = self._begin(segment, self._latest.get(ends))
        self._latest[ends] = stream
        stream.segments.append(segment)

    def _begin(self, segment: TsharkSegment, before: Stream | None) -> Stream:
        """The stream of its first segment. One that a stray began goes on with what was ``before`` between the ends."""
        stray = self._begun_by.pop(segment.stream, None)
        if stray is None or before is None or segment.flags & (SYN | ACK) == SYN:
            return Stream([segment.stream])
        before.numbers.append(segment.stream)
        before.strays.setdefault(stray.kind, stray.frame)
        return before

    def unknown_frames(self) -> list[int]:
        """Frames that hold a part of a message and were not handed over."""
        return sorted(
            {
                frame
                for stream in self._streams.values()
                for segment in stream.segments
                for message in segment.messages
                for frame in (message.first, message.last)
                if frame not in self._times
            }
        )

    def unacknowledged(self) -> list[int]:
        """The streams with a SYN-ACK whose ACK was not handed over."""
        return [number for number, stream in self._streams.items() if _lacks_ack(stream.segments)]

    def add_late(self, segment: TsharkSegment) -> None:
        """Take a packet that was asked for afterwards."""
        stream = self._streams.get(segment.stream)
        if segment.frame in self._times or stream is None:
            return
        self._times[segment.frame] = segment.ns
        stream.segments.append(segment)

    def flows(self) -> list[SeenFlow]:
        """The flows in the order of their first frames."""
        found = []
        for stream in {id(stream): stream for stream in self._streams.values()}.values():
            stream.segments.sort(key=lambda segment: segment.frame)
            found.append(_flow(stream, self._times))
        found += [_nothing_but(stray) for stray in self._begun_by.values() if stray.kind == DAMAGED_HEADER]
        return sorted(found, key=lambda flow: flow.first_frame)


def _lacks_ack(segments: list[TsharkSegment]) -> bool:
    """Whether the ACK of the handshake may not have been handed over: none is there, or one that says more.

    A SYN-ACK of another number moves the relative numbers that tshark's filter goes by.
    """
    syn_acks = [segment for segment in segments if segment.flags & (SYN | ACK) == SYN | ACK]
    if not syn_acks:
        return False
    if any(segment.seq != syn_acks[0].seq for segment in syn_acks):
        return True
    client, _ = _client(segments)
    ack = _tcp_events(segments, client).get("ack")
    found = next((segment for segment in segments if ack is not None and segment.frame == ack.frame), None)
    return found is None or found.flags & FIN != 0 or not any(_acknowledges(found, answer) for answer in syn_acks)


def _acknowledges(segment: TsharkSegment, syn_ack: TsharkSegment) -> bool:
    """Whether ``segment`` acknowledges ``syn_ack`` and nothing more."""
    return (syn_ack.seq + 1) & _MASK == segment.ack


def _nothing_but(stray: TsharkStray) -> SeenFlow:
    return SeenFlow(
        streams=(stray.stream,),
        client=stray.source,
        server=stray.destination,
        direction_source="first_seen",
        first_frame=stray.frame,
        sni=None,
        version=None,
        events=dict.fromkeys(COMPARED_EVENTS),
        strays={stray.kind: stray.frame},
    )


def _flow(stream: Stream, times: Mapping[int, int]) -> SeenFlow:
    segments = stream.segments
    client, direction_source = _client(segments)
    first = segments[0]
    server = first.destination if client == first.source else first.source
    events: dict[str, Seen | None] = dict.fromkeys(COMPARED_EVENTS) | _tcp_events(segments, client)
    hellos = _hellos(segments, client)
    for name, message in hellos.items():
        events[f"{name}_first"] = Seen(message.first, times.get(message.first, 0))
        events[f"{name}_last"] = Seen(message.last, times.get(message.last, 0))
    retry = next((message for message in _messages(segments, server) if message.retry), None)
    if retry is not None:
        events["hello_retry"] = Seen(retry.first, times.get(retry.first, 0))
    client_hello, server_hello = hellos.get("client_hello"), hellos.get("server_hello")
    return SeenFlow(
        streams=tuple(stream.numbers),
        client=client,
        server=server,
        direction_source=direction_source,
        first_frame=first.frame,
        sni=client_hello.sni if client_hello else None,
        version=version_name(server_hello.version) if server_hello else None,
        events=events,
        alerts=[
            SeenAlert(
                side,
                ALERT_LEVELS.get(message.level, str(message.level)),
                alert_name(message.description),
                message.first,
            )
            for side, segment, message in _with_sides(segments, client)
            if message.level >= 0 and not message.decrypted
        ],
        decrypted=[
            Decrypted(side, _name(message), Seen(segment.frame, segment.ns))
            for side, segment, message in _with_sides(segments, client)
            if message.decrypted
        ],
        strays=stream.strays,
    )


def _client(segments: Iterable[TsharkSegment]) -> tuple[str, str]:
    """The client's endpoint, and how it is known."""
    first = next(iter(segments))
    for segment in segments:
        if segment.flags & (SYN | ACK) == SYN:
            return segment.source, "syn"
    for segment in segments:
        if segment.flags & (SYN | ACK) == SYN | ACK:
            return segment.destination, "syn_ack"
    for segment in segments:
        for message in segment.messages:
            if message.kind == CLIENT_HELLO:
                return segment.source, "client_hello"
            if message.kind == SERVER_HELLO:
                return segment.destination, "server_hello"
    return first.source, "first_seen"


def _tcp_events(segments: list[TsharkSegment], client: str) -> dict[str, Seen | None]:
    events: dict[str, Seen | None] = {}
    syn_acks: list[TsharkSegment] = []
    for segment in segments:
        from_client = segment.source == client
        side = "client" if from_client else "server"
        at = Seen(segment.frame, segment.ns)
        if segment.flags & SYN:
            if segment.flags & ACK == 0 and from_client:
                events.setdefault("syn", at)
            elif segment.flags & ACK and not from_client:
                syn_acks.append(segment)
        elif from_client and syn_acks and "ack" not in events and segment.flags & (ACK | RST) == ACK:
            answered = _answered(syn_acks, segment.ack)
            if answered is not None:
                events["ack"] = at
                events["syn_ack"] = Seen(answered.frame, answered.ns)
        if segment.flags & FIN:
            events.setdefault(f"{side}_fin", at)
        if segment.flags & RST:
            events.setdefault(f"{side}_rst", at)
    if syn_acks:
        events.setdefault("syn_ack", Seen(syn_acks[0].frame, syn_acks[0].ns))
    return events


def _answered(syn_acks: list[TsharkSegment], ack: int) -> TsharkSegment | None:
    """The SYN-ACK that ``ack`` acknowledges: the one whose next number it is, else the first that it is beyond."""
    for segment in syn_acks:
        if (segment.seq + 1) & _MASK == ack:
            return segment
    return syn_acks[0] if seq_diff(ack, (syn_acks[0].seq + 1) & _MASK) >= 0 else None


def _hellos(segments: list[TsharkSegment], client: str) -> dict[str, Message]:
    """The hellos by the names of their events."""
    found: dict[str, Message] = {}
    retried = False
    for segment in segments:
        for message in segment.messages:
            if message.decrypted:
                continue
            if message.kind == CLIENT_HELLO and segment.source == client:
                found.setdefault("client_hello2" if retried else "client_hello", message)
            elif message.kind == SERVER_HELLO and segment.source != client:
                if message.retry:
                    retried = True
                else:
                    found.setdefault("server_hello", message)
    return found


def _messages(segments: list[TsharkSegment], sender: str) -> Iterable[Message]:
    return (message for segment in segments if segment.source == sender for message in segment.messages)


def _with_sides(segments: list[TsharkSegment], client: str) -> Iterable[tuple[str, TsharkSegment, Message]]:
    for segment in segments:
        for message in segment.messages:
            yield "client" if segment.source == client else "server", segment, message


def _name(message: Message) -> str:
    if message.level >= 0:
        level = ALERT_LEVELS.get(message.level, str(message.level))
        return f"alert {level} {alert_name(message.description)}"
    name = HANDSHAKE_NAMES.get(message.kind, f"handshake message {message.kind}")
    return f"{name} alpn {message.alpn}" if message.alpn and message.kind == ENCRYPTED_EXTENSIONS else name
