"""Which link types pcapstall passes over, by the names that a capture's report has.

The decoder itself is asked, so that no second list has to be kept. Nothing is read from a capture here.
"""

from collections.abc import Iterable
from typing import Final

from pcapstall.capture.linktypes import NAMES
from pcapstall.wire.decode import Decoder

_NUMBERS: Final = {name: number for number, name in NAMES.items()}
_NAMELESS: Final = "LINKTYPE_"


def unread_linktypes(names: Iterable[str]) -> list[str]:
    """Those of ``names`` (``EN10MB``, ``LINKTYPE_4711``) whose packets are counted as other, whatever they hold."""
    numbers = {name: _number(name) for name in names}
    decoder = Decoder()
    for number in numbers.values():
        decoder.decode(bytes(64), 0, 64, 64, number)
    return [name for name, number in numbers.items() if number in decoder.unknown_linktypes]


def _number(name: str) -> int:
    """The inverse of `pcapstall.capture.linktypes.linktype_name`."""
    return int(name.removeprefix(_NAMELESS)) if name.startswith(_NAMELESS) else _NUMBERS[name]


def unread_warnings(names: Iterable[str]) -> list[str]:
    """A capture's warnings about those of its link types that are passed over."""
    return [
        f"packets of link type {name} are counted as other, for pcapstall does not read it; "
        "`pcapstall verify` measures them if tshark does"
        for name in unread_linktypes(names)
    ]
