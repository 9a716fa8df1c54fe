"""Regular expressions of filters: the same answer as `re`, in time that a hostile pattern or name cannot stretch."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.report.patterns import PatternError, searcher

HOSTILE = ["(a+)+$", "(a|a)+$", "(a|aa)+$", "(.*a){12}$", "([a-z]+)*!", "(x*x*)*y", r"(?:\w+\.?)+$", "a*a*a*a*a*b"]

_SINGLE = st.sampled_from(
    ["a", "b", "ß", "ſ", ".", r"\.", r"\d", r"\w", r"\W", "[ab]", "[^a]", "[]x]", r"[\d\]]", r"\x61", r"\u0061", "{"]
)
_PLACE = st.sampled_from(["^", "$", r"\b", r"\B", r"\A", r"\Z"])
_REPEAT = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{,2}", "{2,}", "{0}", "{,}", "{1,2}?"])
_PATTERN = st.recursive(
    _SINGLE | _PLACE,
    lambda inner: (
        st.builds("{}{}".format, inner, inner)
        | st.builds("({}|{})".format, inner, inner)
        | st.builds("(?P<name>{}|)".format, inner)
        | st.builds("(?:{}){}".format, inner, _REPEAT)
    ),
    max_leaves=8,
)


@given(st.sampled_from(["", "(?s)", "(?m)", "(?a)"]), _PATTERN, st.text("abA1.-x \nßSsſ{}", max_size=10))
def test_the_answer_is_that_of_re(flags: str, pattern: str, text: str) -> None:
    try:
        whole = re.compile(flags + pattern, re.IGNORECASE)
    except re.error:
        with pytest.raises(PatternError):
            searcher(flags + pattern)
        return
    assert searcher(flags + pattern)(text) is (whole.search(text) is not None)


@pytest.mark.parametrize("pattern", HOSTILE)
def test_no_pattern_goes_astray_in_a_long_name(pattern: str) -> None:
    search = searcher(pattern)
    begun_s = time.process_time()
    assert not search("a" * 5000 + "#")
    assert time.process_time() - begun_s < 5


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from pcapstall.report import patterns

    monkeypatch.setattr(patterns, "_REMEMBERED_MAX", 50)
    machine = patterns.searcher("(a|b)*c(a|b){9}d").__self__  # type: ignore[attr-defined]
    for number in range(200):
        machine.search(f"{number:b}".replace("0", "a").replace("1", "bc") + chr(0x100 + number))
        assert len(machine._moves) <= 50
    assert machine.search("xcababababad")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("[", "not a regular expression"),
        (r"(a)\1", r"'\\1' at 4 of the regular expression"),
        ("a(?=b)", "'(' at 2"),
        ("(?i:a)+", "'(' at 1"),
        ("a*+", "possessive"),
        ("(a{100}){100}", "more than 1000 steps"),
        ("(a{60000}){60000}", "more than 1000 steps"),
        ("(" * 500 + "a*" + ")" * 500, "too large"),
        ("(){60000}" * 20 + "b", ""),
    ],
)
def test_what_cannot_be_followed_is_refused(pattern: str, said: str) -> None:
    if not said:
        assert searcher(pattern)("ab")
        return
    with pytest.raises(PatternError) as raised:
        searcher(pattern)
    assert said in str(raised.value)
