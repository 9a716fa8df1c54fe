"""Real programs that stalled in a known way: nginx, haproxy, Go, OpenSSL, a CONNECT proxy. Their captures and straces.

`real` beside this file holds them as they were written, but for paths. What was done to each stands in the table.
"""

from pathlib import Path

import pytest

from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.ends.given import GivenFile

REAL = Path(__file__).parent / "real"
RUNS = [
    # A goroutine that slept between Dial and Handshake; the runtime waits on in its one epoll set.
    ("go-holds-back", "client_process", "event_not_acted_on", "waiting_elsewhere", "high", "nothing was written to it"),
    # A goroutine that computed: SIGURG comes all the while. strace without -yy.
    ("go-computes", "client_process", "event_not_acted_on", "off_syscall", "high", "3692 was in no call for 3.0 s"),
    # As the first, with strace -f -s 0 -r: no bytes, no clock, no durations.
    ("go-relative-times", "client_process", "event_not_acted_on", "waiting_elsewhere", "medium", "nothing was written"),
    # net.Listen, and Accept three seconds later: the listener's edge was delivered at once.
    ("go-accepts-late", "server_process", "late_accept", "waiting_elsewhere", "high", "2.9 s after it was ready"),
    # GOMAXPROCS=1 and a loop without a call, until it was killed.
    ("go-never-accepts", "server_process", "late_accept", "off_syscall", "medium", "nobody accepted it for 5.9 s"),
    # GetCertificate asks a service on 127.0.0.1:7000 for 2.5 s.
    ("go-asks-another", "server_process", "slow_handling", "waiting_elsewhere", "high", "took 2.5 s to answer"),
    # mode tcp, maxconn 1 of the server behind it: the hello waits in the proxy.
    ("haproxy-queues", "server_process", "slow_handling", "waiting_elsewhere", "high", "8443 after 2.9 s only"),
    # maxconn 1 of the frontend: the listener is taken out of the set.
    ("haproxy-maxconn", "server_process", "late_accept", "waiting_elsewhere", "high", "in no epoll set meanwhile"),
    # kill -STOP of the worker before the connection.
    ("nginx-stopped", "server_process", "late_accept", "stopped_by_signal", "high", "stopped by SIGSTOP for 3.0 s"),
    # A CONNECT proxy that looks the name up for three seconds.
    ("proxy-connects-late", "server_process", "await_server", "blocked_in_syscall", "high", "took 3.0 s to answer"),
    # Java, TLS 1.3: the ServerHello is out, and the key manager waits for a lock.
    ("java-locked", "server_process", "slow_handling", "blocked_in_syscall", "high", "rest of its answer 1.6 s after"),
    # openssl s_client -starttls smtp at a server that speaks TLS at once.
    ("starttls-waits", "unknown", "both_silent", "blocked_in_syscall", "medium", "for the server to speak first"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "cause", "reason", "activity", "confidence", "words"), RUNS)
def test_real_programs(name: str, cause: str, reason: str, activity: str, confidence: str, words: str) -> None:
    straces = [GivenFile(str(REAL / f"{name}.strace.gz"))]
    analysis = analyse([str(REAL / f"{name}.pcap.gz")], Options(straces=straces))
    (row,) = [row for row in analysis.report.flows if row.stalled]
    assert (row.cause, row.reason, row.activity, row.confidence) == (cause, reason, activity, confidence)
    assert words in (row.verdict or "")
    assert any(item.strace for item in row.evidence)
    assert sum((row.stages_ns or {}).values()) in (0, row.stalled_ns)
    (report,) = analysis.report.straces
    assert report.unread == 0


def test_what_a_server_waited_for_is_told() -> None:
    analysis = analyse(
        [str(REAL / "go-asks-another.pcap.gz")],
        Options(straces=[GivenFile(str(REAL / "go-asks-another.strace.gz"))]),
    )
    (row,) = analysis.report.flows
    assert any("had to do with socket to 127.0.0.1:7000" in item.text for item in row.evidence)


def test_a_client_that_waits_for_the_rest_of_the_flight_is_not_late() -> None:
    """Its poll asks for POLLIN and returns nothing: not for a wrong mask, but for the server's want of a lock."""
    analysis = analyse(
        [str(REAL / "java-locked.pcap.gz")],
        Options(straces=[GivenFile(str(REAL / "java-locked-client.strace.gz"))]),
    )
    (row,) = [row for row in analysis.report.flows if row.stalled]
    assert (row.stalled, row.cause, row.reason) == ("sh_cfin", "server_process", "server_slow_hello")
