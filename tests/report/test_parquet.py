import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
from factories import HOSTILE, flow, hostile, report, silent_client, slow_server, ticket

from pcapstall.core.errors import UsageError
from pcapstall.report import to_csv, to_parquet
from pcapstall.report.flat import COLUMNS
from pcapstall.report.names import EVENTS
from pcapstall.report.options import RenderOptions

pq = pytest.importorskip("pyarrow.parquet")
CAPTURE = str(Path(__file__).parents[2] / "captures" / "stalled-client-hello" / "capture.pcap")


def table_of(made):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8")
    to_parquet.render(made, out, RenderOptions())
    out.flush()
    return pq.read_table(io.BytesIO(raw.getvalue()))


def test_its_cells_are_those_of_csv():
    made = ticket()
    text = io.StringIO()
    to_csv.render(made, text, RenderOptions())
    expected = list(csv.DictReader(io.StringIO(text.getvalue())))
    found = table_of(made).to_pylist()
    assert len(found) == len(expected) == 4
    for flat, cells in zip(found, expected, strict=True):
        assert {name: str(to_csv.cell(flat[name]) if flat[name] is not None else "") for name in COLUMNS} == cells


def test_values_have_kinds_and_events_moments():
    made = report([silent_client(), slow_server()])
    table = table_of(made)
    assert table.schema.metadata[b"pcapstall.t0_ns"] == str(made.t0_ns).encode()
    assert table.column_names == [*COLUMNS, *(f"{event}_at" for event in EVENTS)]
    kinds = {name: str(table.schema.field(name).type) for name in ("id", "sni", "failed", "alpn", "syn_at")}
    assert {**kinds, "alpn": "list"} == {
        "id": "int64",
        "sni": "string",
        "failed": "bool",
        "alpn": "list",
        "syn_at": "timestamp[ns, tz=UTC]",
    }
    silent = table.to_pylist()[0]
    assert (silent["ack_ch_ns"], silent["sni"], silent["failed"]) == (52091243000, None, True)
    assert table.column("syn_at").cast("int64")[0].as_py() == made.flows[0].events["syn"].ns


def test_more_flows_than_a_row_group_holds(monkeypatch):
    monkeypatch.setattr(to_parquet, "FLOWS_PER_GROUP", 3)
    made = report([silent_client()._replace(id=row) for row in range(1, 8)])
    assert table_of(made).column("id").to_pylist() == [1, 2, 3, 4, 5, 6, 7]


def test_no_flows_are_a_file_without_rows():
    assert table_of(report([])).num_rows == 0


def test_hostile_text_stays_text():
    assert table_of(hostile()).column("sni").to_pylist() == [HOSTILE.replace("\udcff", "\\udcff")]
    assert table_of(report([flow(sni="\udce9.example")])).column("sni").to_pylist() == ["\\udce9.example"]


def test_a_terminal_is_not_written_to():
    with pytest.raises(UsageError, match="write it to a file"):
        to_parquet.check(True)


def test_without_pyarrow_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install '\.\[parquet\]' in a clone"):
        to_parquet.check(False)


def test_a_pipe_and_a_file_by_its_name_get_the_same(tmp_path):
    command = [sys.executable, "-m", "pcapstall", "report", CAPTURE]
    piped = subprocess.run([*command, "-f", "parquet"], capture_output=True, check=True).stdout
    subprocess.run([*command, "-o", str(tmp_path / "flows.parquet")], check=True)
    assert (tmp_path / "flows.parquet").read_bytes() == piped
    assert pq.read_table(io.BytesIO(piped)).column("cause").to_pylist().count("client_process") == 1


@pytest.mark.parametrize("command", [["summary"], ["timeline", "--flow", "1"]])
def test_other_commands_say_that_they_do_not_write_it(command):
    done = subprocess.run(
        [sys.executable, "-m", "pcapstall", *command, "-f", "parquet", CAPTURE], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "only report writes it" in done.stderr
