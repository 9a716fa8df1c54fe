"""What few flows have: a HelloRetryRequest, a preamble, ICMP errors. Kept beside the flow, so that others are small.

Read like any other field of the flow, or of a half; written by way of `rare`. What the fields mean is told by those who
write them.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.flows.holes import Hole
from pcapstall.flows.kept import Alert, IcmpError

NO_SYN_ACKS: Final[list[tuple[i64, i64, i64]]] = []
"""Shared and empty."""
NO_COPIES: Final = -2
"""`Flow.near_interface` as long as no copy was seen."""


@mypyc_attr(acyclic=True)
class Rarities:
    """The fields, as they are in a flow without any of it."""

    def __init__(self) -> None:
        self.hello_retry_ns: i64 = 0
        self.hello_retry_ref: i64 = 0
        self.client_hello2_first_ns: i64 = 0
        self.client_hello2_first_ref: i64 = 0
        self.client_hello2_last_ns: i64 = 0
        self.client_hello2_last_ref: i64 = 0
        self.syn_data: str = ""
        self.preamble: str = ""
        self.preamble_ns: i64 = 0
        self.owes: str = ""
        self.answer: str = ""
        self.other_syn_acks: list[tuple[i64, i64, i64]] = NO_SYN_ACKS
        self.icmp_errors: list[IcmpError] | None = None
        self.waits: list[tuple[i64, i64, i64]] | None = None
        self.partial_hello_ns: i64 = 0
        self.partial_hello_ref: i64 = 0
        self.syn_retries: i64 = 0
        self.syn_ack_retries: i64 = 0
        self.copies: i64 = 0
        self.near_interface: i64 = NO_COPIES
        self.copies_come_later: bool = False
        self.server_tls_offset: i64 = 0
        self.alerts: list[Alert] | None = None


NONE: Final = Rarities()
"""Of all flows that have none; never written to."""


@mypyc_attr(acyclic=True)
class WithRarities:
    """Base of `Flow`."""

    def __init__(self) -> None:
        self._rarities: Rarities = NONE

    def rare(self) -> Rarities:
        """Where to write."""
        if self._rarities is NONE:
            self._rarities = Rarities()
        return self._rarities

    @property
    def hello_retry_ns(self) -> i64:
        """When the HelloRetryRequest came."""
        return self._rarities.hello_retry_ns

    @property
    def hello_retry_ref(self) -> i64:
        """Its frame; 0 without one."""
        return self._rarities.hello_retry_ref

    @property
    def client_hello2_first_ns(self) -> i64:
        """First byte of the ClientHello that answers it."""
        return self._rarities.client_hello2_first_ns

    @property
    def client_hello2_first_ref(self) -> i64:
        """Its frame."""
        return self._rarities.client_hello2_first_ref

    @property
    def client_hello2_last_ns(self) -> i64:
        """Last byte of that."""
        return self._rarities.client_hello2_last_ns

    @property
    def client_hello2_last_ref(self) -> i64:
        """Its frame."""
        return self._rarities.client_hello2_last_ref

    @property
    def syn_data(self) -> str:
        """``accepted`` or ``rejected`` when the SYN carried data and its fate was seen."""
        return self._rarities.syn_data

    @property
    def preamble(self) -> str:
        """What came before TLS (wire.preamble)."""
        return self._rarities.preamble

    @property
    def preamble_ns(self) -> i64:
        """From the first payload byte of either side to the ClientHello's first byte, with a preamble."""
        return self._rarities.preamble_ns

    @property
    def owes(self) -> str:
        """What the server owed at the end of a flow that never came to a hello (wire.preamble)."""
        return self._rarities.owes

    @property
    def answer(self) -> str:
        """What the server said to the ClientHello instead of TLS (wire.preamble)."""
        return self._rarities.answer

    @property
    def other_syn_acks(self) -> list[tuple[i64, i64, i64]]:
        """(ISN, ns, ref) of SYN-ACKs with another ISN than the first one's, until the client's ACK chooses."""
        return self._rarities.other_syn_acks

    @property
    def icmp_errors(self) -> list[IcmpError] | None:
        """ICMP errors that quote the flow."""
        return self._rarities.icmp_errors

    @property
    def waits(self) -> list[tuple[i64, i64, i64]] | None:
        """(asked, answered, frame of the answer) of the latest long waits for the server (flows.waits)."""
        return self._rarities.waits

    @property
    def partial_hello_ns(self) -> i64:
        """Earliest byte seen of a ClientHello that never was complete."""
        return self._rarities.partial_hello_ns

    @property
    def partial_hello_ref(self) -> i64:
        """Its frame; 0 without one, and once a hello is complete."""
        return self._rarities.partial_hello_ref

    @property
    def syn_retries(self) -> i64:
        """SYNs that were sent again."""
        return self._rarities.syn_retries

    @property
    def syn_ack_retries(self) -> i64:
        """SYN-ACKs that were."""
        return self._rarities.syn_ack_retries

    @property
    def copies(self) -> i64:
        """Packets that were captured more than once."""
        return self._rarities.copies

    @property
    def near_interface(self) -> i64:
        """Where copies are measured (flows.copies)."""
        return self._rarities.near_interface

    @property
    def copies_come_later(self) -> bool:
        """Whether the server's packets are measured by a later copy."""
        return self._rarities.copies_come_later

    @property
    def server_tls_offset(self) -> i64:
        """Where in the server's stream its TLS may begin: what the ClientHello's first segment acknowledged."""
        return self._rarities.server_tls_offset

    @property
    def alerts(self) -> list[Alert] | None:
        """TLS alerts of both sides, in their order."""
        return self._rarities.alerts


