"""How a report is to look: what every renderer is told and none decides by itself.

Whether the output is a terminal, how wide it is and whether NO_COLOR is set is found out by the command line.
"""

from typing import NamedTuple


class RenderOptions(NamedTuple):
    """For `pcapstall.report.render.render`."""

    width: int | None = None
    """Columns of the terminal; None for no limit (a pipe, a file)."""
    color: bool = False
    """Whether escape sequences may be written: a terminal, and no NO_COLOR."""
    all_flows: bool = False
    """`--all`: the verdict of every stalled or failed flow is told, however many there are."""
    style: str = "simple"
    """The tabulate style of ``-f table:STYLE``."""
    picture: bool = False
    """`--picture`: a timeline is drawn as lanes instead of its table."""
    plain: bool = False
    """Whether the output's encoding has no characters to draw lines with."""
    stories: int = 25
    """How many verdicts a table is followed by, without ``all_flows``."""
