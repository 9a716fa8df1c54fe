from hypothesis import given
from hypothesis import strategies as st

from pcapstall.report.untrusted import display_width, printable, shorten


@given(st.text())
def test_printable_text_has_no_hidden_character_and_can_be_written(text):
    shown = printable(text)
    assert shown.isprintable()
    shown.encode("utf-8")


def test_hidden_characters_are_shown_as_escapes():
    assert (
        printable("a\x1b[31m\n\x9b\u202eb\udcff\xa0\U000e0001") == "a\\x1b[31m\\x0a\\x9b\\u202eb\\udcff\\xa0\\U000e0001"
    )


def test_visible_text_stays_as_it_is():
    assert printable("Größe 日本 é…") == "Größe 日本 é…"


def test_wide_characters_take_two_columns_and_combining_ones_none():
    assert display_width("日本") == 4
    assert display_width("e\u0301") == 1
    assert display_width("abc…") == 4


@given(st.text(alphabet="ab日\u0301.", max_size=30), st.integers(0, 30))
def test_shortened_text_fits_and_keeps_both_ends(text, width):
    short = shorten(text, width)
    assert display_width(short) <= max(width, 0)
    if short != text and width >= 2:
        head, tail = short.split("…")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert display_width(text) > width


def test_the_middle_is_left_out():
    assert shorten("metrics.eu-central-1.example.com", 16) == "metrics.…ple.com"
    assert shorten("abc", 1) == "…"


def test_marks_take_no_room_also_where_they_have_no_combining_class():
    assert display_width("ก\u0e31") == 1
    assert display_width("a\u20dd") == 1
