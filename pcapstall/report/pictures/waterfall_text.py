"""A waterfall as lines of text: the lanes as columns, packets as arrows between them, the stall as a bar on its lane.

Each event is a line, a long silence one that says how long it was. Where the encoding has no line-drawing characters
plain ones stand for them.
"""

import textwrap
from collections.abc import Iterator
from typing import Final, NamedTuple

from pcapstall.core.times import format_span
from pcapstall.report.pictures.palette import kind_of
from pcapstall.report.pictures.time_axis import is_silence
from pcapstall.report.pictures.waterfall import BETWEEN, CLIENT, SERVER, Mark, Stall, Waterfall
from pcapstall.report.untrusted import display_width, printable, shorten, shorten_end

LEAST_WIDTH: Final = 60
_BARE: Final = 6
"""Columns beside a lane that has no texts."""
_BETWEEN: Final = 28
"""Columns between the lanes, where there is room; on a narrow terminal so many."""
_NARROW: Final = 22


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


LINES: Final = Signs()
PLAIN: Final = Signs("|", "#", ":", "-", ">", "<", "o", "=", "~")


class _Columns:
    """How wide each is."""

    def __init__(self, fall: Waterfall, width: int) -> None:
        self.width = width
        told = {mark.lane for mark in fall.marks if not mark.is_packet}
        beside = {lane: lane in told for lane in (CLIENT, SERVER)}
        self.time = max([len("-1.000"), *(len(mark.time) for mark in fall.marks)])
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
    columns = _Columns(fall, max(width, LEAST_WIDTH))
    yield from _head(fall, columns)
    marks = sorted(fall.marks, key=lambda mark: mark.at_ns)
    stall = fall.stall
    times = [mark.at_ns for mark in marks] + ([stall.start_ns, stall.end_ns] if stall is not None else [])
    whole_ns = max(times, default=0) - min(times, default=0)
    longest = _longest_silence(marks, stall, whole_ns)
    before_ns: int | None = None
    for mark in marks:
        if before_ns is not None and is_silence(mark.at_ns - before_ns, whole_ns):
            yield from _silence(before_ns, mark.at_ns, stall, columns, signs, before_ns == longest)
        yield _event(mark, stall, columns, signs)
        before_ns = mark.at_ns
    if stall is not None and before_ns is not None and is_silence(stall.end_ns - before_ns, whole_ns):
        yield from _silence(before_ns, stall.end_ns, stall, columns, signs, before_ns == longest)
    if stall is not None and longest is None:
        yield f"{stall.words}: {kind_of(stall.cause).words}"


def _longest_silence(marks: list[Mark], stall: Stall | None, whole_ns: int) -> int | None:
    """Where the longest silence inside the stall begins: there its words stand."""
    if stall is None:
        return None
    times = [mark.at_ns for mark in marks] + [stall.end_ns]
    gaps = [
        (after - before, before)
        for before, after in zip(times, sorted(times[1:]), strict=False)
        if is_silence(after - before, whole_ns) and stall.start_ns <= before and after <= stall.end_ns
    ]
    return max(gaps)[1] if gaps else None


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


def _lane(lane: str, at_ns: int, until_ns: int, stall: Stall | None, usual: str, signs: Signs) -> str:
    """The lane's character from one time to another: a bar where the stall was its own."""
    if stall is not None and stall.lane == lane and stall.start_ns <= at_ns and until_ns <= stall.end_ns:
        return signs.bar
    return usual


def _event(mark: Mark, stall: Stall | None, columns: _Columns, signs: Signs) -> str:
    client, server = (_lane(lane, mark.at_ns, mark.at_ns, stall, signs.lane, signs) for lane in (CLIENT, SERVER))
    sign = signs.log if mark.is_log else signs.call
    left = right = ""
    if mark.is_packet and mark.lane != BETWEEN:
        between = _arrow(mark, columns.between, signs)
    elif mark.lane == BETWEEN:
        between = _padded(f" {sign} {printable(mark.label)}", columns.between)
    else:
        between = " " * columns.between
        said = shorten(printable(mark.label), (columns.client if mark.lane == CLIENT else columns.server) - 2)
        if mark.lane == CLIENT:
            left, client = f"{said} ", sign
        else:
            right, server = f" {said}", sign
    if _lane(BETWEEN, mark.at_ns, mark.at_ns, stall, "", signs):
        between = between[:-2] + signs.bar + between[-1:]
    pad = " " * max(columns.client - display_width(left), 0)
    star = "*" if mark.evidence else " "
    return f"{mark.time:>{columns.time}}{star} {pad}{left}{client}{between}{server}{right}".rstrip()


def _arrow(mark: Mark, width: int, signs: Signs) -> str:
    where = mark.place.removeprefix("frames ").removeprefix("frame ")
    place = f" [{where}]" if where and display_width(where) < width // 2 else ""
    said = f" {shorten_end(printable(mark.label), width - 3 - display_width(place))}{place} "
    rest = max(width - 1 - display_width(said), 0)
    shaft = signs.dash * (rest // 2) + said + signs.dash * (rest - rest // 2)
    return shaft + signs.right if mark.lane == CLIENT else signs.left + shaft


def _silence(
    start_ns: int, end_ns: int, stall: Stall | None, columns: _Columns, signs: Signs, worded: bool
) -> Iterator[str]:
    client, server, network = (
        _lane(lane, start_ns, end_ns, stall, signs.silent, signs) for lane in (CLIENT, SERVER, BETWEEN)
    )
    length = f"{signs.wave} {format_span(end_ns - start_ns)}"
    words = []
    if worded and stall is not None:
        words = [*textwrap.wrap(stall.words, columns.between - 3), kind_of(stall.cause).words]
    for at, said in enumerate(["", *(words or [""]), ""] if worded else [""]):
        between = _padded(f" {said}", columns.between)
        if network == signs.bar:
            between = between[:-2] + signs.bar + between[-1:]
        time = length if at == (1 if worded else 0) else ""
        yield f"{time:>{columns.time}}  {' ' * columns.client}{client}{between}{server}".rstrip()


def _padded(text: str, width: int) -> str:
    text = shorten(text, width)
    return text + " " * (width - display_width(text))
