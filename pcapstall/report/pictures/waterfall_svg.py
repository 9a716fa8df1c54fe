"""A waterfall as SVG: three lanes side by side, time from top to bottom, each mark with its text beside its lane.

Arrows are level: when a packet was at the other end is not known from one capture. Long silences are drawn short.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from pcapstall.core.times import format_span
from pcapstall.report.folding import evenly_folded
from pcapstall.report.pictures import svg
from pcapstall.report.pictures.palette import kind_of
from pcapstall.report.pictures.time_axis import make_axis
from pcapstall.report.pictures.waterfall import ASIDE, BETWEEN, CLIENT, SERVER, Mark, Stall, Waterfall, notes_of
from pcapstall.report.untrusted import printable

_TIMES: Final = 84.0
"""Where the column of times ends, on the left."""
_BESIDE: Final = 310.0
"""How wide the texts beside a lane are, where it has any."""
_BARE: Final = 76.0
_APART: Final = 350.0
"""Between the lanes."""
_ASIDE: Final = 22.0
"""How far from the server's lane the bar of the network is: between the lanes are the packets' names."""
_ROW: Final = 17.0
_TOP: Final = 118.0
_TRACK: Final = 5.0
"""How far the bars of long calls are from each other."""
_TRACKS: Final = 5
_LINE: Final = 14.0
"""Between the lines of a text."""
_LINES: Final = 3
_CLEAR: Final = 10.0
"""What a text across the lanes keeps from the arrows' names."""
_ABOVE: Final = 6.0
"""How far above its arrow a packet's name is: no letter reaches down to it."""
_WORDS: Final = 34.0
"""How much room the words of the stall need."""
_LANES: Final = (CLIENT, BETWEEN, SERVER)
_WAY: Final = 0.8
"""How far between the lanes the arrow of a lost packet goes: beyond most of its text."""
_CROSS: Final = "M-5-5L5 5M-5 5L5-5"
_ENVELOPE: Final = "M-5-4H5V4H-5zM-5-4L0 1L5-4"
_DOT: Final = "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z"


class _Layout:
    """Where everything is."""

    def __init__(self, fall: Waterfall) -> None:
        self.beside = {
            lane: _BESIDE if any(mark.lane == lane and not mark.is_packet for mark in fall.marks) else _BARE
            for lane in (CLIENT, SERVER)
        }
        client = _TIMES + 8 + self.beside[CLIENT] + _tracks_room(fall, CLIENT)
        self.x = {CLIENT: client, BETWEEN: client + _APART / 2, SERVER: client + _APART}
        self.width = self.x[SERVER] + self.beside[SERVER] + _tracks_room(fall, SERVER) + 8
        self.marks = sorted(fall.marks, key=lambda mark: mark.at_ns)
        rooms = _rooms(self.marks, fall.stall, self.width)
        self.axis = make_axis([(ns, columns) for ns, _, columns in rooms], _TOP)
        self.spots = {at: spot for (_, at, _), spot in zip(rooms, self.axis.spots, strict=True) if at is not None}
        """Where each of the marks is."""
        self.bottom = max(self.axis.spots, default=_TOP) + 18
        if fall.stall is not None:
            self.bottom = max(self.bottom, self.axis.at(fall.stall.end_ns) + (30 if fall.stall.is_open else 18))


def draw(fall: Waterfall) -> svg.Picture:
    """The picture."""
    layout = _Layout(fall)
    parts = [
        *_head(fall, layout),
        *_lanes(layout),
        *_stall(fall.stall, layout),
        *_spans(layout),
    ]
    for at, mark in enumerate(layout.marks):
        parts.append(_mark(mark, layout.spots[at], layout))
    notes = notes_of(fall)
    for at, note in enumerate(notes):
        parts.append(svg.text(10, layout.bottom + 20 + 15 * at, svg.fitted(note, layout.width - 16), "dim"))
    return svg.Picture(layout.width, layout.bottom + 24 + 15 * len(notes), fall.label, parts)


def _rooms(
    marks: Sequence[Mark], stall: Stall | None, width: float
) -> list[tuple[int, int | None, Sequence[tuple[str, float]]]]:
    """Times in order, each with the number of the mark there, if there is one, and the columns that it needs room in.

    Marks need it in the column of their text, the stall's ends only a place; a long call may end within a silence.
    """
    rooms: list[tuple[int, int | None, Sequence[tuple[str, float]]]] = []
    for at, mark in enumerate(marks):
        columns = _LANES if mark.lane == ASIDE else (BETWEEN,) if mark.is_packet else (mark.lane,)
        tall = _ROW + (5 if mark.is_packet else _LINE * (len(_told(mark, width)) - 1))
        if mark.lane == ASIDE:
            tall += _CLEAR
        rooms.append((mark.at_ns, at, [*((column, tall) for column in columns), ("time", 12.0)]))
        if mark.is_packet and mark.until_ns is not None:
            rooms.append((mark.until_ns, None, [(BETWEEN, 14.0)]))
    if stall is not None:
        rooms += [(stall.start_ns, None, []), (stall.end_ns, None, [])]
    return sorted(rooms, key=lambda room: room[0])