@mypyc_attr(acyclic=True)
class HalfRarities:
    """The same of one side."""

    def __init__(self) -> None:
        self.rst_ns: i64 = 0
        self.rst_ref: i64 = 0
        self.rst_offset: i64 = 0
        self.alert_ns: i64 = 0
        self.alert_ref: i64 = 0
        self.candidate_ns: i64 = 0
        self.candidate_ref: i64 = 0
        self.retransmits: i64 = 0
        self.holes: list[Hole] | None = None


NONE_OF_HALF: Final = HalfRarities()
"""Of all halves that have none; never written to."""


@mypyc_attr(acyclic=True)
class WithHalfRarities:
    """Base of `HalfFlow`."""

    def __init__(self) -> None:
        self._rarities: HalfRarities = NONE_OF_HALF

    def rare(self) -> HalfRarities:
        """Where to write."""
        if self._rarities is NONE_OF_HALF:
            self._rarities = HalfRarities()
        return self._rarities

    @property
    def rst_ns(self) -> i64:
        """When its RST came."""
        return self._rarities.rst_ns

    @property
    def rst_ref(self) -> i64:
        """Its frame; 0 without one."""
        return self._rarities.rst_ref

    @property
    def rst_offset(self) -> i64:
        """What its sender had sent by then: if more is acknowledged later, the RST closed nothing."""
        return self._rarities.rst_offset

    @property
    def alert_ns(self) -> i64:
        """When its first alert came."""
        return self._rarities.alert_ns

    @property
    def alert_ref(self) -> i64:
        """Its frame; 0 without one."""
        return self._rarities.alert_ref

    @property
    def candidate_ns(self) -> i64:
        """When the latest record came that has an alert's length."""
        return self._rarities.candidate_ns

    @property
    def candidate_ref(self) -> i64:
        """Its frame."""
        return self._rarities.candidate_ref

    @property
    def retransmits(self) -> i64:
        """Segments with payload that were sent again."""
        return self._rarities.retransmits

    @property
    def holes(self) -> list[Hole] | None:
        """What was jumped over and has not come; None as long as nothing was."""
        return self._rarities.holes
