"""Numbers of TLS and their names as IANA spells them: content types, messages, alerts, versions.

Cipher suites have a module of their own. Unknown numbers stay numbers. Text that a peer chose (server names, ALPN) is
made safe to print here, too. Nothing here reads a record.
"""

from typing import Final

from mypy_extensions import i64

# Content types (IANA "TLS ContentType").
CCS_RECORD: Final = 20
ALERT_RECORD: Final = 21
HANDSHAKE_RECORD: Final = 22
APPLICATION_DATA_RECORD: Final = 23
HEARTBEAT_RECORD: Final = 24

RECORD_LENGTH_MAX: Final = (1 << 14) + 2048
"""TLS 1.2 lets encryption add so much (RFC 5246 section 6.2.3); TLS 1.3 only 256 bytes."""
MESSAGE_LENGTH_MAX: Final = 1 << 18
"""A longer handshake message is none: bytes that are encrypted, or were found by guessing."""

# Handshake types that someone here asks for (IANA "TLS HandshakeType").
CLIENT_HELLO: Final = 1
SERVER_HELLO: Final = 2
NEW_SESSION_TICKET: Final = 4
CERTIFICATE: Final = 11
SERVER_KEY_EXCHANGE: Final = 12
CERTIFICATE_REQUEST: Final = 13
SERVER_HELLO_DONE: Final = 14
CLIENT_KEY_EXCHANGE: Final = 16
FINISHED: Final = 20

HANDSHAKE_NAMES: Final[dict[int, str]] = {
    0: "hello_request",
    1: "client_hello",
    2: "server_hello",
    3: "hello_verify_request",
    4: "new_session_ticket",
    5: "end_of_early_data",
    6: "hello_retry_request",
    8: "encrypted_extensions",
    11: "certificate",
    12: "server_key_exchange",
    13: "certificate_request",
    14: "server_hello_done",
    15: "certificate_verify",
    16: "client_key_exchange",
    20: "finished",
    21: "certificate_url",
    22: "certificate_status",
    23: "supplemental_data",
    24: "key_update",
    25: "compressed_certificate",
    67: "next_protocol",
}

WARNING: Final = 1
FATAL: Final = 2
ALERT_LEVELS: Final[dict[int, str]] = {1: "warning", 2: "fatal"}

CLOSE_NOTIFY: Final = 0

# RFC 8446 section 6 and the RFCs before it; 115 RFC 4279, 120 RFC 7301, 121 RFC 9849.
ALERT_DESCRIPTIONS: Final[dict[int, str]] = {
    0: "close_notify",
    10: "unexpected_message",
    20: "bad_record_mac",
    21: "decryption_failed",
    22: "record_overflow",
    30: "decompression_failure",
    40: "handshake_failure",
    41: "no_certificate",
    42: "bad_certificate",
    43: "unsupported_certificate",
    44: "certificate_revoked",
    45: "certificate_expired",
    46: "certificate_unknown",
    47: "illegal_parameter",
    48: "unknown_ca",
    49: "access_denied",
    50: "decode_error",
    51: "decrypt_error",
    52: "too_many_cids_requested",
    60: "export_restriction",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    90: "user_canceled",
    100: "no_renegotiation",
    109: "missing_extension",
    110: "unsupported_extension",
    111: "certificate_unobtainable",
    112: "unrecognized_name",
    113: "bad_certificate_status_response",
    114: "bad_certificate_hash_value",
    115: "unknown_psk_identity",
    116: "certificate_required",
    117: "general_error",
    120: "no_application_protocol",
    121: "ech_required",
}

SSL_2_0: Final = 0x0002
SSL_3_0: Final = 0x0300
TLS_1_0: Final = 0x0301
TLS_1_1: Final = 0x0302
TLS_1_2: Final = 0x0303
TLS_1_3: Final = 0x0304
TLS_1_3_DRAFT: Final = 0x7F00
"""Plus the number of the draft (RFC 8446's drafts, section 4.2.1.1)."""

VERSION_NAMES: Final[dict[int, str]] = {
    SSL_2_0: "SSL 2.0",
    SSL_3_0: "SSL 3.0",
    TLS_1_0: "TLS 1.0",
    TLS_1_1: "TLS 1.1",
    TLS_1_2: "TLS 1.2",
    TLS_1_3: "TLS 1.3",
}


def is_grease(number: i64) -> bool:
    """Whether a 16-bit number is one of those that only keep servers on their toes: 0x0A0A, 0x1A1A (RFC 8701)."""
    return number & 0x0F0F == 0x0A0A and number >> 8 == number & 0xFF


def is_tls13(version: i64) -> bool:
    """Whether a negotiated version is TLS 1.3, one of its drafts included."""
    return version == TLS_1_3 or version >> 8 == TLS_1_3_DRAFT >> 8


def version_name(version: int) -> str:
    """``TLS 1.2``, ``SSL 3.0``, ``TLS 1.3 draft 19``; ``0xNNNN`` for what is none of them."""
    name = VERSION_NAMES.get(version)
    if name is not None:
        return name
    if version >> 8 == TLS_1_3_DRAFT >> 8:
        return f"TLS 1.3 draft {version & 0xFF}"
    return f"0x{version:04X}"


def alert_name(description: int) -> str:
    """``handshake_failure`` for 40; ``alert_N`` for a number without a name."""
    return ALERT_DESCRIPTIONS.get(description, f"alert_{description}")


def printable(raw: bytes) -> str:
    r"""``raw`` as text that is safe on a terminal: printable ASCII, the rest as ``\xNN``, a backslash as ``\\``."""
    if raw.isascii() and b"\\" not in raw:
        text = raw.decode("ascii")
        if text.isprintable():
            return text
    parts: list[str] = []
    for byte in raw:
        if byte == 0x5C:
            parts.append("\\\\")
        elif 0x20 <= byte < 0x7F:
            parts.append(chr(byte))
        else:
            parts.append(f"\\x{byte:02x}")
    return "".join(parts)
