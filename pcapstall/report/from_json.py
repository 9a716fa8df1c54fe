"""A report read back from its own JSON, schema 1, whole or a flow a line: what `to_json` wrote.

Anything may stand in such a file: an InputError names the key, or the place, and nothing else is ever raised. Keys that
are not known are passed over, so that a later pcapstall of the same schema may add some.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pcapstall.core.digits import is_whole_number
from pcapstall.core.errors import InputError
from pcapstall.report.end_model import (
    LogLineReport,
    LogReport,
    ProcessReport,
    StraceReport,
    ThreadCallsReport,
    ThreadReport,
)
from pcapstall.report.flow_model import AlertReport, Counts, EventReport, Evidence, FlowReport
from pcapstall.report.model import SCHEMA, CaptureReport, HealthySummary, Report
from pcapstall.report.names import EVENTS, INTERVALS
from pcapstall.report.percentiles import Tally

Reader = Callable[[Any], Any]

_LARGEST: Final = (1 << 63) - 1
_LONGEST: Final = 20
"""Characters of a number of 64 bits."""


class _WrongKeyError(Exception):
    """A value is not what its key promises."""


def read_report(path: str, data: bytes) -> Report:
    """The report in ``data``, which ``path`` held; InputError when it is none."""
    head, flows = _objects(path, data)
    if not isinstance(head, dict) or "schema" not in head or "captures" not in head:
        raise InputError(path, "is JSON, but not that of pcapstall report: make it with pcapstall report -f json")
    if head["schema"] != SCHEMA:
        raise InputError(path, f"is a report of schema {head['schema']!r}; this pcapstall reads {SCHEMA}")
    tally = Tally()
    rows: list[FlowReport] = []
    try:
        for number, found in enumerate(flows, 1):
            try:
                rows.append(_flow(found))
            except _WrongKeyError as error:
                raise InputError(path, f"flow {number}: {error}") from error
            tally.add(rows[-1])
        return Report(
            version=_text(_get(head, "version")),
            t0_ns=_stamp(_get(head, "t0_ns")),
            thresholds_ns=_mapping(_integer)(_get(head, "thresholds_ns")),
            captures=_list(_object(CaptureReport, _CAPTURE))(head["captures"]),
            straces=_list(_object(StraceReport, _STRACE, "zone_ns", "notices"))(_get(head, "straces")),
            flows=rows,
            healthy=HealthySummary(0, {}, {}, {}),
            totals=tally.totals(),
            timelines={},
            warnings=tuple(_list(_text)(head.get("warnings", []))),
            logs=tuple(_list(_object(LogReport, _LOG))(head.get("logs", []))),
        )
    except _WrongKeyError as error:
        raise InputError(path, str(error)) from error


def _objects(path: str, data: bytes) -> tuple[Any, Iterator[Any]]:
    """The header, and the flows one after the other."""
    first, newline, rest = data.partition(b"\n")
    try:
        head = json.loads(first)
    except (ValueError, RecursionError):
        head = None
    if isinstance(head, dict) and "flows" not in head and newline:
        lines = (line for line in rest.splitlines() if line)
        return head, (_parsed(path, line, number) for number, line in enumerate(lines, 2))
    head = _parsed(path, data, 1)
    flows = head.pop("flows", None) if isinstance(head, dict) else None
    return head, iter(flows if isinstance(flows, list) else ())


def _parsed(path: str, data: bytes, line: int) -> Any:
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno + line - 1}, column {error.colno}"
        raise InputError(path, f"is no complete JSON: {place}: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # no UTF-8; a number of thousands of digits; a thousand brackets
        raise InputError(path, f"is no JSON: {error}") from error


def _flow(found: Any) -> FlowReport:
    flow: FlowReport = _object(FlowReport, _FLOW, *_OPTIONAL)(found)
    return flow


def _get(found: Mapping[str, Any], key: str) -> Any:
    if key not in found:
        raise _WrongKeyError(f"there is no {key!r}")
    return found[key]


def _object(kind: Callable[..., Any], readers: Mapping[str, Reader], *optional: str) -> Reader:
    """Reads an object into a named tuple whose fields are the keys; those that are ``optional`` need not be there."""

    def read(found: Any) -> Any:
        _check(found, dict, "an object")
        values = {}
        for name, reader in readers.items():
            if name in optional and name not in found:
                continue
            value = _get(found, name)
            try:
                values[name] = reader(value)
            except _WrongKeyError as error:
                raise _WrongKeyError(f"{name!r}: {error}") from None
        return kind(**values)

    return read


def _check(found: Any, kind: type | tuple[type, ...], wanted: str) -> None:
    # A bool is an int to Python and never to JSON.
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise _WrongKeyError(f"{wanted} is needed, {json.dumps(found)[:40]} is there")


def _integer(found: Any) -> int:
    _check(found, int, "a whole number")
    if not -_LARGEST <= found <= _LARGEST:
        raise _WrongKeyError("a whole number of 64 bits is needed, a longer one is there")
    return int(found)


def _text(found: Any) -> str:
    _check(found, str, "a text")
    return str(found)


def _truth(found: Any) -> bool:
    _check(found, bool, "true or false")
    return bool(found)


def _stamp(found: Any) -> int:
    """Epoch nanoseconds, which JSON has as a string."""
    _check(found, str, "a number in quotes")
    if not is_whole_number(found) or len(found) > _LONGEST:
        raise _WrongKeyError(f"a number in quotes is needed, {json.dumps(found)[:40]} is there")
    return _integer(int(found))


def _maybe(reader: Reader) -> Reader:
    return lambda found: None if found is None else reader(found)


def _list(reader: Reader) -> Reader:
    def read(found: Any) -> list[Any]:
        _check(found, list, "a list")
        return [reader(item) for item in found]

    return read


def _mapping(reader: Reader, names: tuple[str, ...] = ()) -> Reader:
    """An object of any keys; all of ``names`` are in what comes out, None where they are not there."""

    def read(found: Any) -> dict[str, Any]:
        _check(found, dict, "an object")
        return dict.fromkeys(names) | {_text(name): reader(item) for name, item in found.items()}

    return read


_MAYBE_TEXT: Final = _maybe(_text)
_MAYBE_INTEGER: Final = _maybe(_integer)
_EVENT: Final = _object(EventReport, {"ns": _stamp, "rel_ns": _integer, "frame": _integer, "file": _integer})
_ALERT: Final = _object(
    AlertReport,
    {
        "side": _text,
        "level": _MAYBE_TEXT,
        "description": _MAYBE_TEXT,
        "inferred": _truth,
        "frame": _integer,
        "file": _integer,
    },
)
_EVIDENCE: Final = _object(
    Evidence, {"text": _text, "frames": _list(_integer), "file": _MAYBE_INTEGER, "strace": _list(_text)}
)
_THREAD_CALLS: Final = _object(
    ThreadCallsReport,
    {"call": _text, "n": _integer, "total_ns": _integer, "longest_ns": _integer, "strace": _list(_text)},
)
_THREAD: Final = _object(
    ThreadReport,
    {
        **dict.fromkeys(("pid", "tid", "off_syscall_ns"), _MAYBE_INTEGER),
        **dict.fromkeys(("name", "label", "longest_call"), _MAYBE_TEXT),
        **dict.fromkeys(("other_calls", "longest_ns"), _integer),
        "calls": _list(_THREAD_CALLS),
        "strace": _list(_text),
    },
)
_LOG_LINE: Final = _object(
    LogLineReport,
    {
        "where": _text,
        "ns": _maybe(_stamp),
        "since_syn_ns": _MAYBE_INTEGER,
        "error_ns": _MAYBE_INTEGER,
        "text": _text,
        "more_lines": _integer,
    },
)
_SPECIAL: Final[dict[str, Reader]] = {
    "id": _integer,
    "first_frame": _integer,
    "alpn": _list(_text),
    "flags": _list(_text),
    "resumed": _maybe(_truth),
    "events": _mapping(_maybe(_EVENT), EVENTS),
    "alerts": _list(_ALERT),
    "counts": _object(Counts, dict.fromkeys(Counts._fields, _integer)),
    "intervals_ns": _mapping(_MAYBE_INTEGER, INTERVALS),
    "open_ns": _mapping(_integer),
    "parts_ns": _mapping(_mapping(_integer)),
    "preamble_ns": _MAYBE_INTEGER,
    "server_timer_ns": _MAYBE_INTEGER,
    "evidence": _list(_EVIDENCE),
    "logs": _list(_LOG_LINE),
    "more_logs": _integer,
    "threads": _list(_THREAD),
    "more_threads": _integer,
    "stages_ns": _mapping(_integer),
    **dict.fromkeys(("client", "server", "direction_source", "capture_point", "tcp_outcome"), _text),
}
_FLOW: Final = {name: _SPECIAL.get(name, _MAYBE_TEXT) for name in FlowReport._fields}
"""What is in no other table is a text or null."""
_OPTIONAL: Final = ("logs", "more_logs", "threads", "more_threads", "stages_ns", "meanwhile")
"""Keys that are there only with logs, or straces."""
_CAPTURE: Final[dict[str, Reader]] = {
    **dict.fromkeys(("file", "format", "trust"), _text),
    **dict.fromkeys(("packets", "tcp_packets", "other_packets"), _integer),
    "malformed": _mapping(_integer),
    "dropped": _MAYBE_INTEGER,
    "first_ns": _maybe(_stamp),
    "last_ns": _maybe(_stamp),
    "linktypes": _list(_text),
    "warnings": _list(_text),
}
_PROCESS: Final = _object(ProcessReport, {"pid": _integer, "side": _MAYBE_TEXT, "flows": _list(_integer)})
_STRACE: Final[dict[str, Reader]] = {
    "file": _text,
    "label": _MAYBE_TEXT,
    "lines": _integer,
    "unread": _integer,
    "processes": _list(_PROCESS),
    "clock_offset_ns": _MAYBE_INTEGER,
    "clock_error_ns": _MAYBE_INTEGER,
    "unmatched_sockets": _list(_text),
    "zone_ns": _MAYBE_INTEGER,
    "notices": _list(_text),
}
_LOG: Final[dict[str, Reader]] = {
    **dict.fromkeys(("file", "clock_source"), _text),
    **dict.fromkeys(("label", "first_unread", "first_unread_text", "stamps", "trouble"), _MAYBE_TEXT),
    **dict.fromkeys(("lines", "unread", "about_flows", "left_out", "matched_lines"), _integer),
    **dict.fromkeys(("clock_offset_ns", "clock_error_ns", "zone_ns"), _MAYBE_INTEGER),
    "formats": _list(_text),
    "start_ns": _maybe(_stamp),
}
