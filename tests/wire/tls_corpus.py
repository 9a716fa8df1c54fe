"""Streams out of real captures for the TLS tests: dpkt reads, the simplest reassembly there is puts in order."""

import gzip
import io
import socket
from dataclasses import dataclass
from pathlib import Path

import dpkt

_LINKS = {
    dpkt.pcap.DLT_EN10MB: dpkt.ethernet.Ethernet,
    dpkt.pcap.DLT_NULL: dpkt.loopback.Loopback,
    dpkt.pcap.DLT_LINUX_SLL: dpkt.sll.SLL,
    dpkt.pcap.DLT_LINUX_SLL2: dpkt.sll2.SLL2,
}


@dataclass(frozen=True)
class Stream:
    """Both directions of one connection, up to the first hole of each."""

    client: str
    server: str
    sent: bytes
    answered: bytes


def streams(path: Path) -> list[Stream]:
    """The connections of a capture, clients by SYN, else by a first payload that looks like a ClientHello."""
    segments: dict[tuple[str, str], list[tuple[int, bytes]]] = {}
    first: dict[tuple[str, str], int] = {}
    openers: list[tuple[str, str]] = []
    for linktype, data in _frames(path):
        tcp_ip = _tcp(linktype, data)
        if tcp_ip is None:
            continue
        source, target, tcp, payload = tcp_ip
        pair = (source, target)
        syn = bool(tcp.flags & dpkt.tcp.TH_SYN)
        if syn and pair not in first:
            first[pair] = (tcp.seq + 1) & 0xFFFFFFFF
        if payload:
            segments.setdefault(pair, []).append((tcp.seq + syn, payload))
        hello = payload[:6]
        if (syn and not tcp.flags & dpkt.tcp.TH_ACK) or (hello[:2] == b"\x16\x03" and hello[5:] == b"\x01"):
            if pair not in openers and pair[::-1] not in openers:
                openers.append(pair)
    return [
        Stream(pair[0], pair[1], _joined(segments, first, pair), _joined(segments, first, pair[::-1]))
        for pair in openers
    ]


def _frames(path: Path) -> list[tuple[int, bytes]]:
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    kind = dpkt.pcapng if raw[:4] == b"\n\r\r\n" else dpkt.pcap
    reader = kind.Reader(io.BytesIO(raw))
    return [(reader.datalink(), bytes(data)) for _, data in reader]


def _tcp(linktype: int, data: bytes) -> tuple[str, str, dpkt.tcp.TCP, bytes] | None:
    try:
        packet = _LINKS[linktype](data) if linktype in _LINKS else dpkt.ip.IP(data)
        while not isinstance(packet, dpkt.ip.IP | dpkt.ip6.IP6):
            packet = packet.data
            if not isinstance(packet, dpkt.Packet):
                return None
        tcp = packet.data
        if not isinstance(tcp, dpkt.tcp.TCP):
            return None
    except (dpkt.UnpackError, OSError):
        return None
    family = socket.AF_INET6 if len(packet.src) == 16 else socket.AF_INET
    source, target = (socket.inet_ntop(family, address) for address in (packet.src, packet.dst))
    if family == socket.AF_INET6:
        source, target = f"[{source}]", f"[{target}]"
    payload = bytes(tcp.data)
    if family == socket.AF_INET and packet.len:
        # Without the padding of short Ethernet frames.
        payload = payload[: packet.len - 4 * packet.hl - 4 * tcp.off]
    return f"{source}:{tcp.sport}", f"{target}:{tcp.dport}", tcp, payload


def _joined(
    segments: dict[tuple[str, str], list[tuple[int, bytes]]], first: dict[tuple[str, str], int], pair: tuple[str, str]
) -> bytes:
    waiting = sorted(segments.get(pair, []), key=lambda segment: segment[0])
    if not waiting:
        return b""
    base = first.get(pair, waiting[0][0])
    joined = b""
    for seq, data in waiting:
        at = seq - base
        if at > len(joined):
            break
        if at >= 0:
            joined += data[len(joined) - at :]
    return joined
