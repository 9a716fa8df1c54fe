r"""What each style of tabulate that is markup takes for markup, so that a cell is shown as it is and never acts.

tabulate itself escapes for HTML and LaTeX alone. Markdown and Jira are escaped as those formats of our own are; the
other styles have no format of their own and are told here. Styles that only draw lines are no markup.
"""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Final

from pcapstall.report.untrusted import printable

DRAWN_AS: Final = {"latex_raw": "latex", "unsafehtml": "html"}
"""Styles that differ from others only by escaping nothing: not even our own names (``ack_ch``) are LaTeX."""

_ZERO_WIDTH: Final = "\u200b"
_EDGE: Final = r"(?<![A-Za-z0-9]){0}|{0}(?![A-Za-z0-9])"
# Patterns are compiled where one is first used.
_ENTITY_SPECIAL: Final = rf"[!#&*<>?@\[\\\]^`{{|}}~'\"=%$]|{_EDGE.format('[+_-]')}|:(?=//)|[.,](?=[.,])"
"""Emphasis, links, macros, images, replacements of wikis and AsciiDoc. Inside a word some signs are only signs."""
_CAMEL_CASE: Final = r"\b(?=(?:[A-Z][a-z0-9]+){2})"
_RST_SPECIAL: Final = rf"[^\w\s,;%/.:-]|{_EDGE.format('[_.:-]')}"
_ORG_SPECIAL: Final = rf"[*/=+~\[\]<>{{}}^\\@#]|{_EDGE.format('_')}"
_FORMULA: Final = r"^\s*(?:[=@]|[+-](?=.*[^\d.\s]))"


def _entities(text: str) -> str:
    return re.sub(_ENTITY_SPECIAL, lambda match: f"&#{ord(match[0])};", text)


def _moinmoin(text: str) -> str:
    """Two words in one would be a link to a page of that name."""
    return re.sub(_CAMEL_CASE, "!", _entities(text))


def _rst(text: str) -> str:
    r"""A backslash takes the meaning of any sign, and before a space of all that a line may begin with.

    An empty first cell would continue the row above.
    """
    shown = re.sub(_RST_SPECIAL, lambda match: "\\" + match[0], text)
    return shown if shown[:1].isalnum() else f"\\ {shown}"


def _org(text: str) -> str:
    r"""Org knows no escapes: its manual has a space without width beside what is not meant, and ``\vert`` for ``|``."""
    return re.sub(_ORG_SPECIAL, lambda match: _ZERO_WIDTH + match[0] + _ZERO_WIDTH, text).replace("|", "\\vert{}")


def _tsv(text: str) -> str:
    """Text that a spreadsheet would run, as in CSV."""
    return f"'{text}" if re.search(_FORMULA, text) else text


def _as_it_is(text: str) -> str:
    return text


def _of_format(name: str) -> Callable[[str], str]:
    def escape(text: str) -> str:
        escape_of: Callable[[str], str] = import_module(f"pcapstall.report.{name}").escape  # only where it is asked for
        return escape_of(text)

    return escape


_markdown, _jira = _of_format("to_markdown"), _of_format("to_jira")

ESCAPES: Final[dict[str, Callable[[str], str]]] = {
    "asciidoc": _entities,
    "colon_grid": _markdown,
    "github": _markdown,
    "html": _as_it_is,
    "jira": _jira,
    "latex": _as_it_is,
    "latex_booktabs": _as_it_is,
    "latex_longtable": _as_it_is,
    "latex_raw": _as_it_is,
    "mediawiki": _entities,
    "moinmoin": _moinmoin,
    "orgtbl": _org,
    "pipe": _markdown,
    "rst": _rst,
    "textile": _entities,
    "tsv": _tsv,
    "unsafehtml": _as_it_is,
    "youtrack": _jira,
}
"""By style of markup. Sentences are left out there, a table stands alone, in full and without colours."""


def escaped(style: str, text: str) -> str:
    """``text`` as a cell of ``style``: on one line, printable, and without any meaning there."""
    return ESCAPES[style](printable(text))
