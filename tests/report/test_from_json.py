"""A report that was written as JSON is read back as it was; whatever else stands in the file is one sentence."""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factories import ticket
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.errors import InputError
from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.ends.given import parse_given
from pcapstall.report import from_json, to_json
from pcapstall.report.end_model import LogReport, StraceReport
from pcapstall.report.from_json import Reader, read_report
from pcapstall.report.model import CaptureReport, Report
from pcapstall.report.options import RenderOptions

CAPTURES = Path(__file__).resolve().parents[2] / "captures"


def written(render: Callable[..., None] = to_json.render) -> bytes:
    out = io.StringIO()
    render(ticket(), out, RenderOptions())
    return out.getvalue().encode()


def compared(report: Report) -> dict[str, Any]:
    """All that JSON has of a report."""
    values = report._asdict()
    values |= {"warnings": list(report.warnings), "logs": list(report.logs)}
    return values | {"flows": list(report.flows), "healthy": None, "totals": None, "thresholds_ns": None}


@pytest.mark.parametrize(
    ("readers", "kind"),
    [(from_json._CAPTURE, CaptureReport), (from_json._STRACE, StraceReport), (from_json._LOG, LogReport)],
)
def test_every_field_is_read(readers: dict[str, Reader], kind: type[CaptureReport | StraceReport | LogReport]) -> None:
    """A field with a default that no reader knows would be lost in silence."""
    assert readers.keys() == set(kind._fields)


@pytest.mark.parametrize("render", [to_json.render, to_json.render_lines])
def test_what_was_written_is_read(render: Callable[..., None]) -> None:
    before = ticket()
    before = before._replace(flows=list(before.flows))
    after = read_report("x.json", written(render))
    assert compared(after) == compared(before)
    assert dict(after.thresholds_ns) == dict(before.thresholds_ns)
    assert after.totals.flows == len(list(before.flows))
    assert after.totals.stalled == sum(flow.stalled is not None for flow in before.flows)


def test_what_was_said_of_logs_is_read() -> None:
    capture = CAPTURES / "stalled-client-hello"
    logs = [parse_given(f"inbound={capture / 'inbound.log'}")]
    made = analyse([str(capture / "capture.pcap")], Options(all_flows=True, logs=logs)).report
    made = made._replace(flows=list(made.flows), warnings=["one warning"])
    assert made.logs
    assert any(flow.logs for flow in made.flows)
    out = io.StringIO()
    to_json.render(made, out, RenderOptions())
    again = read_report("x", out.getvalue().encode())
    assert compared(again) == {name: value for name, value in compared(made).items() if name in compared(again)}


def changed(*path: Any, to: Any = None, drop: bool = False) -> bytes:
    whole = json.loads(written())
    found = whole
    for key in path[:-1]:
        found = found[key]
    if drop:
        del found[path[-1]]
    else:
        found[path[-1]] = to
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{}", "not that of pcapstall report"),
        (b"[1]", "not that of pcapstall report"),
        (b'{"schema": 1, "by": "server", "groups": []}', "not that of pcapstall report"),
        (b'{"schema": 2, "captures": []}', "is a report of schema 2; this pcapstall reads 1"),
        (written()[:-20], "is no complete JSON: line "),
        (written(to_json.render_lines)[:-20], "is no complete JSON: line "),
        (b"\xff{", "is no "),
        (b"[" * 100_000, "is no "),
        (b'{"schema": ' + b"1" * 10_000 + b"}", "is no "),
        (changed("flows", 0, "intervals_ns", "ack_ch", to=1 << 63), "a whole number of 64 bits is needed"),
        (changed("flows", 1, "server", drop=True), "flow 2: there is no 'server'"),
        (changed("flows", 0, "stalled", to=3), "flow 1: 'stalled': a text is needed, 3 is there"),
        (changed("flows", 0, "counts", "copies", to=True), "flow 1: 'counts': 'copies': a whole number is needed"),
        (changed("flows", 0, "events", "syn", to={"ns": 1}), "flow 1: 'events': 'ns': a number in quotes is needed"),
        (changed("flows", 0, "intervals_ns", to=[]), "flow 1: 'intervals_ns': an object is needed, [] is there"),
        (changed("t0_ns", to="x"), 'a number in quotes is needed, "x" is there'),
        (changed("t0_ns", to="\u0661"), "a number in quotes is needed"),
        (changed("t0_ns", to="1_0"), "a number in quotes is needed"),
        (changed("t0_ns", to="1" * 5000), "a number in quotes is needed"),
        (changed("captures", 0, "linktypes", to="x"), "'linktypes': a list is needed"),
        (changed("version", drop=True), "there is no 'version'"),
    ],
)
def test_what_is_no_report(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=r"^x\.json: ") as caught:
        read_report("x.json", data)
    assert reason in str(caught.value)


def test_keys_of_a_later_pcapstall_are_passed_over() -> None:
    assert len(list(read_report("x", changed("flows", 0, "new", to=1)).flows)) == len(list(ticket().flows))


@given(st.integers(0, 10**9), st.binary(max_size=8))
def test_any_damage_is_an_error_of_the_input(at: int, junk: bytes) -> None:
    data = written()
    at %= len(data)
    with contextlib.suppress(InputError):
        read_report("x", data[:at] + junk + data[at + len(junk) :])
