"""What compare says of the project's captures: by hand for each stall and failure, and what must not change it."""

import gc
from pathlib import Path

import pytest
from two_ends_support import (
    TWO_SIDED,
    Change,
    Record,
    both,
    check_parts,
    compared,
    essence,
    nat,
    no_ids,
    no_timestamps,
    other_sequence_numbers,
    read,
    rewritten,
    write,
)

from pcapstall.core.errors import UsageError
from pcapstall.flows.flow import Flow
from pcapstall.pipeline.compare import two_ends
from pcapstall.report.two_ends_model import TwoEnds

VERDICTS: dict[str, list[tuple[str, str, str, str]]] = {
    # The lost ACKs of the other two are not what was slow at the client.
    "ack-lost": [
        ("41001", "client_process", "client_silent", "high"),
        ("41003", "client_process", "client_silent", "high"),
        ("41002", "network_to_client", "ack_loss", "high"),
    ],
    "alert-handshake-failure": [("52676", "unknown", "alert", "medium"), ("40872", "unknown", "alert", "medium")],
    "alert-unknown-ca": [
        ("58632", "client_process", "alert", "medium"),
        ("58646", "client_process", "alert", "medium"),
        ("58650", "unknown", "alert", "medium"),
    ],
    "client-hello-lost": [("41001", "network_to_server", "client_hello_loss", "high")],
    "client-rejects": [("52662", "client_process", "client_rejected_likely", "medium")],
    "client-waits-for-dns": [("49360", "client_process", "client_silent", "high")],
    "clock-set": [
        ("41001", "capture", "clock_step", "medium"),
        ("41002", "capture", "clock_step", "medium"),
        ("41003", "client_process", "client_silent", "high"),
    ],
    "defer-accept": [("41001", "client_process", "client_silent", "high")],
    "detour": [("41001", "network_to_server", "high_rtt", "high")],
    "gre": [("60368", "client_process", "client_silent", "high")],
    "host-firewall": [
        ("41001", "server_kernel", "accept_queue_full", "high"),
        ("41002", "client_kernel", "ack_loss", "high"),
    ],
    "http-connect": [("46098", "server_process", "await_server", "high")],
    "injected-rst": [("41001", "network", "peer_reset", "high")],
    "ipv6": [("44120", "client_process", "client_silent", "high")],
    "late-accept": [
        ("41001", "server_process", "server_slow_hello", "high"),
        ("41002", "server_process", "server_slow_hello", "high"),
        ("41005", "server_process", "server_slow_hello", "high"),
        ("41004", "server_process", "server_slow_hello", "high"),
        ("41003", "server_kernel", "accept_queue_full", "high"),
        ("41006", "server_kernel", "syn_dropped_by_host", "high"),
    ],
    "late-banner": [("52280", "server_process", "await_server", "high")],
    "missed-ack": [("41001", "client_process", "client_silent", "medium")],
    "missed-by-capture": [("41001", "capture", "missed_by_capture", "medium")],
    # The mirror port is 15 ms from the client: what is before it may be anybody's there.
    "middle": [
        ("58630", "client_process", "client_silent", "medium"),
        ("41001", "network_to_server", "syn_loss", "high"),
    ],
    "mtu-black-hole": [
        ("41001", "network_to_server", "mtu_black_hole", "medium"),
        ("41002", "network_to_client", "mtu_black_hole", "high"),
    ],
    # The server's capture has no packet after the hellos were lost.
    "nat-forgot": [("41001", "network_to_server", "client_hello_loss", "medium")],
    "plaintext-idle": [("41062", "client_process", "both_silent", "low")],
    "preconnect-idle": [
        ("50272", "client_process", "client_silent", "high"),
        ("50286", "client_process", "client_silent", "high"),
    ],
    "refused": [("51808", "server_kernel", "refused", "high"), ("51814", "server_kernel", "refused", "high")],
    "segment-lost": [("41001", "network_to_server", "client_hello_loss", "high")],
    "server-hello-lost": [("41001", "network_to_client", "server_hello_loss", "high")],
    "server-resets": [("59498", "server_process", "peer_reset", "medium")],
    "slow-finish": [("41001", "client_process", "client_slow_finish", "high")],
    "slow-path": [("59462", "network", "high_rtt", "high"), ("48868", "network", "high_rtt", "high")],
    "slow-server": [("41908", "server_process", "server_slow_hello", "high")],
    "smtp-starttls": [("43218", "server_process", "await_server", "high")],
    "socks5": [("52208", "server_process", "await_server", "high")],
    "stalled-client-hello": [("34506", "client_process", "client_silent", "high")],
    "syn-ack-lost": [
        ("41001", "network_to_client", "syn_ack_loss", "high"),
        ("41002", "network_to_client", "syn_ack_loss", "high"),
    ],
    "syn-cookies": [("41001", "client_process", "client_silent", "high")],
    "syn-lost": [
        ("41001", "network_to_server", "syn_loss", "high"),
        ("41002", "network_to_server", "syn_loss", "high"),
    ],
    "unanswered-requests": [
        ("38490", "server_process", "await_server", "high"),
        # Both captures end before the client gives up.
        ("50160", "network_to_server", "client_hello_loss", "medium"),
        # Nobody knows what port 7000 speaks, and whose turn it was.
        ("54884", "unknown", "await_server", "low"),
        ("49720", "unknown", "not_tls", "medium"),
        ("34332", "client_process", "client_silent", "high"),
    ],
    "vxlan": [("57460", "client_process", "client_silent", "high")],
    "waits-over-ipv6": [("43854", "client_process", "client_silent", "high")],
    "zero-window": [
        ("41001", "server_process", "zero_window", "high"),
        ("40614", "server_process", "server_slow_hello", "high"),
    ],
}
"""By folder, the client's port and what is said of it: nothing of the other connections."""

