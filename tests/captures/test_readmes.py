"""What the READMEs of captures/ say is in them, flow by flow: written by hand, unlike the golden files.

Where the program does not say so yet the test is marked with what is wrong; whoever mends it takes the mark away.
"""

from typing import Any

import pytest
from golden_support import CAPTURES, WANTED, golden, label

E, SLOW = "established", "established ack_ch"

CLOSED = "closed_before_client_hello ack_ch"
UNANSWERED = f"{CLOSED}, no_client_hello ack_ch, {CLOSED}, X, {CLOSED}"

OUTCOMES: dict[str, str] = {
    "ack-lost/expected": f"{E}, {SLOW}, {SLOW}, {E} ch_ack",
    "ack-lost/expected_server": f"{E}, {E} synack_ack, {E} synack_ack, {E} ch_sh",
    "alert-handshake-failure": "alert, alert",
    "alert-unknown-ca": "alert, alert, alert",
    "any-interface-copies": f"{E}, {SLOW}",
    "client-hello-lost/expected": f"{E}, {E}, {E} ch_ack, {E}",
    "client-hello-lost/expected_server": f"{E}, {E}, {SLOW}, {E}",
    "client-rejects/expected": f"client_rejected_likely, {E}",
    "client-rejects/expected_server": f"{E}, {E}",  # the server's tickets were on their way before the FIN came
    "client-waits-for-dns": f"{E}, {SLOW}",
    "clock-set/expected": f"{E}, {E}, {SLOW}, {E} ch_sh, {SLOW}",
    "clock-set/expected_server": f"{E}, {E}, {E}, {E}, {SLOW}",
    "defer-accept": f"{E}, {SLOW}",
    "detour/expected": f"{E}, {E}, {E} ch_ack, {E}",
    "detour/expected_server": f"{E}, {E}, {SLOW}, {E}",
    "filtered-syn/expected": f"{E}, filtered syn_synack",
    "filtered-syn/expected_server": E,
    "gre": f"{E}, {SLOW}",
    "half-open": E,
    "happy-eyeballs/expected": f"raced, {E}, raced, {E}",
    "happy-eyeballs/expected_server": f"{E}, {E}",
    "hello-retry-request": E,
    "host-firewall": f"{E}, {E} ch_ack, {E} synack_ack",
    "http-connect": f"{E}, {E}, {SLOW}",
    "icmp-prohibited/expected": f"{E}, prohibited",
    "icmp-prohibited/expected_server": E,
    "injected-rst/expected": f"{E}, {E}, reset_by_server",
    "injected-rst/expected_server": f"{E}, {E}, client_gave_up",  # the box has the client's name there
    "ipv6": f"{E}, {E}, {SLOW}",
    "keep-alives": E,
    "late-accept": f"{E} ch_sh, {E} ch_sh, {E} ch_sh, {E} ch_sh, {E} ch_ack, {E} syn_synack",
    "late-banner": f"{E}, {E}, {SLOW}",
    "middle/expected": f"{E}, {SLOW}, {E} syn_synack",
    "middle/expected_server": f"{E}, {SLOW}, {E}",
    "midstream": "seen_midway established, seen_midway established, no_client_hello",
    "ml-kem-hello": f"{E}, {E}",
    "missed-ack/expected": f"{E}, {E} synack_ack",
    "missed-ack/expected_server": f"{E}, {SLOW}",
    "missed-by-capture/expected": f"{E}, {E}",
    "missed-by-capture/expected_server": f"{E}, {SLOW}",
    "mtu-black-hole/expected": f"{E}, no_server_hello ch_ack, client_gave_up ch_sh",
    "mtu-black-hole/expected_server": f"{E}, partial_client_hello ch_span, client_gave_up sh_cfin",
    "nagle": f"{E}, {E}",
    "nanoseconds": f"{E}, {E}",
    "nat-forgot/expected": f"{E}, no_server_hello ch_ack",
    "nat-forgot/expected_server": f"{E}, no_client_hello",
    "plaintext-idle": "closed_before_client_hello ack_ch, not_tls",
    "port-reuse": f"{E}, {E}, {E}",
    "postgresql-sslrequest": f"{E}, {E}, not_tls",
    "preconnect-idle": f"{E}, {E}, {SLOW}, closed_before_client_hello ack_ch",
    "probe": f"{'probe, ' * 5}{E}, {'probe, ' * 5}{E}, probe, probe",
    "proxy-protocol": f"{E}, {E}",
    "refused": "refused, refused",
    "resumption-and-early-data": f"{E}, {E}, {E}",
    "ring/expected_ring": f"seen_midway established, {', '.join([E] * 5)}",
    "ring/expected_rotated": f"{E}, {SLOW}, {', '.join([E] * 11)}",
    "segment-lost/expected": f"{E}, {E} ch_ack",
    "segment-lost/expected_server": f"{E}, {SLOW}",
    "server-hello-lost/expected": f"{E}, {E}, {E} ch_sh",
    "server-hello-lost/expected_server": f"{E}, {E}, {E} sh_cfin",
    "server-resets": f"{E}, reset_by_server",
    "simultaneous-close": E,
    "slow-finish": f"{E}, {E} sh_cfin",
    "slow-path/expected": f"{E} ch_ack, {E} syn_synack",
    "slow-path/expected_server": f"{E} synack_ack, {E} synack_ack",
    "slow-server": f"{E}, {E} ch_sh, {E}, {E}",
    "smtp-starttls": f"{E}, {E}, {SLOW}",
    "snaplen-96": f"{E}, {E}",
    "socks5": f"{E}, {E}, {SLOW}",
    "stalled-client-hello": f"{', '.join([E] * 5)}, closed_before_client_hello ack_ch, {', '.join([E] * 5)}",
    "syn-ack-lost/expected": f"{E}, {E}, {E} syn_synack, {E} syn_synack",
    "syn-ack-lost/expected_server": f"{E}, {E}, {E} synack_ack, {E} synack_ack",
    "syn-cookies": f"{E}, {E}, {SLOW}",
    "syn-lost/expected": f"{E}, {E}, {E} syn_synack, {E} syn_synack",
    "syn-lost/expected_server": f"{E}, {E}, {E}, {E}",
    "tcp-fast-open": f"{E}, {E}, {E}",
    "tls12-healthy": ", ".join([E] * 5),
    "tls13-healthy": ", ".join([E] * 3),
    "two-interfaces": ", ".join([E] * 4),
    "unanswered-requests/expected": UNANSWERED.replace("X", "client_gave_up"),  # both close, each first where it is
    "unanswered-requests/expected_server": UNANSWERED.replace("X", "closed_by_server"),
    "vlan": f"{E}, {SLOW}",
    "vxlan": f"{E}, {SLOW}",
    "waits-over-ipv6": f"{E}, {SLOW}",
    "zero-window": f"{E} ch_span, {E} ch_sh",
}
"""By folder, or by golden file where the two ends see different things: the tls_outcome of each flow, after the
tcp_outcome where that is not connected, and what stalled."""

