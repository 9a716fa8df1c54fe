"""A waterfall as lines of text: the lanes as columns, packets as arrows between them, the stall as a bar on its lane.

Each event is a line, or several where its text is long; a long silence is one that says how long it was. Where the
encoding has no line-drawing characters plain ones stand for them.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from pcapstall.core.times import format_span
from pcapstall.report.folding import KEPT_SPACE, evenly_folded, folded
from pcapstall.report.pictures.palette import kind_of
from pcapstall.report.pictures.time_axis import is_silence
from pcapstall.report.pictures.waterfall import ASIDE, BETWEEN, CLIENT, SERVER, Mark, Stall, Waterfall
from pcapstall.report.untrusted import display_width, padded, printable, shorten

LEAST_WIDTH: Final = 60
_BARE: Final = 6
"""Columns beside a lane that has no texts."""
_BETWEEN: Final = 28
"""Columns between the lanes, where there is room; on a narrow terminal so many."""
_NARROW: Final = 22
_LINES: Final = 5
"""So many lines the text of an event may have; what is beyond is left out at its end."""


class Signs(NamedTuple):
    """The characters that it is drawn with."""

    lane: str = "│"
    bar: str = "█"
    silent: str = "┊"
    dash: str = "─"
    right: str = "▶"
    left: str = "◀"
    call: str = "●"
    log: str = "≡"
    wave: str = "≈"
    lost: str = "×"


LINES: Final = Signs()
PLAIN: Final = Signs("|", "#", ":", "-", ">", "<", "o", "=", "~", "x")


class _Step(NamedTuple):
    """An event, or a silence."""

    mark: Mark | None
    start_ns: int
    end_ns: int
    """The same, for an event."""


class _Columns:
    """How wide each is."""

    def __init__(self, fall: Waterfall, steps: list[_Step], width: int, signs: Signs) -> None:
        self.width = width
        told = {mark.lane for mark in fall.marks if not mark.is_packet}
        beside = {lane: lane in told for lane in (CLIENT, SERVER)}
        self.time = max([len("-1.000"), *(display_width(_time(step, signs)) for step in steps)])
        room = width - self.time - 4
        texts = sum(beside.values())
        self.between = _BETWEEN if room >= 2 * _BETWEEN + texts * 24 or not texts else _NARROW
        left = room - self.between - _BARE * (2 - texts)
        each = left // texts if texts else _BARE
        self.client = each if beside[CLIENT] else _BARE
        self.server = each if beside[SERVER] else _BARE
        if not texts:
            self.between = min(room - 2 * _BARE, 60)


def lines(fall: Waterfall, width: int, signs: Signs = LINES) -> Iterator[str]:
    """The picture in at most ``width`` columns (`LEAST_WIDTH` at least)."""
    stall = fall.stall
    marks = sorted([*fall.marks, *_last_times(fall)], key=lambda mark: mark.at_ns)
    steps = list(_steps(marks, stall))
    columns = _Columns(fall, steps, max(width, LEAST_WIDTH), signs)
    yield from _head(fall, columns)
    longest = _longest_silence(steps, stall)
    for step in steps:
        if step.mark is not None:
            yield from _event(step.mark, stall, columns, signs)
        else:
            yield from _silence(step, stall, columns, signs, step is longest)
    if stall is not None and longest is None and steps:
        yield f"{stall.words}: {kind_of(stall.cause).words}"


def _last_times(fall: Waterfall) -> Iterator[Mark]:
    """Of packets that were sent again and again the last one, as an event of its own."""
    for mark in fall.marks:
        if mark.is_packet and mark.until_ns is not None:
            place = mark.place.rpartition(" ")[2]
            yield mark._replace(at_ns=mark.until_ns, label="the last of these", place=place, lost=mark.last_lost)


def _steps(marks: list[Mark], stall: Stall | None) -> Iterator[_Step]:
    """Events and silences in order; behind the last event the end of the stall."""
    end_ns = stall.end_ns if stall is not None else None
    times = [mark.at_ns for mark in marks] + ([end_ns] if end_ns is not None else [])
    if stall is not None:
        times.append(stall.start_ns)
    whole_ns = max(times, default=0) - min(times, default=0)
    before_ns: int | None = None
    for mark in marks:
        if before_ns is not None and is_silence(mark.at_ns - before_ns, whole_ns):
            yield _Step(None, before_ns, mark.at_ns)
        yield _Step(mark, mark.at_ns, mark.at_ns)
        before_ns = mark.at_ns
    if before_ns is not None and end_ns is not None and is_silence(end_ns - before_ns, whole_ns):
        yield _Step(None, before_ns, end_ns)


def _longest_silence(steps: list[_Step], stall: Stall | None) -> _Step | None:
    """The longest silence inside the stall, the last of equal ones: there its words stand."""
    inside = [step for step in steps if step.mark is None and _is_inside(step.start_ns, step.end_ns, stall)]
    return max(reversed(inside), key=lambda step: step.end_ns - step.start_ns, default=None)


def _is_inside(start_ns: int, end_ns: int, stall: Stall | None) -> bool:
    return stall is not None and stall.start_ns <= start_ns and end_ns <= stall.end_ns


def _time(step: _Step, signs: Signs) -> str:
    return step.mark.time if step.mark is not None else f"{signs.wave} {format_span(step.end_ns - step.start_ns)}"


def _head(fall: Waterfall, columns: _Columns) -> Iterator[str]:
    names = [fall.said(lane) for lane in (CLIENT, SERVER)]
    for left, right in (names, [fall.endpoints[CLIENT], fall.endpoints[SERVER]]):
        at_client = columns.time + 2 + columns.client
        at_server = at_client + columns.between + 1
        half = min(columns.between - 2, (columns.width - 1) // 2)
        left, right = shorten(printable(left), half), shorten(printable(right), half)
        most = columns.width - 1 - display_width(left) - display_width(right)
        begin = min(max(at_client - display_width(left) // 2, 0), most)
        end = min(at_server - display_width(right) // 2, columns.width - display_width(right))
        end = max(end, begin + display_width(left) + 1)
        yield f"{' ' * begin}{left}{' ' * (end - begin - display_width(left))}{right}"


def _lane(lane: str, start_ns: int, end_ns: int, stall: Stall | None, usual: str, signs: Signs) -> str:
    """The lane's character from one time to another: a bar where the stall was its own."""
    return signs.bar if stall is not None and stall.lane == lane and _is_inside(start_ns, end_ns, stall) else usual


