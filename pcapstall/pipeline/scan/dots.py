"""Flows that are only counted, as what a picture has of each: its start, its server, and how long its steps took.

Compiled, since it may see every flow; nothing is noted unless a picture is wanted. 84 bytes a flow.
"""

from array import array
from typing import TYPE_CHECKING, Final

from mypy_extensions import i64

from pcapstall.core.endpoints import format_endpoint
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.knowledge import client_key, server_endpoint
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.flows.flow import Flow

if TYPE_CHECKING:
    from pcapstall.report.pictures.spread import Spread


OPEN: Final = ABSENT + 1
"""What is added to the length of an interval that was not seen to end, so that one array has both kinds."""
OPEN_BELOW: Final = -(1 << 61)


class FlowDots:
    """What was counted so far."""

    def __init__(self) -> None:
        self._starts: array[int] = array("q")
        self._servers: array[int] = array("i")
        self._lengths: list[array[int]] = [array("q") for _ in range(9)]
        """By position in `spread.STEPS`."""
        self._keys: dict[bytes, int] = {}
        """Each server's address and port, with its number."""

    def add(self, flow: Flow, intervals: Intervals) -> None:
        """The flow that ``intervals`` are of."""
        server = server_endpoint(client_key(flow))
        number = self._keys.get(server)
        if number is None:
            number = len(self._keys)
            self._keys[server] = number
        self._starts.append(flow.first_ns)
        self._servers.append(number)
        lengths = self._lengths
        lengths[0].append(_noted(intervals.syn_synack, intervals.open_syn_synack))
        lengths[1].append(_noted(intervals.synack_ack, intervals.open_synack_ack))
        lengths[2].append(_noted(intervals.ack_ch, intervals.open_ack_ch))
        lengths[3].append(_noted(intervals.ch_span, intervals.open_ch_span))
        lengths[4].append(_noted(intervals.ch_ack, intervals.open_ch_ack))
        lengths[5].append(_noted(intervals.ch_sh, intervals.open_ch_sh))
        lengths[6].append(_noted(intervals.hrr_ch2, intervals.open_hrr_ch2))
        lengths[7].append(_noted(intervals.ch2_sh, intervals.open_ch2_sh))
        lengths[8].append(_noted(intervals.sh_cfin, intervals.open_sh_cfin))

    def spread(self) -> "Spread":
        """The same for the report."""
        from pcapstall.report.pictures.spread import STEPS, Spread  # only where a picture is drawn

        names = [_named(key) for key in self._keys]
        spread = Spread()
        for at, start_ns in enumerate(self._starts):
            steps: dict[str, int | None] = {}
            unended: dict[str, int] = {}
            for name, lengths in zip(STEPS, self._lengths, strict=True):
                length = lengths[at]
                if length >= OPEN_BELOW:
                    steps[name] = length
                elif length != ABSENT:
                    unended[name] = length - OPEN
            spread.add(start_ns, names[self._servers[at]], steps, unended)
        return spread


def _noted(closed: i64, reached: i64) -> i64:
    if closed != ABSENT or reached == ABSENT:
        return closed
    return OPEN + reached


def _named(key: bytes) -> str:
    """``10.0.0.1:443``."""
    return format_endpoint(key[:-2], int.from_bytes(key[-2:], "big"))
