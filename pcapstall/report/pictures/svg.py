"""Elements of SVG as text: escaped, with numbers that are as short as they can be.

Text may come from a capture and hold anything; nothing of it becomes markup here. What is drawn is not known here.
"""

import html
from collections.abc import Iterable
from typing import Final

from pcapstall.report.pictures import palette
from pcapstall.report.untrusted import display_width, printable, shorten

CHARACTER: Final = 7.0
"""How wide a character of 12 pixels is taken to be, bold ones 7.6: most fonts are narrower, few are wider."""
BOLD: Final = 7.6
TITLE: Final = 9.2
"""The same of a picture's title."""


def escape(text: str) -> str:
    """``text`` as it is shown, between tags and in quoted attributes."""
    return html.escape(printable(text))


def number(value: float) -> str:
    """``12.5``, ``3``."""
    return f"{value:.1f}".removesuffix(".0")


def fitted(text: str, width: float, character: float = CHARACTER) -> str:
    """``text``, shortened in its middle to take at most ``width`` pixels."""
    return shorten(printable(text), max(int(width / character), 1))


def width_of(text: str) -> float:
    """About how many pixels ``text`` takes."""
    return display_width(printable(text)) * CHARACTER


def text(x: float, y: float, said: str, classes: str = "", aside: str = "") -> str:
    """A line of text, with something less important behind it."""
    named = f' class="{classes}"' if classes else ""
    more = f'<tspan class="dim" dx="6">{escape(aside)}</tspan>' if aside else ""
    return f'<text x="{number(x)}" y="{number(y)}"{named}>{escape(said)}{more}</text>'


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    """A straight line."""
    return f'<path class="{classes}" d="M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}"/>'


def path(d: str, classes: str, x: float = 0, y: float = 0) -> str:
    """Any outline, moved by x and y."""
    moved = f' transform="translate({number(x)} {number(y)})"' if x or y else ""
    return f'<path class="{classes}" d="{d}"{moved}/>'


def rect(x: float, y: float, width: float, height: float, classes: str, radius: float = 0) -> str:
    """A box."""
    round_ = f' rx="{number(radius)}"' if radius else ""
    return (
        f'<rect class="{classes}" x="{number(x)}" y="{number(y)}" width="{number(width)}"'
        f' height="{number(height)}"{round_}/>'
    )


def group(parts: Iterable[str], title: str = "", classes: str = "", link: str = "") -> str:
    """Several as one; ``title`` is shown where the pointer rests, ``link`` (``#flow-6``) leads on."""
    named = f' class="{classes}"' if classes else ""
    said = f"<title>{escape(title)}</title>" if title else ""
    inner = f"{said}{''.join(parts)}"
    if link:
        return f'<a href="{escape(link)}"{named}>{inner}</a>'
    return f"<g{named}>{inner}</g>"


class Picture:
    """A drawing with its size and what it shows, not yet a document."""

    def __init__(self, width: float, height: float, label: str, parts: list[str]) -> None:
        self.width = width
        self.height = height
        self.label = label
        """What it shows, for those who do not see it."""
        self.parts = parts

    def element(self) -> str:
        """As part of a page, which has the style sheet."""
        size = f"{number(self.width)} {number(self.height)}"
        return (
            f'<svg class="ps" viewBox="0 0 {size}" width="{number(self.width)}" height="{number(self.height)}"'
            f' role="img" aria-label="{escape(self.label)}">' + "\n".join(self.parts) + "</svg>"
        )

    def document(self, flat: bool = False) -> str:
        """As a file of its own; ``flat`` by day only, for programs that know no variables."""
        size = f"{number(self.width)} {number(self.height)}"
        style = palette.flat_style() if flat else palette.style()
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="ps" viewBox="0 0 {size}" width="{number(self.width)}"'
            f' height="{number(self.height)}" role="img" aria-label="{escape(self.label)}">\n'
            f"<title>{escape(self.label)}</title>\n<style>{style}</style>\n"
            f"{rect(0, 0, self.width, self.height, 'page')}\n" + "\n".join(self.parts) + "\n</svg>\n"
        )


def stacked(pictures: list[Picture], gap: float = 16) -> Picture:
    """Several below each other as one."""
    parts: list[str] = []
    y = 0.0
    for picture in pictures:
        parts.append(f'<g transform="translate(0 {number(y)})">' + "\n".join(picture.parts) + "</g>")
        y += picture.height + gap
    width = max(picture.width for picture in pictures)
    return Picture(width, y - gap, " ".join(picture.label for picture in pictures), parts)
