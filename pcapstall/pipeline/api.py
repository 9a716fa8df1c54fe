"""`pcapstall.analyze`: the analysis as one typed call, with errors raised instead of collected.

The command line does not come here: it goes on where one of several files cannot be read, and shows how far it is.
"""

import os
from collections.abc import Callable, Iterable, Sequence

from pcapstall.core.errors import UsageError
from pcapstall.flows.kept import MAX_FLOWS
from pcapstall.pipeline.analysis import analyse
from pcapstall.pipeline.ends.given import parse_given
from pcapstall.pipeline.options import Options
from pcapstall.pipeline.select import select
from pcapstall.report.conditions import FailConditions
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.model import Report
from pcapstall.report.thresholds import parse_thresholds

Path = str | os.PathLike[str]


def analyze(
    captures: Path | Sequence[Path],
    *,
    straces: Iterable[Path] = (),
    logs: Iterable[Path] = (),
    slow: Iterable[str] = (),
    at: str = "",
    tls_ports: Iterable[int] = (),
    max_flows: int | None = None,
    filter_text: str | None = None,
) -> Report:
    """See `pcapstall.analyze`, which only passes its arguments on."""
    names = [captures] if isinstance(captures, (str, os.PathLike)) else captures
    if at not in ("", "client", "server"):
        raise UsageError(f"at={at!r}: a capture is taken at the client or at the server")
    keep = _filter_of(filter_text) if filter_text is not None else None
    options = Options(
        thresholds_ns=parse_thresholds(slow),
        at=at,
        tls_ports=frozenset(tls_ports),
        all_flows=True,
        straces=[parse_given(os.fspath(path)) for path in straces],
        logs=[parse_given(os.fspath(path)) for path in logs],
        max_flows=MAX_FLOWS if max_flows is None else max_flows,
    )
    analysis = analyse([os.fspath(name) for name in names], options)
    for error in analysis.unreadable:
        raise error
    chosen = select(analysis, keep, FailConditions(()), True, filter_text)
    return chosen.report._replace(flows=list(chosen.report.flows))


def _filter_of(text: str) -> Callable[[FlowReport], bool]:
    from pcapstall.report.filter import compile_filter  # not even its language is loaded without one

    return compile_filter(text)
