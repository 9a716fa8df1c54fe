"""Which side's turn a stalled stage was, and from when on: the one place that knows the shape of each stage.

Before a hello the two sides may take turns (a proxy's answer, STARTTLS); who owed what when is read off the payload.
"""

from dataclasses import dataclass, field
from typing import Final

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.turn import Turn
from pcapstall.diagnose.verdict import AWAIT_SERVER, CLIENT_PROCESS, SERVER_PROCESS

NO_TURN: Final = "the stage is not one side's turn"
"""Why a rule about turns does not hold for other stages."""


@dataclass(frozen=True, slots=True)
class Owed:
    """What a side owes in a stage, and what is said of it."""

    what: str
    late_reason: str
    """The reason when the side was late with it."""
    loss_reason: str
    """The reason when it was lost."""
    turn: Turn
    marks: list[tuple[int, str]] = field(default_factory=list)
    """Parts of the interval that lie before this turn, for `split`."""

    @property
    def side(self) -> str:
        """client or server."""
        return "client" if self.turn.from_client else "server"

    @property
    def process(self) -> str:
        """The part that is this side's process's."""
        return CLIENT_PROCESS if self.turn.from_client else SERVER_PROCESS


def owed(case: Case) -> Owed | None:
    """What was owed in the stage that stalled; None when the stage is no turn."""
    flow = case.flow
    hello_sender = case.hello_from_client
    if case.stalled == "ack_ch":
        return _before_hello(case)
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
    if flight_ref and case.start_ns < flight_ns <= case.end_ns and 2 * (flight_ns - case.start_ns) >= case.length_ns:
        turn = Turn(not hello_sender, case.start_ns, case.start_ref, flight_ns, case.history.at(flight_ref))
        return Owed("the rest of the server's flight", "server_slow_hello", "server_hello_loss", turn)
    start_ns, start_ref = case.start_ns, case.start_ref
    if flight_ref and start_ns < flight_ns <= case.end_ns:
        start_ns, start_ref = flight_ns, flight_ref
    turn = _turn(case, hello_sender, start_ns, start_ref, case.end_ref)
    return Owed("its Finished", "client_slow_finish", "client_finished_loss", turn, [(start_ns, "network")])


def _turn(case: Case, from_client: bool, start_ns: int, start_ref: int, end_ref: int) -> Turn:
    return Turn(from_client, start_ns, start_ref, case.end_ns, case.history.at(end_ref) if end_ref else None)


def _before_hello(case: Case) -> Owed:
    """From the ACK to the hello: the time before each payload is its sender's, the rest the hello's sender's."""
    hello_sender = case.hello_from_client
    marks: list[tuple[int, str]] = []
    start_ns, start_ref = case.start_ns, case.start_ref
    for seg in exchange(case):
        if seg.from_client == hello_sender:
            marks.append((seg.ns, CLIENT_PROCESS if hello_sender else SERVER_PROCESS))
        else:
            marks.append((seg.ns, AWAIT_SERVER))
            start_ns, start_ref = seg.ns, seg.ref
    turn = _turn(case, hello_sender, start_ns, start_ref, case.end_ref)
    return Owed("the ClientHello", "client_silent", "client_hello_loss", turn, marks)


def exchange(case: Case) -> list[Seg]:
    """The payload of either side between the handshake and the hello, each byte's first copy."""
    seen = {True: 0, False: 0}
    said: list[Seg] = []
    for seg in case.history.segs:
        if not seg.has_data or seg.ns < case.start_ns or seg.ns >= case.end_ns or seg.ref == case.end_ref:
            continue
        if seg.end > seen[seg.from_client]:
            seen[seg.from_client] = seg.end
            said.append(seg)
    return said
