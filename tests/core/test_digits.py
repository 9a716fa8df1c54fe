"""What is a number, and what only `int` takes for one."""

import pytest

from pcapstall.core.digits import is_decimal, is_whole_number


@pytest.mark.parametrize("text", ["0", "007", "9" * 5000])
def test_digits(text: str) -> None:
    assert is_decimal(text)
    assert is_whole_number(text)
    assert is_whole_number(f"-{text}")
    assert not is_decimal(f"-{text}")


@pytest.mark.parametrize("text", ["", "-", "--1", "+1", "1_0", " 1", "1 ", "1.0", "\u0661", "\uff11", "\u00b2", "1e3"])
def test_none(text: str) -> None:
    assert not is_decimal(text)
    assert not is_whole_number(text)
