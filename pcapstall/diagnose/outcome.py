"""How a connection and its TLS handshake ended. The first terminal event decides; later ones are consequences.

`Outcome` judges one flow after the other from its events alone. Why it ended so, and whether another flow explains it
(a race between addresses), is decided elsewhere.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.endings import first_fatal_alert, has_clear_alert, is_established, is_prohibited, leaves_at_once
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.sight import lacks_answer, lacks_rest, misses_bytes, speaks_otherwise, tls_server
from pcapstall.flows.flow import (
    FLAG_EARLY_DATA,
    FLAG_LEFT_UNREAD,
    FLAG_NOT_TLS,
    FLAG_SNAPLEN_CUT,
    FLAG_UNREADABLE,
    Flow,
    HalfFlow,
)
from pcapstall.flows.roles import hello_sender
from pcapstall.wire.tls_names import is_tls13
from pcapstall.wire.tls_reader import NEVER

# tcp_outcome
CONNECTED: Final = "connected"
REFUSED: Final = "refused"
FILTERED: Final = "filtered"
PROHIBITED: Final = "prohibited"
RACED: Final = "raced"
RESET_DURING_HANDSHAKE: Final = "reset_during_handshake"
HANDSHAKE_INCOMPLETE: Final = "handshake_incomplete"
SEEN_MIDWAY: Final = "seen_midway"

# tls_outcome
ESTABLISHED: Final = "established"
ALERT: Final = "alert"
NO_CLIENT_HELLO: Final = "no_client_hello"
CLOSED_BEFORE_CLIENT_HELLO: Final = "closed_before_client_hello"
PARTIAL_CLIENT_HELLO: Final = "partial_client_hello"
NO_SERVER_HELLO: Final = "no_server_hello"
RESET_BY_SERVER: Final = "reset_by_server"
CLOSED_BY_SERVER: Final = "closed_by_server"
CLIENT_GAVE_UP: Final = "client_gave_up"
CLIENT_REJECTED_LIKELY: Final = "client_rejected_likely"
PROBE: Final = "probe"
NOT_TLS: Final = "not_tls"
UNREADABLE: Final = "unreadable"
INCOMPLETE: Final = "incomplete"

FAILED_TCP: Final = (REFUSED, FILTERED, PROHIBITED, RESET_DURING_HANDSHAKE)
FAILED_TLS: Final = (
    ALERT,
    CLOSED_BEFORE_CLIENT_HELLO,
    RESET_BY_SERVER,
    CLOSED_BY_SERVER,
    CLIENT_GAVE_UP,
    CLIENT_REJECTED_LIKELY,
)

CLIENT: Final = "client"
SERVER: Final = "server"

PROBE_NS: Final = 1_000_000_000
"""A client that says nothing and closes within this time only asked whether the port is open."""
FILTERED_NS: Final = 1_000_000_000
"""A SYN is repeated after this time (RFC 6298 section 2); one that had less to be answered is only unanswered yet."""
TIMER_NS: Final = 500_000_000
"""A server that closes sooner has not waited for anything."""


class Outcome:
    """How the flow that was judged last ended. Empty strings stand for nothing."""

    def __init__(self) -> None:
        self.tcp: str = ""
        self.tls: str = ""
        """Empty when TCP never connected."""
        self.closed_by: str = ""
        self.close_kind: str = ""
        self.close_ns: i64 = NEVER
        """When the first FIN or RST came; `NEVER` without one."""
        self.server_timer_ns: i64 = ABSENT
        """After how long of silence the server closed."""
        self.near_capture_end: bool = False
        self.one_sided: bool = False
        self.snaplen_cut: bool = False
        self.late_hello: bool = False
        self.copies: bool = False
        self.may_be_early_data: bool = False
        self.failed: bool = False
        """A failure as the report counts it: probes, races and what the capture cut off are none."""

    def judge(self, flow: Flow, intervals: Intervals) -> None:
        """Judge ``flow``, which ``intervals`` has just measured."""
        client = flow.client()
        server = flow.server()
        self._close(client, server)
        self.one_sided = intervals.one_sided
        self.snaplen_cut = flow.flags & FLAG_SNAPLEN_CUT != 0
        self.copies = flow.copies > 0
        self.late_hello = False
        self.may_be_early_data = False
        self.tcp = self._tcp(flow, client, server, intervals)
        self.tls = ""
        if self.tcp == CONNECTED or self.tcp == SEEN_MIDWAY:
            self.tls = self._tls(flow, client, server)
        self.server_timer_ns = ABSENT
        if self.closed_by == SERVER and intervals.ack_close >= TIMER_NS:
            if self.late_hello or client.payload_bytes == 0:
                self.server_timer_ns = intervals.ack_close
        self.near_capture_end = intervals.has_open and intervals.cut_by_capture
        self.failed = self._failed()

    def judge_for_count(self, flow: Flow, intervals: Intervals) -> bool:
        """`judge` as far as who counts flows must know: ``tcp``, ``tls`` and ``failed``, and nothing else of flows that
        went as nearly all do: both sides sent application data, or the server did to a client that had finished its
        handshake and stayed. Returns whether it is one of these."""
        if flow.ack_ref == 0 or not _went_well(flow, flow.client(), flow.server()):
            self.judge(flow, intervals)
            return False
        self.tcp = CONNECTED
        self.tls = ESTABLISHED
        self.failed = False
        return True

    def look_for_early_data(self, flow: Flow) -> None:
        """Complete the judgement of ``flow`` with what only a look into its ClientHello tells."""
        hello = flow.client_hello
        answer = flow.server_hello
        if hello is not None and answer is not None and flow.client_finished_ref != 0:
            self.may_be_early_data = is_tls13(answer.version) and (
                hello.early_data or flow.flags & FLAG_EARLY_DATA != 0
            )

    def lost_race(self) -> None:
        """Another attempt of the same client connected first: this one was given up on purpose."""
        self.tcp = RACED
        self.tls = ""
        self.failed = False
        self.near_capture_end = False

    def flags(self) -> list[str]:
        """The names of what holds, in the contract's order."""
        names: list[str] = []
        if self.near_capture_end:
            names.append("near_capture_end")
        if self.one_sided:
            names.append("one_sided")
        if self.snaplen_cut:
            names.append("snaplen_cut")
        if self.late_hello:
            names.append("late_hello")
        if self.copies:
            names.append("copies")
        if self.may_be_early_data:
            names.append("may_be_early_data")
        return names

    def _failed(self) -> bool:
        if self.tcp is CONNECTED and self.tls is ESTABLISHED:
            return False
        if self.tcp in FAILED_TCP or self.tls in FAILED_TLS:
            return True
        if self.tls == PARTIAL_CLIENT_HELLO or self.tls == NO_SERVER_HELLO:
            return not (self.near_capture_end or self.one_sided or self.snaplen_cut)
        return False

    def _close(self, client: HalfFlow, server: HalfFlow) -> None:
        """The earliest FIN or RST. Of two in one instant a RST is the answer, so the FIN counts."""
        self.closed_by = ""
        self.close_kind = ""
        self.close_ns = NEVER
        self._earlier(client.fin_ref, client.fin_ns, CLIENT, "fin")
        self._earlier(server.fin_ref, server.fin_ns, SERVER, "fin")
        self._earlier(client.rst_ref, client.rst_ns, CLIENT, "rst")
        self._earlier(server.rst_ref, server.rst_ns, SERVER, "rst")

    def _earlier(self, ref: i64, ns: i64, side: str, kind: str) -> None:
        if ref != 0 and ns < self.close_ns:
            self.close_ns = ns
            self.closed_by = side
            self.close_kind = kind

    def _tcp(self, flow: Flow, client: HalfFlow, server: HalfFlow, intervals: Intervals) -> str:
        if flow.ack_ref != 0:
            return CONNECTED
        if flow.syn_ref == 0 and flow.syn_ack_ref == 0:
            return SEEN_MIDWAY
        if flow.syn_ack_ref == 0:
            if server.rst_ref != 0 and server.base_seq < 0:
                return REFUSED
            if is_prohibited(flow):
                return PROHIBITED
            if server.base_seq >= 0 or server.packets > 0:
                # The client goes on, so it was answered: that the capture lacks the SYN-ACK is the capture's matter.
                return CONNECTED
            if client.rst_ref != 0 or intervals.open_syn_synack < FILTERED_NS:
                return HANDSHAKE_INCOMPLETE
            return FILTERED
        if flow.client_hello_first_ref != 0 or flow.server_hello_first_ref != 0:
            return CONNECTED
        if client.payload_bytes > 0 or (self.one_sided and server.payload_bytes > 0):
            return CONNECTED
        if (client.rst_ref != 0 or server.rst_ref != 0) and not self.one_sided:
            return RESET_DURING_HANDSHAKE
        return HANDSHAKE_INCOMPLETE

    def _tls(self, flow: Flow, client: HalfFlow, server: HalfFlow) -> str:
        alert_ns: i64 = first_fatal_alert(flow)
        if is_established(flow, client, server, alert_ns):
            if self.closed_by == CLIENT and leaves_at_once(flow, client, server, self.close_ns):
                return CLIENT_REJECTED_LIKELY
            return ESTABLISHED
        if flow.flags & FLAG_NOT_TLS != 0:
            return NOT_TLS
        if flow.flags & FLAG_LEFT_UNREAD != 0:
            return UNREADABLE
        if flow.client_hello_first_ref == 0 and flow.server_hello_first_ref == 0:
            return self._without_hello(flow, client, server, alert_ns)
        if self.close_ns != NEVER and flow.client_hello_first_ref != 0 and flow.client_hello_first_ns > self.close_ns:
            self.late_hello = True
            return CLOSED_BEFORE_CLIENT_HELLO
        if alert_ns != NEVER and alert_ns <= self.close_ns:
            if not has_clear_alert(flow) and (misses_bytes(client) or misses_bytes(server)):
                # A short encrypted record among bytes that are not here may say goodbye as well.
                return INCOMPLETE
            return ALERT
        if flow.flags & FLAG_UNREADABLE != 0 and flow.server_hello_first_ref == 0:
            return UNREADABLE
        if lacks_answer(flow) or (flow.client_finished_ref == 0 and misses_bytes(hello_sender(flow))):
            return INCOMPLETE
        if self.close_ns == NEVER:
            if flow.server_hello_first_ref == 0 and not lacks_rest(flow, hello_sender(flow)):
                return NO_SERVER_HELLO
            return INCOMPLETE
        if self.closed_by == SERVER:
            if self.close_kind == "rst":
                return RESET_BY_SERVER
            return CLOSED_BY_SERVER
        accepted: bool = tls_server(flow).acked_offset >= flow.server_hello_end
        if flow.server_hello_first_ref != 0 and flow.server_hello_first_ns <= self.close_ns and accepted:
            if flow.client_finished_ref != 0:
                return INCOMPLETE
            return CLIENT_REJECTED_LIKELY
        return CLIENT_GAVE_UP

    def _without_hello(self, flow: Flow, client: HalfFlow, server: HalfFlow, alert_ns: i64) -> str:
        if self.tcp == SEEN_MIDWAY:
            # A handshake that was over before the capture began: an encrypted alert says goodbye.
            if alert_ns != NEVER and has_clear_alert(flow):
                return ALERT
            return INCOMPLETE
        if misses_bytes(client) or (self.one_sided and client.payload_bytes > 0):
            return INCOMPLETE
        if flow.partial_hello_ref != 0:
            return PARTIAL_CLIENT_HELLO
        if alert_ns != NEVER and alert_ns <= self.close_ns:
            return ALERT
        if client.app_data_ref != 0 or server.app_data_ref != 0:
            return INCOMPLETE
        if speaks_otherwise(flow):
            return NOT_TLS
        if self.close_ns == NEVER:
            return NO_CLIENT_HELLO
        begin_ns: i64 = flow.syn_ns
        if flow.syn_ref == 0:
            begin_ns = flow.first_ns
        if (
            self.closed_by == CLIENT
            and client.payload_bytes == 0
            and server.payload_bytes == 0
            and self.close_ns - begin_ns <= PROBE_NS
        ):
            return PROBE
        return CLOSED_BEFORE_CLIENT_HELLO


def _went_well(flow: Flow, client: HalfFlow, server: HalfFlow) -> bool:
    """What `is_established` and `leaves_at_once` say of nearly all flows; False where they have to be asked."""
    if server.app_data_ref == 0:
        return False
    if client.app_data_ref != 0:
        return True
    if flow.client_finished_ref == 0 or client.rst_ref != 0:
        return False
    return client.fin_ref == 0 or client.fin_ns >= server.app_data_ns
