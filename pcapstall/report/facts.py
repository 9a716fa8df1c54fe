"""Sentences about what was read, of which some are warnings: how one begins, and how a format knows it by that.

The sentences themselves are in `prose`, `log_prose` and `two_ends_text`; how a warning looks is each format's.
"""

from typing import Final

_WARNING: Final = "Warning: "


def warning(text: str) -> str:
    """``text`` as a warning."""
    return f"{_WARNING}{text}"


def is_warning(fact: str) -> bool:
    """Whether ``fact`` was made by `warning`."""
    return fact.startswith(_WARNING)
