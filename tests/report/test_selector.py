"""Which flow a person means, where the text is odd; what it selects is tested with the timeline."""

from factories import flow

from pcapstall.report.selector import compile_selector


def test_a_row_is_a_number_however_it_is_written() -> None:
    seven = flow(7)
    assert compile_selector("7")(seven)
    assert compile_selector(" 007")(seven)
    assert not compile_selector("70")(seven)


def test_thousands_of_digits_are_no_row() -> None:
    assert not compile_selector("9" * 5000)(flow(7))
