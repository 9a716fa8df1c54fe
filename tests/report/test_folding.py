"""Text in lines of a column: what is counted is the room that it takes, not its letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.report.folding import evenly_folded, folded
from pcapstall.report.untrusted import display_width

LETTERS = "ab日本語e\u0301\u0e31\u20dd/ "
"""Narrow and wide ones, marks with and without a class by which they combine, and places to break at."""


@given(st.text(alphabet=LETTERS, max_size=60), st.integers(2, 20))
def test_no_line_is_wider_than_its_column_and_nothing_is_lost(text: str, width: int) -> None:
    lines = folded(text, width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(st.text(alphabet=LETTERS, max_size=60), st.integers(2, 20), st.integers(1, 4))
def test_even_lines_fit_too(text: str, width: int, most: int) -> None:
    lines = evenly_folded(text, width, most)
    assert len(lines) <= most
    assert all(display_width(line) <= width for line in lines)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("接続がタイムアウト", 8, ["接続がタ", "イムアウ", "ト"]),
        ("接続がタイムアウト", 9, ["接続がタ", "イムアウ", "ト"]),
        ("e\u0301" * 5, 3, ["e\u0301" * 3, "e\u0301" * 2]),
        ("ก\u0e31" * 4, 2, ["ก\u0e31" * 2] * 2),
        ("日本", 1, ["日", "本"]),
    ],
)
def test_wide_letters_and_marks(text: str, width: int, lines: list[str]) -> None:
    assert folded(text, width) == lines
