"""`--flow SELECTOR`: a row, an address, an endpoint, a pair of these, or a filter, and the flows that it means.

What is none of the first three is a filter, and its mistakes are told as a filter's are.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from pcapstall.core.counts import several
from pcapstall.core.digits import is_decimal
from pcapstall.core.endpoints import fold, format_endpoint, parse_port, split_endpoint
from pcapstall.core.errors import UsageError
from pcapstall.report.filter import compile_filter
from pcapstall.report.flow_model import FlowReport

_PLACE: Final = r"(?:[\[:0-9][\w.:/\[\]]*|[0-9A-Fa-f]+:[0-9A-Fa-f.:]*)"
"""An address or an endpoint, or what was meant to be one: no column begins with a digit or has a colon."""
_PAIR: Final = re.compile(rf"({_PLACE})(?:(?:\s*(?:<?->|-)\s*|\s+)({_PLACE}))?")
_NETWORK: Final = re.compile(r"[0-9A-Fa-f.:]+/\d+")
_COMPARISON: Final = re.compile(r"^$|[\s=<>~!()&|'\"]")
"""What is a filter, or was meant to be one: all but a single word."""
_WRITE: Final = "write 10.0.0.1, 10.0.0.1:443 or [2001:db8::1]:443, or a filter: server = 10.0.0.0/8"
_LISTED: Final = 5


class Ends(NamedTuple):
    """What all selectors but a filter ask of a flow: a row need not be made for it."""

    id: int
    client: str
    server: str


_Test = Callable[[Any], bool]


class _Near:
    """The flows of the addresses that an endpoint selector names, for when none has its ports: some, and how many."""

    def __init__(self, is_near: _Test) -> None:
        self._is_near = is_near
        self.count = 0
        self.some: list[FlowReport | Ends] = []

    def look_at(self, flow: FlowReport | Ends) -> None:
        if self._is_near(flow):
            self.count += 1
            if len(self.some) < _LISTED:
                self.some.append(flow)


class Selectors:
    """Some selectors, and which of them have meant a flow yet."""

    def __init__(self, texts: Iterable[str]) -> None:
        """UsageError when one of ``texts`` is no selector."""
        self._tests = {text: compile_selector(text) for text in texts}
        self._near = {text: _Near(near) for text in self._tests if (near := _without_ports(text)) is not None}
        self._idle = set(self._tests)
        self._count = self._last = 0

    def mean(self, flow: FlowReport | Ends) -> bool:
        """Whether one of them means ``flow``: a `FlowReport` where one of them `asks_for_verdicts`."""
        self._count += 1
        self._last = max(self._last, flow.id)
        meant = [text for text, means in self._tests.items() if means(flow)]
        if self._idle:
            self._idle.difference_update(meant)
            for text in self._idle.intersection(self._near):
                self._near[text].look_at(flow)
        return bool(meant)

    def check(self) -> None:
        """UsageError when one of them has meant none of the flows."""
        for text in self._tests:
            if text not in self._idle:
                continue
            if self._count == 0 or (is_decimal(text.strip()) and self._count == self._last):
                raise no_such_row("--flow", text, self._last)
            raise UsageError(f"--flow {text}: none of {several(self._count, 'flow')} is meant{self._instead(text)}")

    def _instead(self, text: str) -> str:
        """What there is that could have been meant."""
        near = self._near.get(text)
        if near is None:
            return ""
        if near.count == 0:
            return "; pcapstall report --all shows which addresses there are"
        lines = [f"  {flow.id}: {flow.client} -> {flow.server}" for flow in near.some]
        if near.count > len(lines):
            lines.append(f"  and {near.count - len(lines)} more")
        return f", but {several(near.count, 'flow')} with other ports:\n" + "\n".join(lines)


def compile_selector(text: str) -> _Test:
    """Whether a flow is meant: ``1``, ``10.0.0.1``, ``10.0.0.1:34506``, ``10.0.0.1:34506-10.0.0.2:443``, or a filter.

    An IPv4-mapped address is the IPv4 one too. UsageError when ``text`` is none of them.
    """
    text = text.strip()
    if is_decimal(text):
        number = text.lstrip("0")  # compared as text: int() refuses thousands of digits
        return lambda flow: str(flow.id) == number
    pair = _PAIR.fullmatch(text)
    if pair is not None:
        return _between(_ends_of(pair[1]), _ends_of(pair[2]) if pair[2] else ("",))
    try:
        return compile_filter(text)
    except UsageError:
        if _COMPARISON.search(text):
            raise
        raise UsageError(
            f"--flow {text}: neither a row, an address nor a filter; write 1, 10.0.0.1, 10.0.0.1:443 or"
            f" [2001:db8::1]:443, or a filter: \"sni ~ '{text}'\""
        ) from None


def _without_ports(text: str) -> _Test | None:
    """The same for the addresses of endpoints, whatever the ports; None where ``text`` names no port."""
    pair = _PAIR.fullmatch(text.strip())
    if is_decimal(text.strip()) or pair is None:
        return None
    first, second = (_ends_of(place, False) if place else ("",) for place in pair.groups())
    return _between(first, second)


def _between(first: tuple[str, ...], second: tuple[str, ...]) -> _Test:
    # An address is the beginning of its endpoints, as every endpoint is of itself and of none that is longer.
    return lambda flow: any(
        f"{one} ".startswith(first) and f"{other} ".startswith(second)
        for one, other in ((flow.client, flow.server), (flow.server, flow.client))
    )


def asks_for_verdicts(text: str) -> bool:
    """Whether the selector ``text`` is a filter, which may ask for anything that is known of a flow."""
    text = text.strip()
    return not is_decimal(text) and _PAIR.fullmatch(text) is None


def _ends_of(place: str, with_port: bool = True) -> tuple[str, ...]:
    """What the endpoints that ``place`` means begin with, a space behind each of them."""
    import ipaddress  # as in core.endpoints

    if _NETWORK.fullmatch(place):
        raise UsageError(f'--flow {place}: a network is asked for by a filter: "client = {place} or server = {place}"')
    try:
        host, port = split_endpoint(place)
        if port and not host:
            raise UsageError(f'--flow {place}: a port alone is asked for by a filter: "server = {place}"')
        number = parse_port(port) if port is not None else 0
        packed = ipaddress.ip_address(host).packed
    except ValueError as error:
        raise UsageError(f"--flow {place}: {error}; {_WRITE}") from None
    forms = dict.fromkeys((packed, fold(packed)))
    if port is not None and with_port:
        return tuple(f"{format_endpoint(form, number)} " for form in forms)
    return tuple(format_endpoint(form, 0)[:-1] for form in forms)


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