ETHERNET = [name for name in VERDICTS if name not in ("gre", "vxlan", "ipv6", "waits-over-ipv6")]
"""Those whose outer packets are the connections' own, over IPv4."""


def said(report: TwoEnds) -> list[tuple[str, str | None, str | None, str | None]]:
    return [(pair.client.rpartition(":")[2], pair.cause, pair.reason, pair.confidence) for pair in report.pairs]


@pytest.mark.parametrize("name", TWO_SIDED)
def test_the_verdicts(name: str) -> None:
    report = compared(*both(name))
    assert sorted(said(report)) == sorted(VERDICTS.get(name, []))
    check_parts(report)
    for pair in report.pairs:
        assert (pair.would_settle is None) == (pair.confidence == "high")
        assert pair.evidence
        assert pair.verdict is not None
        assert not pair.verdict.endswith(".")


@pytest.mark.parametrize("name", TWO_SIDED)
def test_the_order_of_the_arguments_does_not_matter(name: str) -> None:
    client, server = both(name)
    right, wrong = compared(client, server, everything=True), compared(server, client, everything=True)
    assert not right.swapped
    assert wrong.swapped
    assert wrong.pairs == right.pairs
    assert (wrong.clock, wrong.delays, wrong.lone) == (right.clock, right.delays, right.lone)


@pytest.mark.parametrize("shift_ns", [-3 * 10**9, 17 * 10**6, 86_400 * 10**9])
@pytest.mark.parametrize("name", ETHERNET)
def test_another_clock_changes_no_verdict(name: str, shift_ns: int, tmp_path: Path) -> None:
    client, server = both(name)
    other = rewritten(server, tmp_path / "server.pcap", stamp=lambda ns: ns + shift_ns)
    expected, report = compared(client, server), compared(client, other)
    assert [essence(pair) for pair in report.pairs] == [essence(pair) for pair in expected.pairs]
    assert [pair.parts_ns for pair in report.pairs] == [pair.parts_ns for pair in expected.pairs]
    assert (expected.clock is None) == (report.clock is None) == (name == "clock-set")
    if expected.clock is not None and report.clock is not None:
        assert report.clock.offset_ns - expected.clock.offset_ns == shift_ns


