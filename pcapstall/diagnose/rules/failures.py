"""Rules for connections that failed without a stall: refused, reset, closed, ended by an alert or by ICMP.

Who ended it is in the packets; why is known only where it was captured at that end, and often not even there.
Compiled.
"""

from collections.abc import Mapping
from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.outcome import (
    ALERT,
    CLIENT_GAVE_UP,
    CLIENT_REJECTED_LIKELY,
    CLOSED_BEFORE_CLIENT_HELLO,
    CLOSED_BY_SERVER,
    FILTERED,
    NO_SERVER_HELLO,
    PARTIAL_CLIENT_HELLO,
    PROHIBITED,
    REFUSED,
    RESET_BY_SERVER,
    RESET_DURING_HANDSHAKE,
)
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import AT_SERVER, Judgement, capture_at, conclude, refs, span
from pcapstall.diagnose.rules.plaintext import what_it_speaks
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.verdict import (
    CLIENT,
    CLIENT_PROCESS,
    HIGH,
    LOW,
    MEDIUM,
    NETWORK,
    SERVER,
    SERVER_KERNEL,
    SERVER_PROCESS,
    UNKNOWN,
    Fact,
    Verdict,
    side_of,
)
from pcapstall.flows.kept import Alert
from pcapstall.wire.tls_names import alert_name

_SENDER: Final = "sender"
_RECEIVER: Final = "receiver"

BLAMED: Final[Mapping[int, str]] = {
    10: _RECEIVER,  # unexpected_message
    20: _RECEIVER,  # bad_record_mac
    42: _RECEIVER,  # bad_certificate
    43: _RECEIVER,  # unsupported_certificate
    44: _RECEIVER,  # certificate_revoked
    45: _RECEIVER,  # certificate_expired
    47: _RECEIVER,  # illegal_parameter
    48: _SENDER,  # unknown_ca: the sender does not trust the issuer
    49: _SENDER,  # access_denied
    50: _RECEIVER,  # decode_error
    51: _RECEIVER,  # decrypt_error
    80: _SENDER,  # internal_error
    86: CLIENT,  # inappropriate_fallback
    90: _SENDER,  # user_canceled
    109: _RECEIVER,  # missing_extension
    110: _RECEIVER,  # unsupported_extension
    112: CLIENT,  # unrecognized_name: what the client asked for
    113: SERVER,  # bad_certificate_status_response
    115: CLIENT,  # unknown_psk_identity
    116: CLIENT,  # certificate_required
}
"""Whose configuration a description names (RFC 8446 section 6.2); the others name neither's alone."""

_PROCESS: Final = {CLIENT: CLIENT_PROCESS, SERVER: SERVER_PROCESS}


def foreign_rst(case: Case) -> Judgement:
    """A RST whose TTL is not that of the side that it claims to come from."""
    for from_client in (False, True):
        segs = case.history.of(from_client)
        rst: Seg | None = None
        for seg in segs:
            if seg.is_rst:
                rst = seg
                break
        if rst is None or not _ends(case, rst):
            continue
        odd = facts.odd_ttl(case, rst)
        if not odd:
            continue
        side = side_of(from_client)
        return conclude(
            case,
            NETWORK,
            "peer_reset",
            MEDIUM,
            f"the RST that ended the connection was sent by something else on the path, not by the {side}: {odd}",
            [
                Fact(
                    f"TTL {rst.ttl}{', IP ID 0' if rst.ip_id == 0 else ''} of the RST, against the TTL of the "
                    f"{side}'s other segments.",
                    refs(rst.ref, next(seg.ref for seg in segs if not seg.is_rst)),
                ),
                facts.place(case),
            ],
            f"a capture at the {side}, which did not send it",
        )
    return "no RST has another TTL than its side's other segments"


def refused(case: Case) -> Judgement:
    """A RST answered the SYN."""
    if case.outcome.tcp != REFUSED:
        return "the SYN was not refused"
    return conclude(
        case,
        SERVER_KERNEL if case.at_server else UNKNOWN,
        "refused",
        case.at_point(HIGH) if case.at_server else MEDIUM,
        "a RST answered the SYN: nothing listens there, or a firewall refuses it",
        [Fact("The SYN and the RST.", refs(case.flow.syn_ref, case.flow.server().rst_ref)), facts.place(case)],
        "knowing whether anything listens on that port of the server",
        side=SERVER if case.at_server else None,
    )


def prohibited(case: Case) -> Judgement:
    """An ICMP error answered the SYN."""
    if case.outcome.tcp != PROHIBITED:
        return "no ICMP error answered the SYN"
    errors = [error.ref for error in case.flow.icmp_errors or () if error.quotes_client]
    return conclude(
        case,
        UNKNOWN,
        "filtered",
        MEDIUM,
        "an ICMP error answered the SYN: a router or a firewall does not let it through",
        [Fact("The SYN and the ICMP error that quotes it.", refs(case.flow.syn_ref, *errors))],
        "the sender of the ICMP error",
    )


def filtered(case: Case) -> Judgement:
    """SYNs without any answer."""
    if case.outcome.tcp != FILTERED:
        return "the SYN was answered, or had no time to be"
    syns = [seg.ref for seg in case.history.client if seg.is_syn]
    return conclude(
        case,
        SERVER_KERNEL if case.at_server and len(syns) > 1 else UNKNOWN,
        "syn_dropped_by_host" if case.at_server and len(syns) > 1 else "filtered",
        MEDIUM,
        "no SYN was answered: filtered or lost on the way, or dropped by the server's host",
        [Fact("SYNs without an answer.", refs(*syns) or refs(case.flow.syn_ref)), facts.place(case)],
        AT_SERVER,
    )


