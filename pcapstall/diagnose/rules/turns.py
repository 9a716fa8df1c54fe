"""Which side's turn a stalled stage was, and from when on: the one place that knows the shape of each stage.

Before a hello the two sides may take turns (a proxy's answer, STARTTLS); who owed what when is read off the payload.
Compiled, for most rules ask.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.turn import Owed, Turn
from pcapstall.diagnose.verdict import AWAIT_SERVER, CLIENT_PROCESS, SERVER_PROCESS
from pcapstall.wire.segment import PSH
from pcapstall.wire.tls_names import is_tls13

NO_TURN: Final = "the stage is not one side's turn"
"""Why a rule about turns does not hold for other stages."""


def owed(case: Case) -> Owed | None:
    """What was owed in the stage that stalled; None when the stage is no turn. Worked out once for a case."""
    if not case.owed_is_known:
        case.owed = _owed(case)
        case.owed_is_known = True
    return case.owed


def _owed(case: Case) -> Owed | None:
    flow = case.flow
    hello_sender = case.hello_from_client
    if case.stalled == "ack_ch":
        return _before_hello(case)
    if case.stalled == "ch_ack":
        # Nobody's turn, unless its last byte came before others: those are still owed.
        turn = Turn(hello_sender, case.start_ns, case.start_ref, case.end_ns, None)
        return Owed("the rest of the ClientHello", "client_silent", "client_hello_loss", turn)
    if case.stalled == "ch_span":
        turn = _turn(case, hello_sender, case.start_ns, case.start_ref, case.end_ref)
        return Owed("the rest of the ClientHello", "client_silent", "client_hello_loss", turn)
    if case.stalled == "hrr_ch2":
        turn = _turn(case, hello_sender, case.start_ns, case.start_ref, case.end_ref)
        return Owed("the second ClientHello", "client_silent", "client_hello_loss", turn)
    if case.stalled == "ch_sh":
        start_ns, start_ref = case.start_ns, case.start_ref
        marks: list[tuple[int, str]] = []
        if flow.client_hello_acked_ref and flow.client_hello_acked_ns <= case.end_ns:
            start_ns, start_ref = flow.client_hello_acked_ns, flow.client_hello_acked_ref
            kernel = "server_kernel" if case.captured_at(not hello_sender) else "network"
            marks = [(start_ns, kernel)]
        turn = _turn(case, not hello_sender, start_ns, start_ref, case.end_ref)
        return Owed("the ServerHello", "server_slow_hello", "server_hello_loss", turn, marks)
    if case.stalled == "ch2_sh":
        start_ns, start_ref = case.start_ns, case.start_ref
        for seg in case.history.of(not hello_sender):
            if seg.ns > start_ns and seg.ns < case.end_ns and not seg.has_data and not seg.is_rst:
                start_ns, start_ref = seg.ns, seg.ref
                break
        turn = _turn(case, not hello_sender, start_ns, start_ref, case.end_ref)
        return Owed("the ServerHello", "server_slow_hello", "server_hello_loss", turn, [(start_ns, "network")])
    if case.stalled == "sh_cfin":
        return _finish(case)
    return None


def _finish(case: Case) -> Owed:
    """From the ServerHello to the client's Finished: the rest of the server's flight first, then the client."""
    flow = case.flow
    hello_sender = case.hello_from_client
    flight_ns, flight_ref = flow.server_flight_last_ns, flow.server_flight_last_ref
    whole, certain = _flight(case)
    if not whole:
        flight_ns, flight_ref = case.end_ns, 0
    if case.start_ns < flight_ns <= case.end_ns and 2 * (flight_ns - case.start_ns) >= case.length_ns:
        sent = case.history.at(flight_ref) if flight_ref else None
        turn = Turn(not hello_sender, case.start_ns, case.start_ref, flight_ns, sent)
        return Owed("the rest of the server's flight", "server_slow_hello", "server_hello_loss", turn)
    start_ns, start_ref = case.start_ns, case.start_ref
    if flight_ref and start_ns < flight_ns <= case.end_ns:
        start_ns, start_ref = flight_ns, flight_ref
    turn = _turn(case, hello_sender, start_ns, start_ref, case.end_ref)
    marks = [(start_ns, "network")]
    return Owed("its Finished", "client_slow_finish", "client_finished_loss", turn, marks, certain)


def _flight(case: Case) -> tuple[bool, bool]:
    """Whether the server's flight seems to have come whole, and whether that is certain.

    Up to TLS 1.2 its last message is in the clear. In TLS 1.3 only the client's answer proves it; without one, a last
    segment without PSH says that the server had more to send (RFC 9293 section 3.9.1.2).
    """
    flow = case.flow
    if not case.is_open:
        return True, True
    if flow.server_hello is not None and not is_tls13(flow.server_hello.version):
        return flow.server_flight_last_ref != 0, flow.server_flight_last_ref != 0
    data = [seg for seg in case.history.of(not case.hello_from_client) if seg.has_data and seg.ns <= case.end_ns]
    last = max(data, key=lambda seg: seg.end, default=None)
    return last is None or bool(last.flags & PSH), False


def _turn(case: Case, from_client: bool, start_ns: int, start_ref: int, end_ref: int) -> Turn:
    return Turn(from_client, start_ns, start_ref, case.end_ns, case.history.at(end_ref) if end_ref else None)


def _before_hello(case: Case) -> Owed:
    """From the ACK to the hello: the time before each payload is its sender's, the rest the hello's sender's."""
    flow, hello_sender = case.flow, case.hello_from_client
    marks: list[tuple[int, str]] = []
    start_ns, start_ref = case.start_ns, case.start_ref
    for seg in exchange(case):
        if seg.from_client == hello_sender:
            marks.append((seg.ns, CLIENT_PROCESS if hello_sender else SERVER_PROCESS))
        else:
            marks.append((seg.ns, AWAIT_SERVER))
            start_ns, start_ref = seg.ns, seg.ref
    turn = _turn(case, hello_sender, start_ns, start_ref, case.end_ref)
    # More of what the other side said last may have been on its way, unless it is known to have been all.
    certain = not case.is_open or start_ref == case.start_ref or bool(flow.preamble and not flow.owes)
    return Owed("the ClientHello", "client_silent", "client_hello_loss", turn, marks, certain)


def exchange(case: Case) -> list[Seg]:
    """The payload of either side between the handshake and the hello, each byte's first copy."""
    seen_client: i64 = 0
    seen_server: i64 = 0
    start_ns: i64 = case.start_ns
    end_ns: i64 = case.end_ns
    said: list[Seg] = []
    for seg in case.history.segs:
        if seg.ref == case.end_ref:
            # Where stamps go back, what came later is not earlier.
            break
        if not seg.has_data or seg.ns < start_ns or seg.ns >= end_ns:
            continue
        if seg.from_client:
            if seg.end > seen_client:
                seen_client = seg.end
                said.append(seg)
        elif seg.end > seen_server:
            seen_server = seg.end
            said.append(seg)
    return said
