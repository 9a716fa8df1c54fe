"""A packet as pyshark shows it, narrowed to what a second opinion needs: a TCP segment and the TLS messages in it.

tshark shows a message in the frame that completes it. Positions in its PDML lead back to the frames in which the
message's first and last byte lie: they are offsets into whatever bytes tshark had put together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any, Final

from pcapstall.core.endpoints import format_endpoint
from pcapstall.core.times import SECOND

PROTOCOLS: Final = ("frame", "ip", "ipv6", "tcp", "tcp.segments", "tls", "icmp", "icmpv6")
FIELDS: Final = (
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.stream",
    "tcp.seq",
    "tcp.ack",
    "tcp.len",
    "tcp.flags",
    "tcp.segment",
    "tls.record",
    "tls.record.version",
    "tls.record.length",
    "tls.handshake",
    "tls.handshake.type",
    "tls.handshake.length",
    "tls.handshake.version",
    "tls.handshake.random",
    "tls.handshake.fragment",
    "tls.handshake.extensions_server_name",
    "tls.handshake.extensions.supported_version",
    "tls.handshake.extensions_alpn_str",
    "tls.alert_message.level",
    "tls.alert_message.desc",
)
"""Names of fields and of their parents."""

_ENDPOINT: Final = ("tcp.stream", "tcp.srcport", "tcp.dstport")
_WHOLE: Final = ("tcp.flags", "tcp.seq", "tcp.ack", "tcp.len")

ICMP_QUOTE: Final = "icmp_quote"
"""The TCP header that an ICMP error quotes."""
DAMAGED_HEADER: Final = "damaged_header"
"""A TCP header whose length is impossible: tshark shows its flags, but no length of the payload."""

CLIENT_HELLO: Final = 1
SERVER_HELLO: Final = 2
ENCRYPTED_EXTENSIONS: Final = 8

_RETRY_RANDOM: Final = "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c"
"""The random of a HelloRetryRequest (RFC 8446 section 4.1.3)."""
_RECORD_HEADER_LEN: Final = 5
"""In bytes that were on the wire nothing of a TLS record lies before this; what tshark decrypted begins at 0."""
_SSL2: Final = 0x0002
_REASSEMBLED: Final = "DATA"
"""pyshark's name of the layer in which tshark lists the segments that it put together."""


@dataclass(frozen=True, slots=True)
class Message:
    """A TLS handshake message or an alert."""

    kind: int
    """The handshake type; -1 for an alert."""
    first: int
    """Frame of its first byte."""
    last: int
    """Frame of its last byte."""
    version: int = 0
    """Of a hello: the one chosen, or in a ClientHello its legacy version."""
    sni: str | None = None
    alpn: str | None = None
    retry: bool = False
    """A ServerHello that is a HelloRetryRequest."""
    level: int = -1
    description: int = -1
    decrypted: bool = False
    """tshark had to decrypt it."""


@dataclass(frozen=True, slots=True)
class TsharkSegment:
    """A TCP segment."""

    frame: int
    ns: int
    """Nanoseconds since the epoch."""
    stream: int
    source: str
    destination: str
    flags: int
    seq: int
    """As it is in the header."""
    ack: int
    """The same; 0 in a segment without ACK."""
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class TsharkStray:
    """What tshark counts among the packets of a stream though nobody sent it there."""

    frame: int
    stream: int
    kind: str
    """`ICMP_QUOTE` or `DAMAGED_HEADER`."""
    source: str = ""
    destination: str = ""


@dataclass(slots=True)
class Fragments:
    """Where records lie whose handshake messages are not over yet, by frame."""

    spans: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    """Length of the part of a message, and the frames of its first and last byte."""


