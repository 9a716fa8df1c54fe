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

from pcapstall.core.endpoints import parse_port, split_endpoint
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

    An IPv4-mapped address is the IPv4 one too. ValueError says what is wrong with ``wanted``.
    """
    host, port = split_endpoint(wanted)
    its_port = None if port is None else str(parse_port(port))
    networks = _networks(host) if host or port is None else ()

    def matches(endpoint: str) -> bool:
        at, _, port = endpoint.rpartition(":")
        if its_port is not None and port != its_port:
            return False
        if not networks:
            return True
        try:
            address = ipaddress.ip_address(at.strip("[]"))
        except ValueError:  # not an address: nothing that an address could equal
            return False
        return any(address in network for network in networks)

    return texts_are(matches, negated)


_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")


def _networks(host: str) -> tuple[_Network, ...]:
    """The network that ``host`` is, and of an IPv4-mapped one (RFC 4291 section 2.5.5.2) the IPv4 network as well."""
    try:
        network = ipaddress.ip_network(host, strict=False)
    except ValueError:
        raise ValueError(f"{host!r} is not an address or network") from None
    if not isinstance(network, ipaddress.IPv6Network) or not network.subnet_of(_MAPPED):
        return (network,)
    first = network.network_address.packed[12:]
    return network, ipaddress.IPv4Network((first, network.prefixlen - _MAPPED.prefixlen))
