"""What is concluded about one flow: a cause, how sure that is, what it rests on, and what would make it certain.

Plain frozen values. The rules beside this module make them and the report shows them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from pcapstall.diagnose.process.scene import Traced

# cause, and the names of parts
NETWORK: Final = "network"
TO_SERVER: Final = "network_to_server"
TO_CLIENT: Final = "network_to_client"
CLIENT_PROCESS: Final = "client_process"
SERVER_PROCESS: Final = "server_process"
CLIENT_KERNEL: Final = "client_kernel"
SERVER_KERNEL: Final = "server_kernel"
CAPTURE: Final = "capture"
UNKNOWN: Final = "unknown"
AWAIT_SERVER: Final = "await_server"

# side
CLIENT: Final = "client"
SERVER: Final = "server"

# confidence
HIGH: Final = "high"
MEDIUM: Final = "medium"
LOW: Final = "low"

RANK: Final = {HIGH: 2, MEDIUM: 1, LOW: 0}

SIDES: Final[Mapping[str, str | None]] = {
    NETWORK: NETWORK,
    TO_SERVER: NETWORK,
    TO_CLIENT: NETWORK,
    CLIENT_PROCESS: CLIENT,
    CLIENT_KERNEL: CLIENT,
    SERVER_PROCESS: SERVER,
    SERVER_KERNEL: SERVER,
    CAPTURE: None,
    UNKNOWN: None,
}
"""Whose a cause is."""


_CAUSE_WORDS: Final[Mapping[str, str]] = {UNKNOWN: "cause unknown", CAPTURE: "the capture itself"}


def cause_words(cause: str) -> str:
    """A cause as a sentence has it."""
    return _CAUSE_WORDS.get(cause) or cause.replace("_", " ")


def side_of(is_client: bool) -> str:
    """The name of one side; of an end's, too."""
    return CLIENT if is_client else SERVER


def at_most(confidence: str, cap: str) -> str:
    """The lower of two confidences."""
    return confidence if RANK[confidence] <= RANK[cap] else cap


class Fact(NamedTuple):
    """One sentence that a verdict rests on."""

    text: str
    refs: tuple[int, ...] = ()
    """The frames that show it (core.frames)."""
    lines: tuple[str, ...] = ()
    """The lines of a strace that do: ``client.strace:66``."""
    in_short: str = ""
    """The same as a clause, where it tells what filled the time: for the answer."""


def within(confidence: str, caps: Iterable[tuple[str, str]]) -> tuple[str, list[str]]:
    """``confidence`` lowered to the least of ``caps``, and what is lacking by those that it met on the way."""
    lacking: list[str] = []
    for cap, wish in caps:
        if at_most(cap, confidence) == cap:
            lacking.append(wish)
        confidence = at_most(confidence, cap)
    return confidence, lacking


FactT = TypeVar("FactT", covariant=True)


class Conclusion(NamedTuple, Generic[FactT]):
    """What is concluded about one connection, from one capture or from one at each end."""

    cause: str
    reason: str
    confidence: str
    sentence: str
    """The whole verdict in one sentence, without a full stop."""
    evidence: Sequence[FactT]
    would_settle: str
    """What would make it certain; empty when it is."""
    parts: Mapping[str, int]
    """What the stalled interval is made of; they add up to it. Empty when nothing stalled, or cannot be told."""
    named_side: str | None = None
    """The side, where the cause alone does not name it; empty for both or none."""
    traced: "Traced | None" = None
    """What a strace shows besides; None where none had a part in it."""

    @property
    def side(self) -> str | None:
        """client, server, network or None."""
        return (self.named_side or None) if self.named_side is not None else SIDES[self.cause]


Verdict = Conclusion[Fact]
"""The conclusion about one flow of one capture."""
