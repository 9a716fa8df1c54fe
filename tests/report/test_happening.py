"""What is said of a flow that neither stalled nor failed."""

import pytest
from factories import flow

from pcapstall.diagnose import outcome
from pcapstall.report.happening import what_became
from pcapstall.report.model import is_failed

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
