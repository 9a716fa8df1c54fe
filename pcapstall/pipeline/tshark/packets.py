"""A packet as pyshark shows it, narrowed to what a second opinion needs: a TCP segment and the TLS messages in it.

Also the names of what tshark is to print for that. The messages are read in `messages`; what the packets mean
to a connection is in `streams`.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from pcapstall.core.endpoints import format_endpoint
from pcapstall.core.times import SECOND
from pcapstall.pipeline.tshark.messages import Fragments, Message, all_fields, read_messages
from pcapstall.report.known_differences import DAMAGED_HEADER, ICMP_QUOTE

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


class TsharkSegment(NamedTuple):
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


class TsharkStray(NamedTuple):
    """What tshark counts among the packets of a stream though nobody sent it there."""

    frame: int
    stream: int
    kind: str
    """`ICMP_QUOTE` or `DAMAGED_HEADER`."""
    source: str = ""
    destination: str = ""


def read_packet(packet: Any, fragments: Fragments) -> TsharkSegment | TsharkStray | None:
    """What pyshark's ``packet`` holds; None when it is no TCP. ValueError for what tshark never prints."""
    layers = list(packet.layers)
    at = max((index for index, layer in enumerate(layers) if layer.layer_name == "tcp"), default=-1)
    frame = int(packet.number)
    if at < 0:
        return _quote(layers, frame)
    network = next((layer for layer in reversed(layers[:at]) if layer.layer_name in ("ip", "ipv6")), None)
    tcp = layers[at]
    if network is None or not all(all_fields(tcp, name) for name in _ENDPOINT):
        return None  # the header is cut before its ports
    prefix = network.layer_name
    stream = int(_first(tcp, "tcp.stream").show)
    source = _endpoint(_first(network, f"{prefix}.src").show, _first(tcp, "tcp.srcport").show)
    destination = _endpoint(_first(network, f"{prefix}.dst").show, _first(tcp, "tcp.dstport").show)
    if not all(all_fields(tcp, name) for name in _WHOLE):
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
        messages=tuple(read_messages(layers[at + 1 :], frame, fragments)),
    )


def packet_ns(packet: Any) -> int:
    """When it was captured, in nanoseconds since the epoch; 0 when the file does not say (a Simple Packet Block)."""
    # pyshark's sniff_timestamp is a field whose seconds tshark prints in 32 bits, and its frame_info may be a comment.
    general = next(layer for layer in (packet.frame_info, *packet.layers) if layer.layer_name == "frame")
    stamps = all_fields(general, "frame.time_epoch")
    return epoch_ns(stamps[0].show) if stamps else 0


def epoch_ns(text: str) -> int:
    """``1737577691.633804000`` in nanoseconds."""
    whole, _, fraction = text.partition(".")
    nanoseconds = int(fraction.ljust(9, "0")[:9])
    return int(whole) * SECOND + (-nanoseconds if whole.startswith("-") else nanoseconds)


def _quote(layers: Sequence[Any], frame: int) -> TsharkStray | None:
    for layer in layers:
        if layer.layer_name in ("icmp", "icmpv6"):
            for stream in all_fields(layer, "tcp.stream"):
                return TsharkStray(frame, int(stream.show), ICMP_QUOTE)
    return None


def _endpoint(address: str, port: str) -> str:
    return format_endpoint(ip_address(address).packed, int(port))


def _first(layer: Any, name: str) -> Any:
    return all_fields(layer, name)[0]
