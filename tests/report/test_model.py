import re
from itertools import product
from pathlib import Path

import pytest
from factories import flow, refused, silent_client, slow_server

from pcapstall.diagnose.outcome import Outcome
from pcapstall.report.columns import TCP_OUTCOMES, TLS_OUTCOMES
from pcapstall.report.flow_model import is_failed
from pcapstall.report.names import EVENTS, INTERVALS, STALL_INTERVALS

FLOWS = Path(__file__).parents[2] / "pcapstall" / "flows"
STATE = "".join((FLOWS / name).read_text(encoding="utf-8") for name in ("flow.py", "rarities.py"))


def test_every_event_is_remembered_by_a_flow():
    remembered = set(re.findall(r"self\.(\w+)_ns\b", STATE))
    for event in EVENTS:
        of_a_side = event.removeprefix("client_").removeprefix("server_")
        assert remembered & {event, of_a_side}, event


def test_lifetimes_are_not_stalls():
    assert set(INTERVALS) - set(STALL_INTERVALS) == {"ch_fin", "ch_close", "ack_close"}


@pytest.mark.parametrize(
    ("tcp", "tls", "flags", "failed"),
    [
        ("connected", "established", [], False),
        ("connected", "alert", [], True),
        ("connected", "closed_before_client_hello", ["late_hello"], True),
        ("connected", "probe", [], False),
        ("connected", "not_tls", [], False),
        ("connected", "no_client_hello", ["near_capture_end"], False),
        ("connected", "no_server_hello", [], True),
        ("connected", "no_server_hello", ["near_capture_end"], False),
        ("connected", "partial_client_hello", ["snaplen_cut"], False),
        ("refused", None, [], True),
        ("filtered", None, [], True),
        ("raced", None, [], False),
        ("seen_midway", "incomplete", [], False),
    ],
)
def test_what_counts_as_failed(tcp, tls, flags, failed):
    assert is_failed(tcp, tls, flags) is failed
    assert flow(tcp_outcome=tcp, tls_outcome=tls, flags=flags).failed is failed


def test_the_scan_counts_the_same_flows_as_failed():
    """It has a table of its own, which is compiled and reads no report."""
    outcome = Outcome()
    for outcome.tcp, outcome.tls in product(TCP_OUTCOMES, ("", *TLS_OUTCOMES)):
        for cut in product((False, True), repeat=6):
            outcome.near_capture_end, outcome.one_sided, outcome.snaplen_cut = cut[:3]
            outcome.late_hello, outcome.copies, outcome.may_be_early_data = cut[3:]
            flags = outcome.flags()
            assert outcome._failed() is is_failed(outcome.tcp, outcome.tls or None, flags), (outcome.tcp, flags)


def test_the_stall_is_as_long_as_its_interval_closed_or_open():
    assert silent_client().stalled_ns == 52_091_243_000
    assert slow_server().stalled_ns == 4_500_000_000
    assert refused().stalled_ns is None
