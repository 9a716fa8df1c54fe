"""What a flow that goes on is waiting for: which interval has been open for too long, and when the next one will be.

The lengths and the thresholds are those of a report; only what is still open counts here.
"""

from mypy_extensions import i64

from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.thresholds import (
    ACK_CH,
    CH2_SH,
    CH_ACK,
    CH_SH,
    CH_SPAN,
    HRR_CH2,
    NONE,
    SH_CFIN,
    SYN_SYNACK,
    SYNACK_ACK,
    Thresholds,
)
from pcapstall.wire.tls_reader import NEVER


class Pending:
    """The open intervals of the flow that was looked at last."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds: Thresholds = thresholds
        self.which: i64 = NONE
        """Position in `NAMES` of the longest one over its threshold."""
        self.ns: i64 = ABSENT
        """How long that has been open."""
        self.left_ns: i64 = NEVER
        """How soon the next one passes its threshold, if nothing comes; `NEVER` when none will."""

    def look(self, intervals: Intervals, rtt_ns: i64) -> bool:
        """Whether any is too long. ``rtt_ns``: the smallest round trip known."""
        thresholds = self._thresholds
        self.which = NONE
        self.ns = ABSENT
        self.left_ns = NEVER
        self._consider(SYN_SYNACK, intervals.open_syn_synack, thresholds.syn_synack)
        self._consider(SYNACK_ACK, intervals.open_synack_ack, thresholds.synack_ack)
        self._consider(ACK_CH, intervals.open_ack_ch, thresholds.ack_ch)
        self._consider(CH_SPAN, intervals.open_ch_span, thresholds.ch_span)
        self._consider(CH_ACK, intervals.open_ch_ack, thresholds.ch_ack + rtt_ns)
        late_ack_ns: i64 = intervals.ch_ack
        if late_ack_ns <= thresholds.ch_ack + rtt_ns:
            late_ack_ns = 0
        # The server cannot answer what it has not got: its time begins when its kernel had the hello.
        self._consider(CH_SH, intervals.open_ch_sh, thresholds.ch_sh + late_ack_ns)
        self._consider(HRR_CH2, intervals.open_hrr_ch2, thresholds.hrr_ch2)
        self._consider(CH2_SH, intervals.open_ch2_sh, thresholds.ch2_sh)
        self._consider(SH_CFIN, intervals.open_sh_cfin, thresholds.sh_cfin)
        return self.which != NONE

    def _consider(self, which: i64, opened: i64, threshold: i64) -> None:
        if opened == ABSENT:
            return
        if opened <= threshold:
            if threshold - opened + 1 < self.left_ns:
                self.left_ns = threshold - opened + 1
        elif opened > self.ns:
            self.which = which
            self.ns = opened
