"""Which of two captures was taken nearer to the client: told by round trips, which need no common clock.

From SYN to SYN-ACK takes longer at the client, from SYN-ACK to ACK longer at the server, each by the way between the
two captures. What is done about a wrong order is not decided here.
"""

from collections.abc import Iterable
from typing import Final

from pcapstall.diagnose.two_ends.pairing import Pair
from pcapstall.flows.flow import Flow

AS_GIVEN: Final = "as_given"
SWAPPED: Final = "swapped"
SAME_PLACE: Final = "same_place"
"""No packet took longer at one end than at the other: nothing lies between."""
UNKNOWN: Final = "unknown"

NOISE_NS: Final = 3_000
"""Stamps of microseconds, and what a kernel takes between two taps."""


def order_of(pairs: Iterable[Pair]) -> str:
    """Whether the first capture of each pair is the one nearer to the client."""
    votes = [vote for pair in pairs for vote in _votes(pair)]
    if not votes:
        return UNKNOWN
    far = [vote for vote in votes if abs(vote) > NOISE_NS]
    if 10 * len(far) < len(votes):
        return SAME_PLACE
    client_first = sum(vote > 0 for vote in far)
    if 10 * client_first >= 9 * len(far):
        return AS_GIVEN
    return SWAPPED if 10 * client_first <= len(far) else UNKNOWN


def is_copy(pairs: Iterable[Pair]) -> bool:
    """Whether all packets have the same times in both captures: one is a copy of the other."""
    times = [(pair.client.first_ns - pair.server.first_ns, pair.client.last_ns - pair.server.last_ns) for pair in pairs]
    return bool(times) and all(both == (0, 0) for both in times)


def _votes(pair: Pair) -> list[int]:
    """How much longer each round trip took in the first capture, those to the client with their sign turned."""
    one, other = pair.client, pair.server
    is_same_ack = _has_ack_of_its_own(one) == _has_ack_of_its_own(other)
    found: list[int] = []
    for start, end, sign in (
        ("syn", "syn_ack", 1),
        ("syn_ack", "ack", -1),
        ("client_hello_last", "server_hello_first", 1),
    ):
        names = f"{start}_ref", f"{end}_ref"
        if (end != "ack" or is_same_ack) and all(getattr(flow, name) for flow in (one, other) for name in names):
            lengths = [getattr(flow, f"{end}_ns") - getattr(flow, f"{start}_ns") for flow in (one, other)]
            found.append(sign * (lengths[0] - lengths[1]))
    if not found and one.syn_ref and other.syn_ref and one.server().rst_ref and other.server().rst_ref:
        found.append((one.server().rst_ns - one.syn_ns) - (other.server().rst_ns - other.syn_ns))
    return found


def _has_ack_of_its_own(flow: Flow) -> bool:
    """Whether the handshake's last ACK came before the hello: a capture that missed it takes the hello for it."""
    return flow.ack_ref != flow.client_hello_first_ref
