"""DNS queries and answers seen in the capture: what a client's host was waiting for while a connection stood still.

Only what can fill a gap is kept: slow answers and none at all. Names are made safe to print; nothing is resolved.
"""

from collections import OrderedDict
from typing import Final

from pcapstall.wire.segment import UdpDatagram
from pcapstall.wire.tls_names import printable

SLOW_NS: Final = 100_000_000
"""An answer that comes sooner fills no gap."""
PENDING_MAX: Final = 10_000
LOOKUPS_MAX: Final = 10_000
QUERY_MAX: Final = 512
"""Bytes kept of a query: what UDP carries of DNS (RFC 1035 section 2.3.4)."""
_HEADER_LEN: Final = 12
_RESPONSE: Final = 0x80


class Lookup:
    """One query, and its answer when there was one."""

    __slots__ = ("answered_ns", "answered_ref", "asked_ns", "asked_ref", "host", "message")

    def __init__(self, host: bytes, message: bytes, asked_ns: int, asked_ref: int) -> None:
        self.host = host
        """Address of who asked."""
        self.message = message
        """The query as it was captured."""
        self.asked_ns = asked_ns
        self.asked_ref = asked_ref
        self.answered_ns = 0
        self.answered_ref = 0

    @property
    def name(self) -> str:
        """What was asked for; read only when somebody wants to tell it."""
        return query_name(self.message)


class DnsLog:
    """Pairs queries with answers while the capture is read."""

    def __init__(self) -> None:
        self._pending: OrderedDict[bytes, Lookup] = OrderedDict()
        """By the query's endpoints and id; repeated queries keep the first one's time."""
        self._slow: dict[bytes, list[Lookup]] = {}
        """Lookups with a slow answer, by host."""
        self._kept = 0
        self._waiting: dict[bytes, list[Lookup]] | None = None
        """Those pending, by host; None until somebody asks."""

    def take(self, datagram: UdpDatagram, ns: int, ref: int) -> None:
        """One message to or from port 53."""
        if datagram.captured_len < _HEADER_LEN:
            return
        self._waiting = None
        message = datagram.buf[datagram.offset : datagram.offset + datagram.captured_len]
        half = (len(datagram.key) - 4) // 2
        source, destination, ports = datagram.key[:half], datagram.key[half:-4], datagram.key[-4:]
        if message[2] & _RESPONSE:
            lookup = self._pending.pop(destination + source + ports[2:] + ports[:2] + message[:2], None)
            if lookup is not None and ns - lookup.asked_ns >= SLOW_NS and self._kept < LOOKUPS_MAX:
                lookup.answered_ns, lookup.answered_ref = ns, ref
                self._slow.setdefault(lookup.host, []).append(lookup)
                self._kept += 1
            return
        query = source + destination + ports + message[:2]
        if query not in self._pending:
            self._pending[query] = Lookup(source, message[:QUERY_MAX], ns, ref)
            if len(self._pending) > PENDING_MAX:
                self._pending.popitem(last=False)

    def filling(self, host: bytes, start_ns: int, end_ns: int) -> Lookup | None:
        """A lookup of ``host`` that lies in the gap and takes most of it, answered or not."""
        best: Lookup | None = None
        for lookup in [*self._slow.get(host, ()), *self._waiting_of(host)]:
            until_ns = lookup.answered_ns or end_ns
            if lookup.asked_ns < start_ns or until_ns > end_ns or 2 * (until_ns - lookup.asked_ns) < end_ns - start_ns:
                continue
            if best is None or until_ns - lookup.asked_ns > (best.answered_ns or end_ns) - best.asked_ns:
                best = lookup
        return best

    def _waiting_of(self, host: bytes) -> list[Lookup]:
        if self._waiting is None:
            self._waiting = {}
            for lookup in self._pending.values():
                self._waiting.setdefault(lookup.host, []).append(lookup)
        return self._waiting.get(host, [])


def query_name(message: bytes) -> str:
    """The name in the question section (RFC 1035 section 4.1.2); ``?`` when the message cannot be read."""
    import struct  # here, since few captures have a lookup to tell of

    import dpkt.dns

    try:
        questions = dpkt.dns.DNS(message).qd
    except (dpkt.UnpackError, IndexError, struct.error, UnicodeDecodeError):
        return "?"
    return printable(questions[0].name.encode()) or "." if questions else "?"
