"""What comes in one segment is to the flow what it is in segments of its own that came at the same time."""

from flow_support import CHANGE_CIPHER_SPEC, MS, Talk, client_hello, only, record, server_hello
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.flows.flow import Flow, HalfFlow

RECORDS = st.lists(
    st.tuples(st.sampled_from([20, 21, 22, 23, 23, 23, 23]), st.sampled_from([2, 19, 23, 24, 40, 53, 300])),
    min_size=1,
    max_size=6,
)
FLIGHTS = st.lists(st.tuples(st.booleans(), RECORDS), max_size=6)


def side(half: HalfFlow) -> tuple[object, ...]:
    return half.app_data_ns, half.alert_ns, half.alert_candidate, half.candidate_ns, half.payload_bytes, half.phase


def facts(flow: Flow) -> tuple[object, ...]:
    return (
        flow.client_hello_first_ns, flow.client_hello_last_ns, flow.server_hello_first_ns, flow.server_hello_last_ns,
        flow.server_flight_last_ns, flow.client_finished_ns, flow.settled, flow.flags, side(flow.opener),
        side(flow.answerer), [(alert.from_client, alert.ns, alert.level) for alert in flow.alerts or ()],
    )  # fmt: skip


def talk_of(flights: list[tuple[bool, list[tuple[int, int]]]], packed: bool, closed: bool) -> Talk:
    talk = Talk()
    talk.handshake()
    talk.client(client_hello())
    first = [server_hello(), CHANGE_CIPHER_SPEC]
    for from_client, records in [(False, [(23, 40), (23, 900), (23, 53)]), *flights]:
        pieces = [*first, *(record(kind, bytes(length)) for kind, length in records)]
        first = []
        if packed:
            pieces = [b"".join(pieces)]
        for number, piece in enumerate(pieces):
            talk.send(from_client, 0x18, piece, 0 if number else MS)
    if closed:
        talk.close()
    return talk


@given(FLIGHTS, st.booleans())
def test_packing_changes_nothing(flights: list[tuple[bool, list[tuple[int, int]]]], closed: bool) -> None:
    whole, single = (only(talk_of(flights, packed, closed).packets) for packed in (True, False))
    assert facts(whole) == facts(single)
