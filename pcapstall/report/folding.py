"""Text in several lines of a column: broken between words, a long word between its parts.

Sentences of a page are wrapped in `to_table`, where no word is ever broken.
"""

import re
from typing import Final

from pcapstall.report.to_table import GLUE, unbroken
from pcapstall.report.untrusted import display_width, fit, shorten_end

KEPT_SPACE: Final = GLUE
"""Stands for a space that no line may break at."""
_BREAKS: Final = re.compile(r"(?<=[|,/:=&;])(?=[^\s/])|(?<=\w)(?=\.[a-z])")
"""Where a long word may be broken: between flags, parts of a path, a name and its value."""


def folded(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` columns; a word that is longer is broken, between its parts if it can."""
    lines = [""]
    for word in unbroken(text, GLUE).split(" "):
        pieces = [word] if display_width(word) <= width else _BREAKS.split(word)
        space = " " if lines[-1] else ""
        for piece in pieces:
            if display_width(lines[-1]) + len(space) + display_width(piece) > width and lines[-1]:
                lines.append("")
                space = ""
            while display_width(piece) > width:
                # A letter that is wider than the column overhangs it.
                lines[-1] = fit(piece, width) or fit(piece, display_width(piece[0]))
                piece = piece[len(lines[-1]) :]
                if not piece:
                    break
                lines.append("")
            lines[-1] += space + piece
            space = ""
    return [line.replace(GLUE, " ") for line in lines]


def evenly_folded(text: str, width: int, most: int) -> list[str]:
    """The same in at most ``most`` lines of about one length, without a lonely last word; what is beyond is cut off."""
    lines = folded(text, width)
    if len(lines) > most:
        return [*lines[: most - 1], shorten_end(" ".join(lines[most - 1 :]), width)]
    longest = max(map(display_width, text.split()), default=0)
    for narrower in range(width - 1, max(width // 2, longest - 1), -1):
        evener = folded(text, narrower)
        if len(evener) > len(lines):
            break
        lines = evener
    return lines
