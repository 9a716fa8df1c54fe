"""What went wrong with one flow, in a sentence: by the interval that stalled, else by the outcome.

Plain text, not yet escaped. A report's own sentences are in `prose`, what is told of a flow at length in `stories`.
"""

from typing import Final

from pcapstall.core.times import format_span, format_step
from pcapstall.diagnose.verdict import cause_words
from pcapstall.report.flow_model import FlowReport

_STALLED: Final = {
    "syn_synack": ("{client} got its SYN-ACK {span} after the first SYN", "{client} got no SYN-ACK within {span}"),
    "synack_ack": (
        "{client} acknowledged the SYN-ACK after {span}",
        "{client} had not acknowledged the SYN-ACK after {span}",
    ),
    "ack_ch": (
        "the ClientHello of {client} came {span} after the TCP handshake",
        "no ClientHello of {client} came within {span} of the TCP handshake",
    ),
    "ch_span": (
        "the ClientHello of {client} took {span} from its first to its last byte",
        "the ClientHello of {client} was still incomplete after {span}",
    ),
    "ch_ack": (
        "{server} acknowledged the ClientHello of {client} after {span}",
        "{server} had not acknowledged the ClientHello of {client} after {span}",
    ),
    "ch_sh": (
        "{server} answered the ClientHello of {client} after {span}",
        "{server} had not answered the ClientHello of {client} after {span}",
    ),
    "hrr_ch2": (
        "{client} answered the HelloRetryRequest after {span}",
        "{client} had not answered the HelloRetryRequest after {span}",
    ),
    "ch2_sh": (
        "{server} answered the second ClientHello of {client} after {span}",
        "{server} had not answered the second ClientHello of {client} after {span}",
    ),
    "sh_cfin": (
        "{client} finished the TLS handshake {span} after the ServerHello",
        "{client} had not finished the TLS handshake {span} after the ServerHello",
    ),
}
"""What happened, by the interval that stalled: when it ended, and while it is open."""

_CLIENT_SILENT: Final = (
    "{client} sent its ClientHello to {server} {span} after the TCP handshake",
    "{client} had sent {server} no ClientHello {span} after the TCP handshake",
)
"""ack_ch when the client's side is known to be the cause; otherwise it is not known when the hello was sent."""

_FAILED: Final = {
    "refused": "{server} refused the connection of {client}",
    "filtered": "{server} answered no SYN of {client}",
    "prohibited": "an ICMP error refused the connection of {client} to {server}",
    "reset_during_handshake": "the TCP handshake of {client} with {server} was reset",
    "alert": "the TLS handshake of {client} with {server} ended with an alert",
    "closed_before_client_hello": "the connection of {client} to {server} was closed before any ClientHello",
    "partial_client_hello": "the ClientHello of {client} to {server} never became complete",
    "no_server_hello": "{server} never answered the ClientHello of {client}",
    "reset_by_server": "{server} reset the connection of {client}",
    "closed_by_server": "{server} closed the connection of {client}",
    "client_gave_up": "{client} gave up on {server}",
    "client_rejected_likely": "{client} probably rejected what {server} sent",
}


_PEACEFUL: Final = {
    "established": "no stall, established",
    "probe": "no stall, a probe: it was closed before the client sent a byte",
    "not_tls": "no TLS was spoken, so nothing after the TCP handshake is measured",
    "unreadable": "no stall was seen, but not all that was sent can be read as TLS",
    "no_client_hello": "no stall, and no ClientHello yet",
    "no_server_hello": "no stall was seen, nor a ServerHello",
    "partial_client_hello": "no stall was seen, nor all of the ClientHello",
    "incomplete": "no stall, but the TLS handshake was not seen to its end",
    "raced": "no stall: another connection of the client's was there first, and this one was given up",
    "handshake_incomplete": "no stall was seen, but the TCP handshake was not completed",
}
_MIDWAY: Final = "its TCP handshake is not in the capture"


def what_became(flow: FlowReport) -> str:
    """What a flow is that neither stalled nor failed, without a full stop."""
    outcome = flow.tls_outcome or flow.tcp_outcome
    said = _PEACEFUL.get(outcome) or f"no stall, {outcome.replace('_', ' ')}"
    if outcome == "incomplete" and flow.tcp_outcome == "seen_midway":
        return "no stall was seen, but its beginning is not in the capture"
    if flow.tcp_outcome == "seen_midway":
        said = f"{said}; {_MIDWAY}"
    return f"{said}; the capture ends there" if "near_capture_end" in flow.flags else said