@pytest.mark.parametrize("name", ["client-hello-lost", "slow-server", "stalled-client-hello", "late-accept"])
def test_a_drifting_clock_changes_no_verdict(name: str, tmp_path: Path) -> None:
    client, server = both(name)
    start = read(server)[0].ns
    other = rewritten(server, tmp_path / "server.pcap", stamp=lambda ns: ns + (ns - start) * 60 // 10**6)
    expected, report = compared(client, server), compared(client, other)
    assert said(report) == said(expected)
    check_parts(report)


@pytest.mark.parametrize("name", ETHERNET)
def test_translated_addresses_and_ports_change_no_pairing(name: str, tmp_path: Path) -> None:
    client, server = both(name)
    expected = compared(client, server)
    report = compared(client, rewritten(server, tmp_path / "server.pcap", nat))
    assert report.paired == expected.paired
    assert said(report) == said(expected)
    assert [pair.parts_ns for pair in report.pairs] == [pair.parts_ns for pair in expected.pairs]
    if report.pairs:
        assert any("is 10." not in text and "at the server's end" in text for text in report.changes)


@pytest.mark.parametrize("change", [no_ids, no_timestamps, other_sequence_numbers])
@pytest.mark.parametrize("name", ETHERNET)
def test_a_middlebox_that_rewrites_headers_changes_no_party(name: str, change: Change, tmp_path: Path) -> None:
    """What the path rewrites may cost confidence, never name another one."""
    client, server = both(name)
    other = rewritten(server, tmp_path / "server.pcap", change)
    if change is other_sequence_numbers and name in ("plaintext-idle", "refused"):
        # Without sequence numbers only a ClientHello tells the connection, and there is none.
        with pytest.raises(UsageError, match="no connection in common"):
            compared(client, other)
        return
    expected, report = compared(client, server), compared(client, other)
    found = {pair.client: pair for pair in report.pairs}
    check_parts(report)
    for pair in expected.pairs:
        if pair.client not in found:
            assert change is other_sequence_numbers
            continue
        assert found[pair.client].cause == pair.cause
        assert found[pair.client].reason == pair.reason


@pytest.mark.parametrize("name", ["client-hello-lost", "server-hello-lost", "syn-lost", "late-accept", "slow-server"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_packet_that_a_capture_dropped_is_no_loss_of_the_network(name: str, side: int, tmp_path: Path) -> None:
    """Whichever packet one capture lacks, no other party is blamed with high confidence."""
    paths = both(name)
    expected = {pair.client: pair for pair in compared(*paths).pairs}
    records = read(paths[side])
    ours = [
        at for at, record in enumerate(records) if record.packet.is_tcp and 41000 < max(record.packet.ports) < 41010
    ]
    for at in ours:
        damaged = write(tmp_path / "damaged.pcap", records[:at] + records[at + 1 :])
        report = compared(damaged, paths[1]) if side == 0 else compared(paths[0], damaged)
        check_parts(report)
        for pair in report.pairs:
            if pair.confidence == "high" and pair.client in expected:
                assert pair.side == expected[pair.client].side, f"without packet {at + 1}: {pair.verdict}"


def test_a_clock_that_was_set_claims_no_offset(tmp_path: Path) -> None:
    client, server = both("client-hello-lost")
    middle = read(server)[30].ns
    other = rewritten(server, tmp_path / "server.pcap", stamp=lambda ns: ns + (2 * 10**9 if ns > middle else 0))
    report = compared(client, other)
    assert report.clock is None
    assert report.delays == {}
    assert any("clocks cannot be brought together" in warning for warning in report.warnings)
    assert [pair.side for pair in report.pairs] == ["network"]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("name", ["injected-rst", "late-accept", "server-hello-lost", "detour", "client-rejects"])
def test_each_packet_twice_in_one_capture_changes_nothing(name: str, side: int, tmp_path: Path) -> None:
    """As with a mirror port, or two interfaces."""
    paths = list(both(name))
    expected = compared(*paths)
    twice = [each for one in read(paths[side]) for each in (one, Record(one.ns + 9_000, one.packet, one.origlen))]
    paths[side] = write(tmp_path / "twice.pcap", sorted(twice, key=lambda one: one.ns))
    report = compared(*paths)
    assert said(report) == said(expected)
    assert [(pair.to_server, pair.to_client) for pair in report.pairs] == [
        (pair.to_server, pair.to_client) for pair in expected.pairs
    ]


@pytest.mark.parametrize("ttl", [62, 64])
def test_a_refusal_seen_midway_is_not_taken_for_the_servers_own(ttl: int, tmp_path: Path) -> None:
    """The RST comes to the second capture 10 ms behind the SYN: whoever sent it was not there."""
    client, server = both("refused")
    late = read(server)
    for record in late:
        if record.packet.data[record.packet.tcp + 13] & 0x04:
            record.ns += 10_000_000
            record.packet.put(22, 1, ttl)
    came = read(client)
    for record in came:
        record.ns += 10_000_000 if record.packet.data[record.packet.tcp + 13] & 0x04 else 0
    report = compared(write(tmp_path / "c.pcap", came), write(tmp_path / "m.pcap", sorted(late, key=lambda r: r.ns)))
    assert report.pairs
    for pair in report.pairs:
        assert (pair.cause, pair.reason, pair.confidence) == ("unknown", "refused", "medium")
        assert pair.would_settle
        assert not any("own end" in fact.text for fact in pair.evidence)


def test_the_second_reading_makes_no_garbage_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the first one does: nothing in the flows' state makes cycles."""
    collecting: list[bool] = []

    class Wanted(two_ends._Wanted):
        def take(self, flow: Flow) -> bool:
            collecting.append(gc.isenabled())
            return super().take(flow)

    monkeypatch.setattr(two_ends, "_Wanted", Wanted)
    compared(*both("client-hello-lost"))
    assert collecting
    assert not any(collecting)
