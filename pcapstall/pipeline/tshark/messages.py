"""The TLS messages in a packet as pyshark shows it, and the frames in which each begins and ends.

tshark shows a message in the frame that completes it. Positions in its PDML lead back to the frames in which the
message's first and last byte lie: they are offsets into whatever bytes tshark had put together.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pcapstall.wire.tls_names import printable
from pcapstall.wire.tls_shape import server_name

CLIENT_HELLO: Final = 1
SERVER_HELLO: Final = 2
ENCRYPTED_EXTENSIONS: Final = 8
ALERT: Final = -1

_RETRY_RANDOM: Final = "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c"
"""The random of a HelloRetryRequest (RFC 8446 section 4.1.3)."""
_RECORD_HEADER_LEN: Final = 5
"""In bytes that were on the wire nothing of a TLS record lies before this; what tshark decrypted begins at 0."""
_SSL2: Final = 0x0002
_NO_END: Final = 1 << 62
_REASSEMBLED: Final = "DATA"
"""pyshark's name of the layer in which tshark lists the segments that it put together."""


class Message(NamedTuple):
    """A TLS handshake message or an alert."""

    first: int
    """Frame of its first byte."""
    last: int
    """Frame of its last byte."""
    kind: int = ALERT
    """The handshake type, or `ALERT`."""
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


@dataclass(slots=True)
class Fragments:
    """Where records lie whose handshake messages are not over yet, by frame."""

    spans: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    """Length of the part of a message, and the frames of its first and last byte."""


def all_fields(layer: Any, name: str) -> list[Any]:
    """Every field of that name, in the order of the packet."""
    found = layer.get_field(name)
    return [] if found is None else list(found.all_fields)


class _Remembered:
    """A layer that is asked for each field once: for one that is not there pyshark goes through all others."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._found: dict[str, Any] = {}

    def get_field(self, name: str) -> Any:
        if name not in self._found:
            self._found[name] = self._layer.get_field(name)
        return self._found[name]


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


def read_messages(layers: Sequence[Any], frame: int, fragments: Fragments) -> Iterator[Message]:
    """The messages that end in ``frame``; ``layers`` are those above TCP."""
    pieces: list[tuple[int, int, int]] = []
    for layer in layers:
        if layer.layer_name == _REASSEMBLED:
            pieces = [
                (int(piece.pos), int(piece.pos) + int(piece.size), int(piece.show))
                for piece in all_fields(layer, "tcp.segment")
            ]
        elif layer.layer_name == "tls":
            where, tls = _Bytes(frame, pieces), _Remembered(layer)
            yield from _handshakes(tls, frame, where, fragments)
            yield from _alerts(tls, frame, where)
            pieces = []


def _handshakes(layer: Any, frame: int, where: _Bytes, fragments: Fragments) -> Iterator[Message]:
    types = all_fields(layer, "tls.handshake.type")
    starts = {int(kind.pos) for kind in types}
    parts = [
        (int(part.size), _first(layer, where, int(part.pos)), where.frame_of(int(part.pos) + int(part.size) - 1))
        for part in all_fields(layer, "tls.handshake")
        if int(part.pos) not in starts and int(part.pos) >= _RECORD_HEADER_LEN
    ]
    if parts:
        fragments.spans.setdefault(frame, []).extend(parts)
    decrypted = False
    for index, kind in enumerate(types):
        start = int(kind.pos)
        end = int(types[index + 1].pos) if index + 1 < len(types) else -1
        if end <= start:
            end = _NO_END
        span = _span(layer, where, fragments, start)
        # What tshark decrypted has positions of its own, and nothing in the clear comes after it.
        decrypted = decrypted or span is None
        first, last = (frame, frame) if decrypted or span is None else span
        yield _message(layer, int(kind.show), start, end, Message(first, last, decrypted=decrypted))


def _span(layer: Any, where: _Bytes, fragments: Fragments, start: int) -> tuple[int, int] | None:
    """The frames of the first and last byte of the message at ``start``; None when it lies in decrypted bytes."""
    if start < _RECORD_HEADER_LEN and not _is_ssl2(layer, start):
        return _fragment_frames(layer, fragments)
    for length in all_fields(layer, "tls.handshake.length"):
        if int(length.pos) == start + 1:
            return _first(layer, where, start), where.frame_of(start + 4 + int(length.show) - 1)
    return _record(layer, where, start)


def _first(layer: Any, where: _Bytes, start: int) -> int:
    """The frame in which what is at ``start`` begins: with its record's header, where it is the first in it."""
    header = start - _RECORD_HEADER_LEN
    if any(int(record.pos) == header for record in all_fields(layer, "tls.record")):
        return where.frame_of(header)
    return where.frame_of(start)