POINTS: dict[str, set[str]] = {
    "any-interface-copies/expected": {"client"},
    "happy-eyeballs/expected": {"client", "unknown"},  # nobody answers over IPv6
    "middle/expected": {"middle"},
    "refused/expected": {"unknown"},
    "refused/expected_server": {"unknown"},
    "ring/expected_ring": {"client"},
    "ring/expected_rotated": {"client"},
    "two-interfaces/expected": {"client", "local"},
    "vlan/expected_qinq": {"client"},
}
"""Capture points, where they are not just those that the file's name tells."""

STEPPED = {"cause": "capture", "reason": "clock_step", "side": None, "confidence": "medium"}
FACTS: dict[str, dict[int, dict[str, Any]]] = {
    "alert-unknown-ca": {2: {"alerts": 1}},
    "clock-set/expected": {2: STEPPED, 3: STEPPED, 4: {"reason": "client_silent", "confidence": "high"}},
    "gre": {0: {"tunnel": "gre"}, 1: {"tunnel": "gre"}},
    "http-connect": {2: {"preamble": "http_connect"}},
    "icmp-prohibited/expected": {1: {"flags": None}},
    "ipv6": {2: {"server": "[2001:db8:42::129]:443"}},
    "late-banner": {2: {"preamble": "smtp_starttls"}},
    "missed-ack/expected": {1: {"cause": "client_process", "reason": "client_silent"}},
    "missed-by-capture/expected_server": {1: {"cause": "capture", "reason": "missed_by_capture", "side": None}},
    "postgresql-sslrequest": {0: {"preamble": "postgresql"}, 1: {"preamble": "postgresql"}},
    "proxy-protocol": {0: {"preamble": "proxy_v1"}, 1: {"preamble": "proxy_v2"}},
    "resumption-and-early-data": {
        0: {"resumed": False},
        1: {"resumed": True, "flags": ["may_be_early_data"]},
        2: {"resumed": False, "flags": ["may_be_early_data"]},
    },
    "slow-server": {1: {"sni": "slow.example"}},
    "smtp-starttls": {0: {"preamble": "smtp_starttls"}},
    "snaplen-96": {0: {"flags": ["snaplen_cut"]}, 1: {"flags": ["snaplen_cut"]}},
    "socks5": {2: {"preamble": "socks5"}},
    "stalled-client-hello": {5: {"server": "10.40.42.129:8086", "closed_by": "server", "close_kind": "fin"}},
    "unanswered-requests/expected": {0: {"preamble": "http_connect"}, 4: {"preamble": "socks5"}},
    "tcp-fast-open": {1: {"syn_data": "accepted"}, 2: {"syn_data": "rejected"}},
    "tls12-healthy": {3: {"tls_version": "TLS 1.2", "resumed": False}, 4: {"resumed": True}},
    "tls13-healthy": {0: {"tls_version": "TLS 1.3", "sni": "server.example", "alpn": ["h2", "http/1.1"]}},
    "two-interfaces": {2: {"preamble": "http_connect"}, 3: {"preamble": "http_connect"}},
    "vxlan": {0: {"tunnel": "vxlan:42"}, 1: {"tunnel": "vxlan:42"}},
}
"""Values of single flows, by folder and position; for alerts, how many there are."""

