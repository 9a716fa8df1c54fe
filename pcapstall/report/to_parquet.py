"""The flows as an Apache Parquet file, for DuckDB, pandas and their like: the rows of `flat`, each column of its kind.

Beside what CSV has, the moment of each event stands as a timestamp (``syn_at``, nanoseconds UTC). Text is as the
capture has it. pyarrow, an extra of the package, is imported only here.
"""

import io
from itertools import islice
from types import ModuleType
from typing import Any, BinaryIO, Final, TextIO

from pcapstall import __version__
from pcapstall.core.errors import UsageError
from pcapstall.core.lacking import lack_of
from pcapstall.core.utf8 import without_surrogates
from pcapstall.report import flat
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.model import SCHEMA, Report
from pcapstall.report.names import EVENTS
from pcapstall.report.options import RenderOptions
from pcapstall.report.places import Places

FLOWS_PER_GROUP: Final = 10_000
"""Flows of one row group: what is held in memory at a time."""


def check(out_is_terminal: bool) -> None:
    """UsageError when there is no pyarrow, or a terminal would be written to."""
    if out_is_terminal:
        raise UsageError("-f parquet: it is no text; write it to a file (-o flows.parquet) or into a pipe")
    _pyarrow()


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write a row for each flow to the bytes under ``out``."""
    pa = _pyarrow()
    import pyarrow.parquet as pq

    schema = _schema(pa, report)
    places = Places(report)
    flows = iter(report.flows)
    with pq.ParquetWriter(_Sink(out.buffer), schema) as writer:
        while group := list(islice(flows, FLOWS_PER_GROUP)):
            columns = zip(*(_row(flow, places) for flow in group), strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.table(arrays, schema=schema))


class _Sink(io.RawIOBase):
    """Tells how much was written, which a pipe does not."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._written_len = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written_len

    def write(self, data: Any) -> int:
        count = self._out.write(data)
        self._written_len += count
        return count


def _pyarrow() -> ModuleType:
    try:
        import pyarrow
    except ImportError as error:
        if lack_of(error):
            raise
        from pcapstall.core.extras import install_words

        raise UsageError(f"-f parquet: it needs pyarrow, which is not installed: {install_words('parquet')}") from error
    module: ModuleType = pyarrow
    return module


def _schema(pa: Any, report: Report) -> Any:
    kinds = {
        flat.INT: pa.int64(),
        flat.TEXT: pa.string(),
        flat.TRUTH: pa.bool_(),
        flat.TEXTS: pa.list_(pa.string()),
    }
    moment = pa.timestamp("ns", tz="UTC")
    fields = [pa.field(name, kinds[kind]) for name, kind in flat.COLUMNS.items()]
    fields += [pa.field(f"{event}_at", moment) for event in EVENTS]
    about = {
        "pcapstall.schema": str(SCHEMA),
        "pcapstall.version": __version__,
        "pcapstall.t0_ns": str(report.t0_ns),
        "pcapstall.captures": "\n".join(without_surrogates(capture.file) for capture in report.captures),
    }
    return pa.schema(fields, metadata=about)


def _row(flow: FlowReport, places: Places) -> list[object]:
    row = [_plain(value) for value in flat.row_of(flow, places)]
    for name in EVENTS:
        event = flow.events.get(name)
        row.append(None if event is None else event.ns)
    return row


def _plain(value: flat.Value) -> object:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [without_surrogates(text) for text in value]
    return value
