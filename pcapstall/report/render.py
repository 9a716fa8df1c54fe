"""From `-f` to a renderer, which is imported only when it is wanted.

What each format looks like is in the module of its name, ``to_*``.
"""

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Final, TextIO

from pcapstall.core.errors import UsageError
from pcapstall.report.model import Report
from pcapstall.report.options import RenderOptions

Renderer = Callable[[Report, TextIO, RenderOptions], None]

FORMATS: Final = {
    "table": ("to_table", "render"),
    "markdown": ("to_markdown", "render"),
    "jira": ("to_jira", "render"),
    "json": ("to_json", "render"),
    "jsonl": ("to_json", "render_lines"),
    "csv": ("to_csv", "render"),
    "html": ("to_html", "render"),
    "parquet": ("to_parquet", "render"),
}
"""Where each format's function is."""

PAGE_FORMATS: Final = tuple(name for name in FORMATS if name != "parquet")
"""What writes other things than flows, too."""

STREAMED: Final = ("json", "jsonl", "csv", "parquet")
"""Formats for machines: they write flows as they come and are meant to be given all of them."""


_BY_SUFFIX: Final = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".jira": "jira",
    ".parquet": "parquet",
}


# fmt: off
_NEVER_WRITTEN: Final = frozenset(
    (
        ".pdf", ".ps", ".doc", ".docx", ".odt", ".rtf", ".tex", ".xls", ".xlsx", ".ods", ".ppt", ".pptx",
        ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".xml", ".yaml", ".yml", ".toml", ".tsv",
        ".db", ".sqlite", ".gz", ".zst", ".xz", ".bz2", ".zip",
    )
)
# fmt: on
"""Suffixes that promise what no format is. Of others (``.txt``, ``.log``, a date) nobody expects but text."""


def format_of_name(path: str) -> str:
    """The format that the name of an output file asks for, ``table`` when it asks for none.

    UsageError when it asks for one that there is not: a table would be no PDF for its name.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _NEVER_WRITTEN:
        known = ", ".join(_BY_SUFFIX)
        hint = "; pcapstall plot draws pictures" if suffix in (".png", ".svg") else ""
        raise UsageError(f"-o {path}: there is no format for {suffix}; there are {known}, and .txt for a table{hint}")
    return _BY_SUFFIX.get(suffix, "table")


def parse_format(text: str) -> tuple[str, str]:
    """The format and, for ``table:STYLE``, the tabulate style (else empty) of a `-f`; UsageError when there is none."""
    name, colon, style = text.partition(":")
    if name not in FORMATS:
        raise UsageError(f"-f {text}: no format {name!r}{_hint(name, FORMATS)}; there are {', '.join(FORMATS)}")
    if not colon:
        return name, ""
    if name != "table":
        raise UsageError(f"-f {text}: only table has styles")
    import tabulate  # only to know its styles

    if style not in tabulate.tabulate_formats:
        styles = ", ".join(tabulate.tabulate_formats)
        raise UsageError(
            f"-f {text}: no style {style!r}{_hint(style, tabulate.tabulate_formats)}; tabulate has {styles}"
        )
    return name, style


def parse_page_format(text: str) -> tuple[str, str]:
    """The same where there is something else than flows to write: UsageError for ``parquet``, too."""
    name, style = parse_format(text)
    if name not in PAGE_FORMATS:
        raise UsageError(f"-f {text}: only report writes it, a row for each flow")
    return name, style


def _hint(word: str, choices: Iterable[str]) -> str:
    from pcapstall.report.expression import did_you_mean  # only for a message

    return did_you_mean(word, choices)


def render(report: Report, out: TextIO, wanted: str, options: RenderOptions) -> None:
    """Write ``report`` to ``out`` in the format ``wanted``, as `-f` takes it."""
    name, style = parse_format(wanted)
    module, function = FORMATS[name]
    renderer: Renderer = getattr(import_module(f"pcapstall.report.{module}"), function)
    renderer(report, out, options._replace(style=style) if style else options)
