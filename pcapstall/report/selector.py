"""`--flow SELECTOR`: a row, an address, an endpoint, a pair of these, or a filter, and the flows that it means.

What is none of the first three is a filter, and its mistakes are told as a filter's are.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from pcapstall.core.counts import several
from pcapstall.core.digits import is_decimal
from pcapstall.core.endpoints import format_endpoint, parse_endpoint
from pcapstall.core.errors import UsageError
from pcapstall.report.filter import compile_filter
from pcapstall.report.flow_model import FlowReport

_PLACE: Final = r"(?:[\[:0-9][\w.:/\[\]]*|[0-9A-Fa-f]+:[0-9A-Fa-f.:]*)"
"""An address or an endpoint, or what was meant to be one: no column begins with a digit or has a colon."""
_PAIR: Final = re.compile(rf"({_PLACE})(?:\s*(?:->|-)\s*({_PLACE}))?")
_WRITE: Final = "write 10.0.0.1, 10.0.0.1:443 or [2001:db8::1]:443, or a filter: server = 10.0.0.0/8"
_LISTED: Final = 5


class Ends(NamedTuple):
    """What all selectors but a filter ask of a flow: a row need not be made for it."""

    id: int
    client: str
    server: str


class Selectors:
    """Some selectors, and which of them have meant a flow yet."""

    def __init__(self, texts: Iterable[str]) -> None:
        """UsageError when one of ``texts`` is no selector."""
        self._tests = {text: compile_selector(text) for text in texts}
        self._idle = set(self._tests)
        self._count = self._last = 0

    def mean(self, flow: FlowReport | Ends) -> bool:
        """Whether one of them means ``flow``: a `FlowReport` where one of them `asks_for_verdicts`."""
        self._count += 1
        self._last = max(self._last, flow.id)
        meant = [text for text, means in self._tests.items() if means(flow)]
        self._idle.difference_update(meant)
        return bool(meant)

    def check(self) -> None:
        """UsageError when one of them has meant none of the flows."""
        for text in self._tests:
            if text not in self._idle:
                continue
            if is_decimal(text.strip()) and self._count == self._last:
                raise no_such_row("--flow", text, self._last)
            raise UsageError(f"--flow {text}: none of {several(self._count, 'flow')} is meant")


def compile_selector(text: str) -> Callable[[Any], bool]:
    """Whether a flow is meant: ``1``, ``10.0.0.1``, ``10.0.0.1:34506``, ``10.0.0.1:34506-10.0.0.2:443``, or a filter.

    UsageError when ``text`` is none of them.
    """
    text = text.strip()
    if is_decimal(text):
        number = text.lstrip("0")  # compared as text: int() refuses thousands of digits
        return lambda flow: str(flow.id) == number
    pair = _PAIR.fullmatch(text)
    if pair is None:
        return compile_filter(text)
    first, second = _end_of(pair[1]), _end_of(pair[2]) if pair[2] else ""
    # An address is the beginning of its endpoints, as every endpoint is of itself and of none that is longer.
    return lambda flow: any(
        f"{one} ".startswith(first) and f"{other} ".startswith(second)
        for one, other in ((flow.client, flow.server), (flow.server, flow.client))
    )


def asks_for_verdicts(text: str) -> bool:
    """Whether the selector ``text`` is a filter, which may ask for anything that is known of a flow."""
    text = text.strip()
    return not is_decimal(text) and _PAIR.fullmatch(text) is None


def _end_of(place: str) -> str:
    """What the endpoints that ``place`` means begin with, a space behind each of them."""
    import ipaddress  # as in core.endpoints

    try:
        if place.count(":") == 1 or "]:" in place:
            return f"{format_endpoint(*parse_endpoint(place))} "
        host = place[1:-1] if place.startswith("[") and place.endswith("]") else place
        return format_endpoint(ipaddress.ip_address(host).packed, 0)[:-1]
    except ValueError as error:
        raise UsageError(f"--flow {place}: {error}; {_WRITE}") from None


def no_such_row(option: str, text: str, last: int) -> UsageError:
    """That ``option`` asks for a row which is not there, of rows up to ``last``."""
    there_are = f"rows go from 1 to {last}" if last > 1 else "the only row is 1" if last else "no connection was read"
    return UsageError(f"{option} {text}: there is no such row; {there_are}")


def the_only_one(flows: Iterable[FlowReport], text: str) -> FlowReport:
    """The flow that the selector ``text`` means; UsageError when there is none, or more than one."""
    selectors = Selectors([text])
    found = [flow for flow in flows if selectors.mean(flow)]
    selectors.check()
    if len(found) > 1:
        by = "row" if asks_for_verdicts(text) else "row or its ports"
        raise UsageError(f"--flow {text}: {len(found)} flows are meant, name one by its {by}:\n{_listed(found)}")
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
