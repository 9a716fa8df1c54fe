"""Names of protocols that ALPN offers: those that are everybody's stay, of others only the ends, which JA4 shows.

From IANA's registry of ALPN protocol IDs (RFC 7301 section 6) and what proxies and libraries use without asking it.
"""

from typing import Final

from pcapstall.anonymise.mapping import Mapping

_COMMON: Final = frozenset(
    """
    http/0.9 http/1.0 http/1.1 spdy/1 spdy/2 spdy/3 spdy/3.1 h2 h2c h2-14 h2-16 h3 h3-29 h3-Q050 hq hq-interop hq-29
    stun.turn stun.nat-discovery webrtc c-webrtc ftp imap pop3 managesieve coap co xmpp-client xmpp-server acme-tls/1
    mqtt dot ntske/1 sunrpc smb irc nntp nnsp doq sip/2 tds/8.0 dicom postgresql radius/1.0 radius/1.1 grpc-exp
    istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2 transport.l5d.io/v1 mysql amqp smtp ldap http
    apns-security-v3
    """.split()
)
_GREASE: Final = frozenset(bytes((high << 4 | 10, high << 4 | 10)) for high in range(16))
"""RFC 8701 section 2."""


def protocol_name(name: bytes, mapping: Mapping) -> bytes:
    """What becomes of one name, as long as before."""
    if name in _GREASE or (name.decode("latin-1") in _COMMON and not mapping.hides(name.decode("latin-1"))):
        return name
    return name[:1] + mapping.words(name[1:-1].decode("latin-1")).encode("ascii") + name[1:][-1:]
