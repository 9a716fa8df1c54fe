import io
import json
import re
from collections import Counter

import pytest
from factories import alerted, capture, clean, flow, report, silent_client, strace, ticket

from pcapstall.report.model import Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.render import render

EXAMPLE = """
{"schema": 1, "version": "0.1.0", "t0_ns": "1621450142000000000", "thresholds_ns": {"default": 1000000000, "ch_ack": 500000000},
 "captures": [{"file": "client.pcap", "format": "pcap-ns", "packets": 41, "tcp_packets": 41, "other_packets": 0, "malformed": {}, "dropped": null, "first_ns": "0", "last_ns": "0", "linktypes": ["EN10MB"], "trust": "trustworthy", "warnings": []}],
 "straces": [{"file": "client.strace", "label": null, "lines": 3734, "unread": 0, "processes": [{"pid": 30033, "side": "client", "flows": [1]}], "clock_offset_ns": 0, "clock_error_ns": 0, "unmatched_sockets": []}],
 "flows": [{"id": 1, "first_frame": 1, "client": "10.40.39.45:34506", "server": "10.40.42.129:8086", "direction_source": "syn", "capture_point": "client", "capture_point_confidence": "high",
   "sni": null, "alpn": [], "tls_version": null, "cipher": null, "ja4": null, "resumed": null, "preamble": null, "preamble_ns": null, "tunnel": null, "syn_data": null,
   "events": {"syn": {"ns": "0", "rel_ns": 0, "frame": 1, "file": 0}, "syn_ack": null, "ack": null,
              "client_hello_first": null, "client_hello_last": null, "client_hello_acked": null, "hello_retry": null, "client_hello2_first": null, "client_hello2_last": null,
              "server_hello_first": null, "server_hello_last": null, "server_flight_last": null, "client_finished": null, "client_app_data": null, "server_app_data": null,
              "client_alert": null, "server_alert": null, "client_fin": null, "server_fin": null, "client_rst": null, "server_rst": null},
   "alerts": [{"side": "server", "level": "fatal", "description": "handshake_failure", "inferred": false, "frame": 6, "file": 0}],
   "counts": {"packets": 0, "client_bytes": 0, "server_bytes": 0, "syn_retries": 0, "syn_ack_retries": 0, "client_retransmits": 0, "server_retransmits": 0, "copies": 0},
   "intervals_ns": {"syn_synack": 0, "synack_ack": 0, "ack_ch": null, "ch_span": null, "ch_ack": null, "ch_sh": null, "hrr_ch2": null, "ch2_sh": null, "sh_cfin": null, "ch_fin": null, "ch_close": null, "ack_close": null},
   "open_ns": {"ack_ch": 10000000000}, "parts_ns": {"ack_ch": {"client_process": 10000000000}},
   "tcp_outcome": "connected", "tls_outcome": "closed_before_client_hello", "closed_by": "server", "close_kind": "fin", "server_timer_ns": 10000000000, "flags": ["late_hello"],
   "stalled": "ack_ch", "cause": "client_process", "side": "client", "reason": "epoll_not_waited", "activity": "waiting_elsewhere", "confidence": "high", "match": "client_random",
   "verdict": "one sentence", "evidence": [{"text": "sentence", "frames": [3, 9], "file": 0, "strace": ["client.strace:66"]}], "would_settle": null}]}
"""  # noqa: E501
"""The contract of schema 1: the names of the keys, their order and the kinds of their values. It never changes."""

KEYED_BY_DATA = ("malformed", "open_ns", "parts_ns", "thresholds_ns")


def rendered(made: Report, wanted: str = "json") -> str:
    out = io.StringIO()
    render(made, out, wanted, RenderOptions())
    return out.getvalue()


def shape(value):
    """Keys in order and kinds of values, without what depends on the data."""
    if isinstance(value, dict):
        return [(key, "data" if key in KEYED_BY_DATA else shape(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def full_flow():
    """A flow that has everything the example has, and absent what is absent there."""
    made = silent_client()
    events = dict.fromkeys(made.events) | {"syn": made.events["syn"]}
    intervals = dict.fromkeys(made.intervals_ns) | {"syn_synack": 0, "synack_ack": 0}
    alerts = alerted().alerts
    evidence = [type(made.evidence[0])("sentence", [3, 9], 0, ["client.strace:66"])]
    return made._replace(events=events, intervals_ns=intervals, alerts=alerts, evidence=evidence)


def test_keys_their_order_and_kinds_are_those_of_the_contract():
    made = report([full_flow()], captures=[capture(dropped=None)], straces=[strace(unmatched_sockets=[])])
    assert shape(json.loads(rendered(made))) == shape(json.loads(EXAMPLE))


def test_a_contract_flow_keeps_its_keys_when_everything_is_absent():
    sparse = flow(intervals={}, tls_outcome=None)
    (written,) = json.loads(rendered(report([sparse])))["flows"]
    (example,) = json.loads(EXAMPLE)["flows"]
    assert list(written) == list(example)
    assert list(written["events"]) == list(example["events"])
    assert list(written["intervals_ns"]) == list(example["intervals_ns"])


def test_epochs_are_strings_and_differences_are_integers():
    made = json.loads(rendered(ticket()))
    assert made["t0_ns"] == "1621450142123456000"
    assert made["captures"][0]["last_ns"] == "1621450204323456000"
    assert made["flows"][0]["events"]["ack"] == {"ns": "1621450142123709000", "rel_ns": 253000, "frame": 3, "file": 0}
    assert not re.search(r": \d{16,}", rendered(ticket()))


def test_an_empty_report_is_json():
    made = json.loads(rendered(report(captures=[capture(first_ns=None, last_ns=None)])))
    assert made["flows"] == made["straces"] == []
    assert made["captures"][0]["first_ns"] is None


def test_the_same_report_is_the_same_text():
    assert rendered(ticket()) == rendered(ticket())


def test_a_flow_is_a_line():
    lines = rendered(ticket()).splitlines()
    assert sum(line.startswith('  {"id": ') for line in lines) == 4


def test_lines_are_a_header_and_a_flow_each():
    header, *flows = map(json.loads, rendered(ticket(), "jsonl").splitlines())
    whole = json.loads(rendered(ticket()))
    assert flows == whole.pop("flows")
    assert header == whole


@pytest.mark.parametrize("wanted", ["json", "jsonl", "csv"])
def test_flows_are_written_as_they_come(wanted):
    seen = Counter()

    class Out(io.StringIO):
        def write(self, text):
            seen["written"] += len(text)
            return super().write(text)

    def flows():
        for number in range(1, 51):
            before = seen["written"]
            yield flow(number)
            assert seen["written"] > before, "the flow was kept back"

    render(report(listed=flows()), Out(), wanted, RenderOptions())
    assert seen["written"] > 0


def test_text_from_outside_is_ascii_escaped():
    text = rendered(report([flow(sni="\x1b[31m\u202e\udcff<b>")], captures=[capture(file="\udcff.pcap")]))
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text)["captures"][0]["file"] == "\udcff.pcap"


def test_healthy_flows_are_not_in_json_unless_they_are_shown():
    assert json.loads(rendered(clean()))["flows"] == []
