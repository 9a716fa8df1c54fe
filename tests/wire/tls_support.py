"""Bytes for the TLS tests: real handshakes of the ssl module, hand-made records, and streams out of captures."""

import ssl
import struct
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from tempfile import TemporaryDirectory

from pcapstall.wire.tls_event import HANDSHAKE, TlsEvent
from pcapstall.wire.tls_reader import TlsReader


@dataclass(frozen=True)
class Found:
    """A copy of a `TlsEvent`."""

    kind: int
    type: int
    first: int
    start: int
    last: int
    length: int
    level: int
    description: int
    body: bytes
    reason: str


def copy_event(event: TlsEvent) -> Found:
    return Found(
        event.kind,
        event.type,
        event.first_offset,
        event.start_offset,
        event.last_offset,
        event.length,
        event.level,
        event.description,
        event.body,
        event.reason,
    )


def drain(reader: TlsReader, data: bytes, offset: int) -> list[Found]:
    """Show ``data`` at ``offset`` and return what was found."""
    event = TlsEvent()
    found = []
    # Margins: a reader that looks outside of its stretch sees what is not there.
    buf = b"\x16\x03" + data + b"\x17\x03\x03"
    while reader.read(buf, 2, 2 + len(data), offset, event):
        found.append(copy_event(event))
        assert len(found) <= 4 * (reader.offset + 10), "does not end"
    return found


def read_all(data: bytes, *, client: bool, cuts: tuple[int, ...] = ()) -> list[Found]:
    """All events of a stream that comes in pieces cut at ``cuts``."""
    reader = TlsReader(client, 0)
    found = []
    edges = [0, *sorted(cuts), len(data)]
    for start, end in pairwise(edges):
        found += drain(reader, data[start:end], start)
    return found


def messages(found: list[Found]) -> list[int]:
    return [event.type for event in found if event.kind == HANDSHAKE]


def record(content_type: int, body: bytes, version: int = 0x0303) -> bytes:
    return struct.pack("!BHH", content_type, version, len(body)) + body


def message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3, "big") + body


def extension(number: int, body: bytes) -> bytes:
    return struct.pack("!HH", number, len(body)) + body


def client_hello(
    extensions: bytes | None = b"",
    *,
    ciphers: bytes = bytes.fromhex("1301c02f"),
    session_id: bytes = b"",
    version: int = 0x0303,
    random: bytes = bytes(range(32)),
) -> bytes:
    """A ClientHello message; without an extensions field when ``extensions`` is None."""
    body = struct.pack("!H", version) + random + bytes([len(session_id)]) + session_id
    body += struct.pack("!H", len(ciphers)) + ciphers + b"\x01\x00"
    if extensions is not None:
        body += struct.pack("!H", len(extensions)) + extensions
    return message(1, body)


def server_hello(
    extensions: bytes | None = b"",
    *,
    cipher: int = 0xC02F,
    session_id: bytes = b"",
    version: int = 0x0303,
    random: bytes = bytes(range(32)),
) -> bytes:
    body = struct.pack("!H", version) + random + bytes([len(session_id)]) + session_id
    body += struct.pack("!HB", cipher, 0)
    if extensions is not None:
        body += struct.pack("!H", len(extensions)) + extensions
    return message(2, body)


def ssl2_hello(version: int = 0x0301, *, padding: int | None = None, session_id: bytes = b"") -> bytes:
    """An SSLv2-format ClientHello; with a 3-byte header when ``padding`` is a number."""
    specs = bytes.fromhex("010080 00002f 00000a".replace(" ", ""))
    body = struct.pack("!BHHHH", 1, version, len(specs), len(session_id), 16) + specs + session_id + bytes(range(16))
    if padding is None:
        return struct.pack("!H", 0x8000 | len(body)) + body
    return struct.pack("!HB", len(body) + padding, padding) + body + bytes(padding)


@dataclass
class Handshake:
    """What the two sides of a real handshake wrote."""

    client: bytes = b""
    server: bytes = b""
    turns: list[tuple[bool, bytes]] = field(default_factory=list)
    """Each flight: whether it is the client's, and its bytes."""
    error: str = ""


@cache
def _certificate() -> tuple[str, str]:
    """A self-signed certificate and its key, as files that live as long as the test run."""
    folder = TemporaryDirectory(prefix="tls-tests-")
    _KEEP.append(folder)
    cert, key = f"{folder.name}/cert.pem", f"{folder.name}/key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-subj", "/CN=a.example", "-days", "2", "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
    )
    return cert, key


_KEEP: list[TemporaryDirectory[str]] = []


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*_certificate())
    return client, server


def shake(
    client_context: ssl.SSLContext,
    server_context: ssl.SSLContext,
    *,
    session: ssl.SSLSession | None = None,
    name: str | None = "a.example",
    say: bytes = b"x",
    close: bool = False,
) -> tuple[Handshake, ssl.SSLSession | None]:
    """Run a handshake in memory, then ``say`` in both directions; the session to resume it with."""
    done = Handshake()
    client_in, client_out, server_in, server_out = (ssl.MemoryBIO() for _ in range(4))
    client = client_context.wrap_bio(client_in, client_out, server_hostname=name, session=session)
    server = server_context.wrap_bio(server_in, server_out, server_side=True)

    def carry() -> None:
        for is_client, source, target in ((True, client_out, server_in), (False, server_out, client_in)):
            data = source.read()
            if data:
                target.write(data)
                done.turns.append((is_client, data))

    pending = [client, server]
    for _ in range(6):
        for endpoint in tuple(pending):
            try:
                endpoint.do_handshake()
                pending.remove(endpoint)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                done.error = done.error or str(error.reason)
                pending.remove(endpoint)
            carry()
    if not done.error:
        for endpoint, peer in ((server, client), (client, server)):
            endpoint.write(say)
            carry()
            assert peer.read(len(say)) == say
    if close:
        with suppress(ssl.SSLWantReadError):
            client.unwrap()
        carry()
    done.client = b"".join(data for is_client, data in done.turns if is_client)
    done.server = b"".join(data for is_client, data in done.turns if not is_client)
    return done, None if done.error else client.session
