"""What is said of one flow: what went wrong with the most telling fact, or what it is where nothing did."""

from pathlib import Path

import pytest
from factories import flow, silent_client

from pcapstall.cli.main import main
from pcapstall.diagnose import outcome
from pcapstall.report.flow_model import is_failed
from pcapstall.report.happening import what_became, what_happened

TLS = [value for name, value in vars(outcome).items() if name.isupper() and isinstance(value, str)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "no stall, established"),
        ({"tcp_outcome": "seen_midway"}, "no stall, established; its TCP handshake is not in the capture"),
        ({"tls_outcome": "not_tls"}, "no TLS was spoken, so nothing after the TCP handshake is measured"),
        ({"tls_outcome": "no_client_hello", "flags": ["near_capture_end"]},
         "no stall, and no ClientHello yet; the capture ends there"),
        ({"tls_outcome": "incomplete"}, "no stall, but the TLS handshake was not seen to its end"),
        ({"tls_outcome": "incomplete", "tcp_outcome": "seen_midway"},
         "no stall was seen, but its beginning is not in the capture"),
        ({"tls_outcome": None, "tcp_outcome": "raced"},
         "no stall: another connection of the client's was there first, and this one was given up"),
    ],
)  # fmt: skip
def test_what_it_is_instead(fields: dict[str, object], said: str) -> None:
    assert what_became(flow(**fields)) == said


@pytest.mark.parametrize("name", sorted(set(TLS) - {"connected", "seen_midway", "client", "server"}))
def test_every_outcome_that_is_no_failure_has_its_words(name: str) -> None:
    if not is_failed(name, name, ["near_capture_end"]):
        assert "_" not in what_became(flow(tcp_outcome=name, tls_outcome=name))
        assert what_became(flow(tls_outcome=name)) != f"no stall, {name}" or name == "established"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reason": "client_silent"}, "(client process: THAT, high confidence)"),
        ({"reason": "event_not_acted_on"}, "(client process: THAT, high confidence)"),
        ({"reason": "late_accept"}, "(client process: it accepted late, THAT, high confidence)"),
        ({"reason": "late_accept", "activity": "stopped_by_signal"}, "(client process: THAT, high confidence)"),
        ({"reason": "client_silent", "meanwhile": None}, "(client process, high confidence)"),
        ({"reason": "late_accept", "meanwhile": None}, "(client process: it accepted late, high confidence)"),
    ],
)
def test_what_filled_the_stall_goes_with_its_cause(fields: dict[str, object], said: str) -> None:
    stalled = silent_client()._replace(activity=None, meanwhile="THAT")
    assert what_happened(stalled._replace(**fields)).endswith(said)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["report", *arguments]) == 0
    return capsys.readouterr().out.splitlines()[0]


def test_a_lookup_is_in_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    capture = Path(__file__).parent.parent.parent / "captures" / "client-waits-for-dns" / "capture.pcap"
    said = answer(capsys, str(capture))
    assert "(client process: meanwhile its host waited 2.5 s for a DNS answer about api.example, high" in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("k1_sigstop", "(client process: it was stopped by SIGSTOP for 5.0 s, high confidence)."),
        ("l3_blocking_sleep", " was in clock_nanosleep for 2.0 s, high confidence)."),
        ("e1_dns", "(client process: meanwhile its host waited 2.5 s for a DNS answer about policy.lab.test, high"),
        ("e2_pipe_child", " was in read on a pipe for 2.6 s, high confidence)."),
        ("n2_wrong_mask", ": no event of its socket came: it was registered without EPOLLOUT, high confidence)."),
        ("g1_slow_read", "(server process: it read late, thread "),
    ],
)
def test_what_the_process_did_is_in_the_answer(
    name: str, said: str, lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (capture,) = (lab / name).glob("capture.pcap*")
    straces = [word for file in sorted((lab / name).glob("*.strace")) for word in ("--strace", str(file))]
    assert said in answer(capsys, str(capture), *straces)