def what_happened(flow: FlowReport) -> str:
    """What went wrong with a stalled or failed flow, without a full stop."""
    names = {"client": flow.client, "server": flow.server}
    length = flow.stalled_ns
    if flow.stalled is None or length is None or flow.stalled not in _STALLED:
        outcome = flow.tls_outcome if flow.tls_outcome in _FAILED else flow.tcp_outcome
        said = _FAILED.get(outcome, "the connection of {client} to {server} failed").format(**names)
        return said + _alert(flow) + _cause(flow)
    if flow.reason == "clock_step":
        seems = "seems to have been" if flow.confidence == "low" else "was"
        whose = f"{flow.stalled} of {flow.client} to {flow.server}"
        return f"the capture's clock {seems} set by {_step(flow, length)} during the {whose}{_cause(flow)}"
    templates = _STALLED[flow.stalled]
    if flow.stalled == "ack_ch" and flow.side == "client":
        templates = _CLIENT_SILENT
    said = templates[flow.stall_is_open].format(span=format_span(length), **names)
    return said + _closing(flow, flow.stall_is_open) + _cause(flow)


def stall_words(flow: FlowReport, length_ns: int) -> str:
    """``ch_sh more than 59.5 s``, of a stall of ``length_ns``; by how much the clock was set where that made it."""
    if flow.reason == "clock_step":
        return f"{flow.stalled}, clock set by {_step(flow, length_ns)}"
    return f"{flow.stalled} {'more than ' if flow.stall_is_open else ''}{format_span(length_ns)}"


def _step(flow: FlowReport, length_ns: int) -> str:
    """By how much the clock was set: what of the length is known to be the capture's is the least."""
    return format_step(length_ns, flow.parts_ns.get(flow.stalled or "", {}).get("capture", length_ns))


def _closing(flow: FlowReport, is_open: bool) -> str:
    """How the connection ended meanwhile."""
    verb = "reset the connection" if flow.close_kind == "rst" else "closed"
    at = flow.intervals_ns.get("ack_close")
    if flow.stalled == "ack_ch" and at is not None and flow.closed_by is not None:
        return f"; the {flow.closed_by} {'' if is_open else 'had '}{verb} at {format_span(at)}"
    if is_open and flow.closed_by is not None:
        return f"; then the {flow.closed_by} {verb}"
    return "; the capture ends there" if is_open and "near_capture_end" in flow.flags else ""


def _alert(flow: FlowReport) -> str:
    if flow.tls_outcome != "alert" or not flow.alerts:
        return ""
    alert = flow.alerts[0]
    return f": {alert.description or 'encrypted'}, sent by the {alert.side}"


_REASONS: Final = {
    "epoll_not_waited": "no thread waited on the socket's epoll set",
    "event_not_acted_on": "it was told of the socket and did nothing",
    "no_event_delivered": "it waited and was not told of the socket",
    "late_accept": "it accepted late",
    "late_read": "it read late",
    "slow_handling": "it had read the ClientHello",
    "syn_loss": "the SYN was lost",
    "syn_ack_loss": "the SYN-ACK was lost",
    "ack_loss": "an ACK was lost",
    "client_hello_loss": "the ClientHello was lost",
    "server_hello_loss": "the ServerHello was lost",
    "mtu_black_hole": "full segments vanish on their way",
    "high_rtt": "a long way there and back",
    "zero_window": "its receive window was closed",
    "accept_queue_full": "its accept queue was full",
    "syn_dropped_by_host": "its host dropped the SYN",
    "await_server": "it was the server's turn",
    "not_tls": "what was answered is no TLS",
}
"""Reasons that say more than what happened and whose time it was."""

_LESS: Final = frozenset(("event_not_acted_on", "no_event_delivered"))
"""Reasons that what is known of the process says better."""

_UNSURE: Final = {
    "syn_loss": "the SYN was lost, or dropped by the server's host",
    "syn_ack_loss": "the SYN-ACK was lost, or dropped by the client's host",
    "client_hello_loss": "the ClientHello was lost, or not taken by the server's host",
    "server_hello_loss": "the ServerHello was lost, or not taken by the client's host",
    "ack_loss": "an ACK was lost, or never sent",
}
"""The same where the network is not known to be the cause."""


def _cause(flow: FlowReport) -> str:
    if flow.cause is None:
        return ""
    reason = flow.reason or ""
    said = (_UNSURE.get(reason) if flow.cause == "unknown" else None) or _REASONS.get(reason)
    if flow.meanwhile and (reason in _LESS or flow.activity == "stopped_by_signal"):
        said = None
    why = "".join(f"{mark} {words}" for mark, words in zip(":,", filter(None, (said, flow.meanwhile)), strict=False))
    sure = f", {flow.confidence} confidence" if flow.confidence and flow.cause != "unknown" else ""
    return f" ({cause_words(flow.cause)}{why}{sure})"