LENGTHS_MS: dict[str, dict[int, dict[str, tuple[int, int]]]] = {
    "client-waits-for-dns": {1: {"ack_ch": (2500, 2600)}},
    "defer-accept": {1: {"ack_ch": (2500, 2600)}},
    "filtered-syn/expected": {1: {"syn_synack": (3000, 3200)}},
    "ipv6": {2: {"ack_ch": (1800, 1900)}},
    "middle/expected": {0: {"syn_synack": (30, 32), "synack_ack": (10, 12)}, 1: {"ack_ch": (1300, 1400)}},
    "missed-ack/expected": {1: {"synack_ack": (3000, 3100)}},
    "missed-ack/expected_server": {1: {"ack_ch": (3000, 3100)}},
    "nat-forgot/expected": {1: {"ack_ch": (2500, 2600), "ch_ack": (3600, 6000)}},
    "preconnect-idle": {2: {"ack_ch": (3200, 3300)}, 3: {"ack_ch": (4000, 4100)}},
    "ring/expected_rotated": {1: {"ack_ch": (2200, 2300)}},
    "slow-server": {1: {"ch_sh": (2500, 2600)}},
    "stalled-client-hello": {5: {"ack_ch": (52000, 53000), "ack_close": (10000, 10100)}},
    "syn-ack-lost/expected": {2: {"syn_synack": (1000, 1100)}, 3: {"syn_synack": (2000, 2200)}},
    "syn-cookies": {2: {"ack_ch": (1500, 1600)}},
    "syn-lost/expected": {2: {"syn_synack": (1000, 1100)}, 3: {"syn_synack": (2000, 2200)}},
    "tcp-fast-open": {1: {"ack_ch": (-20, 0)}, 2: {"ack_ch": (0, 1)}},
    "slow-finish": {1: {"sh_cfin": (2200, 2300)}},
    "vlan": {1: {"ack_ch": (1300, 1400)}},
    "waits-over-ipv6": {1: {"ack_ch": (2500, 2600)}},
    "zero-window": {0: {"ch_span": (2000, 4000)}, 1: {"ch_sh": (3000, 3100)}},
}
"""How long the READMEs say something took, closed or open, in ms: at least, less than."""

MISSED = {"missed-by-capture/expected_server"}
MISTRUSTED = {
    "clock-set/expected": "clock_steps",
    **dict.fromkeys(("snaplen-96/expected", "snaplen-96/expected_server"), "cut_packets"),
    **dict.fromkeys(MISSED, "packets_missed"),
}
"""Captures that are not to be believed in all."""
COPIED = {"any-interface-copies/expected"}
"""Captures that hold packets more than once."""

