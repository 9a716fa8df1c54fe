"""How long each step of the handshake took, by server: the share of flows that were done within a time.

A panel for each step, a line for each of the busiest servers; the time is on a logarithmic scale. A line ends as far
below 100% as there are flows in which the step began and was not seen to end.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from pcapstall.core.counts import several
from pcapstall.core.times import format_span
from pcapstall.report.flow_grid import LEGENDS
from pcapstall.report.pictures import svg
from pcapstall.report.pictures.log_scale import LogScale
from pcapstall.report.pictures.palette import SERIES
from pcapstall.report.pictures.spread import Spread, busiest, lengths_of, server_count, steps_of, unended_of

WIDTH: Final = 960.0
SERVERS: Final = len(SERIES)
FEWEST: Final = 3
"""Of fewer flows a server has no line: two steps are no distribution."""
_MEANING: Final = "the share of the flows that began it (up) that were done within a time (across)"
_POINTS: Final = 200
"""Corners of one line."""
_HIGH: Final = 170.0
_WIDE: Final = WIDTH / 2
_LEFT: Final = 54.0
_RIGHT: Final = _WIDE - 28
_PANEL_TOP: Final = 34.0
_PANEL_BOTTOM: Final = 138.0


class _Line(NamedTuple):
    """One server in one panel."""

    lengths: "array[int]"
    """Those that ended, the shortest first."""
    unended: int
    longest_ns: int
    """Of both."""

    @property
    def begun(self) -> int:
        return len(self.lengths) + self.unended


def draw(spreads: Sequence[Spread]) -> svg.Picture | None:
    """The picture of all of them together; None when no server has enough flows."""
    flows = {server: count for server, count in busiest(spreads, SERVERS).items() if count >= FEWEST}
    servers = list(flows)
    panels: list[tuple[str, dict[str, _Line]]] = []
    for step in steps_of(spreads):
        lines = {server: _line(spreads, server, step) for server in servers}
        enough = {server: line for server, line in lines.items() if line.begun >= FEWEST and line.longest_ns > 0}
        if enough:
            panels.append((step, enough))
    if not panels:
        return None
    rows = (len(servers) + 1) // 2
    top = 34.0 + 18 * rows
    known, is_all = server_count(spreads)
    meaning = _MEANING if len(servers) == known else f"{_which(len(servers), known, is_all)}: {_MEANING}"
    parts = [svg.text(10, 20, "Each step by server", "title", meaning)]
    for at, server in enumerate(servers):
        x, y = 16 + _WIDE * (at % 2), 38.0 + 18 * (at // 2)
        parts.append(svg.path(f"M{svg.number(x)} {svg.number(y)}h34", f"step s{at}"))
        told = f", {several(flows[server], 'flow')}{_unended(server, panels)}"
        room = (_WIDE if len(servers) > 1 else WIDTH) - 60 - svg.width_of(told)
        parts.append(svg.text(x + 42, y + 4, svg.fitted(server, room) + told))
    for at, (step, lines) in enumerate(panels):
        x, y = _WIDE * (at % 2), top + _HIGH * (at // 2)
        body = "".join(_panel(step, lines, servers))
        parts.append(f'<g transform="translate({svg.number(x)} {svg.number(y)})">{body}</g>')
    by = "server" if len(servers) == known else f"server, {_which(len(servers), known, is_all)}"
    label = f"Distributions of {', '.join(step for step, _ in panels)} by {by}. " + _medians(panels)
    return svg.Picture(WIDTH, top + _HIGH * ((len(panels) + 1) // 2), label, parts)


def _which(shown: int, known: int, is_all: bool) -> str:
    """Which servers are shown, where there are more: the busiest, none with fewer than `FEWEST` flows."""
    of = f"{known} servers" if is_all else f"more than {known} servers"
    return f"the busiest of {of}" if shown == 1 else f"the {shown} busiest of {of}"


def _line(spreads: Sequence[Spread], server: str, step: str) -> _Line:
    # Of very many flows a list of numbers is five times as large.
    lengths = array("q", sorted(lengths_of(spreads, server, step)))
    unended = unended_of(spreads, server, step)
    return _Line(lengths, len(unended), max([*lengths[-1:], max(unended, default=0)]))


def _unended(server: str, panels: Sequence[tuple[str, Mapping[str, _Line]]]) -> str:
    found = [f"{lines[server].unended} {step}" for step, lines in panels if server in lines and lines[server].unended]
    return f"; not ended: {', '.join(found)}" if found else ""


def _half(line: _Line) -> str:
    """Within what half of all were done that began."""
    if 2 * len(line.lengths) < line.begun:
        return "fewer than half ended"
    # Those that had not ended are longer than all that had: the rank among all is the rank among the ended ones.
    return f"half within {format_span(line.lengths[(line.begun + 1) // 2 - 1])}"


def _medians(panels: Sequence[tuple[str, Mapping[str, _Line]]]) -> str:
    said = [f"{step} of {server}: {_half(line)}" for step, lines in panels for server, line in lines.items()]
    return "; ".join(said) + "."


def _panel(step: str, lines: Mapping[str, _Line], servers: Sequence[str]) -> Iterator[str]:
    shortest = min(max(line.lengths[0] if line.lengths else line.longest_ns, 1) for line in lines.values())
    scale = LogScale(shortest, max(line.longest_ns for line in lines.values()), _LEFT, _RIGHT)
    yield svg.text(_LEFT, 24, step, "strong", LEGENDS[step])
    for share in (0, 50, 90, 100):
        y = _y(share / 100)
        yield svg.line(_LEFT, y, _RIGHT, y, "grid")
        yield svg.text(_LEFT - 6, y + 4, f"{share}%", "dim end")
    for x, words in scale.ticks():
        yield svg.line(x, _PANEL_BOTTOM, x, _PANEL_BOTTOM + 5, "grid")
        yield svg.text(x, _PANEL_BOTTOM + 18, words, "dim mid")
    for server, line in lines.items():
        unended = f"{line.unended} had not ended, " if line.unended else ""
        more = "more than " if line.unended and line.lengths[-1:] != array("q", [line.longest_ns]) else ""
        yield svg.group(
            [svg.path(_steps(line, scale), f"step s{servers.index(server)}")],
            f"{server}: {several(line.begun, 'flow')}, {unended}{_half(line)},"
            f" the longest {more}{format_span(line.longest_ns)}",
            "m",
        )


def _y(share: float) -> float:
    return _PANEL_BOTTOM - share * (_PANEL_BOTTOM - _PANEL_TOP)


def _steps(line: _Line, scale: LogScale) -> str:
    """A stair: up at each length, or at each of `_POINTS` of them; flat where none ended."""
    values = line.lengths
    count = len(values)
    every = max(count // _POINTS, 1)
    stairs = (
        f"H{svg.number(scale.at(values[at]))}V{svg.number(_y((at + 1) / line.begun))}"
        for at in [*range(every - 1, count - 1, every), *range(max(count - 1, 0), count)]
    )
    return f"M{svg.number(_LEFT)} {svg.number(_y(0))}{''.join(stairs)}H{svg.number(_RIGHT)}"
