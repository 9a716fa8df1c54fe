"""Flows that nobody has any more are written on again, which costs less than to free them and to make others.

A flow that was renewed is one that was just made: a test compares all that they hold. Nothing else belongs here.
"""

from mypy_extensions import i64

from pcapstall.flows.flow import BY_FIRST_SEEN, LIVE, NEVER, NOWHERE, SEEKING, UNENDED, Flow, HalfFlow
from pcapstall.flows.rarities import NONE, NONE_OF_HALF


def clear(flow: Flow) -> None:
    """Let go of what ``flow``, which nobody has any more, holds: no bound counts its hello from now on."""
    flow._rarities = NONE
    flow.opener._rarities = NONE_OF_HALF
    flow.answerer._rarities = NONE_OF_HALF
    flow.hello_message = b""
    flow.hello_shapes = None
    flow._client_hello = None
    flow.server_hello = None


def reset(flow: Flow) -> None:
    """Make ``flow``, which was cleared, like a new one, but for what `renew` tells it; while it is in the cache."""
    flow.source = NOWHERE
    flow.destination = NOWHERE
    flow.beside = None
    flow.syn_ack_ref = 0
    flow.ack_ref = 0
    flow.settled = False
    flow.noting = True
    flow.opener_is_client = True
    flow.tls_client_is_opener = True
    flow.state = LIVE
    flow.direction = BY_FIRST_SEEN
    flow.notes_after = UNENDED
    flow.hello_place = 0
    flow.flags = 0
    flow.mixed = 0
    flow.turn = 0
    flow.book = None
    flow.client_finished_ref = 0
    flow.client_finished_ns = 0
    flow.tunnel = ""
    flow.syn_ns = 0
    flow.syn_ref = 0
    flow.syn_ack_ns = 0
    flow.ack_ns = 0
    flow.client_hello_first_ns = 0
    flow.client_hello_first_ref = 0
    flow.client_hello_last_ns = 0
    flow.client_hello_last_ref = 0
    flow.client_hello_acked_ns = 0
    flow.client_hello_acked_ref = 0
    flow.server_hello_first_ns = 0
    flow.server_hello_first_ref = 0
    flow.server_hello_last_ns = 0
    flow.server_hello_last_ref = 0
    flow.server_flight_last_ns = 0
    flow.server_flight_last_ref = 0
    flow.server_hello_end = NEVER
    flow.closed_ns = 0
    flow.queued = 0
    _reset_half(flow.opener)
    _reset_half(flow.answerer)


def renew(flow: Flow, key: bytes, flow_id: i64, ns: i64, ref: i64) -> None:
    """Make ``flow``, which was reset, what ``Flow(key, flow_id, ns, ref)`` would be."""
    flow._key = key
    flow.id = flow_id
    flow.first_ns = ns
    flow.first_ref = ref
    flow.last_ns = ns
    flow.last_ref = ref
    flow.opener.flow = flow
    flow.answerer.flow = flow


def _reset_half(half: HalfFlow) -> None:
    half.base_seq = -1
    half.next_offset = 0
    half.acked_offset = 0
    half.ack_watch = NEVER
    half.packets = 0
    half.payload_bytes = 0
    half.last_payload_ns = 0
    half.last_ns = 0
    half.last_numbers = 0
    half.last_form = 0
    half.watch_offset = 0
    half.record_end = 0
    half.reader = None
    half.head = None
    half.alert_candidate = False
    half.speaks_as_client = False
    half.ccs = False
    half.phase = SEEKING
    half.app_data_ref = 0
    half.app_data_ns = 0
    half.fin_ns = 0
    half.fin_ref = 0
