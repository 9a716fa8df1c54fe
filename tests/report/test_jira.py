import io
import re

import pytest
from factories import clean, hostile, ticket
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.report.options import RenderOptions
from pcapstall.report.to_jira import escape, render


def rendered(made):
    out = io.StringIO()
    render(made, out, RenderOptions())
    return out.getvalue()


@pytest.mark.parametrize("make", [ticket, clean])
def test_golden(golden, make):
    golden(f"{make.__name__}.jira.txt", rendered(make()))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("ack_ch 52.1 s, a-b 10.0.0.1:1 -> 10.0.0.2:2", "ack_ch 52.1 s, a-b 10.0.0.1:1 -> 10.0.0.2:2"),
        ("{code} [~user] |x| !img.png! *b*", r"\{code\} \[\~user\] \|x\| \!img.png\! \*b\*"),
        ("_em_ -del- +ins+ ??cite??", r"\_em\_ \-del\- \+ins\+ \?\?cite\?\?"),
        (r"a\b", "a&#92;b"),
        ("see (x) and (i) :)", r"see \(x) and \(i) :\)"),
        ("http://evil.example", "http:&#8203;//evil.example"),
        ("h1. title", "&#8203;h1. title"),
        ("# item", "&#8203;# item"),
        ("a\nb", "a&#92;x0ab"),
    ],
)
def test_sentences_are_shown_as_they_are(text, escaped):
    assert escape(text) == escaped


@given(st.text())
def test_a_sentence_stays_on_its_line_and_opens_nothing(text):
    shown = escape(text)
    assert shown.isprintable()
    assert not re.search(r"(?<!\\)[{}|\[\]!]", shown)


def test_outside_text_changes_no_row():
    text = rendered(hostile())
    head, row = (line for line in text.splitlines() if line.startswith("|"))
    assert head.startswith("||")
    assert head.count("||") == row.count("|")
    assert not re.search(r"(?<!\\)[{\[!]", text)
