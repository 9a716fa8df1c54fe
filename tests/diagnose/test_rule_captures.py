"""For each rule a real capture in which it makes the verdict, and one of the same stage in which it must not."""

from functools import cache
from pathlib import Path

import pytest

from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.rules.table import RULES
from pcapstall.pipeline import Options, analyse
from pcapstall.report.thresholds import parse_thresholds

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = list(dict.fromkeys(rule.name for rule in RULES))

HOLDS = {
    "clock_step": "clock-set/capture.pcap 3",
    "missed_by_capture": "missed-by-capture/capture_server.pcap 2",
    "high_rtt": "slow-path/capture.pcap 2",
    "syn_ack_loss": "syn-ack-lost/capture.pcap 3",
    "syn_dropped_by_host": "late-accept/capture_server.pcap 6",
    "syn_loss": "syn-lost/capture.pcap 3",
    "late_syn_ack": "detour/capture.pcap 4 500ms",
    "syn_ack_unheard": "syn-ack-lost/capture_server.pcap 3",
    "ack_missed": "missed-ack/capture.pcap 2",
    "ack_loss": "ack-lost/capture_server.pcap 3",
    "slow_ack": "slow-path/capture_server.pcap 2",
    "late_ack": "host-firewall/capture.pcap 3",
    "answered_otherwise": "unanswered-requests/capture.pcap 4",
    "zero_window": "zero-window/capture.pcap 1",
    "nagle_delayed_ack": "nagle/capture.pcap 2 ch_span=30ms",
    "unacknowledged_request": "unanswered-requests/capture.pcap 2",
    "await_server": "late-banner/capture.pcap 3",
    "both_silent": "plaintext-idle/capture.pcap 1",
    "unknown_request": "unanswered-requests/capture.pcap 3",
    "mtu_black_hole_before": "mtu-black-hole/capture_server.pcap 2",
    "hole": "segment-lost/capture_server.pcap 2",
    "flight_lost": "server-hello-lost/capture_server.pcap 3",
    "lost_before_capture": "client-hello-lost/capture_server.pcap 3",
    "held_up": "detour/capture_server.pcap 3",
    "silent": "stalled-client-hello/capture.pcap 6",
    "silent_by_ids": "stalled-client-hello/capture_server.pcap 6",
    "filled_by_other_work": "waits-over-ipv6/capture_server.pcap 2",
    "undecided": "ipv6/capture_server.pcap 3",
    "accept_queue_full": "late-accept/capture_server.pcap 5",
    "mtu_black_hole": "mtu-black-hole/capture.pcap 2",
    "acks_lost": "ack-lost/capture.pcap 4",
    "client_hello_loss": "client-hello-lost/capture.pcap 3",
    "held_by_host": "host-firewall/capture_server.pcap 2",
    "not_acknowledged": "nat-forgot/capture.pcap 2",
    "foreign_rst": "injected-rst/capture.pcap 3",
    "refused": "refused/capture.pcap 1",
    "prohibited": "icmp-prohibited/capture.pcap 2",
    "filtered": "filtered-syn/capture.pcap 2 10s",
    "alert": "alert-unknown-ca/capture.pcap 3",
    "reset": "server-resets/capture_server.pcap 2",
    "closed": "client-rejects/capture.pcap 1",
}
"""By rule: capture, row and thresholds."""

MUST_NOT = {
    "clock_step": "clock-set/capture.pcap 5",
    "missed_by_capture": "clock-set/capture_server.pcap 5",
    "high_rtt": "slow-server/capture.pcap 2",
    "syn_ack_loss": "syn-lost/capture.pcap 3",
    "syn_dropped_by_host": "syn-lost/capture.pcap 3",
    "syn_loss": "syn-ack-lost/capture.pcap 3",
    "late_syn_ack": "syn-lost/capture.pcap 4",
    "syn_ack_unheard": "slow-path/capture_server.pcap 1",
    "ack_missed": "ack-lost/capture_server.pcap 3",
    "ack_loss": "slow-path/capture_server.pcap 2",
    "slow_ack": "syn-ack-lost/capture_server.pcap 3",
    "late_ack": "ack-lost/capture_server.pcap 3",
    "answered_otherwise": "alert-handshake-failure/capture.pcap 1",
    "zero_window": "slow-server/capture_server.pcap 2",
    "nagle_delayed_ack": "zero-window/capture.pcap 1",
    "unacknowledged_request": "unanswered-requests/capture.pcap 1",
    "await_server": "unanswered-requests/capture.pcap 5",
    "both_silent": "preconnect-idle/capture.pcap 4",
    "unknown_request": "unanswered-requests/capture.pcap 1",
    "mtu_black_hole_before": "segment-lost/capture_server.pcap 2",
    "hole": "slow-server/capture.pcap 2",
    "flight_lost": "slow-finish/capture_server.pcap 2",
    "lost_before_capture": "defer-accept/capture_server.pcap 2",
    "held_up": "client-hello-lost/capture_server.pcap 3",
    "silent": "detour/capture_server.pcap 3",
    "silent_by_ids": "client-hello-lost/capture_server.pcap 3",
    "filled_by_other_work": "ipv6/capture_server.pcap 3",
    "undecided": "client-waits-for-dns/capture_server.pcap 2",
    "accept_queue_full": "host-firewall/capture_server.pcap 2",
    "mtu_black_hole": "segment-lost/capture.pcap 2",
    "acks_lost": "client-hello-lost/capture.pcap 3",
    "client_hello_loss": "late-accept/capture.pcap 5",
    "held_by_host": "late-accept/capture_server.pcap 5",
    "not_acknowledged": "client-hello-lost/capture.pcap 3",
    "foreign_rst": "server-resets/capture.pcap 2",
    "refused": "server-resets/capture.pcap 2",
    "prohibited": "refused/capture.pcap 1",
    "filtered": "refused/capture.pcap 2",
    "alert": "client-rejects/capture.pcap 1",
    "reset": "client-rejects/capture.pcap 1",
    "closed": "server-resets/capture_server.pcap 2",
}
"""By rule: a stall or failure for which it is tried, and that has another reason."""


def explained(where: str) -> list[Tried]:
    """The rules that were tried for a row of a capture."""
    path, row, *slow = where.split()
    return _explained(CAPTURES / path, int(row), tuple(slow))


@cache
def _explained(path: Path, row: int, slow: tuple[str, ...]) -> list[Tried]:
    analysis = analyse([str(path)], Options(thresholds_ns=parse_thresholds(slow)))
    return analysis.findings.explain(row)[0]


def test_each_rule_has_both() -> None:
    assert list(HOLDS) == NAMES
    assert list(MUST_NOT) == NAMES


@pytest.mark.parametrize("rule", NAMES)
def test_it_makes_the_verdict_where_it_has_to(rule: str) -> None:
    assert next(one.rule for one in explained(HOLDS[rule]) if one.held) == rule


@pytest.mark.parametrize("rule", NAMES)
def test_it_does_not_where_it_must_not(rule: str) -> None:
    tried = explained(MUST_NOT[rule])
    assert rule in [one.rule for one in tried], "not even tried there"
    assert next(one.rule for one in tried if one.held) != rule
