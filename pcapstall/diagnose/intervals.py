"""The intervals of a flow, closed or still open, and which of them stalled.

One `Intervals` measures one flow after the other, a microsecond each. The definitions are those of the measurement
contract; whose time an interval was is decided elsewhere, from what is measured here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.endings import prohibited_ns
from pcapstall.diagnose.interval_lengths import IntervalLengths
from pcapstall.diagnose.lengths import ABSENT, between, earliest
from pcapstall.diagnose.sight import (
    answers_otherwise,
    is_one_sided,
    lacks_rest,
    may_be_cut_off,
    misses_bytes,
    partial_has_first,
    speaks_otherwise,
    tls_server,
    until_alert,
)
from pcapstall.diagnose.thresholds import (
    ACK_CH,
    CH2_SH,
    CH_ACK,
    CH_SH,
    CH_SPAN,
    HRR_CH2,
    NAMES,
    NONE,
    SH_CFIN,
    SYN_SYNACK,
    SYNACK_ACK,
    Thresholds,
)
from pcapstall.flows.flow import (
    FLAG_ENDED_BY_CAPTURE,
    FLAG_LEFT_UNREAD,
    FLAG_NOT_TLS,
    FLAG_UNREADABLE,
    LIVE,
    Flow,
)
from pcapstall.flows.roles import hello_sender
from pcapstall.wire.tls_reader import NEVER

SYN_RETRY_NS: Final = 1_100_000_000
"""A SYN is repeated after 1 s (RFC 6298 section 2), then after twice the time each, give or take a little."""


class Intervals(IntervalLengths):
    """Measures one flow after the other, and finds what stalled in the one that was measured last."""

    def __init__(self) -> None:
        super().__init__()
        self.stalled: i64 = NONE
        """Position in `NAMES`, set by `judge`."""
        self.stalled_ns: i64 = ABSENT
        self.stalled_is_open: bool = False

    def measure(self, flow: Flow, capture_end_ns: i64) -> None:
        """Measure ``flow``; ``capture_end_ns``: until when one that was cut off, or that goes on, was watched."""
        fin_ns: i64 = earliest(flow.opener.fin_ref, flow.opener.fin_ns, flow.answerer.fin_ref, flow.answerer.fin_ns)
        rst_ns: i64 = earliest(flow.opener.rst_ref, flow.opener.rst_ns, flow.answerer.rst_ref, flow.answerer.rst_ns)
        close_ns: i64 = fin_ns
        if close_ns == NEVER or (rst_ns != NEVER and rst_ns < close_ns):
            close_ns = rst_ns
        self._measure_closed(flow, fin_ns, close_ns)
        self.one_sided = is_one_sided(flow)
        self._measure_open(flow, close_ns, capture_end_ns)

    def judge(self, thresholds: Thresholds, rtt_ns: i64) -> bool:
        """Find what stalled: the longest interval over its threshold. ``rtt_ns``: the smallest round trip known."""
        self.calm()
        if 0 <= self.handshake_bits <= thresholds.least_ns:
            return False
        self._consider(SYN_SYNACK, self.syn_synack, self.open_syn_synack, thresholds.syn_synack)
        self._consider(SYNACK_ACK, self.synack_ack, self.open_synack_ack, thresholds.synack_ack)
        self._consider(ACK_CH, self.ack_ch, self.open_ack_ch, thresholds.ack_ch)
        self._consider(CH_SPAN, self.ch_span, self.open_ch_span, thresholds.ch_span)
        self._consider(CH_ACK, self.ch_ack, self.open_ch_ack, thresholds.ch_ack + rtt_ns)
        self._consider(CH_SH, self.ch_sh, self.open_ch_sh, thresholds.ch_sh)
        self._consider(HRR_CH2, self.hrr_ch2, self.open_hrr_ch2, thresholds.hrr_ch2)
        self._consider(CH2_SH, self.ch2_sh, self.open_ch2_sh, thresholds.ch2_sh)
        self._consider(SH_CFIN, self.sh_cfin, self.open_sh_cfin, thresholds.sh_cfin)
        if self.stalled == CH_SH:
            # The server cannot answer what it has not got: what its kernel was late with, its process was not.
            ns: i64 = self.ch_ack
            is_open = False
            if ns == ABSENT:
                ns = self.open_ch_ack
                is_open = True
            if ns > thresholds.ch_ack + rtt_ns and self.stalled_ns - ns <= thresholds.ch_sh:
                self.stalled = CH_ACK
                self.stalled_ns = ns
                self.stalled_is_open = is_open
        return self.stalled != NONE

    def calm(self) -> None:
        """Nothing stalled, whatever the lengths: the flow is none that is judged."""
        self.stalled = NONE
        self.stalled_ns = ABSENT
        self.stalled_is_open = False

    def stalled_name(self) -> str | None:
        """The name of what stalled."""
        if self.stalled == NONE:
            return None
        return NAMES[self.stalled]

    def _consider(self, which: i64, closed: i64, opened: i64, threshold: i64) -> None:
        ns: i64 = closed
        if ns == ABSENT:
            ns = opened
        if ns > threshold and ns > self.stalled_ns:
            self.stalled = which
            self.stalled_ns = ns
            self.stalled_is_open = closed == ABSENT

    def _measure_closed(self, flow: Flow, fin_ns: i64, close_ns: i64) -> None:
        hello_last_ref: i64 = flow.client_hello_last_ref
        answer_ref: i64 = flow.hello_retry_ref
        answer_ns: i64 = flow.hello_retry_ns
        if answer_ref == 0:
            answer_ref = flow.server_hello_first_ref
            answer_ns = flow.server_hello_first_ns
        self.syn_synack = between(flow.syn_ref, flow.syn_ns, flow.syn_ack_ref, flow.syn_ack_ns)
        self.synack_ack = between(flow.syn_ack_ref, flow.syn_ack_ns, flow.ack_ref, flow.ack_ns)
        self.ack_ch = between(flow.ack_ref, flow.ack_ns, flow.client_hello_first_ref, flow.client_hello_first_ns)
        self.ch_span = between(
            flow.client_hello_first_ref, flow.client_hello_first_ns, hello_last_ref, flow.client_hello_last_ns
        )
        self.ch_ack = between(
            hello_last_ref, flow.client_hello_last_ns, flow.client_hello_acked_ref, flow.client_hello_acked_ns
        )
        self.ch_sh = between(hello_last_ref, flow.client_hello_last_ns, answer_ref, answer_ns)
        self.hrr_ch2 = between(
            flow.hello_retry_ref, flow.hello_retry_ns, flow.client_hello2_first_ref, flow.client_hello2_first_ns
        )
        self.ch2_sh = between(
            flow.client_hello2_last_ref,
            flow.client_hello2_last_ns,
            flow.server_hello_first_ref,
            flow.server_hello_first_ns,
        )
        self.sh_cfin = between(
            flow.server_hello_first_ref, flow.server_hello_first_ns, flow.client_finished_ref, flow.client_finished_ns
        )
        self.ch_fin = ABSENT
        self.ch_close = ABSENT
        self.ack_close = ABSENT
        if hello_last_ref != 0:
            if fin_ns != NEVER:
                self.ch_fin = fin_ns - flow.client_hello_last_ns
            if close_ns != NEVER:
                self.ch_close = close_ns - flow.client_hello_last_ns
        # A ServerHello tells of a ClientHello, also where the capture lacks it or some of it.
        if flow.ack_ref != 0 and close_ns != NEVER and answer_ref == 0:
            if flow.client_hello_first_ref == 0 or flow.client_hello_first_ns > close_ns:
                self.ack_close = close_ns - flow.ack_ns
        if self.ack_ch == ABSENT and flow.ack_ref != 0 and flow.partial_hello_ref != 0 and partial_has_first(flow):
            self.ack_ch = flow.partial_hello_ns - flow.ack_ns
        self.combine()

    def _measure_open(self, flow: Flow, close_ns: i64, capture_end_ns: i64) -> None:
        self.open_syn_synack = ABSENT
        self.open_synack_ack = ABSENT
        self.open_ack_ch = ABSENT
        self.open_ch_span = ABSENT
        self.open_ch_ack = ABSENT
        self.open_ch_sh = ABSENT
        self.open_hrr_ch2 = ABSENT
        self.open_ch2_sh = ABSENT
        self.open_sh_cfin = ABSENT
        self.cut_by_capture = False
        self.has_open = False
        if flow.client_finished_ref != 0 or self.one_sided:
            return
        end_ns: i64 = close_ns
        if close_ns == NEVER:
            end_ns = flow.last_ns
            if flow.flags & FLAG_ENDED_BY_CAPTURE != 0 or flow.state == LIVE:
                self.cut_by_capture = True
                if capture_end_ns > end_ns:
                    end_ns = capture_end_ns
        if flow.syn_ack_ref == 0 or flow.ack_ref == 0:
            self._open_handshake(flow, close_ns, end_ns)
        if flow.flags & (FLAG_NOT_TLS | FLAG_UNREADABLE | FLAG_LEFT_UNREAD) == 0:
            self._open_tls(flow, end_ns)

    def _open_handshake(self, flow: Flow, close_ns: i64, watched_ns: i64) -> None:
        """SYN and SYN-ACK: who gets no answer repeats them, and has given up when that ends."""
        if flow.client_hello_first_ref != 0 or flow.server_hello_first_ref != 0:
            return
        end_ns: i64 = close_ns
        if end_ns == NEVER:
            end_ns = flow.last_ns
            if watched_ns - end_ns > end_ns - flow.first_ns + SYN_RETRY_NS:
                # Each repetition waits twice as long as the one before: the next one would have come.
                self.cut_by_capture = False
        if flow.syn_ack_ref == 0:
            told_ns: i64 = prohibited_ns(flow)
            if told_ns != NEVER:
                # Nobody waits any more: the error is the answer, or the last SYN after it.
                self.cut_by_capture = False
                if told_ns > end_ns:
                    end_ns = told_ns
            if flow.syn_ref != 0 and flow.server().base_seq < 0:
                self.open_syn_synack = self._opened(flow.syn_ns, end_ns)
        elif flow.client().base_seq < 0 or flow.client().payload_bytes == 0:
            self.open_synack_ack = self._opened(flow.syn_ack_ns, end_ns)

    def _open_tls(self, flow: Flow, end_ns: i64) -> None:
        """What one side of TLS still owes the other."""
        client = flow.client()
        server = flow.server()
        if flow.server_hello_first_ref != 0:
            if client.app_data_ref != 0 or misses_bytes(client) or lacks_rest(flow, tls_server(flow)):
                return
            if not may_be_cut_off(flow, hello_sender(flow), flow.server_hello_first_ns):
                self.open_sh_cfin = self._opened(flow.server_hello_first_ns, until_alert(flow, end_ns))
            return
        if flow.client_hello_last_ref == 0:
            if misses_bytes(client) or server.app_data_ref != 0 or may_be_cut_off(flow, client, flow.first_ns):
                return
            if flow.partial_hello_ref != 0:
                self.open_ch_span = self._opened(flow.partial_hello_ns, end_ns)
            elif flow.ack_ref != 0 and client.app_data_ref == 0 and not speaks_otherwise(flow):
                self.open_ack_ch = self._opened(flow.ack_ns, until_alert(flow, end_ns))
            return
        server = tls_server(flow)
        if lacks_rest(flow, hello_sender(flow)):
            return
        end_ns = until_alert(flow, end_ns)
        if flow.hello_retry_ref != 0:
            if flow.client_hello2_last_ref == 0:
                if not misses_bytes(hello_sender(flow)):
                    self.open_hrr_ch2 = self._opened(flow.hello_retry_ns, end_ns)
            elif not misses_bytes(server):
                self.open_ch2_sh = self._opened(flow.client_hello2_last_ns, end_ns)
            return
        if flow.client_hello_acked_ref == 0:
            self.open_ch_ack = self._opened(flow.client_hello_last_ns, end_ns)
        if not misses_bytes(server) and not answers_otherwise(flow, server):
            self.open_ch_sh = self._opened(flow.client_hello_last_ns, end_ns)

    def _opened(self, start_ns: i64, end_ns: i64) -> i64:
        """From ``start_ns`` to ``end_ns``; what began after the end of the connection never was open."""
        if end_ns < start_ns:
            return ABSENT
        self.has_open = True
        return end_ns - start_ns
