"""What two captures together say about one connection: a verdict whose evidence is in both.

Plain frozen values, made by `judge` and shown by the report.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pcapstall.diagnose.verdict import SIDES, Fact


@dataclass(frozen=True, slots=True)
class TwoFact:
    """One sentence, with the frames of either capture that show it."""

    text: str
    client_refs: tuple[int, ...] = ()
    server_refs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TwoVerdict:
    """The conclusion about one connection."""

    cause: str
    """A cause, or for the network the way: network_to_server, network_to_client."""
    reason: str
    confidence: str
    sentence: str
    evidence: Sequence[TwoFact] = ()
    would_settle: str = ""
    parts: Mapping[str, int] = field(default_factory=dict)
    """What the interval is made of; they add up to it. Empty when nothing stalled, or the clocks do not agree."""
    named_side: str | None = None

    @property
    def side(self) -> str | None:
        """client, server, network or None."""
        if self.named_side is not None:
            return self.named_side or None
        return SIDES[self.cause.removesuffix("_to_server").removesuffix("_to_client")]


def fact_at(at_client: bool, text: str, refs: Iterable[int], elsewhere: Iterable[int] = ()) -> TwoFact:
    """A sentence with frames of one end's capture, and with those of the other's."""
    here, there = tuple(refs), tuple(elsewhere)
    return TwoFact(text, here, there) if at_client else TwoFact(text, there, here)


def fact_of(fact: Fact, at_client: bool) -> TwoFact:
    """A fact of one end's capture."""
    return fact_at(at_client, fact.text, fact.refs)