def _tracks_room(fall: Waterfall, lane: str) -> float:
    long = sum(mark.lane == lane and mark.until_ns is not None and not mark.is_packet for mark in fall.marks)
    return 16 + _TRACK * min(long, _TRACKS)


def _head(fall: Waterfall, layout: _Layout) -> Iterator[str]:
    yield svg.text(10, 20, svg.fitted(fall.title, layout.width - 16, svg.TITLE), "title")
    if fall.stall is not None:
        yield from _parts(fall.stall, layout)
    for lane in (CLIENT, SERVER):
        x = layout.x[lane]
        yield svg.text(x, 82, svg.fitted(fall.said(lane), 170, svg.BOLD), "strong mid")
        yield svg.text(x, 97, svg.fitted(fall.endpoints[lane], 190), "dim mid")
    yield svg.text(layout.x[BETWEEN], 82, "network", "dim mid")
    if fall.seen_at:
        yield svg.text(layout.x[BETWEEN], 97, f"captured at the {fall.seen_at}", "dim mid")


def _parts(stall: Stall, layout: _Layout) -> Iterator[str]:
    """A bar of what the interval is made of, in words too."""
    parts = stall.parts or [(stall.cause, max(stall.end_ns - stall.start_ns, 1))]
    whole = sum(ns for _, ns in parts)
    x, width = 10.0, layout.width - 20
    said = f"{stall.words} = "
    said += " + ".join(f"{kind_of(name).words} {format_span(ns)}" for name, ns in parts)
    yield svg.text(x, 41, svg.fitted(said, width, svg.BOLD), "strong")
    for name, ns in parts:
        wide = width * ns / whole
        kind = kind_of(name)
        yield svg.group(
            [svg.rect(x, 48, max(wide - 1, 1), 10, f"k-{kind.name}", 2)], f"{kind.words}: {format_span(ns)}"
        )
        x += wide


def _lanes(layout: _Layout) -> Iterator[str]:
    top, bottom = _TOP - 12, layout.bottom
    for silence in layout.axis.silences:
        yield svg.rect(0, silence.start + 9, layout.width, silence.end - silence.start - 18, "band")
    for lane in (CLIENT, SERVER):
        x = layout.x[lane]
        y = top
        for silence in layout.axis.silences:
            yield svg.line(x, y, x, silence.start + 9, "lane")
            yield svg.line(x, silence.start + 9, x, silence.end - 9, "gap")
            y = silence.end - 9
        yield svg.line(x, y, x, bottom, "lane")
    for silence in layout.axis.silences:
        middle = (silence.start + silence.end) / 2
        yield svg.text(_TIMES - 12, middle + 4, format_span(silence.length_ns), "strong end")
        yield svg.path("M-4-9L4-5L-4-1L4 3L-4 7", "zigzag", _TIMES, middle + 1)


def _stall(stall: Stall | None, layout: _Layout) -> Iterator[str]:
    """The bar on the lane of whose time it was, and its words where there is most room."""
    if stall is None:
        return
    kind = kind_of(stall.cause)
    x = layout.x[SERVER] - _ASIDE if stall.lane == BETWEEN else layout.x[stall.lane]
    top, bottom = layout.axis.at(stall.start_ns), layout.axis.at(stall.end_ns)
    said = f"{stall.words}: {kind.words}"
    bar = [svg.rect(x - 6, top, 12, max(bottom - top, 4), f"k-{kind.name}", 3)]
    if stall.is_open:
        bar.append(svg.path("M-9 0H9L0 10z", f"k-{kind.name}", x, bottom))
    yield svg.group(bar, said)
    inside = [gap for gap in layout.axis.silences if gap.start >= top - 1 and gap.end <= bottom + 1]
    widest = max(inside, key=lambda gap: gap.end - gap.start, default=None)
    above, below = (widest.start, widest.end) if widest is not None else _widest_gap(top, bottom, layout)
    middle = (above + below) / 2
    yield svg.path(kind.shape, f"k-{kind.name} mark", x, middle)
    if below - above < _WORDS:
        return  # they would lie over arrows, and are above the lanes, too
    words_x, classes = (x + 14, "") if stall.lane == CLIENT else (x - 14, "end")
    yield svg.text(words_x, middle - 3, stall.words, f"strong halo {classes}".strip())
    yield svg.text(words_x, middle + 13, kind.words, f"halo {classes}".strip())


def _widest_gap(top: float, bottom: float, layout: _Layout) -> tuple[float, float]:
    """Where between two heights there is most room without an arrow or its name."""
    heights = sorted(layout.spots[at] for at, mark in enumerate(layout.marks) if mark.is_packet)
    inside = [top, *(height for height in heights if top < height < bottom), bottom]
    above, below = max(pairwise(inside), key=lambda gap: gap[1] - gap[0])
    return above, below - (_ROW if below in heights else 0)


