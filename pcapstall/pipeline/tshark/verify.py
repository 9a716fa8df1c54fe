"""One capture read twice, by pcapstall and by tshark, and the two readings put side by side.

Each file is a capture of its own here, also one of a ring: that is how tshark counts frames and streams. What cannot be
compared is said as an error; what only one of the two can read is shown all the same.
"""

from collections.abc import Iterable
from typing import Final

import pcapstall
from pcapstall.capture.interrupting import unless_stopped
from pcapstall.capture.source import Stop
from pcapstall.core.endpoints import parse_endpoint
from pcapstall.core.errors import InputError
from pcapstall.pipeline.analysis import Analysis, analyse
from pcapstall.pipeline.options import Options
from pcapstall.pipeline.trust.unread_linktypes import unread_linktypes
from pcapstall.pipeline.tshark.second_opinion import SecondOpinion
from pcapstall.report.comparison import compare
from pcapstall.report.comparison_model import Comparison, FileComparison, FlowComparison, SeenFlow
from pcapstall.report.known_differences import UNKNOWN_LINK_TYPE, UNREADABLE

_HELLOS: Final = ("client_hello_last", "server_hello_last")


def verify_file(path: str, opinion: SecondOpinion, stop: Stop) -> tuple[FileComparison, InputError | None]:
    """Both readings of ``path``, and why pcapstall has none, if so. TsharkError when tshark has none.

    KeyboardInterrupt when ``stop`` was thrown: half a reading is not compared.
    """
    analysis = analyse([path], Options(all_flows=True), stop=stop)
    unless_stopped(stop)
    error = next(iter(analysis.unreadable), None)
    theirs = opinion.flows(path)
    warnings = [f"tshark: {opinion.warning}"] if opinion.warning else []
    flows = compare(analysis.report.flows, theirs, _why_lonely(analysis, error))
    ports = _hidden_tls(flows)
    if ports:
        told = {flow.streams: flow._replace(told_tls=True) for flow in opinion.flows(path, ports)}
        hidden = {flow.theirs.streams for flow in flows if flow.theirs is not None and _hides_tls(flow)}
        theirs = [told.get(flow.streams, flow) if flow.streams in hidden else flow for flow in theirs]
        flows = compare(analysis.report.flows, theirs, _why_lonely(analysis, error))
        warnings.append(_told(theirs))
    warnings += [f"pcapstall does not read the link type {name}" for name in _unread(analysis)]
    if opinion.keylog is not None and not any(flow.decrypted for flow in theirs):
        warnings.append(f"the secrets in {opinion.keylog} are of none of these connections")
    return FileComparison(path, opinion.first_ns or 0, flows, warnings), error


def comparison(files: Iterable[FileComparison], opinion: SecondOpinion) -> Comparison:
    """All files together, asked for once, one after the other."""
    return Comparison(pcapstall.__version__, opinion.version, files)


def _why_lonely(analysis: Analysis, error: InputError | None) -> str | None:
    """Why tshark may have streams that pcapstall has not."""
    if error is not None:
        return UNREADABLE
    return UNKNOWN_LINK_TYPE if _unread(analysis) else None


def _unread(analysis: Analysis) -> list[str]:
    """The link types of the files that pcapstall passes over."""
    return unread_linktypes(name for capture in analysis.report.captures for name in capture.linktypes)


def _hides_tls(flow: FlowComparison) -> bool:
    """Whether pcapstall found hellos where tshark found none of them."""
    ours, theirs = flow.ours, flow.theirs
    if ours is None or theirs is None:
        return False
    return any(ours.events[name] is not None and theirs.events[name] is None for name in _HELLOS)


def _hidden_tls(flows: list[FlowComparison]) -> set[int]:
    return {parse_endpoint(flow.ours.server)[1] for flow in flows if flow.ours is not None and _hides_tls(flow)}


def _told(theirs: list[SeenFlow]) -> str:
    ports = sorted({parse_endpoint(flow.server)[1] for flow in theirs if flow.told_tls})
    listed = ", ".join(map(str, ports))
    return f"tshark takes TLS on port {listed} for another protocol; it was read again with " + " ".join(
        f"-d tcp.port=={port},tls" for port in ports
    )
