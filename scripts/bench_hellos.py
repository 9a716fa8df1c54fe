"""TLS bytes for the benchmark's captures: hellos as browsers and libraries send them, certificates, records.

Every length is right and every field is one that a dissector accepts; keys, signatures and ciphertext are random.
Nothing here knows of packets (bench_traffic).
"""

from dataclasses import dataclass
from random import Random

HANDSHAKE, CCS, APPLICATION_DATA = 22, 20, 23
TLS10, TLS12, TLS13 = 0x0301, 0x0303, 0x0304
X25519, X25519_MLKEM768, SECP256R1 = 0x001D, 0x11EC, 0x0017
SHARE_LEN = {X25519: 32, SECP256R1: 65, X25519_MLKEM768: 1184 + 32}
"""A client's share of each group; the hybrid one is an encapsulation key and an X25519 point."""


@dataclass(frozen=True)
class ClientKind:
    """How one family of clients greets."""

    name: str
    ciphers: tuple[int, ...]
    versions: tuple[int, ...] = (TLS13, TLS12)
    groups: tuple[int, ...] = (X25519, SECP256R1, 0x0018)
    shares: tuple[int, ...] = (X25519,)
    alpn: tuple[str, ...] = ("h2", "http/1.1")
    grease: bool = False
    pad_to: int = 0
    """Pads the handshake message to so many bytes (RFC 7685)."""


_BROWSER = (0x1301, 0x1302, 0x1303, 0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8, 0xC013, 0xC014, 0x9C, 0x9D, 0x2F,
            0x35)  # fmt: skip
_LIBRARY = (0x1302, 0x1303, 0x1301, 0xC02C, 0xC030, 0x9F, 0xCCA9, 0xCCA8, 0xCCAA, 0xC02B, 0xC02F, 0x9E, 0xC024, 0xC028,
            0x6B, 0xC023, 0xC027, 0x67, 0xC00A, 0xC014, 0x39, 0xC009, 0xC013, 0x33, 0x9D, 0x9C, 0x3D, 0x3C, 0x35, 0x2F,
            0xFF)  # fmt: skip
_OLD = (0xC02C, 0xC02B, 0xC030, 0x9D, 0x9F, 0xC02F, 0x9C, 0x9E, 0xC024, 0xC028, 0x3D, 0x6B, 0xC023, 0xC027, 0x3C, 0x67,
        0xFF)  # fmt: skip

CLIENTS = (
    ClientKind("browser, hybrid key", _BROWSER, groups=(X25519_MLKEM768, X25519, SECP256R1, 0x0018),
               shares=(X25519_MLKEM768, X25519), grease=True),
    ClientKind("browser", _BROWSER, grease=True, pad_to=512),
    ClientKind("browser without GREASE", _BROWSER[:3] + _BROWSER[7:], shares=(X25519, SECP256R1)),
    ClientKind("library", _LIBRARY, alpn=()),
    ClientKind("command line", _LIBRARY, pad_to=508),
    ClientKind("service", (0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8, 0xC009, 0xC013, 0xC00A, 0xC014, 0x1301,
                           0x1302, 0x1303), alpn=("h2",)),
    ClientKind("old library", _OLD, versions=(TLS12,), shares=(), alpn=("http/1.1",)),
    ClientKind("old service", _OLD, versions=(TLS12,), shares=(), alpn=()),
)  # fmt: skip


def vector(body: bytes, length_bytes: int) -> bytes:
    """``body`` behind its length (RFC 8446 section 3.4)."""
    return len(body).to_bytes(length_bytes, "big") + body


def words(*values: int) -> bytes:
    """16-bit numbers, one after the other."""
    return b"".join(value.to_bytes(2, "big") for value in values)


def extension(kind: int, body: bytes) -> bytes:
    """One extension (RFC 8446 section 4.2)."""
    return words(kind) + vector(body, 2)


def handshake(kind: int, body: bytes) -> bytes:
    """One handshake message (RFC 8446 section 4)."""
    return bytes([kind]) + vector(body, 3)


def record(kind: int, body: bytes, version: int = TLS12) -> bytes:
    """``body`` in one record (RFC 8446 section 5.1)."""
    return bytes([kind]) + words(version) + vector(body, 2)


def application_data(rng: Random, length: int) -> bytes:
    """One record of ``length`` bytes of ciphertext."""
    return record(APPLICATION_DATA, rng.randbytes(length))


def client_hello(rng: Random, kind: ClientKind, host: str) -> bytes:
    """A ClientHello for ``host`` in its record."""
    grease = 0x0A0A + 0x1010 * rng.randrange(16)
    greased = (grease,) if kind.grease else ()
    shares = b"".join(words(group) + vector(rng.randbytes(SHARE_LEN[group]), 2) for group in kind.shares)
    extensions = [
        extension(0, vector(b"\0" + vector(host.encode(), 2), 2)),
        extension(23, b""),
        extension(0xFF01, b"\0"),
        extension(10, vector(words(*greased, *kind.groups), 2)),
        extension(11, vector(b"\0", 1)),
        extension(35, b""),
        extension(5, b"\1\0\0\0\0"),
        extension(13, vector(words(0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601), 2)),
    ]
    if kind.alpn:
        names = b"".join(vector(name.encode(), 1) for name in kind.alpn)
        extensions.append(extension(16, vector(names, 2)))
    if TLS13 in kind.versions:
        if kind.grease:
            shares = words(grease) + vector(b"\0", 2) + shares
        extensions.append(extension(51, vector(shares, 2)))
        extensions.append(extension(45, b"\1\1"))
        extensions.append(extension(43, vector(words(*greased, *kind.versions), 1)))
    if kind.grease:
        rng.shuffle(extensions)
        extensions = [extension(grease, b""), *extensions]
    session_id = rng.randbytes(32) if TLS13 in kind.versions else b""
    start = words(TLS12) + rng.randbytes(32) + vector(session_id, 1)
    start += vector(words(*greased, *kind.ciphers), 2) + b"\1\0"
    body = b"".join(extensions)
    # Its own four bytes, the message's four and the extensions' length are in it.
    padding = kind.pad_to - 4 - len(start) - 2 - len(body) - 4
    if padding >= 0:
        body += extension(21, bytes(padding))
    return record(HANDSHAKE, handshake(1, start + vector(body, 2)), TLS10)


