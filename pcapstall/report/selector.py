"""`--flow SELECTOR`: a row, an endpoint, a pair of endpoints, or a filter, and the flows that it means.

What is neither a row nor an endpoint is a filter, and its mistakes are told as a filter's are.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pcapstall.core.counts import several
from pcapstall.core.endpoints import format_endpoint, parse_endpoint
from pcapstall.core.errors import UsageError
from pcapstall.report.filter import compile_filter
from pcapstall.report.model import FlowReport

_ENDPOINT: Final = r"(?:\[[0-9A-Fa-f:.]+\]|[0-9.]+):\d{1,5}"
_PAIR: Final = re.compile(rf"({_ENDPOINT})(?:\s*(?:->|-)\s*({_ENDPOINT}))?")
_LISTED: Final = 5


def compile_selector(text: str) -> Callable[[FlowReport], bool]:
    """Whether a flow is meant: ``1``, ``10.0.0.1:34506``, ``10.0.0.1:34506-10.0.0.2:443``, or a filter.

    UsageError when ``text`` is none of them.
    """
    means = compile_place(text)
    if means is None:
        return compile_filter(text.strip())
    return lambda flow: means(flow.id, flow.client, flow.server)


def compile_place(text: str) -> Callable[[int, str, str], bool] | None:
    """The same for a flow's row and its two endpoints; None for a filter, which may ask for anything that is known."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        number = text.lstrip("0")  # compared as text: int() refuses thousands of digits
        return lambda row, _client, _server: str(row) == number
    pair = _PAIR.fullmatch(text)
    if pair is None:
        return None
    first, second = _normal(pair[1]), _normal(pair[2]) if pair[2] else None
    if second is None:
        return lambda _row, client, server: first in (client, server)
    return lambda _row, client, server: {client, server} == {first, second}


def asks_for_verdicts(text: str) -> bool:
    """Whether the selector ``text`` is a filter, which may ask for anything that is known of a flow."""
    return compile_place(text) is None


def _normal(endpoint: str) -> str:
    try:
        return format_endpoint(*parse_endpoint(endpoint))
    except ValueError as error:
        raise UsageError(f"--flow {endpoint}: {error}") from error


def the_only_one(flows: Iterable[FlowReport], text: str) -> FlowReport:
    """The flow that the selector ``text`` means; UsageError when there is none, or more than one."""
    means = compile_selector(text)
    found: list[FlowReport] = []
    count = 0
    for flow in flows:
        count += 1
        if means(flow):
            found.append(flow)
    if not found:
        raise UsageError(f"--flow {text}: none of {several(count, 'flow')} is meant")
    if len(found) > 1:
        raise UsageError(f"--flow {text}: {len(found)} flows are meant, name one by its row:\n{_listed(found)}")
    return found[0]


def _listed(flows: Sequence[FlowReport]) -> str:
    lines = [
        f"  {flow.id}: {flow.client} -> {flow.server}, {flow.tls_outcome or flow.tcp_outcome}"
        + (f", stalled in {flow.stalled}" if flow.stalled else "")
        for flow in sorted(flows, key=lambda flow: (flow.stalled is None, not flow.failed, flow.id))[:_LISTED]
    ]
    if len(flows) > _LISTED:
        lines.append(f"  and {len(flows) - _LISTED} more")
    return "\n".join(lines)
