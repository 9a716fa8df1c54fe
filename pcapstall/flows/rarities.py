"""What few flows have: a HelloRetryRequest, a preamble, ICMP errors. Kept beside the flow, so that others are small.

Read like any other field of the flow; written by way of `rare`. What the fields mean is told by those who write them.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.flows.kept import IcmpError

NO_SYN_ACKS: Final[list[tuple[i64, i64, i64]]] = []
"""Shared and empty."""


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


NONE: Final = Rarities()
"""Of all flows that have none; never written to."""


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
