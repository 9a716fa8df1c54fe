"""Which flow a person means, where the text is odd; what it selects is tested with the timeline."""

import pytest
from factories import flow

from pcapstall.core.errors import UsageError
from pcapstall.report.selector import Selectors, asks_for_verdicts, compile_selector


def test_a_row_is_a_number_however_it_is_written() -> None:
    seven = flow(7)
    assert compile_selector("7")(seven)
    assert compile_selector(" 007")(seven)
    assert not compile_selector("70")(seven)


def test_thousands_of_digits_are_no_row() -> None:
    assert not compile_selector("9" * 5000)(flow(7))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("10.40.39.45", True),
        ("10.40.39.4", False),
        ("10.40.39.45:34507", True),
        ("10.40.39.45:3450", False),
        ("10.40.39.45-10.40.42.129", True),
        ("10.40.42.129 -> 10.40.39.45:34507", True),
        ("10.40.39.45-10.40.39.45", False),
        ("10.40.42.129:8086-10.40.42.129", False),
    ],
)
def test_addresses_and_endpoints(text: str, meant: bool) -> None:
    assert compile_selector(text)(flow(7)) is meant


@pytest.mark.parametrize("text", ["2001:db8:0::1", "[2001:db8::1]", "[2001:DB8::1]:443", "2001:db8::2-2001:db8::1"])
def test_addresses_of_ipv6(text: str) -> None:
    assert compile_selector(text)(flow(7, client="[2001:db8::2]:50000", server="[2001:db8::1]:443"))
    assert not compile_selector(text)(flow(7, client="[2001:db8::2]:50000", server="[2001:db8::11]:4433"))


def test_a_column_is_not_taken_for_an_address() -> None:
    for text in ("failed", "ack_ch > 1s", "server=[2001:db8::1]:443"):
        assert asks_for_verdicts(text)
        compile_selector(text)


MAPPED = ["::ffff:10.40.39.45", "[::FFFF:10.40.39.45]:34507", "::ffff:10.40.39.45:34507", "::ffff:a28:272d"]


@pytest.mark.parametrize("text", MAPPED)
def test_an_ipv4_mapped_address_is_the_ipv4_one(text: str) -> None:
    seven = flow(7)
    assert seven.client == "10.40.39.45:34507"
    assert compile_selector(text)(seven)
    assert compile_selector(f"client = {text}")(seven)
    assert not compile_selector(f"server = {text}")(seven)
    assert compile_selector(text)(flow(7, client="[::ffff:a28:272d]:34507")), "as it is on the wire"


def test_a_network_of_mapped_addresses_is_the_ipv4_one() -> None:
    assert compile_selector("client = ::ffff:10.40.39.0/120")(flow(7))
    assert not compile_selector("client = ::ffff:10.41.0.0/112")(flow(7))
    assert not compile_selector("client = ::/0")(flow(7)), "IPv4 is no part of all IPv6"


@pytest.mark.parametrize("text", ["10.40.39.45:34507 10.40.42.129:8086", "10.40.39.45 <-> 10.40.42.129:8086"])
def test_two_ends_as_other_programs_write_them(text: str) -> None:
    assert compile_selector(text)(flow(7))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bogus", "neither a row, an address nor a filter"),
        ("10.0.0.0/8", "client = 10.0.0.0/8 or server = 10.0.0.0/8"),
        (":443", "server = :443"),
        ("10.0.0.1:", "'' is not a port; write 10.0.0.1"),
        ("ackch > 1s", "there is no column 'ackch'; did you mean ack_ch?"),
    ],
)
def test_what_is_no_selector_says_what_would_be_one(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        compile_selector(text)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("99", "there is no such row; rows go from 1 to 9"),
        ("10.40.39.45:1", "none of 9 flows is meant, but 9 flows with other ports:\n  1: 10.40.39.45:34501 ->"),
        ("10.40.39.45:1", "\n  and 4 more"),
        ("10.1.1.1", "report --all shows which addresses there are"),
        ("sni = 'nobody'", "none of 9 flows is meant"),
    ],
)
def test_what_means_no_flow_says_what_there_is(text: str, said: str) -> None:
    selectors = Selectors([text])
    assert not any(selectors.mean(flow(row)) for row in range(1, 10))
    with pytest.raises(UsageError) as raised:
        selectors.check()
    assert said in str(raised.value)


def test_of_nothing_that_was_read_nothing_is_meant() -> None:
    with pytest.raises(UsageError, match="no connection was read"):
        Selectors(["10.0.0.1"]).check()
