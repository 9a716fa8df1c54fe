"""Which flow a person means, where the text is odd; what it selects is tested with the timeline."""

import pytest
from factories import flow

from pcapstall.report.selector import asks_for_verdicts, compile_selector


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