def _der(tag: int, body: bytes) -> bytes:
    """One DER element (X.690 section 8.1)."""
    length = len(body)
    if length < 0x80:
        return bytes([tag, length]) + body
    size = (length.bit_length() + 7) // 8
    return bytes([tag, 0x80 | size]) + length.to_bytes(size, "big") + body


_ECDSA_SHA256 = _der(0x30, bytes.fromhex("06082a8648ce3d040302"))
_P256_KEY = _der(0x30, bytes.fromhex("06072a8648ce3d0201 06082a8648ce3d030107"))


def _name(common: str) -> bytes:
    attribute = bytes.fromhex("0603550403") + _der(0x0C, common.encode())
    return _der(0x30, _der(0x31, _der(0x30, attribute)))


def certificate(rng: Random, host: str, issuer: str, filler: int) -> bytes:
    """An X.509 certificate (RFC 5280) for ``host`` with a key identifier of ``filler`` bytes, for its length."""
    names = _der(0x30, bytes.fromhex("0603551d11") + _der(0x04, _der(0x30, _der(0x82, host.encode()))))
    opaque = _der(0x30, bytes.fromhex("0603551d0e") + _der(0x04, _der(0x04, rng.randbytes(filler))))
    tbs = _der(0xA0, b"\2\1\2") + _der(0x02, b"\1" + rng.randbytes(15)) + _ECDSA_SHA256 + _name(issuer)
    tbs += _der(0x30, _der(0x17, b"250101000000Z") + _der(0x17, b"350101000000Z")) + _name(host)
    tbs += _der(0x30, _P256_KEY + _der(0x03, b"\0\4" + rng.randbytes(64))) + _der(0xA3, _der(0x30, names + opaque))
    signature = _der(0x30, _der(0x02, b"\1" + rng.randbytes(31)) + _der(0x02, b"\1" + rng.randbytes(31)))
    return _der(0x30, _der(0x30, tbs) + _ECDSA_SHA256 + _der(0x03, b"\0" + signature))


@dataclass(frozen=True)
class Exchange:
    """The flights of one full handshake after the ClientHello."""

    server_flight: bytes
    client_flight: bytes
    """To the client's Finished."""
    server_finish: bytes
    """TLS 1.2: ChangeCipherSpec and Finished; TLS 1.3: session tickets."""


def exchange(rng: Random, kind: ClientKind, host: str, chain_len: int) -> Exchange:
    """What follows the ClientHello of ``kind``; the certificates have about ``chain_len`` bytes."""
    change = record(CCS, b"\1")
    server_start = words(TLS12) + rng.randbytes(32)
    if TLS13 in kind.versions:
        share_len = 1088 + 32 if X25519_MLKEM768 in kind.shares else 32
        group = kind.shares[0]
        extensions = extension(43, words(TLS13)) + extension(51, words(group) + vector(rng.randbytes(share_len), 2))
        server_start += vector(rng.randbytes(32), 1) + words(0x1301) + b"\0"
        hello = handshake(2, server_start + vector(extensions, 2))
        encrypted = [application_data(rng, length) for length in (32 + 17, chain_len + 17, 96 + 17, 36 + 17)]
        return Exchange(
            record(HANDSHAKE, hello) + change + b"".join(encrypted),
            change + application_data(rng, 36 + 17),
            b"".join(application_data(rng, 250) for _ in range(2)),
        )
    extensions = extension(0xFF01, b"\0") + extension(11, vector(b"\0\1\2", 1)) + extension(35, b"")
    server_start += vector(rng.randbytes(32), 1) + words(0xC02B) + b"\0"
    hello = handshake(2, server_start + vector(extensions, 2))
    leaf = certificate(rng, host, "Bench Issuing CA", chain_len // 3)
    chain = vector(leaf, 3) + vector(certificate(rng, "Bench Issuing CA", "Bench Root", chain_len // 6), 3)
    key_exchange = b"\3" + words(X25519) + vector(rng.randbytes(32), 1) + words(0x0403) + vector(rng.randbytes(71), 2)
    flight = b"".join(
        record(HANDSHAKE, message)
        for message in (hello, handshake(11, vector(chain, 3)), handshake(12, key_exchange), handshake(14, b""))
    )
    finished = change + record(HANDSHAKE, rng.randbytes(40))
    return Exchange(flight, record(HANDSHAKE, handshake(16, vector(rng.randbytes(32), 1))) + finished, finished)