def _spans(layout: _Layout) -> Iterator[str]:
    """Long calls, each a bar beside its lane; of too many the outer ones lie over each other."""
    used = {CLIENT: 0, SERVER: 0, BETWEEN: 0}
    for at, mark in enumerate(layout.marks):
        if mark.until_ns is None or mark.is_packet or mark.lane == BETWEEN:
            continue
        track = min(used[mark.lane], _TRACKS - 1)
        used[mark.lane] += 1
        away = 12 + _TRACK * track
        x = layout.x[mark.lane] + (-away - 3 if mark.lane == CLIENT else away)
        end = layout.axis.at(mark.until_ns)
        start = layout.spots[at]
        yield svg.group([svg.rect(x, start, 3, max(end - start, 2), "span", 1)], mark.title)


def _mark(mark: Mark, y: float, layout: _Layout) -> str:
    parts = [svg.text(_TIMES, y + 4, mark.time, "dim end")]
    weight = "strong" if mark.evidence else ""
    if mark.is_packet and (mark.lane != BETWEEN or mark.toward):
        parts += _arrow(mark, y, layout, weight)
    elif mark.lane == ASIDE:
        parts.append(_sign(mark, _TIMES + 14, y))
        parts += _text(_told(mark, layout.width), _TIMES + 26, y, "halo")
    elif mark.lane == BETWEEN:
        parts.append(_sign(mark, layout.x[BETWEEN], y))
        parts.append(svg.text(layout.x[BETWEEN] + 10, y + 4, svg.fitted(mark.label, _APART / 2 - 16), "halo"))
    else:
        x = layout.x[mark.lane]
        away = _tracks_away(mark.lane, layout)
        parts.append(_sign(mark, x, y))
        beside, side = (x - away, "end") if mark.lane == CLIENT else (x + away, "")
        parts += _text(_told(mark, layout.width), beside, y, " ".join(filter(None, (weight, "halo", side))))
    return svg.group(parts, mark.title, "m")


def _told(mark: Mark, width: float) -> list[str]:
    """What stands beside a lane or, of a picture of ``width``, across the lanes, in lines."""
    if mark.is_packet or mark.lane == BETWEEN:
        return [mark.label]
    room = width - _TIMES - 34 if mark.lane == ASIDE else _BESIDE
    wide = int(room / (svg.BOLD if mark.evidence else svg.CHARACTER))
    return evenly_folded(printable(mark.label), wide, _LINES)


def _text(told: Sequence[str], x: float, y: float, classes: str) -> Iterator[str]:
    """Lines of text, their middle at ``y``."""
    for at, said in enumerate(told, 1):
        yield svg.text(x, y + 4 + _LINE * (at - (len(told) + 1) / 2), said, classes)


def _sign(mark: Mark, x: float, y: float) -> str:
    """A letter for a line of a log, a dot for a call."""
    return svg.path(_ENVELOPE, "log", x, y) if mark.is_log else svg.path(_DOT, "dot", x, y)


def _tracks_away(lane: str, layout: _Layout) -> float:
    if lane == CLIENT:
        return layout.x[CLIENT] - _TIMES - 8 - layout.beside[CLIENT]
    return layout.width - 8 - layout.beside[SERVER] - layout.x[SERVER]


def _arrow(mark: Mark, y: float, layout: _Layout, weight: str) -> list[str]:
    where = svg.fitted(mark.place, _APART / 2)
    start, end = _reach(mark, layout, mark.lost)
    # Above the shaft: clear of it, of the cross of a lost packet, and of the network's bar beside the server's lane.
    left, right = min(start, end), min(max(start, end), layout.x[SERVER] - _ASIDE - 8)
    room = right - left - 2 * _CLEAR - svg.width_of(where)
    said = svg.fitted(mark.label, room, svg.BOLD if mark.evidence else svg.CHARACTER)
    middle = (left + right) / 2
    parts = _level(mark, y, layout, "arrow", mark.lost)
    parts.append(svg.text(middle, y - _ABOVE, said, f"{weight} halo mid".strip(), where))
    if mark.until_ns is not None:
        parts += _level(mark, layout.axis.at(mark.until_ns), layout, "arrow again", mark.last_lost)
    return parts


def _reach(mark: Mark, layout: _Layout, lost: bool) -> tuple[float, float]:
    """Where an arrow begins and ends; what the network sent begins between the lanes, what was lost ends there."""
    to_server = mark.toward == SERVER if mark.toward else mark.lane == CLIENT
    start, end = (layout.x[CLIENT], layout.x[SERVER]) if to_server else (layout.x[SERVER], layout.x[CLIENT])
    if mark.toward:
        start = end + (start - end) * _WAY
    if lost:
        end = start + (end - start) * _WAY
    return start, end


def _level(mark: Mark, y: float, layout: _Layout, classes: str, lost: bool) -> list[str]:
    """The arrow from lane to lane, or as far as it came."""
    start, end = _reach(mark, layout, lost)
    to_server = end > start
    onward = 1 if to_server else -1
    if lost:
        return [svg.line(start, y, end, y, classes), svg.path(_CROSS, "cross", end, y)]
    parts = [svg.line(start, y, end - 9 * onward, y, classes)]
    parts.append(svg.path("M0 0L-9-4V4z" if to_server else "M0 0L9-4V4z", "head", end - onward, y))
    if mark.toward:
        parts.append(svg.path(_DOT, "dot", start, y))
    return parts