def alert(case: Case) -> Judgement:
    """A fatal alert ended the handshake."""
    if case.outcome.tls != ALERT or not case.flow.alerts:
        return "no alert ended the handshake"
    first = next((a for a in case.flow.alerts if a.level == 2 or a.inferred), case.flow.alerts[0])
    sender = side_of(first.from_client)
    side = blamed(first)
    name = alert_name(first.description) if first.description >= 0 else "an encrypted alert"
    said = f"{'alert ' if first.description >= 0 else ''}{name}"
    inferred = ", inferred from the length of an encrypted record before the close" if first.inferred else ""
    return conclude(
        case,
        _PROCESS[side] if side else UNKNOWN,
        "alert",
        MEDIUM,
        f"the {sender} ended the handshake with {said}{inferred}"
        + (f": that is about the {side}'s configuration" if side else ""),
        [Fact(f"The {sender} sent {said}{inferred}.", refs(first.ref))],
        f"the {sender}'s log",
    )


def blamed(first: Alert) -> str | None:
    """The side whose configuration an alert names; None when it names neither's alone."""
    who = BLAMED.get(first.description)
    if who == _SENDER:
        return side_of(first.from_client)
    if who == _RECEIVER:
        return side_of(not first.from_client)
    return who


def reset(case: Case) -> Judgement:
    """A RST ended it: whose it was is known, why it was sent is not."""
    outcome = case.outcome
    if outcome.close_kind != "rst" or (outcome.tls not in _ENDED and outcome.tcp != RESET_DURING_HANDSHAKE):
        return "no RST ended the handshake"
    side = outcome.closed_by
    half = case.flow.client() if side == CLIENT else case.flow.server()
    there = case.captured_at(side == CLIENT)
    if _may_be_no_tls(case):
        return _closed_unknown(case, half.rst_ref, "a RST")
    return conclude(
        case,
        _PROCESS[side] if there else UNKNOWN,
        "peer_reset",
        MEDIUM,
        f"the {side} reset the connection {_when(case)}"
        + ("" if there else f"; whether the {side} or something on the path sent the RST cannot be told from here"),
        [Fact(f"The {side}'s RST.", refs(half.rst_ref)), facts.place(case)],
        f"the {side}'s log" if there else capture_at(side),
    )


def closed(case: Case) -> Judgement:
    """A FIN ended it: the process of its sender closed the connection, for reasons of its own."""
    outcome = case.outcome
    if outcome.close_kind != "fin" or outcome.tls not in _ENDED:
        return "no FIN ended the handshake"
    side = outcome.closed_by
    half = case.flow.client() if side == CLIENT else case.flow.server()
    if _may_be_no_tls(case):
        return _closed_unknown(case, half.fin_ref, "a FIN")
    return conclude(
        case,
        _PROCESS[side],
        outcome.tls,
        MEDIUM,
        f"the {side}'s process closed the connection {_when(case)}",
        [Fact(f"The {side}'s FIN.", refs(half.fin_ref)), facts.place(case)],
        f"the {side}'s log",
    )


def _may_be_no_tls(case: Case) -> bool:
    """Whether a connection was closed before any TLS, where nothing says that TLS was to come."""
    return case.outcome.tls == CLOSED_BEFORE_CLIENT_HELLO and not case.outcome.late_hello and not case.speaks_tls


def _closed_unknown(case: Case, ref: int, how: str) -> Verdict:
    return conclude(
        case,
        UNKNOWN,
        case.outcome.tls,
        LOW,
        f"the {case.outcome.closed_by} closed the connection with {how} {_when(case)}, and it is not known whether TLS "
        f"is spoken there",
        [Fact(f"The {case.outcome.closed_by}'s {how.removeprefix('a ')}.", refs(ref)), facts.place(case)],
        what_it_speaks(case),
    )


_ENDED: Final = (
    CLOSED_BEFORE_CLIENT_HELLO,
    RESET_BY_SERVER,
    CLOSED_BY_SERVER,
    CLIENT_GAVE_UP,
    CLIENT_REJECTED_LIKELY,
    PARTIAL_CLIENT_HELLO,
    NO_SERVER_HELLO,
)


def _when(case: Case) -> str:
    """How far the handshake had come, and for how long it had gone on."""
    flow, outcome = case.flow, case.outcome
    if outcome.tcp == RESET_DURING_HANDSHAKE:
        return "during the TCP handshake"
    close_ns: i64 = outcome.close_ns
    if flow.server_hello_first_ref and flow.server_hello_first_ns <= close_ns:
        return f"{span(close_ns - flow.server_hello_first_ns)} after the ServerHello"
    if flow.client_hello_last_ref and flow.client_hello_last_ns <= close_ns:
        return f"{span(close_ns - flow.client_hello_last_ns)} after the ClientHello, without a ServerHello"
    if flow.ack_ref:
        return f"{span(close_ns - flow.ack_ns)} after the TCP handshake, without a ClientHello"
    return "without a ClientHello"


def _ends(case: Case, rst: Seg) -> bool:
    """Whether this RST is what ended the connection."""
    return case.outcome.close_kind == "rst" and rst.ns == case.outcome.close_ns
