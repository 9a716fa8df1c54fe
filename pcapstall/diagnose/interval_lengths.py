"""The lengths of a flow's intervals, closed or open, by their names.

Plain state, filled by `intervals`; the definitions are those of the measurement contract. Nothing here judges.
"""

from mypy_extensions import i64

from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.thresholds import NAMES, STALL_NAMES


class IntervalLengths:
    """The intervals of the flow that was measured last, in nanoseconds; `ABSENT` for what is not there.

    An ``open_`` one began and was not seen to end: it is as long as it had become when the connection was closed, or
    the flow or the capture ended.
    """

    def __init__(self) -> None:
        self.syn_synack: i64 = ABSENT
        self.synack_ack: i64 = ABSENT
        self.ack_ch: i64 = ABSENT
        self.ch_span: i64 = ABSENT
        self.ch_ack: i64 = ABSENT
        self.ch_sh: i64 = ABSENT
        self.hrr_ch2: i64 = ABSENT
        self.ch2_sh: i64 = ABSENT
        self.sh_cfin: i64 = ABSENT
        self.ch_fin: i64 = ABSENT
        self.ch_close: i64 = ABSENT
        self.ack_close: i64 = ABSENT
        self.open_syn_synack: i64 = ABSENT
        self.open_synack_ack: i64 = ABSENT
        self.open_ack_ch: i64 = ABSENT
        self.open_ch_span: i64 = ABSENT
        self.open_ch_ack: i64 = ABSENT
        self.open_ch_sh: i64 = ABSENT
        self.open_hrr_ch2: i64 = ABSENT
        self.open_ch2_sh: i64 = ABSENT
        self.open_sh_cfin: i64 = ABSENT
        self.handshake_bits: i64 = -1
        """The closed ones of a whole handshake combined with or, so that none of them is longer; negative when one is
        absent or ends before it begins, or there was a HelloRetryRequest."""
        self.one_sided: bool = False
        """Only one direction is in the capture, though the other was there."""
        self.cut_by_capture: bool = False
        """The open ones ended with the capture: they may have gone on."""
        self.has_open: bool = False

    def combine(self) -> None:
        """Set ``handshake_bits`` to what the lengths are."""
        self.handshake_bits = -1
        if self.hrr_ch2 == ABSENT and self.ch2_sh == ABSENT:
            # One that is absent is negative, and so is everything then.
            self.handshake_bits = (
                self.syn_synack | self.synack_ack | self.ack_ch | self.ch_span | self.ch_ack | self.ch_sh | self.sh_cfin
            )

    def closed(self) -> dict[str, int | None]:
        """The closed ones by name, all of `NAMES`; None for what is not there."""
        lengths: dict[str, int | None] = {}
        for name in NAMES:
            ns: int = getattr(self, name)
            lengths[name] = None if ns == ABSENT else ns
        return lengths

    def open(self) -> dict[str, int]:
        """The open ones by name."""
        lengths: dict[str, int] = {}
        for name in STALL_NAMES:
            ns: int = getattr(self, "open_" + name)
            if ns != ABSENT:
                lengths[name] = ns
        return lengths
