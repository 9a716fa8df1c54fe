"""Captures for the tests of the second opinion: segments put together by hand, hellos, a real TLS session's bytes."""

import ssl
import struct
import subprocess
from contextlib import suppress
from pathlib import Path

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
SECOND = 1_000_000_000
MS = 1_000_000
EN10MB, FDDI = 1, 10
PDML = '<?xml version="1.0" encoding="utf-8"?>\n<pdml version="0" creator="wireshark/4.0.17">\n'

CLIENT, SERVER = b"\x0a\0\0\1", b"\x0a\0\0\2"
ETHERNET = b"\0" * 12 + b"\x08\0"
FDDI_HEADER = b"\x50" + b"\0" * 12 + b"\xaa\xaa\x03\0\0\0\x08\0"
SYN, SYN_ACK, ACK, PSH, FIN = 0x02, 0x12, 0x10, 0x18, 0x11

Packets = list[tuple[int, bytes]]


def segment(from_client: bool, seq: int, ack: int, flags: int, payload: bytes = b"", port: int = 443) -> bytes:
    """An IPv4 packet of the connection 10.0.0.1:40000 -> 10.0.0.2:``port``."""
    source, destination = (CLIENT, SERVER) if from_client else (SERVER, CLIENT)
    ports = (40000, port) if from_client else (port, 40000)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 64240, 0, 0) + payload
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0) + source + destination + tcp


def handshake(port: int = 443) -> Packets:
    """SYN, SYN-ACK, ACK in 2 ms from the first second on; the next numbers are 1001 and 9001."""
    return [
        (SECOND, segment(True, 1000, 0, SYN, port=port)),
        (SECOND + MS, segment(False, 9000, 1001, SYN_ACK, port=port)),
        (SECOND + 2 * MS, segment(True, 1001, 9001, ACK, port=port)),
    ]


def pieces(stream: bytes, cuts: list[tuple[int, int]], at_ns: int = 2 * SECOND, *, client: bool = True) -> Packets:
    """Segments that carry the parts ``cuts`` of ``stream``, a millisecond apart, in that order."""
    seq, ack = (1001, 9001) if client else (9001, 1001)
    return [
        (at_ns + number * MS, segment(client, seq + start, ack, PSH, stream[start:end]))
        for number, (start, end) in enumerate(cuts)
    ]


def record(body: bytes, content_type: int = 22) -> bytes:
    return struct.pack(">BHH", content_type, 0x0301, len(body)) + body


def client_hello(padding_len: int = 600, name: bytes = b"example.org") -> bytes:
    """A ClientHello message of TLS 1.3."""
    server_name = struct.pack(">HBH", len(name) + 3, 0, len(name)) + name
    extensions = (
        struct.pack(">HH", 0, len(server_name))
        + server_name
        + struct.pack(">HH", 43, 3)
        + b"\2\3\4"
        + struct.pack(">HH", 21, padding_len)
        + b"\0" * padding_len
    )
    body = b"\3\3" + bytes(range(32)) + b"\0\0\2\x13\1\1\0" + struct.pack(">H", len(extensions)) + extensions
    return b"\1" + len(body).to_bytes(3, "big") + body


def server_hello() -> bytes:
    body = b"\3\3" + bytes(32) + b"\0\x13\1\0"
    return b"\2" + len(body).to_bytes(3, "big") + body


def write(path: Path, packets: Packets, linktype: int = EN10MB) -> str:
    """A capture of IP packets with nanosecond stamps."""
    header = {EN10MB: ETHERNET, FDDI: FDDI_HEADER}[linktype]
    records = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, linktype)]
    for ns, packet in packets:
        frame = header + packet
        records.append(struct.pack("<IIII", ns // SECOND, ns % SECOND, len(frame), len(frame)) + frame)
    path.write_bytes(b"".join(records))
    return str(path)


def tls_session(folder: Path, version: ssl.TLSVersion) -> tuple[str, str]:
    """The capture of a real session that ends with close_notify of both sides, and the file with its secrets."""
    certificate, key, keylog = (folder / name for name in ("cert.pem", "key.pem", "keylog.txt"))
    request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -subj /CN=server.example"
    subprocess.run([*request.split(), "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    outer, inner = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    outer.check_hostname, outer.verify_mode = False, ssl.CERT_NONE
    outer.minimum_version = outer.maximum_version = version
    outer.keylog_filename = str(keylog)
    outer.set_alpn_protocols(["h2", "http/1.1"])
    inner.load_cert_chain(certificate, key)
    inner.set_alpn_protocols(["http/1.1"])
    to_client, from_client, to_server, from_server = (ssl.MemoryBIO() for _ in range(4))
    client = outer.wrap_bio(to_client, from_client, server_hostname="server.example")
    server = inner.wrap_bio(to_server, from_server, server_side=True)
    packets = handshake()
    sent = {True: 1001, False: 9001}

    def carry() -> None:
        for is_client, source, destination in ((True, from_client, to_server), (False, from_server, to_client)):
            data = source.read()
            destination.write(data)
            for start in range(0, len(data), 1400):
                part = data[start : start + 1400]
                at_ns = 2 * SECOND + len(packets) * MS
                packets.append((at_ns, segment(is_client, sent[is_client], sent[not is_client], PSH, part)))
                sent[is_client] += len(part)

    for _ in range(3):
        for side in (client, server):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
            carry()
    for sender, receiver in ((client, server), (server, client)):
        sender.write(b"something to read")
        carry()
        receiver.read(100)
    for side in (client, server):
        with suppress(ssl.SSLWantReadError):
            side.unwrap()
        carry()
    end_ns = 2 * SECOND + len(packets) * MS
    packets.append((end_ns, segment(True, sent[True], sent[False], FIN)))
    packets.append((end_ns + MS, segment(False, sent[False], sent[True] + 1, FIN)))
    return write(folder / "session.pcap", packets), str(keylog)
