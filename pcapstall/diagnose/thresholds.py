"""The names of the intervals, and above which length each of them has stalled.

The order is that of a handshake. What lies between which events is measured in `intervals`.
"""

from typing import Final

from mypy_extensions import i64

NAMES: Final = (
    "syn_synack",
    "synack_ack",
    "ack_ch",
    "ch_span",
    "ch_ack",
    "ch_sh",
    "hrr_ch2",
    "ch2_sh",
    "sh_cfin",
    "ch_fin",
    "ch_close",
    "ack_close",
)
"""In the order of a handshake. The first nine can stall, the others are lifetimes."""
STALL_NAMES: Final = NAMES[:9]

# Positions in `NAMES`.
NONE: Final = -1
SYN_SYNACK: Final = 0
SYNACK_ACK: Final = 1
ACK_CH: Final = 2
CH_SPAN: Final = 3
CH_ACK: Final = 4
CH_SH: Final = 5
HRR_CH2: Final = 6
CH2_SH: Final = 7
SH_CFIN: Final = 8
CH_FIN: Final = 9
CH_CLOSE: Final = 10
ACK_CLOSE: Final = 11


def may_end_before(which: i64, hello_in_syn: bool) -> bool:
    """Whether the interval at ``which`` in `NAMES` may end before it begins although the capture's clock is right: a
    lifetime, and the time to a ClientHello that came in the SYN."""
    return which > SH_CFIN or (which == ACK_CH and hello_in_syn)


class Thresholds:
    """Above which length an interval has stalled, in nanoseconds."""

    def __init__(self, default: i64, ch_ack: i64) -> None:
        self.syn_synack: i64 = default
        self.synack_ack: i64 = default
        self.ack_ch: i64 = default
        self.ch_span: i64 = default
        self.ch_ack: i64 = ch_ack
        """Beyond the round trip: RFC 9293 section 3.8.6.3 lets an ACK be delayed for less than 500 ms."""
        self.ch_sh: i64 = default
        self.hrr_ch2: i64 = default
        self.ch2_sh: i64 = default
        self.sh_cfin: i64 = default
        self.least_ns: i64 = self.least()
        """The smallest of them, for whoever asks for each flow."""

    def least(self) -> i64:
        """The smallest of them: a flow that has nothing as long has not stalled."""
        least: i64 = self.syn_synack
        for value in (
            self.synack_ack,
            self.ack_ch,
            self.ch_span,
            self.ch_ack,
            self.ch_sh,
            self.hrr_ch2,
            self.ch2_sh,
            self.sh_cfin,
        ):
            if value < least:
                least = value
        return least


def make_thresholds(lengths: dict[str, int]) -> Thresholds:
    """From ``default`` and the intervals that have their own; the names are those of `STALL_NAMES`."""
    default = lengths["default"]
    thresholds = Thresholds(default, default)
    for name in STALL_NAMES:
        setattr(thresholds, name, lengths.get(name, default))
    thresholds.least_ns = thresholds.least()
    return thresholds
