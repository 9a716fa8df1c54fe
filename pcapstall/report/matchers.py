"""What each comparison of a filter does with a value: small tests, each true or false, absent always false.

The language is read in `filter`; nothing here knows a token.
"""

import ipaddress
import operator
import re
import signal
import threading
from collections.abc import Callable
from typing import Final, NoReturn

from pcapstall.core.digits import is_decimal
from pcapstall.core.errors import UsageError
from pcapstall.report.columns import AtLeast, Value

Test = Callable[[Value], bool]

COMPARE: Final[dict[str, Callable[[int, int], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CERTAIN_BEYOND: Final[dict[str, Callable[[int, int], bool]]] = {
    "!=": operator.gt,
    ">": operator.gt,
    ">=": operator.ge,
}
"""What can be said of a length that is only known to be at least so long."""
SEARCH_MAX_S: Final = 2.0
"""CPU time that one regular expression may take over one text. `(a+)+$` has 2**40 ways through forty letters."""


def length_is(comparer: str, wanted_ns: int) -> Test:
    """Compare a duration; an open interval passes only when it would whatever its end."""
    compare = COMPARE[comparer]
    beyond = _CERTAIN_BEYOND.get(comparer)

    def test(value: Value) -> bool:
        if isinstance(value, AtLeast):
            return beyond is not None and beyond(value.ns, wanted_ns)
        return isinstance(value, int) and compare(value, wanted_ns)

    return test


def texts_are(matches: Callable[[str], bool], negated: bool) -> Test:
    """Whether a text, or any of a list, ``matches``; ``negated``: whether there is one and none does."""

    def test(value: Value) -> bool:
        texts = (value,) if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ()
        return bool(texts) and any(map(matches, texts)) is not negated

    return test


def search_of(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """Whether ``pattern`` is found in a text. UsageError when that takes more than `SEARCH_MAX_S`.

    `re` asks for signals while it tries, so a timer ends it. The time has no bound outside the main thread, the only
    one that Python hands signals to, and in a program whose own timer runs, or whose handler Python cannot put back.
    """

    def too_long(_number: int, _frame: object) -> NoReturn:
        raise UsageError(
            f"the regular expression {pattern.pattern!r} takes more than {SEARCH_MAX_S:.0f} s over one name: "
            "write it without a repeat within a repeat"
        )

    def search(text: str) -> bool:
        if not _has_timer_to_lend():
            return pattern.search(text) is not None
        before = signal.signal(signal.SIGVTALRM, too_long)
        signal.setitimer(signal.ITIMER_VIRTUAL, SEARCH_MAX_S)
        try:
            return pattern.search(text) is not None
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    return search


def _has_timer_to_lend() -> bool:
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGVTALRM) is not None
        and not any(signal.getitimer(signal.ITIMER_VIRTUAL))
    )


def endpoint_is(wanted: str, negated: bool) -> Test:
    """Whether an endpoint is ``wanted``: an address, a network, an address with its port, or ``:port``.

    ValueError says what is wrong with ``wanted``.
    """
    host, port = _split(wanted)
    network = None if host is None else _network(host)

    def matches(endpoint: str) -> bool:
        at, _, its_port = endpoint.rpartition(":")
        if port is not None and its_port != port:
            return False
        if network is None:
            return True
        try:
            address = ipaddress.ip_address(at.strip("[]"))
        except ValueError:  # not an address: nothing that an address could equal
            return False
        return address in network

    return texts_are(matches, negated)


def _split(wanted: str) -> tuple[str | None, str | None]:
    """Address or network, and port, of ``wanted``; None for what it does not name."""
    if wanted.startswith("["):
        host, bracket, rest = wanted[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f"{wanted!r} is not an endpoint")
        return host, _port(rest[1:]) if rest else None
    host, colon, port = wanted.rpartition(":")
    if not colon or ":" in host:
        return wanted, None
    return host or None, _port(port)


def _port(text: str) -> str:
    if not is_decimal(text) or len(text) > 5 or int(text) > 0xFFFF:
        raise ValueError(f"{text!r} is not a port")
    return str(int(text))


def _network(host: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(host, strict=False)
    except ValueError:
        raise ValueError(f"{host!r} is not an address or network") from None