def _event(mark: Mark, stall: Stall | None, columns: _Columns, signs: Signs) -> Iterator[str]:
    sign = signs.log if mark.is_log else signs.call
    begin = f"{mark.time:>{columns.time}}{'*' if mark.evidence else ' '} "
    if mark.lane == ASIDE:
        # Nobody said whose log it is: across the lanes, so that it is not taken for one end's.
        for at, said in enumerate(_told(mark, columns.width - len(begin) - 2)):
            yield f"{' ' * len(begin) if at else begin}{' ' if at else sign} {said}"
        return
    lanes = {
        lane: _lane(lane, mark.at_ns, mark.at_ns, stall, usual, signs)
        for lane, usual in ((CLIENT, signs.lane), (SERVER, signs.lane), (BETWEEN, ""))
    }
    if _is_arrow(mark):
        *above, arrow = _arrow(mark, columns.between, signs, bool(lanes[BETWEEN]))
        for at, between in enumerate([*above, arrow]):
            time = begin if at == len(above) else " " * len(begin)
            barred = between[:-2] + signs.bar + between[-1:] if lanes[BETWEEN] else between
            yield f"{time}{' ' * columns.client}{lanes[CLIENT]}{barred}{lanes[SERVER]}".rstrip()
        return
    for at, said in enumerate(_told(mark, _room(mark, columns))):
        own = "" if at else sign
        between = _padded(f" {own or ' '} {said}" if mark.lane == BETWEEN else "", columns.between)
        if lanes[BETWEEN]:
            between = between[:-2] + signs.bar + between[-1:]
        client, server = ((own if mark.lane == lane else "") or lanes[lane] for lane in (CLIENT, SERVER))
        left = f"{said} " if mark.lane == CLIENT and said else ""
        right = f" {said}" if mark.lane == SERVER else ""
        pad = " " * max(columns.client - display_width(left), 0)
        yield f"{' ' * len(begin) if at else begin}{pad}{left}{client}{between}{server}{right}".rstrip()


def _is_arrow(mark: Mark) -> bool:
    return mark.is_packet and (mark.lane != BETWEEN or mark.toward != "")


def _room(mark: Mark, columns: _Columns) -> int:
    rooms = {CLIENT: columns.client - 2, SERVER: columns.server - 2, BETWEEN: columns.between - 6}
    return rooms[mark.lane]


def _told(mark: Mark, room: int) -> list[str]:
    return evenly_folded(printable(mark.label), room, _LINES)


def _arrow(mark: Mark, width: int, signs: Signs, barred: bool) -> list[str]:
    """From lane to lane, in the last line, what does not fit on it above.

    What was lost does not come all the way, and what the network sent begins between the lanes.
    """
    to_server = mark.toward == SERVER if mark.toward else mark.lane == CLIENT
    head = signs.lost if mark.lost else signs.right if to_server else signs.left
    tail = signs.call if mark.toward else ""
    where = mark.place.removeprefix("frames ").removeprefix("frame ").replace(" ", KEPT_SPACE)
    reach = width
    if mark.lost or tail:  # as far as its text needs, but never all the way
        needed = display_width(f"{printable(mark.label)} [{where}]") + 3 + len(tail)
        reach = min(max(width * 4 // 5, needed), width - 3)
    room = reach - 1 - len(tail)
    # The bar of the network stands near the server's lane, where all but what leaves the server's short of it is.
    kept = 4 if barred and (reach == width or to_server is not mark.lost) else 2
    label = printable(mark.label) + (f" [{where}]" if where and display_width(where) < reach // 2 else "")
    *above, last = evenly_folded(label, room - kept, _LINES)
    said = f" {last} "
    rest = max(room - display_width(said), 0)
    before = rest // 2 if rest >= kept else 0
    shaft = signs.dash * before + said + signs.dash * (rest - before)
    drawn = tail + shaft + head if to_server else head + shaft + tail
    blank = " " * (width - reach)
    return [
        *(_padded(" " * ((width - display_width(text)) // 2) + text, width) for text in above),
        drawn + blank if to_server == mark.lost else blank + drawn,
    ]


def _silence(step: _Step, stall: Stall | None, columns: _Columns, signs: Signs, worded: bool) -> Iterator[str]:
    client, server, network = (
        _lane(lane, step.start_ns, step.end_ns, stall, signs.silent, signs) for lane in (CLIENT, SERVER, BETWEEN)
    )
    words = []
    if worded and stall is not None:
        words = [*folded(stall.words, columns.between - 3), kind_of(stall.cause).words]
    for at, said in enumerate(["", *words, ""] if worded else [""]):
        between = _padded(f" {said}", columns.between)
        if network == signs.bar:
            between = between[:-2] + signs.bar + between[-1:]
        time = _time(step, signs) if at == (1 if worded else 0) else ""
        yield f"{time:>{columns.time}}  {' ' * columns.client}{client}{between}{server}".rstrip()


def _padded(text: str, width: int) -> str:
    return padded(shorten(text, width), width)