def read_packet(packet: Any, fragments: Fragments) -> TsharkSegment | TsharkStray | None:
    """What pyshark's ``packet`` holds; None when it is no TCP. ValueError for what tshark never prints."""
    layers = list(packet.layers)
    at = max((index for index, layer in enumerate(layers) if layer.layer_name == "tcp"), default=-1)
    frame = int(packet.number)
    if at < 0:
        return _quote(layers, frame)
    network = next((layer for layer in reversed(layers[:at]) if layer.layer_name in ("ip", "ipv6")), None)
    tcp = layers[at]
    if network is None or not all(_all(tcp, name) for name in _ENDPOINT):
        return None  # the header is cut before its ports
    prefix = network.layer_name
    stream = int(_first(tcp, "tcp.stream").show)
    source = _endpoint(_first(network, f"{prefix}.src").show, _first(tcp, "tcp.srcport").show)
    destination = _endpoint(_first(network, f"{prefix}.dst").show, _first(tcp, "tcp.dstport").show)
    if not all(_all(tcp, name) for name in _WHOLE):
        return TsharkStray(frame, stream, DAMAGED_HEADER, source, destination)
    return TsharkSegment(
        frame=frame,
        ns=packet_ns(packet),
        stream=stream,
        source=source,
        destination=destination,
        flags=int(_first(tcp, "tcp.flags").show, 16),
        seq=int(_first(tcp, "tcp.seq").raw_value, 16),
        ack=int(_first(tcp, "tcp.ack").raw_value, 16),
        messages=tuple(_messages(layers[at + 1 :], frame, fragments)),
    )


def packet_ns(packet: Any) -> int:
    """When it was captured, in nanoseconds since the epoch."""
    # pyshark's sniff_timestamp is a field whose seconds tshark prints in 32 bits, and its frame_info may be a comment.
    general = next(layer for layer in (packet.frame_info, *packet.layers) if layer.layer_name == "frame")
    return epoch_ns(_first(general, "frame.time_epoch").show)


