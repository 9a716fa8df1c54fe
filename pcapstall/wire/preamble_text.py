"""Line protocols that turn to TLS on a command: SMTP, LMTP, IMAP, POP3, FTP, NNTP, ManageSieve, IRC, XMPP.

Told apart by the server's greeting where it was captured, else by what the client says; whether the server owes an
answer is a count of its replies. Rare, so written to be read.
"""

import re
from typing import Final

from pcapstall.wire.preamble_layers import Layer

__all__ = ["asks_for_tls", "text_layer"]

_COMMANDS_MAX: Final = 64
_XMPP_NAMESPACES: Final = (b"http://etherx.jabber.org/streams", b"urn:ietf:params:xml:ns:xmpp-tls")
_ESMTP_HELLOS: Final = (b"EHLO ", b"HELO ")
_IRC_FIRST: Final = (b"CAP ", b"NICK ", b"USER ", b"PASS ")
_FTP_COMMANDS: Final = (b"AUTH TLS", b"AUTH SSL", b"AUTH TLS-C", b"AUTH TLS-P")
_TLS_COMMANDS: Final = frozenset({*_FTP_COMMANDS, b"STARTTLS", b"STLS"})
_REFUSES: Final = re.compile(rb"-ERR|NO\b|BYE\b|\S+ (?:NO|BAD)\b|:\S+ 691 ")
"""POP3, ManageSieve, IMAP, IRC; the others refuse with a number from 400 on."""


def text_layer(client: bytes, server: bytes) -> Layer | None:
    """The line protocol that the two directions speak, None when they speak none of those known here."""
    commands = _lines(client)
    name = _name(commands, client, server)
    if not name:
        return None
    return Layer(name, len(client), len(server), owes=_owes(name, commands, client, server))


def asks_for_tls(client: bytes, server: bytes) -> bool:
    """Whether the client's last command asks to turn to TLS, and the last reply does not refuse it."""
    commands, replies = _lines(client), _lines(server)
    if not commands or not client.endswith(b"\n"):
        return client.rstrip().endswith(b">") and b"<starttls" in client and b"<failure" not in server
    last = commands[-1]
    if last not in _TLS_COMMANDS and last.split()[1:] != [b"STARTTLS"]:
        return False
    refusal = replies[-1] if replies else b""
    return not (refusal[:1] in {b"4", b"5"} and refusal[:3].isdigit()) and not _REFUSES.match(refusal)


def _lines(data: bytes) -> list[bytes]:
    """The complete lines at the beginning of ``data``, in capitals."""
    return [line.rstrip(b"\r").upper() for line in data.split(b"\n", _COMMANDS_MAX)[:-1][:_COMMANDS_MAX]]


def _name(commands: list[bytes], client: bytes, server: bytes) -> str:
    if client.lstrip().startswith(b"<") and any(namespace in client for namespace in _XMPP_NAMESPACES):
        return "xmpp_starttls"
    greeting = server[:16].upper() if b"\n" in server else b""
    tagged = any(len(line.split()) == 2 and line.split()[1] == b"STARTTLS" for line in commands)
    if any(line.startswith(b"LHLO ") for line in commands):
        return "lmtp_starttls"
    if greeting.startswith((b"* OK", b"* PREAUTH")) or (not greeting and tagged):
        return "imap_starttls"
    if greeting.startswith(b"+OK") or b"STLS" in commands:
        return "pop3_stls"
    if any(line in _FTP_COMMANDS for line in commands):
        return "ftp_auth_tls"
    if any(line.startswith(_ESMTP_HELLOS) for line in commands):
        return "smtp_starttls"
    if greeting.startswith((b"200 ", b"201 ")):
        return "nntp_starttls"
    if greeting.startswith((b'"IMPLEMENTATION"', b'"SASL"', b'"STARTTLS"', b'"SIEVE"')):
        return "sieve_starttls"
    if any(line.startswith(_IRC_FIRST) for line in commands) and not greeting.startswith(b"220"):
        return "irc_starttls"
    if b"STARTTLS" in commands and server.startswith(b":"):
        return "irc_starttls"
    if greeting.startswith(b"220"):
        # Nothing said yet, or nothing that only one of them knows.
        return "ftp_auth_tls" if b"FTP" in server[:256].upper() else "smtp_starttls"
    return "starttls" if b"STARTTLS" in commands else ""


def _owes(name: str, commands: list[bytes], client: bytes, server: bytes) -> bool:
    """Whether a complete greeting or command has not been answered completely."""
    if client and not client.endswith(b"\n") and name != "xmpp_starttls":
        return False
    replies = _lines(server)
    if name == "starttls":
        return not replies
    if name == "xmpp_starttls":
        if b"<starttls" in client:
            return b"<proceed" not in server and b"<failure" not in server
        return b"features>" not in server and b"<stream:features/>" not in server
    if name == "imap_starttls":
        if not commands:
            return not replies
        tag = commands[-1].split(b" ")[0]
        return not any(line.startswith(tag + b" ") for line in replies)
    if name == "pop3_stls":
        return sum(line.startswith((b"+OK", b"-ERR")) for line in replies) <= len(commands)
    if name == "sieve_starttls":
        return sum(line.startswith((b"OK", b"NO", b"BYE")) for line in replies) <= len(commands)
    if name == "irc_starttls":
        # 670 RPL_STARTTLS, 691 ERR_STARTTLS; before it the client may say what it likes.
        return b"STARTTLS" in commands and not any(b" 670 " in line or b" 691 " in line for line in replies)
    # Three digits and a space end a reply, a hyphen goes on (RFC 5321 section 4.2, RFC 959 section 4.2).
    return sum(line[:3].isdigit() and line[3:4] in {b" ", b""} for line in replies) <= len(commands)