def _message(layer: Any, kind: int, start: int, end: int, where: Message) -> Message:
    """``where`` with what the fields in ``start`` to ``end`` say."""
    return where._replace(
        kind=kind,
        version=_version(layer, kind, start, end),
        sni=_text(layer, "tls.handshake.extensions_server_name", start, end, server_name),
        alpn=_text(layer, "tls.handshake.extensions_alpn_str", start, end, printable),
        retry=kind == SERVER_HELLO and _random(layer, start) == _RETRY_RANDOM,
    )


def _is_ssl2(layer: Any, start: int) -> bool:
    """Whether a hello without handshake header begins at ``start``, behind a record header of two bytes."""
    return start == 2 and any(int(version.show, 16) == _SSL2 for version in all_fields(layer, "tls.record.version"))


def _record(layer: Any, where: _Bytes, start: int) -> tuple[int, int]:
    """The frames of the first and last byte of the record around ``start``."""
    for record in all_fields(layer, "tls.record"):
        position, size = int(record.pos), int(record.size)
        if position <= start < position + size:
            return where.frame_of(position), where.frame_of(position + size - 1)
    return where.frame_of(start), where.frame_of(start)


def _fragment_frames(layer: Any, fragments: Fragments) -> tuple[int, int] | None:
    """The frames of a message that was cut over records; None when it was not.

    tshark names the frames that completed each record. Where in their frames the records lie was noted then.
    """
    pieces = all_fields(layer, "tls.handshake.fragment")
    if not pieces:
        return None
    return _fragment(pieces[0], fragments)[0], _fragment(pieces[-1], fragments)[1]


def _fragment(piece: Any, fragments: Fragments) -> tuple[int, int]:
    frame, length = int(piece.show), int(piece.size)
    for span_length, first, last in fragments.spans.get(frame, ()):
        if span_length == length:
            return first, last
    return frame, frame


def _version(layer: Any, kind: int, start: int, end: int) -> int:
    """The version that a hello chose, or offers."""
    if kind == SERVER_HELLO:
        for chosen in all_fields(layer, "tls.handshake.extensions.supported_version"):
            if start <= int(chosen.pos) < end:
                return int(chosen.show, 16)
    for version in all_fields(layer, "tls.handshake.version"):
        if start <= int(version.pos) < end:
            return int(version.show, 16)
    return 0


def _random(layer: Any, start: int) -> str:
    for random in all_fields(layer, "tls.handshake.random"):
        if int(random.pos) == start + 6:
            return str(random.show).replace(":", "")
    return ""


def _text(layer: Any, name: str, start: int, end: int, read: Callable[[bytes], str]) -> str | None:
    """Text that a peer chose, from the bytes that tshark read: what it shows of them may be shortened."""
    for found in all_fields(layer, name):
        if start <= int(found.pos) < end:
            return read(bytes.fromhex(found.raw_value or ""))
    return None


def _alerts(layer: Any, frame: int, where: _Bytes) -> Iterator[Message]:
    descriptions = all_fields(layer, "tls.alert_message.desc")
    for level, description in zip(all_fields(layer, "tls.alert_message.level"), descriptions, strict=True):
        position = int(level.pos)
        decrypted = position < _RECORD_HEADER_LEN
        first, last = (frame, frame) if decrypted else _record(layer, where, position)
        yield Message(first, last, level=int(level.show), description=int(description.show), decrypted=decrypted)
