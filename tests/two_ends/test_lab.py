"""Every lab run that was captured at both ends: what compare says is what was done to it."""

import json
from pathlib import Path

import pytest
from two_ends_support import check_parts, compared, essence

EXPECTED: dict[str, tuple[str, str, str, str] | None] = {
    "a3_healthy_curl_v6": None,
    "e1_dns": ("ack_ch", "client_process", "client_silent", "high"),
    "f1_late_accept": ("ch_sh", "server_process", "server_slow_hello", "high"),
    "g2_slow_serverhello": ("ch_sh", "server_process", "server_slow_hello", "high"),
    # The server's capture has nothing from before the SYN was lost: that it was running is not certain.
    "h1_syn_lost": ("syn_synack", "network_to_server", "syn_loss", "medium"),
    "h2_ch_lost": ("ch_ack", "network_to_server", "client_hello_loss", "high"),
    "h3_delay": None,
    "i1_mtu_blackhole": ("ch_ack", "network_to_server", "mtu_black_hole", "high"),
    "i3_big_ch_ok": None,
    "o1_clock_skew": ("ack_ch", "client_process", "client_silent", "high"),
    "q1_dnat": ("ack_ch", "client_process", "client_silent", "high"),
}
"""By run: the interval that stalled and what is said of it; None where nothing did."""


def captures(folder: Path) -> tuple[Path, Path]:
    (client,), (server,) = folder.glob("capture.pcap*"), folder.glob("capture_server.pcap*")
    return client, server


@pytest.mark.parametrize("run", EXPECTED)
def test_what_was_done_is_what_is_said(run: str, lab: Path) -> None:
    report = compared(*captures(lab / run))
    assert [(p.stalled, p.cause, p.reason, p.confidence) for p in report.pairs] == [
        expected for expected in [EXPECTED[run]] if expected is not None
    ]
    check_parts(report)


def test_every_run_with_two_captures_is_here(lab: Path) -> None:
    assert {path.parent.name for path in lab.glob("*/capture_server.pcap*")} == set(EXPECTED)


@pytest.mark.parametrize("run", EXPECTED)
def test_the_router_log_agrees(run: str, lab: Path) -> None:
    """Exactly as many segments are said to be lost as the router dropped."""
    truth = json.loads((lab / run / "truth.json").read_text())
    dropped = [event for event in truth.get("network_events", ()) if event["act"] == "drop" and event["proto"] == 6]
    report = compared(*captures(lab / run), everything=True)
    for way, direction in (("c2s", "to_server"), ("s2c", "to_client")):
        counted = [getattr(pair, direction) for pair in report.pairs]
        lost = sum(one.lost + one.unwatched for one in counted)
        assert lost == sum(event["dir"] == way for event in dropped)


@pytest.mark.parametrize("run", EXPECTED)
def test_the_clocks_of_one_machine_agree(run: str, lab: Path) -> None:
    report = compared(*captures(lab / run))
    assert report.clock is not None
    assert abs(report.clock.offset_ns) <= report.clock.error_ns


@pytest.mark.parametrize("run", EXPECTED)
def test_the_order_of_the_arguments_does_not_matter(run: str, lab: Path) -> None:
    client, server = captures(lab / run)
    right, wrong = compared(client, server), compared(server, client)
    assert wrong.swapped
    assert [essence(pair) for pair in wrong.pairs] == [essence(pair) for pair in right.pairs]
