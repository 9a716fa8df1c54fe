"""What is kept of every flow, also of those that are counted and let go, for sockets and lines of logs to be found its.

Compiled, since it is made of each flow: some 400 bytes with its place in `Outlines`. Which socket it is, `matching`
decides, and which lines are about it, `log_lines`.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import Flow
from pcapstall.wire.tls_names import CLIENT_HELLO

RANDOM_MIN: Final = 12
"""So many bytes of a ClientHello's random must be seen, and are kept. The default preview of strace shows 21."""


_RANDOM_OFFSET: Final = 6
"""In a ClientHello with its header: type, length, version, random (RFC 8446 section 4.1.2)."""


class Outline:
    """Addresses, the ClientHello's random, and when the steps of the handshake were seen; named as in `Flow`."""

    def __init__(self, flow: Flow) -> None:
        key = flow.key
        if not flow.opener_is_client:
            key = flow.answer_key
        half: i64 = (len(key) - 4) // 2
        self.client: bytes = key[:half] + key[-4:-2]
        """Packed address and port."""
        self.server: bytes = key[half:-4] + key[-2:]
        self.id: i64 = flow.id
        self.first_ns: i64 = flow.first_ns
        self.last_ns: i64 = flow.last_ns
        if self.last_ns < self.first_ns:
            # The capture's clock was set back meanwhile: what is about the flow lies somewhere between the two.
            self.first_ns = flow.last_ns
            self.last_ns = flow.first_ns
        self.random: bytes = b""
        """The first `RANDOM_MIN` bytes; empty without a ClientHello."""
        message = flow.hello_message
        if len(message) >= _RANDOM_OFFSET + RANDOM_MIN and message[0] == CLIENT_HELLO:
            # Nobody has asked what is in it, and the rest of it is not read for this.
            self.random = message[_RANDOM_OFFSET : _RANDOM_OFFSET + RANDOM_MIN]
        else:
            hello = flow.client_hello
            if hello is not None and len(hello.random) >= RANDOM_MIN:
                self.random = hello.random[:RANDOM_MIN]
        self.client_sends_hello: bool = True
        if flow.client_hello_first_ref != 0:
            self.client_sends_hello = flow.tls_client_is_opener == flow.opener_is_client
        self.syn_ns: i64 = flow.syn_ns
        self.syn_ref: i64 = flow.syn_ref
        self.syn_ack_ns: i64 = flow.syn_ack_ns
        self.syn_ack_ref: i64 = flow.syn_ack_ref
        self.ack_ns: i64 = flow.ack_ns
        self.ack_ref: i64 = flow.ack_ref
        self.client_hello_first_ns: i64 = flow.client_hello_first_ns
        self.client_hello_first_ref: i64 = flow.client_hello_first_ref
        self.answer_ns: i64 = flow.server_hello_first_ns
        """Of the HelloRetryRequest, if there was one, else of the ServerHello."""
        self.answer_ref: i64 = flow.server_hello_first_ref
        if flow.hello_retry_ref != 0:
            self.answer_ns = flow.hello_retry_ns
            self.answer_ref = flow.hello_retry_ref
        self.has_syn_data: bool = len(flow.syn_data) > 0
        self.has_preamble: bool = len(flow.preamble) > 0
        self.next_of_client: Outline | None = None
        """The one before with the same client address and port."""
        self.next_of_random: Outline | None = None


class Outlines:
    """All of them, by what a strace may show."""

    def __init__(self) -> None:
        self.by_client: dict[bytes, Outline] = {}
        """The last one with this client address and port; the others follow it."""
        self.by_server: dict[bytes, list[Outline]] = {}
        self.by_random: dict[bytes, Outline] = {}

    def add(self, flow: Flow) -> None:
        """One more flow, which has ended."""
        outline = Outline(flow)
        outline.next_of_client = self.by_client.get(outline.client)
        self.by_client[outline.client] = outline
        same = self.by_server.get(outline.server)
        if same is None:
            self.by_server[outline.server] = [outline]
        else:
            outline.server = same[0].server
            same.append(outline)
        if outline.random:
            outline.next_of_random = self.by_random.get(outline.random)
            self.by_random[outline.random] = outline

    def all(self) -> list[Outline]:
        """All of them, in the order of their flows' first frames."""
        found: list[tuple[i64, Outline]] = []
        for last in self.by_client.values():
            outline: Outline | None = last
            while outline is not None:
                found.append((outline.id, outline))
                outline = outline.next_of_client
        found.sort()
        return [outline for _, outline in found]

    def of_client(self, endpoint: bytes) -> list[Outline]:
        """Those whose client has this address and port."""
        found: list[Outline] = []
        outline = self.by_client.get(endpoint)
        while outline is not None:
            found.append(outline)
            outline = outline.next_of_client
        return found

    def of_server(self, endpoint: bytes) -> list[Outline]:
        """Those whose server has this address and port."""
        return self.by_server.get(endpoint, [])

    def with_random_in(self, data: bytes) -> list[Outline]:
        """Those whose ClientHello's random stands somewhere in ``data``."""
        found: list[Outline] = []
        at: i64 = 0
        last: i64 = len(data) - RANDOM_MIN
        if last < 0 or len(self.by_random) == 0:
            return found
        # In TLS it follows its message's type and version, if those are there to be seen; in SSLv2's format the end.
        anywhere = data[0] >= 0x80
        while at <= last:
            if anywhere or at < _RANDOM_OFFSET or (data[at - _RANDOM_OFFSET] == CLIENT_HELLO and data[at - 2] == 3):
                outline = self.by_random.get(data[at : at + RANDOM_MIN])
                while outline is not None:
                    found.append(outline)
                    outline = outline.next_of_random
            at += 1
        return found


def packed(endpoint: tuple[bytes, int]) -> bytes:
    """An address and a port as one."""
    port: i64 = endpoint[1]
    return endpoint[0] + bytes([port >> 8, port & 0xFF])
