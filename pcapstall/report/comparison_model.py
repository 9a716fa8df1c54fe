"""Two readings of the same captures side by side, as values: what tshark saw, and where that differs from ours.

Nothing here reads, decides or draws. Times are integer nanoseconds since the Unix epoch; what was not seen is None.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from pcapstall.report.flow_model import EventReport, FlowReport

SCHEMA: Final = 1
"""Of the JSON of a comparison; keys keep their names and meaning within a number."""

COMPARED_EVENTS: Final = (
    "syn",
    "syn_ack",
    "ack",
    "client_hello_first",
    "client_hello_last",
    "hello_retry",
    "client_hello2_first",
    "client_hello2_last",
    "server_hello_first",
    "server_hello_last",
    "client_fin",
    "server_fin",
    "client_rst",
    "server_rst",
)
"""The events that both readings have, in the order of a handshake."""


class Seen(NamedTuple):
    """When and in which frame tshark saw something."""

    frame: int
    ns: int


class SeenAlert(NamedTuple):
    """An alert that was sent in the clear."""

    side: str
    level: str
    description: str
    frame: int


class Decrypted(NamedTuple):
    """What tshark could read only with the session's secrets."""

    side: str
    what: str
    """``finished``, ``alert warning close_notify``, ``encrypted_extensions``."""
    at: Seen


class SeenFlow(NamedTuple):
    """One TCP stream of tshark."""

    streams: tuple[int, ...]
    """`tcp.stream`; more than one when tshark began a new one in the middle, see `strays`."""
    client: str
    server: str
    direction_source: str
    """syn, syn_ack, client_hello, server_hello; first_seen: nothing tells, the sender of the first frame is taken."""
    first_frame: int
    sni: str | None
    version: str | None
    """The one the server chose."""
    events: Mapping[str, Seen | None]
    """By name, those of `COMPARED_EVENTS`."""
    strays: Mapping[str, int]
    """What tshark counted among its packets though nobody sent it there: ``icmp_quote`` or ``damaged_header``, and the
    frame. tshark began another stream, or this one, with it."""
    alerts: Sequence[SeenAlert] = ()
    decrypted: Sequence[Decrypted] = ()
    told_tls: bool = False
    """tshark was told that the server's port speaks TLS, for by itself it takes it for another protocol."""


class Value(NamedTuple):
    """One thing that both readings have to say about a flow."""

    name: str
    ours: EventReport | str | None
    theirs: Seen | str | None
    equal: bool
    why: str | None = None
    """The name of the known difference that this is; None for one that nobody can explain."""


class FlowComparison(NamedTuple):
    """A flow as both readings have it, or the only one that does."""

    ours: FlowReport | None
    theirs: SeenFlow | None
    values: Sequence[Value]

    @property
    def differences(self) -> list[Value]:
        """The values that are not equal."""
        return [value for value in self.values if not value.equal]


class FileComparison(NamedTuple):
    """One capture file."""

    file: str
    t0_ns: int
    """Stamp of the first packet, which times are counted from in text, as Wireshark does."""
    flows: Sequence[FlowComparison]
    warnings: Sequence[str] = ()
    """What either reading complained of."""


class Comparison(NamedTuple):
    """All files."""

    version: str
    """pcapstall's."""
    tshark_version: str
    files: Iterable[FileComparison]
    """Each may be made when it is asked for, so they are asked for once."""
