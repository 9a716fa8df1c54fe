"""The pictures of a report or of one flow as files for a ticket: SVG, PNG, or a page of them.

The answer in a sentence stands above each. What is drawn is known to `pictures`, which files there are to the caller.
"""

import os
import textwrap
from collections.abc import Callable, Iterator
from typing import Final

from pcapstall.core.errors import UsageError
from pcapstall.core.utf8 import utf8
from pcapstall.report import prose
from pcapstall.report.model import Report
from pcapstall.report.page import escape, page_end, page_start, picture_lines
from pcapstall.report.pictures import ecdf, overview, svg, waterfall_svg
from pcapstall.report.pictures.spread import Spread, of_flows
from pcapstall.report.pictures.svg import Picture
from pcapstall.report.pictures.waterfall import waterfall_of
from pcapstall.report.ranking import worst_first
from pcapstall.report.timeline import Timeline
from pcapstall.report.timeline_cells import headline, verdict_on
from pcapstall.report.untrusted import printable

FORMATS: Final = ("svg", "png", "html")


class Drawing:
    """What is to be drawn: the answer, and the pictures under it."""

    def __init__(self, answer: str, pictures: list[Picture], caption: str = "") -> None:
        self.answer = answer
        self.pictures = pictures
        self.caption = caption or answer
        """The same beside pictures that say themselves what they are of."""

    def whole(self) -> Picture:
        """All in one."""
        width = max((picture.width for picture in self.pictures), default=overview.WIDTH)
        lines = textwrap.wrap(printable(self.caption), int((width - 20) / svg.BOLD))
        said = [svg.text(10, 20 + 17 * at, line, "strong") for at, line in enumerate(lines)]
        return svg.stacked([Picture(width, 14 + 17 * len(lines), self.answer, said), *self.pictures], 10)


def of_report(report: Report) -> Drawing:
    """The whole capture, and each step by server."""
    flows = worst_first(report.flows)
    spread = report.spread if report.spread is not None else Spread()
    drawn = [overview.draw(flows, spread), ecdf.draw([spread, of_flows(flows)])]
    return Drawing(prose.headline(report, flows), [picture for picture in drawn if picture is not None])


def of_flow(timeline: Timeline) -> Drawing:
    """One flow's waterfall."""
    said = verdict_on(timeline.flow)
    caption = f"{said[:1].upper()}{said[1:]}."
    return Drawing(headline(timeline), [waterfall_svg.draw(waterfall_of(timeline))], caption)


def chosen_format(wanted: str | None, output: str | None) -> str:
    """What `-f` asks for, else what the name of `-o` ends with, else SVG; UsageError when there is no such."""
    suffix = os.path.splitext(output or "")[1].lower().removeprefix(".")
    name = wanted or ("html" if suffix == "htm" else suffix) or "svg"
    if name not in FORMATS:
        said = f"-f {wanted}" if wanted else f"-o {output}"
        raise UsageError(f"{said}: a picture is {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return name


def encoded(drawing: Drawing, name: str) -> bytes:
    """The file; UsageError tells what is missing to make it."""
    return _ENCODERS[name](drawing)


def _svg(drawing: Drawing) -> bytes:
    return utf8(drawing.whole().document())


def _png(drawing: Drawing) -> bytes:
    from pcapstall.report.pictures.png import png_of  # only where one is wanted

    return png_of(drawing.whole())


def _html(drawing: Drawing) -> bytes:
    return utf8("".join(f"{line}\n" for line in _page(drawing)))


def _page(drawing: Drawing) -> Iterator[str]:
    yield from page_start(drawing.answer.partition(":")[0])
    yield f"<h1>{escape(drawing.answer)}</h1>"
    for picture in drawing.pictures:
        yield from picture_lines(picture)
    yield from page_end()


_ENCODERS: Final[dict[str, Callable[[Drawing], bytes]]] = {"svg": _svg, "png": _png, "html": _html}
