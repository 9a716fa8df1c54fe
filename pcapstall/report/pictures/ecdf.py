"""How long each step of the handshake took, by server: the share of flows that were done within a time.

A panel for each step, a line for each of the busiest servers; the time is on a logarithmic scale.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pcapstall.core.counts import several
from pcapstall.core.lengths import Lengths
from pcapstall.core.times import format_span
from pcapstall.report.flow_grid import LEGENDS
from pcapstall.report.percentiles import percentile
from pcapstall.report.pictures import svg
from pcapstall.report.pictures.log_scale import LogScale
from pcapstall.report.pictures.palette import SERIES
from pcapstall.report.pictures.spread import STEPS, Spread, busiest, lengths_of

WIDTH: Final = 960.0
SERVERS: Final = len(SERIES)
FEWEST: Final = 3
"""Of fewer flows a server has no line: two steps are no distribution."""
_MEANING: Final = "the share of flows (up) that were done within a time (across)"
_POINTS: Final = 200
"""Corners of one line."""
_HIGH: Final = 170.0
_WIDE: Final = WIDTH / 2
_LEFT: Final = 54.0
_RIGHT: Final = _WIDE - 28
_PANEL_TOP: Final = 34.0
_PANEL_BOTTOM: Final = 138.0


def draw(spreads: Sequence[Spread]) -> svg.Picture | None:
    """The picture of all of them together; None when no server has enough flows."""
    flows = {server: count for server, count in busiest(spreads, SERVERS).items() if count >= FEWEST}
    servers = list(flows)
    panels: list[tuple[str, dict[str, array[int]]]] = []
    for step in STEPS:
        # Of very many flows a list of numbers is five times as large.
        lengths = {server: array("q", sorted(lengths_of(spreads, server, step))) for server in servers}
        enough = {server: values for server, values in lengths.items() if len(values) >= FEWEST and values[-1] > 0}
        if enough:
            panels.append((step, enough))
    if not panels:
        return None
    rows = (len(servers) + 1) // 2
    top = 34.0 + 18 * rows
    parts = [
        svg.text(10, 20, "Each step by server", "title", _MEANING),
    ]
    for at, server in enumerate(servers):
        x, y = 16 + _WIDE * (at % 2), 38.0 + 18 * (at // 2)
        parts.append(svg.path(f"M{svg.number(x)} {svg.number(y)}h34", f"step s{at}"))
        parts.append(svg.text(x + 42, y + 4, svg.fitted(f"{server}, {several(flows[server], 'flow')}", _WIDE - 70)))
    for at, (step, lengths) in enumerate(panels):
        x, y = _WIDE * (at % 2), top + _HIGH * (at // 2)
        body = "".join(_panel(step, lengths, servers))
        parts.append(f'<g transform="translate({svg.number(x)} {svg.number(y)})">{body}</g>')
    label = f"Distributions of {', '.join(step for step, _ in panels)} by server. " + _medians(panels)
    return svg.Picture(WIDTH, top + _HIGH * ((len(panels) + 1) // 2), label, parts)


def _medians(panels: Sequence[tuple[str, Mapping[str, Sequence[int]]]]) -> str:
    said = [
        f"{step} of {server}: half within {format_span(percentile(Lengths(values), 50))}"
        for step, lengths in panels
        for server, values in lengths.items()
    ]
    return "; ".join(said) + "."


def _panel(step: str, lengths: Mapping[str, Sequence[int]], servers: Sequence[str]) -> Iterator[str]:
    positive = [values[-1] for values in lengths.values()]
    shortest = min(max(values[0], 1) for values in lengths.values())
    scale = LogScale(shortest, max(positive), _LEFT, _RIGHT)
    yield svg.text(_LEFT, 24, step, "strong", LEGENDS[step])
    for share in (0, 50, 90, 100):
        y = _y(share / 100)
        yield svg.line(_LEFT, y, _RIGHT, y, "grid")
        yield svg.text(_LEFT - 6, y + 4, f"{share}%", "dim end")
    for x, words in scale.ticks():
        yield svg.line(x, _PANEL_BOTTOM, x, _PANEL_BOTTOM + 5, "grid")
        yield svg.text(x, _PANEL_BOTTOM + 18, words, "dim mid")
    for server, values in lengths.items():
        yield svg.group(
            [svg.path(_steps(values, scale), f"step s{servers.index(server)}")],
            f"{server}: {several(len(values), 'flow')}, half within {format_span(percentile(Lengths(values), 50))},"
            f" the longest {format_span(values[-1])}",
            "m",
        )


def _y(share: float) -> float:
    return _PANEL_BOTTOM - share * (_PANEL_BOTTOM - _PANEL_TOP)


def _steps(values: Sequence[int], scale: LogScale) -> str:
    """A stair: up at each length, or at each of `_POINTS` of them."""
    count = len(values)
    every = max(count // _POINTS, 1)
    stairs = (
        f"H{svg.number(scale.at(values[at]))}V{svg.number(_y((at + 1) / count))}"
        for at in [*range(every - 1, count - 1, every), count - 1]
    )
    return f"M{svg.number(_LEFT)} {svg.number(_y(0))}{''.join(stairs)}H{svg.number(_RIGHT)}"
