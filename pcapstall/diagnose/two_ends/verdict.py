"""What two captures together say about one connection: a verdict whose evidence is in both.

Plain frozen values, made by `judge` and shown by the report.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pcapstall.diagnose.verdict import Conclusion, Fact


class TwoFact(NamedTuple):
    """One sentence, with the frames of either capture that show it."""

    text: str
    client_refs: tuple[int, ...] = ()
    server_refs: tuple[int, ...] = ()


TwoVerdict = Conclusion[TwoFact]
"""The conclusion about one connection at both ends: the network's part may have a direction."""


def fact_at(at_client: bool, text: str, refs: Iterable[int], elsewhere: Iterable[int] = ()) -> TwoFact:
    """A sentence with frames of one end's capture, and with those of the other's."""
    here, there = tuple(refs), tuple(elsewhere)
    return TwoFact(text, here, there) if at_client else TwoFact(text, there, here)


def fact_of(fact: Fact, at_client: bool) -> TwoFact:
    """A fact of one end's capture."""
    return fact_at(at_client, fact.text, fact.refs)
