import base64
import hashlib
import html
import io
import re
from html.parser import HTMLParser

import pytest
from factories import capture, clean, healthy, hostile, refused, report, silent_client, slow_server, strace, ticket

from pcapstall.report.options import RenderOptions
from pcapstall.report.to_html import PICTURED, render

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
        "td", "a", "code", "article", "ul", "li", "b", "span", "figure", "figcaption", "details", "summary", "script",
        "svg", "g", "path", "rect", "text", "tspan",
    }  # fmt: skip
    assert {name for name, _ in page.attributes} <= {
        "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "title", "tabindex", "role",
        "aria-label", "viewbox", "width", "height", "x", "y", "d", "dx", "rx", "transform",
    }  # fmt: skip
    assert all(value.startswith("#flow-") for name, value in page.attributes if name == "href")


@pytest.mark.parametrize("make", [ticket, hostile])
def test_the_policy_allows_the_page_its_own_style_and_script_and_nothing_else(make):
    text = rendered(make())
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.keys() == {"default-src", "style-src", "script-src", "base-uri", "form-action"}
    for tag in ("style", "script"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        allowed = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{allowed}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert not [name for name, _ in Page(text).attributes if name == "style" or name.startswith("on")]


def test_the_worst_verdicts_have_a_picture():
    many = [silent_client(number) for number in range(1, PICTURED + 10)]
    assert (
        rendered(report(many)).count('<svg class="ps"') == PICTURED + 2
    )  # besides the whole capture and the distributions
    figures = re.findall(r"<figure.*?</figure>", rendered(report([silent_client()], healthy(1))), re.DOTALL)
    assert len(figures) == 2
    assert "Drawn from the events of the flow alone: pcapstall timeline --flow 6" in figures[1]


def test_what_was_read_is_folded_but_for_warnings():
    made = report([], healthy(3), straces=[strace()], captures=[capture(warnings=["its clock stepped back"])])
    shown, _, folded = rendered(made).partition("<details>")
    assert "its clock stepped back" in shown
    assert "client.strace" in folded
    assert "client.strace" not in shown


def test_what_makes_a_capture_less_to_be_trusted_is_not_folded():
    odd = capture(trust="clock_steps", dropped=3, malformed={"ip_cut": 2})
    shown, _, folded = rendered(report([], healthy(3), straces=[strace()], captures=[odd])).partition("<details>")
    for said in ("to be read with care: clock steps", "3 packets dropped", "2 packets malformed"):
        assert said in html.unescape(shown).replace("\xa0", " ")
        assert said not in html.unescape(folded).replace("\xa0", " ")


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
    assert text.count("<script") == 1
    assert "\x1b" not in text
    text.encode("utf-8")
    assert "<script>alert(1)</script>" in "".join(Page(text).text)


def test_both_color_schemes_have_every_color():
    text = rendered(clean()).partition(".ps text")[0]
    blocks = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    light, dark, printed = [set(re.findall(r"(--[a-z-]+):", block)) for block in blocks[:3]]
    assert light == dark
    assert printed <= light
    assert set(re.findall(r"var\((--(?!ps-)[a-z-]+)\)", text)) == light


def test_a_window_of_1300_pixels_shows_the_length_of_the_stall_before_the_picture():
    page = rendered(ticket())
    heads = re.findall(r"<th[^>]*>(\w+|#)</th>", page[: page.index("</thead>")])
    assert heads[:6] == ["#", "client", "server", "stalled", "length", "cause"]
    assert '<td class="right bad">52091.2</td>' in page
    assert page.index("<table") < page.index("<figure")


def heads_of(page):
    return re.findall(r"<th[^>]*>(\w+|#)</th>", page[: page.index("</thead>")])


def test_a_step_that_the_length_of_the_stall_tells_has_no_column_of_its_own():
    heads = heads_of(rendered(report([silent_client()])))
    assert "ack_ch" not in heads
    assert "length: how long the step that stalled took; ack_ch: TCP handshake to ClientHello" in rendered(
        report([silent_client()])
    )
    assert "ack_ch" in heads_of(rendered(report([silent_client(), slow_server()]))), "the other flow has one, too"


def test_without_a_stall_there_is_no_length():
    page = rendered(report([refused()]))
    assert ">stalled</th>" not in page
    assert ">length</th>" not in page
