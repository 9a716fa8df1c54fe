"""Every way to write a time that a log may have, as real programs write it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.logs.formats import FORMATS, formats_of
from pcapstall.logs.stamps import ABSOLUTE, ELAPSED, NAIVE, TIME_OF_DAY, YEARLESS, Stamp

SECONDS = 1_796_023_442
"""2026-11-30 07:24:02 UTC."""
US = SECONDS * 10**9 + 83_943_000
MS = SECONDS * 10**9 + 83_000_000
WHOLE = SECONDS * 10**9
IN_1972 = int(datetime(1972, 11, 30, 7, 24, 2, tzinfo=UTC).timestamp()) * 10**9
OF_DAY = (7 * 3600 + 24 * 60 + 2) * 10**9

LINES = [
    # RFC 3339, any offset and fraction
    ("2026-11-30T07:24:02.083943Z  INFO main outbound: listening", ABSOLUTE, US, 1_000),
    ("2026-11-30T09:54:02.083943+02:30 WARN x", ABSOLUTE, US, 1_000),
    ("2026-11-30T02:24:02.083-05:00 x", ABSOLUTE, MS, 1_000_000),
    ("2026-11-30T07:24:02Z x", ABSOLUTE, WHOLE, 10**9),
    ("2026-11-30t07", None, 0, 0),
    ("2026-11-30t07:24:02.083943z x", ABSOLUTE, US, 1_000),
    ("2026-11-30 07:24:02z", ABSOLUTE, WHOLE, 10**9),
    # an hour alone, as PostgreSQL and Java write it; a number that follows is none
    ("2026-11-30 09:24:02.083+02 LOG:  x", ABSOLUTE, MS, 1_000_000),
    ("[2026-11-30T02:24:02-05] x", ABSOLUTE, WHOLE, 10**9),
    ("20261130T092402+02 x", ABSOLUTE, WHOLE, 10**9),
    ("30/Nov/2026:09:24:02.083+02 x", ABSOLUTE, MS, 1_000_000),
    ('{"ts":"2026-11-30 09:24:02.083+02"}', ABSOLUTE, MS, 1_000_000),
    ("2026-11-30 07:24:02 -05 degrees", NAIVE, WHOLE, 10**9),
    ("2026-11-30 07:24:02 z = 3", NAIVE, WHOLE, 10**9),
    ("2026-11-30 07:24:02-05.log", NAIVE, WHOLE, 10**9),
    # kubectl logs --timestamps, before a line with a stamp of its own
    ("2026-11-30T07:24:02.083943123Z [    1.250000s]  INFO x", ABSOLUTE, US + 123, 1),
    ("[pod/proxy-7/linkerd] 2026-11-30T07:24:02.083943123Z x", ABSOLUTE, US + 123, 1),
    # the container runtime's prefix, and docker's json-file
    ("2026-11-30T08:24:02.083943123+01:00 stdout F x", ABSOLUTE, US + 123, 1),
    ('{"log":"2020-01-01 x\\n","stream":"stderr","time":"2026-11-30T07:24:02.083943123Z"}', ABSOLUTE, US + 123, 1),
    # other JSON: zap, logrus, bunyan, pino, Serilog, MongoDB, OpenTelemetry, the journal
    ('{"level":"info","ts":1796023442.083943,"msg":"x"}', ABSOLUTE, US, 1_000),
    ('{"level":"info","ts":1.796023442083943e+09,"msg":"x"}', ABSOLUTE, US, 1_000),
    ('{"level":"info","ts":"2026-11-30T07:24:02.083Z"}', ABSOLUTE, MS, 1_000_000),
    ('{"level":30,"time":1796023442083,"pid":1}', ABSOLUTE, MS, 1_000_000),
    ('{"@timestamp": "2026-11-30T07:24:02.083Z"}', ABSOLUTE, MS, 1_000_000),
    ('{"timestamp":"2026-11-30 07:24:02,083"}', NAIVE, MS, 1_000_000),
    ('{"@t":"2026-11-30T07:24:02.0839430Z","@mt":"x"}', ABSOLUTE, US, 100),
    ('{"t":{"$date":"2026-11-30T07:24:02.083+00:00"},"s":"I"}', ABSOLUTE, MS, 1_000_000),
    ('{"timeUnixNano":"1796023442083943123"}', ABSOLUTE, US + 123, 1),
    ('{"MESSAGE":"x","__REALTIME_TIMESTAMP":"1796023442083943"}', ABSOLUTE, US, 1_000),
    # stunnel; logrus at a terminal
    ("2026.11.30 07:24:02 LOG5[0]: Service [x] accepted connection from 1.2.3.4:80", NAIVE, WHOLE, 10**9),
    ("INFO[0003] Listening", ELAPSED, 3 * 10**9, 10**9),
    # logfmt
    ('time="2026-11-30T07:24:02Z" level=info msg=x', ABSOLUTE, WHOLE, 10**9),
    ("ts=2026-11-30T07:24:02.083Z caller=x.go:7", ABSOLUTE, MS, 1_000_000),
    # Envoy's access log and its own
    ('[2026-11-30T07:24:02.083Z] "GET / HTTP/1.1" 200 - 0 0', ABSOLUTE, MS, 1_000_000),
    ("[2026-11-30 07:24:02.083][7][info][main] x", NAIVE, MS, 1_000_000),
    # Python's logging, log4j, logback, PostgreSQL, Ruby
    ("2026-11-30 07:24:02,083 - root - INFO - x", NAIVE, MS, 1_000_000),
    ("INFO 2026-11-30 07:24:02,083 server x", NAIVE, MS, 1_000_000),
    ("2026-11-30 07:24:02.083 CET [7] LOG:  x", NAIVE, MS, 1_000_000),
    ("2026-11-30 07:24:02.083 UTC [7] LOG:  x", ABSOLUTE, MS, 1_000_000),
    ("2026-11-30 08:24:02 +0100 x", ABSOLUTE, WHOLE, 10**9),
    ("07:24:02.083 [main] INFO  x", TIME_OF_DAY, OF_DAY + 83_000_000, 1_000_000),
    ("[07:24:02 INF] x", TIME_OF_DAY, OF_DAY, 10**9),
    # nginx: error log and access log; Apache; HAProxy; Tomcat; Go; Redis; mail headers
    ("2026/11/30 07:24:02 [error] 7#7: *1 connect() failed", NAIVE, WHOLE, 10**9),
    ('10.0.0.1 - - [30/Nov/2026:08:24:02 +0100] "GET / HTTP/1.1" 200 5', ABSOLUTE, WHOLE, 10**9),
    ("[Mon Nov 30 07:24:02.083943 2026] [ssl:info] [pid 7]", NAIVE, US, 1_000),
    ("haproxy[7]: 10.0.0.1:33317 [30/Nov/2026:07:24:02.083] in x/y 0/0", NAIVE, MS, 1_000_000),
    ("30-Nov-2026 07:24:02.083 INFO [main] org.apache", NAIVE, MS, 1_000_000),
    ("Nov 30, 2026 7:24:02 AM org.example.Foo main", NAIVE, WHOLE, 10**9),
    ("Nov 30, 2026, 7:24:02\u202fPM org.example.Foo main", NAIVE, WHOLE + 12 * 3600 * 10**9, 10**9),
    ("2026/11/30 07:24:02.083943 main.go:7: x", NAIVE, US, 1_000),
    ("1:M 30 Nov 2026 07:24:02.083 * Ready to accept connections", NAIVE, MS, 1_000_000),
    ("Mon, 30 Nov 2026 07:24:02 GMT x", ABSOLUTE, WHOLE, 10**9),
    ("20261130T072402Z x", ABSOLUTE, WHOLE, 10**9),
    # syslog: RFC 3164, RFC 5424, journalctl -o short, short-precise, short-iso-precise, short-unix
    ("<34>Nov 30 07:24:02 host sshd[7]: x", YEARLESS, IN_1972, 10**9),
    ("Nov 30 07:24:02 host sshd[7]: x", YEARLESS, IN_1972, 10**9),
    ("<34>1 2026-11-30T07:24:02.083Z host app 7 - - x", ABSOLUTE, MS, 1_000_000),
    ("Nov 30 07:24:02.083943 host systemd[1]: x", YEARLESS, IN_1972 + 83_943_000, 1_000),
    ("2026-11-30T07:24:02.083943+0000 host systemd[1]: x", ABSOLUTE, US, 1_000),
    ("1796023442.083943 host systemd[1]: x", ABSOLUTE, US, 1_000),
    # klog and glog
    ("I1130 07:24:02.083943       1 controller.go:7] x", YEARLESS, IN_1972 + 83_943_000, 1_000),
    ("E20261130 07:24:02.083943     7 main.cc:7] x", NAIVE, US, 1_000),
    # epoch
    ("1796023442 x", ABSOLUTE, WHOLE, 10**9),
    ("1796023442083 x", ABSOLUTE, MS, 1_000_000),
    ("1796023442083943 x", ABSOLUTE, US, 1_000),
    ("1796023442083943123 x", ABSOLUTE, US + 123, 1),
    ("type=SYSCALL msg=audit(1796023442.083:7): x", ABSOLUTE, MS, 1_000_000),
    ("level=info ts=1796023442.083943 msg=x", ABSOLUTE, US, 1_000),
    ("[1796023442.083943] x", ABSOLUTE, US, 1_000),
    # since a start: linkerd, the kernel, the JVM
    ("[    19.545603s]  INFO worker-2 inbound: x", ELAPSED, 19_545_603_000, 1_000),
    ("[   19.545603] usb 1-1: x", ELAPSED, 19_545_603_000, 1_000),
    ("[0.123s][info][gc] x", ELAPSED, 123_000_000, 1_000_000),
    # no time
    ("    at org.example.Foo.bar(Foo.java:12)", None, 0, 0),
    ("Traceback (most recent call last):", None, 0, 0),
    ("2026-13-30T07:24:02Z x", None, 0, 0),
    ("2026-11-31T07:24:02Z x", None, 0, 0),
    ("2026-11-30T24:24:02Z x", None, 0, 0),
    (
        "connect to 10.40.42.129:8086 took 1234567890123456 ns in all of what there is of it",
        None,
        0,
        0,
    ),
    ("", None, 0, 0),
]


@pytest.mark.parametrize(("line", "kind", "ns", "resolution_ns"), LINES, ids=[line[0][:40] for line in LINES])
def test_a_stamp_is_found(line: str, kind: int | None, ns: int, resolution_ns: int) -> None:
    found = formats_of([line.encode()])
    if kind is None:
        assert found == []
        return
    hit = found[0].format.find(line.encode())
    assert hit is not None
    assert hit[1] == Stamp(kind, ns, resolution_ns)
    assert 0 <= hit[0] < hit[2] <= len(line)


def test_every_format_is_tried() -> None:
    """None is in the table that no line above has."""
    names = {found.format.name for line, *_ in LINES for found in formats_of([line.encode()])}
    assert names == {candidate.name for candidate in FORMATS}


_FIRST, _LAST = (datetime(year, 1, 2, tzinfo=UTC).replace(tzinfo=None) for year in (1970, 2199))


@given(st.datetimes(_FIRST, _LAST), st.integers(-56, 56))
def test_rfc_3339_means_what_it_says(moment: datetime, quarters: int) -> None:
    ns = int(moment.replace(tzinfo=UTC).timestamp()) * 10**9 + moment.microsecond * 1000
    sign, away = "-" if quarters < 0 else "+", abs(quarters) * 15
    text = f"{moment:%Y-%m-%dT%H:%M:%S.%f}{sign}{away // 60:02d}:{away % 60:02d} x"
    hit = formats_of([text.encode()])[0].format.find(text.encode())
    assert hit is not None
    assert hit[1] == Stamp(ABSOLUTE, ns - quarters * 900 * 10**9, 1_000)


def test_a_stamp_in_the_middle_of_few_lines_is_none() -> None:
    lines = [b"2026-11-30T07:24:02Z a"] * 40 + [b"Caused by: expired at 2020-01-01 00:00:00,000 " * 2] + [b"x"] * 9
    assert [(found.format.name, found.latest) for found in formats_of(lines)] == [("ISO 8601", 8)]
