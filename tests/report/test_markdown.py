import io
import re

import pytest
from factories import clean, hostile, ticket
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.report.options import RenderOptions
from pcapstall.report.to_markdown import code, escape, render


def rendered(made):
    out = io.StringIO()
    render(made, out, RenderOptions())
    return out.getvalue()


@pytest.mark.parametrize("make", [ticket, clean])
def test_golden(golden, make):
    golden(f"{make.__name__}.md", rendered(make()))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("ack_ch 52.1 s, a-b", "ack_ch 52.1 s, a-b"),
        ("a|b `c` <d> *e* _f_ [g](h) ~i~ &amp;", r"a\|b \`c\` &lt;d&gt; \*e\* \_f\_ \[g\](h) \~i\~ &amp;amp;"),
        ("ask @team about #12 and !7", "ask @<!-- -->team about #<!-- -->12 and !<!-- -->7"),
        ("http://evil.example www.evil.example", "http:<!-- -->//evil.example www<!-- -->.evil.example"),
        ("# heading", r"\# heading"),
        ("- item", r"\- item"),
        ("1. item", r"1\. item"),
        ("--- rule", r"\--- rule"),
        ("a\nb\x1b", r"a\\x0ab\\x1b"),
        ("-42.1 ms", "-42.1 ms"),
    ],
)
def test_sentences_are_shown_as_they_are(text, escaped):
    assert escape(text) == escaped


@given(st.text())
def test_a_sentence_stays_on_its_line_and_opens_nothing(text):
    shown = escape(text)
    assert shown.replace("<!-- -->", "").count("<") == 0
    assert shown.isprintable()
    assert not re.search(r"@\w", shown)


@given(st.text())
def test_code_is_one_span(text):
    shown = code(text)
    assert shown.count("`") == 2
    assert "\n" not in shown


def test_outside_text_changes_no_row_and_starts_no_line():
    text = rendered(hostile())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    assert len(rows) == 3
    bare = re.sub(r"(?<!\\)`[^`]*`", "", text)
    assert not re.search(r"@\w|<script|(?<!\\)\]\(|(?<!\\)`|://", bare)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        line for line in text.splitlines() if line.startswith("### Flow 6: ")
    ]
