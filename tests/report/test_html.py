import io
import re
from html.parser import HTMLParser

import pytest
from factories import clean, hostile, report, silent_client, ticket

from pcapstall.report.options import RenderOptions
from pcapstall.report.to_html import render

VOID = {"meta"}


class Page(HTMLParser):
    """Checks that elements nest, and collects what a page holds."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.tags = []
        self.attributes = []
        self.text = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def rendered(made):
    out = io.StringIO()
    render(made, out, RenderOptions())
    return out.getvalue()


@pytest.mark.parametrize("make", [ticket, clean])
def test_golden(golden, make):
    golden(f"{make.__name__}.html", rendered(make()))


@pytest.mark.parametrize("make", [ticket, clean, hostile, report])
def test_the_page_is_well_formed_and_fetches_and_runs_nothing(make):
    page = Page(rendered(make()))
    assert set(page.tags) <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "table", "thead", "tbody", "tr", "th",
        "td", "a", "code", "article", "ul", "li", "b", "span",
    }  # fmt: skip
    assert {name for name, _ in page.attributes} <= {
        "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "title",
    }  # fmt: skip
    assert all(value.startswith("#flow-") for name, value in page.attributes if name == "href")


def test_links_lead_to_stories():
    page = Page(rendered(ticket()))
    targets = {value for name, value in page.attributes if name == "id"}
    assert (
        {value[1:] for name, value in page.attributes if name == "href"}
        == targets
        == {"flow-6", "flow-7", "flow-9", "flow-10"}
    )


def test_every_verdict_is_on_the_page():
    made = report([silent_client(number) for number in range(1, 41)])
    assert Page(rendered(made)).tags.count("article") == 40


def test_outside_text_is_text():
    text = rendered(hostile())
    assert "<script" not in text
    assert "\x1b" not in text
    text.encode("utf-8")
    assert "<script>alert(1)</script>" in "".join(Page(text).text)


def test_both_color_schemes_have_every_color():
    text = rendered(clean())
    light, dark = re.search(r":root \{(.*?)\}.*?:root \{(.*?)\}", text, re.DOTALL).groups()
    names = set(re.findall(r"--[a-z-]+(?=:)", light))
    assert set(re.findall(r"--[a-z-]+(?=:)", dark)) == names
    assert set(re.findall(r"var\((--[a-z-]+)\)", text)) == names