FAULTS: dict[tuple[str, str], str] = {}
"""What is known to be wrong, by test and golden file."""

LABELS = [label(path) for path in WANTED]
PATHS = {label(path): path for path in WANTED}


def cases(kind: str, labels: list[str]) -> list[Any]:
    """Test parameters; those known to fail are marked, and fail when they no longer do."""
    return [
        pytest.param(name, marks=pytest.mark.xfail(reason=FAULTS[kind, name])) if (kind, name) in FAULTS else name
        for name in labels
    ]


def flows(name: str) -> list[dict[str, Any]]:
    """The flows of the report that golden file ``name`` pins."""
    found: list[dict[str, Any]] = golden.report(WANTED[PATHS[name]])["flows"]
    return found


def of(table: dict[str, Any], name: str) -> Any:
    """The entry for a golden file, or for its whole folder."""
    return table.get(name, table.get(name.partition("/")[0]))


def outcome(flow: dict[str, Any]) -> str:
    tcp = flow["tcp_outcome"]
    words = ["" if tcp == "connected" else tcp, flow.get("tls_outcome", ""), flow.get("stalled", "")]
    return " ".join(filter(None, words))


@pytest.mark.parametrize("name", cases("outcomes", LABELS))
def test_outcomes(name: str) -> None:
    expected = of(OUTCOMES, name)
    assert expected is not None, "a capture of which nobody said what it shows"
    assert [outcome(flow) for flow in flows(name)] == expected.split(", ")


@pytest.mark.parametrize("name", cases("points", LABELS))
def test_capture_points(name: str) -> None:
    expected = POINTS.get(name, {"server" if name.endswith("_server") else "client"})
    assert {flow["capture_point"] for flow in flows(name)} == expected


@pytest.mark.parametrize("name", cases("copies", LABELS))
def test_only_what_was_captured_twice_is_a_copy(name: str) -> None:
    copies = [f"flow {flow['id']}: {flow['counts']['copies']}" for flow in flows(name) if flow["counts"]["copies"]]
    assert bool(copies) == (name in COPIED), copies


@pytest.mark.parametrize("name", cases("app_data", LABELS))
def test_application_data_follows_the_handshake(name: str) -> None:
    for flow in flows(name):
        events = flow["events"]
        if "client_hello_first" in events and "client_finished" not in events:
            assert "server_app_data" not in events, f"flow {flow['id']}"


@pytest.mark.parametrize("name", cases("alerts", LABELS))
def test_alerts_are_in_the_order_of_time(name: str) -> None:
    for flow in flows(name):
        places = [(alert["file"], alert["frame"]) for alert in flow.get("alerts", [])]
        assert places == sorted(places), f"flow {flow['id']}"


@pytest.mark.parametrize("name", cases("trust", LABELS))
def test_what_is_mistrusted(name: str) -> None:
    captures = golden.report(WANTED[PATHS[name]])["captures"]
    assert {capture["trust"] for capture in captures} == {MISTRUSTED.get(name, "trustworthy")}
    assert any("warnings" in capture for capture in captures) == (name in MISSED)


@pytest.mark.parametrize("name", [name for name in LABELS if of(FACTS, name)])
def test_facts(name: str) -> None:
    found = flows(name)
    for index, facts in of(FACTS, name).items():
        flow = found[index]
        got = {key: len(flow[key]) if key == "alerts" else flow.get(key) for key in facts}
        assert got == facts, f"flow {index + 1}"


@pytest.mark.parametrize("name", [name for name in LABELS if of(LENGTHS_MS, name)])
def test_lengths(name: str) -> None:
    found = flows(name)
    for index, lengths in of(LENGTHS_MS, name).items():
        flow = found[index]
        for interval, (least, less_than) in lengths.items():
            ns = flow["intervals_ns"].get(interval, flow.get("open_ns", {}).get(interval))
            assert least * 1_000_000 <= ns < less_than * 1_000_000, f"flow {index + 1}: {interval} {ns}"


def test_each_folder_is_spoken_for() -> None:
    folders = {path.name for path in CAPTURES.iterdir() if path.is_dir()}
    assert {name.partition("/")[0] for name in OUTCOMES} == folders
    assert {name for _, name in FAULTS} <= set(LABELS)
