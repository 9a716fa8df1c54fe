"""The whole capture at a glance: each flow a mark at its start and at how long it took to the ClientHello.

A flow that stalled elsewhere is at the length of that interval. An open one points up; from each stall a line leads to
its end, so that what ended at one moment ends at one edge. Many flows are put into bins.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from pcapstall.core.counts import several
from pcapstall.core.times import format_span, format_time_of_day, format_utc
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.happening import stall_words
from pcapstall.report.pictures import svg
from pcapstall.report.pictures.log_scale import LogScale
from pcapstall.report.pictures.palette import KINDS, kind_of
from pcapstall.report.pictures.spread import Spread, start_of
from pcapstall.report.pictures.time_ticks import ticks

WIDTH: Final = 960.0
_LEFT: Final = 64.0
_RIGHT: Final = WIDTH - 16
_TOP: Final = 74.0
_BOTTOM: Final = 290.0
_NO_LENGTH: Final = _BOTTOM + 22
"""Where flows are that have neither: refused ones, for example."""
_ONE_BY_ONE: Final = 400
"""Stalled and failed flows that are drawn one by one, and so many fine ones; the others in bins."""
_FINE: Final = 1500
_BIN: Final = 8.0
_WHISKERS: Final = 200
_MEANING: Final = "each flow at its start (across) and its time from TCP handshake to ClientHello, or its stall (up)"


class _Dot:
    """A flow that is shown."""

    def __init__(self, start_ns: int, length_ns: int | None, kind: str, flow: FlowReport) -> None:
        self.start_ns = start_ns
        self.length_ns = length_ns
        self.kind = kind
        self.flow = flow


def draw(worst_first: Sequence[FlowReport], spread: Spread, linked: bool = False) -> svg.Picture | None:
    """The picture of the shown flows and the others; None when none has a time.

    With ``linked`` each mark of a stalled or failed flow leads to ``#flow-ID``.
    """
    dots = [_dot(flow) for flow in worst_first if any(flow.events.values())]
    fine = [dot for dot in dots if dot.kind == "fine"]
    told = [dot for dot in dots if dot.kind != "fine"]
    if not dots and not spread.starts_ns:
        return None
    return _Drawing(told, fine, spread, linked, len(worst_first) - len(dots) + spread.without_ack_ch).picture()


def _dot(flow: FlowReport) -> _Dot:
    kind = kind_of(flow.cause).name if flow.stalled else "failed" if flow.failed else "fine"
    length = flow.stalled_ns if flow.stalled else flow.intervals_ns.get("ack_ch")
    return _Dot(start_of(flow), length, kind, flow)


class _Drawing:
    def __init__(self, told: Sequence[_Dot], fine: Sequence[_Dot], spread: Spread, linked: bool, markless: int) -> None:
        self._told = told
        self._fine = fine
        self._spread = spread
        """As fine, and so many that none may become an object of its own."""
        self._linked = linked
        self._legend_end = 0.0
        """How far down the legend reaches, which is drawn first."""
        self._markless = markless
        """How many flows have no place."""
        shown = [*told, *fine]
        self._first_ns = min(chain((dot.start_ns for dot in shown), spread.starts_ns))
        ends = (start_ns + max(length_ns or 0, 0) for start_ns, length_ns in self._times(shown))
        self._span_ns = max(max(ends) - self._first_ns, 1)
        shortest = min((ns for _, ns in self._times(shown) if ns is not None and ns > 0), default=10**9)
        longest = max((ns for _, ns in self._times(shown) if ns is not None and ns > 0), default=10**9)
        self._y = LogScale(shortest, longest, _BOTTOM, _TOP)
        self._lacking = any(dot.length_ns is None for dot in shown)

    def _times(self, dots: Iterable[_Dot]) -> Iterator[tuple[int, int | None]]:
        """Start and length of ``dots`` and of all that are only counted."""
        return chain(
            ((dot.start_ns, dot.length_ns) for dot in dots),
            zip(self._spread.starts_ns, self._spread.ack_ch_ns, strict=True),
        )

    def _x(self, ns: int) -> float:
        return _LEFT + 6 + (ns - self._first_ns) / self._span_ns * (_RIGHT - _LEFT - 12)

    def _place(self, start_ns: int, length_ns: int | None) -> tuple[float, float]:
        y = _NO_LENGTH if length_ns is None else self._y.at(length_ns)
        return self._x(start_ns), y

    def picture(self) -> svg.Picture:
        counts = Counter(dot.kind for dot in [*self._told, *self._fine])
        counts["fine"] += len(self._spread.starts_ns)
        said = ", ".join(f"{KINDS[name].words}: {counts[name]}" for name in KINDS if counts[name])
        label = f"Every flow at its start and at its length, {format_span(self._span_ns)} in all. {said}."
        if self._markless:
            label += f" {self._without_marks(sum(counts.values()))}"
        parts = [
            svg.text(10, 20, "The whole capture", "title", _MEANING),
            *self._legend(counts),
            *self._frame(),
            *self._fine_marks(),
            *self._whiskers(),
            *self._told_marks(),
        ]
        if self._markless:
            bottom = self._bottom()
            parts.append(svg.text(10, bottom + 58, self._without_marks(sum(counts.values())), "dim"))
            return svg.Picture(WIDTH, bottom + 62, label, parts)
        return svg.Picture(WIDTH, self._bottom() + 44, label, parts)

    def _bottom(self) -> float:
        return _NO_LENGTH if self._lacking else _BOTTOM

    def _without_marks(self, marked: int) -> str:
        have = "has" if self._markless == 1 else "have"
        return (
            f"{self._markless} of {several(self._markless + marked, 'flow')} {have} no mark: "
            "no event of a handshake, or no time from TCP handshake to ClientHello, was seen."
        )

    def _legend(self, counts: Counter[str]) -> Iterator[str]:
        x, y = 16.0, 40.0
        for name, kind in KINDS.items():
            if counts[name]:
                words = f"{kind.words} ({counts[name]})"
                if x + 10 + svg.width_of(words) > WIDTH:
                    x, y = 16.0, y + 18
                yield svg.path(kind.shape, f"k-{name}", x, y)
                yield svg.text(x + 10, y + 4, words)
                x += 28 + svg.width_of(words)
        self._legend_end = y + 8

    def _frame(self) -> Iterator[str]:
        for y, words in self._y.ticks():
            yield svg.line(_LEFT, y, _RIGHT, y, "grid")
            yield svg.text(_LEFT - 6, y + 4, words, "dim end")
        bottom = self._bottom()
        if self._lacking:
            yield svg.line(_LEFT, _NO_LENGTH, _RIGHT, _NO_LENGTH, "gap")
            yield svg.text(_LEFT - 6, _NO_LENGTH + 4, "none", "dim end")
        for ns, words in ticks(self._first_ns, self._span_ns):
            x = self._x(ns)
            yield svg.line(x, bottom + 5, x, bottom + 11, "grid")
            yield svg.text(x, bottom + 24, words, f"dim {'end' if x > _RIGHT - 30 else 'mid'}")
        yield svg.text(_RIGHT, bottom + 40, f"from {format_utc(self._first_ns)} on", "dim end")

    def _fine_marks(self) -> Iterator[str]:
        shape = KINDS["fine"].shape
        if len(self._fine) + len(self._spread.starts_ns) <= _FINE:
            for times in self._times(self._fine):
                yield svg.path(shape, "k-fine", *self._place(*times))
            return
        yield from self._binned(("fine", *times) for times in self._times(self._fine))

    def _binned(self, flows: Iterable[tuple[str, int, int | None]]) -> Iterator[str]:
        """Squares whose area grows with the flows in them; of each flow its kind, start and length."""
        bins: Counter[tuple[str, int, int]] = Counter()
        for kind, start_ns, length_ns in flows:
            x, y = self._place(start_ns, length_ns)
            bins[kind, int(x / _BIN), int(y / _BIN)] += 1
        most = max(bins.values(), default=1)
        for (kind, across, up), count in sorted(bins.items()):
            side = max(_BIN * (count / most) ** 0.25, 1.5)
            x, y = (across + 0.5) * _BIN - side / 2, (up + 0.5) * _BIN - side / 2
            words = KINDS[kind].words
            yield svg.group([svg.rect(x, y, side, side, f"k-{kind}")], f"{several(count, 'flow')}, {words}")

    def _whiskers(self) -> Iterator[str]:
        """From each stall to its end."""
        for dot in self._told[:_WHISKERS]:
            if not dot.flow.stalled or not dot.length_ns:
                continue
            x, y = self._place(dot.start_ns, dot.length_ns)
            end = self._x(dot.start_ns + dot.length_ns)
            yield svg.path(f"M{svg.number(x)} {svg.number(y)}H{svg.number(end)}m0-3v6", f"whisker l-{dot.kind}")

    def _told_marks(self) -> Iterator[str]:
        yield from self._binned((dot.kind, dot.start_ns, dot.length_ns) for dot in self._told[_ONE_BY_ONE:])
        for dot in reversed(self._told[:_ONE_BY_ONE]):
            x, y = self._place(dot.start_ns, dot.length_ns)
            flow = dot.flow
            parts = [svg.path(KINDS[dot.kind].shape, f"k-{dot.kind} mark", x, y)]
            if flow.stall_is_open:
                parts.append(svg.path("M0-7V-15M-3-12L0-16L3-12", f"step l-{dot.kind}", x, y))
            link = f"#flow-{flow.id}" if self._linked else ""
            yield svg.group(parts, _title(flow, dot), "m", link)
        yield from self._worst()

    def _worst(self) -> Iterator[str]:
        """The name of the worst flow, at its mark."""
        if not self._told or not self._told[0].flow.stalled:
            return
        dot, flow = self._told[0], self._told[0].flow
        words = f"flow {flow.id}: {stall_words(flow, dot.length_ns or 0)}"
        x, y, is_left = self._free_place(dot, svg.width_of(words) * svg.BOLD / svg.CHARACTER)
        yield svg.text(x, y, words, f"strong halo {'' if is_left else 'end'}".strip())

    def _free_place(self, dot: _Dot, wide: float) -> tuple[float, float, bool]:
        """Where a text that is so ``wide`` covers the fewest marks beside that of ``dot``; whether it begins there."""
        at_x, at_y = self._place(dot.start_ns, dot.length_ns)
        is_left = at_x < (_LEFT + _RIGHT) / 2
        marks = [self._taken(other) for other in self._told[:_ONE_BY_ONE]]
        places = [
            (at_x + (11 if begins else -11), at_y + down, begins) for down in _DOWN for begins in (is_left, not is_left)
        ]

        def covered(place: tuple[float, float, bool]) -> int:
            x, y, begins = place
            left, right = (x, x + wide) if begins else (x - wide, x)
            if left < _LEFT or right > WIDTH or y - _TALL < self._legend_end:
                return len(marks) + 1
            return sum(
                left < mark_right and mark_left < right and y - _TALL < bottom and top < y + 3
                for mark_left, top, mark_right, bottom in marks
            )

        return min(places, key=covered)

    def _taken(self, dot: _Dot) -> tuple[float, float, float, float]:
        """What the mark of ``dot`` covers, with the arrow of a stall that has not ended."""
        x, y = self._place(dot.start_ns, dot.length_ns)
        return x - 6, y - (17 if dot.flow.stall_is_open else 6), x + 6, y + 6


_DOWN: Final = (-6, 16, -20, 30, -34, 44)
"""How far under a mark its name may stand, the best place first."""
_TALL: Final = 11
"""How far a text reaches up."""


def _title(flow: FlowReport, dot: _Dot) -> str:
    said = f"Flow {flow.id}, {flow.client} -> {flow.server}: "
    if flow.stalled and dot.length_ns is not None:
        said += f"{stall_words(flow, dot.length_ns)}, {KINDS[dot.kind].words}"
    else:
        said += flow.tls_outcome or flow.tcp_outcome
    return f"{said}, from frame {flow.first_frame} at {format_time_of_day(dot.start_ns)} UTC"