def epoch_ns(text: str) -> int:
    """``1737577691.633804000``, or since tshark 4.4 ``2025-01-22T20:28:11.633804000Z``, in nanoseconds."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    nanoseconds = int(fraction.ljust(9, "0")[:9] or "0")
    if "T" in whole:
        return int(datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp()) * SECOND + nanoseconds
    return int(whole) * SECOND + (-nanoseconds if whole.startswith("-") else nanoseconds)


def _quote(layers: Sequence[Any], frame: int) -> TsharkStray | None:
    for layer in layers:
        if layer.layer_name in ("icmp", "icmpv6"):
            for stream in _all(layer, "tcp.stream"):
                return TsharkStray(frame, int(stream.show), ICMP_QUOTE)
    return None


def _endpoint(address: str, port: str) -> str:
    return format_endpoint(ip_address(address).packed, int(port))


def _all(layer: Any, name: str) -> list[Any]:
    """Every field of that name, in the order of the packet."""
    found = layer.get_field(name)
    return [] if found is None else list(found.all_fields)


def _first(layer: Any, name: str) -> Any:
    return _all(layer, name)[0]


class _Bytes:
    """Which frame each byte of what tshark dissected came from."""

    def __init__(self, frame: int, pieces: Sequence[tuple[int, int, int]]) -> None:
        self._frame = frame
        self._pieces = pieces
        """Start, end and frame of each segment; none when all lies in ``frame``."""

    def frame_of(self, position: int) -> int:
        for start, end, frame in self._pieces:
            if start <= position < end:
                return frame
        return self._frame


def _messages(layers: Sequence[Any], frame: int, fragments: Fragments) -> Iterator[Message]:
    pieces: list[tuple[int, int, int]] = []
    for layer in layers:
        if layer.layer_name == _REASSEMBLED:
            pieces = [
                (int(piece.pos), int(piece.pos) + int(piece.size), int(piece.show))
                for piece in _all(layer, "tcp.segment")
            ]
        elif layer.layer_name == "tls":
            where = _Bytes(frame, pieces)
            yield from _handshakes(layer, frame, where, fragments)
            yield from _alerts(layer, frame, where)
            pieces = []


def _handshakes(layer: Any, frame: int, where: _Bytes, fragments: Fragments) -> Iterator[Message]:
    types = _all(layer, "tls.handshake.type")
    starts = {int(kind.pos) for kind in types}
    parts = [
        (int(part.size), where.frame_of(int(part.pos)), where.frame_of(int(part.pos) + int(part.size) - 1))
        for part in _all(layer, "tls.handshake")
        if int(part.pos) not in starts and int(part.pos) >= _RECORD_HEADER_LEN
    ]
    if parts:
        fragments.spans.setdefault(frame, []).extend(parts)
    for index, kind in enumerate(types):
        start = int(kind.pos)
        end = int(types[index + 1].pos) if index + 1 < len(types) else -1
        if end <= start:
            end = 1 << 62
        yield _message(layer, frame, where, fragments, int(kind.show), start, end)


def _message(layer: Any, frame: int, where: _Bytes, fragments: Fragments, kind: int, start: int, end: int) -> Message:
    """The message whose fields lie in ``start`` to ``end``."""
    first = last = frame
    decrypted = False
    lengths = {int(length.pos): int(length.show) for length in _all(layer, "tls.handshake.length")}
    if start >= _RECORD_HEADER_LEN or _is_ssl2(layer, start):
        first = where.frame_of(start)
        if start + 1 in lengths:
            last = where.frame_of(start + 4 + lengths[start + 1] - 1)
        else:
            first, last = _record(layer, where, start)
    elif spans := _fragment_frames(layer, fragments):
        first, last = spans
    else:
        decrypted = True
    return Message(
        kind,
        first,
        last,
        version=_version(layer, kind, start, end),
        sni=_text(layer, "tls.handshake.extensions_server_name", start, end),
        alpn=_text(layer, "tls.handshake.extensions_alpn_str", start, end),
        retry=kind == SERVER_HELLO and _random(layer, start) == _RETRY_RANDOM,
        decrypted=decrypted,
    )


def _is_ssl2(layer: Any, start: int) -> bool:
    """Whether a hello without handshake header begins at ``start``, behind a record header of two bytes."""
    return start == 2 and any(int(version.show, 16) == _SSL2 for version in _all(layer, "tls.record.version"))


def _record(layer: Any, where: _Bytes, start: int) -> tuple[int, int]:
    """The frames of the first and last byte of the record around ``start``."""
    for record in _all(layer, "tls.record"):
        position, size = int(record.pos), int(record.size)
        if position <= start < position + size:
            return where.frame_of(position), where.frame_of(position + size - 1)
    return where.frame_of(start), where.frame_of(start)


def _fragment_frames(layer: Any, fragments: Fragments) -> tuple[int, int] | None:
    """The frames of a message that was cut over records; None when it was not.

    tshark names the frames that completed each record. Where in their frames the records lie was noted then.
    """
    pieces = _all(layer, "tls.handshake.fragment")
    if not pieces:
        return None
    first, last = pieces[0], pieces[-1]
    return (
        next(
            (span[1] for span in fragments.spans.get(int(first.show), ()) if span[0] == int(first.size)),
            int(first.show),
        ),
        next(
            (span[2] for span in fragments.spans.get(int(last.show), ()) if span[0] == int(last.size)), int(last.show)
        ),
    )


def _version(layer: Any, kind: int, start: int, end: int) -> int:
    """The version that a hello chose, or offers."""
    if kind == SERVER_HELLO:
        for chosen in _all(layer, "tls.handshake.extensions.supported_version"):
            if start <= int(chosen.pos) < end:
                return int(chosen.show, 16)
    for version in _all(layer, "tls.handshake.version"):
        if start <= int(version.pos) < end:
            return int(version.show, 16)
    return 0


def _random(layer: Any, start: int) -> str:
    for random in _all(layer, "tls.handshake.random"):
        if int(random.pos) == start + 6:
            return str(random.show).replace(":", "")
    return ""


def _text(layer: Any, name: str, start: int, end: int) -> str | None:
    for found in _all(layer, name):
        if start <= int(found.pos) < end:
            return str(found.show)
    return None


def _alerts(layer: Any, frame: int, where: _Bytes) -> Iterator[Message]:
    descriptions = _all(layer, "tls.alert_message.desc")
    for level, description in zip(_all(layer, "tls.alert_message.level"), descriptions, strict=True):
        position = int(level.pos)
        clear = position >= _RECORD_HEADER_LEN
        yield Message(
            -1,
            where.frame_of(position) if clear else frame,
            where.frame_of(position) if clear else frame,
            level=int(level.show),
            description=int(description.show),
            decrypted=not clear,
        )
