"""Lines of logs as moments; those whose time nobody knows are kept aside, in their order.

What the lines say is cut to what is not said by the timeline itself.
"""

import re
from collections.abc import Iterable, Sequence

from pcapstall.logs.endpoints import endpoints_in
from pcapstall.match.log_lines import Placed
from pcapstall.match.moments import LOG, Moment


def log_moments(
    lines: Iterable[Placed], names: dict[str, str], endpoints: Sequence[tuple[bytes, int]], key: bool
) -> list[Moment]:
    """A moment for each line that has a time; ``names`` is what each file is called.

    ``endpoints`` are the flow's two, which are left out of what is told where they stand in braces.
    """
    made = []
    for placed in lines:
        if placed.ns is None:
            continue
        made.append(
            Moment(
                LOG,
                placed.clock or placed.file.path,
                placed.ns,
                placed.error_ns,
                names.get(placed.file.path, placed.file.path),
                "logs" if placed.names_client else "logs, no client named",
                _short(placed.line.says(), set(endpoints)) + _more(placed),
                lines=[f"{placed.file.path}:{placed.line.number}"],
                key=key,
                own_error_ns=placed.own_error_ns,
            )
        )
    return made


def _more(placed: Placed) -> str:
    return f" (and {placed.line.more_lines} more lines)" if placed.line.more_lines else ""


def _short(text: str, endpoints: set[tuple[bytes, int]]) -> str:
    """``inbound:accept{client.addr=10.0.0.1:34506 target.addr=10.0.0.2:443}`` without what is in the braces."""

    def shorten(match: "re.Match[str]") -> str:
        named = endpoints_in(match[0].encode("utf-8", "surrogateescape"))
        return "{...}" if named and endpoints.issuperset(named) else match[0]

    return text if text.startswith("{") else re.sub(r"\{[^{}]*\}", shorten, text)
