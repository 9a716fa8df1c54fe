"""The page as a reader meets it: in a browser, with and without its script, by keyboard, on a narrow screen."""

import io
from pathlib import Path

import pytest
from chromium import Chromium
from factories import HOSTILE, hostile, report, silent_client, ticket

from pcapstall.cli.main import main
from pcapstall.report.options import RenderOptions
from pcapstall.report.to_html import render

ROOT = Path(__file__).resolve().parents[2]
STALLED = ROOT / "captures" / "stalled-client-hello"
REAL = ["mercury--top_100_fingerprints.pcap", "ndpi--webex.pcap", "zeek--tls13_psk_succesfull.pcap"]


def made_of(report_made: object, path: Path) -> Path:
    out = io.StringIO()
    render(report_made, out, RenderOptions())  # type: ignore[arg-type]
    path.write_text(out.getvalue(), encoding="utf-8")
    return path


def page_of(path: Path, *arguments: str) -> Path:
    assert main(["report", *arguments, "-o", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [
        argument
        for kind in ("strace", "log")
        for side in ("outbound", "inbound")
        for argument in (f"--{kind}", f"{side}={STALLED / f'{side}.{kind}'}")
    ]
    return page_of(tmp_path_factory.mktemp("page") / "stalled.html", str(STALLED / "capture.pcap"), *texts)


def test_the_stalled_flow_is_on_the_first_screen(chromium: Chromium, stalled: Path) -> None:
    chromium.load(stalled)
    assert chromium.errors == []
    heading = chromium.ask("document.querySelector('h1').innerText")
    assert heading.startswith("1 of 11 flows stalled: 10.40.39.45:34506 sent its ClientHello")
    for what in ("h1", "figure svg a.m", "td.bad"):
        bottom = chromium.ask(f"document.querySelector('{what}').getBoundingClientRect().bottom")
        assert 0 < bottom < 900, what
    assert chromium.ask("document.querySelector('figure svg a.m').getAttribute('href')") == "#flow-6"


def test_the_waterfall_has_the_calls_of_both_ends(chromium: Chromium, stalled: Path) -> None:
    chromium.load(stalled)
    lines = chromium.ask("[...document.querySelectorAll('article svg text')].map(text => text.textContent)")
    assert {"12170 futex", "12157 accept4 = 7", "client: outbound", "server: inbound"} <= set(lines)
    assert "client process" in lines
    table = chromium.ask("document.querySelector('article details').textContent")
    assert "no wait on epoll set 5" in table
    assert "frame 148" in table


@pytest.mark.parametrize("name", REAL)
def test_real_captures_make_pages_without_complaints(
    name: str, chromium: Chromium, corpus: Path, tmp_path: Path
) -> None:
    page = page_of(tmp_path / "real.html", "--all", str(corpus / name))
    for dark in (False, True):
        chromium.load(page, dark=dark)
        assert chromium.errors == []
        assert chromium.ask("document.querySelectorAll('figure svg').length") >= 1
        colors = chromium.ask("getComputedStyle(document.body).backgroundColor")
        assert (colors == "rgb(255, 255, 255)") != dark


def test_a_column_is_sorted_by_keyboard(chromium: Chromium, tmp_path: Path) -> None:
    chromium.load(made_of(ticket(), tmp_path / "ticket.html"))
    column = "[...document.querySelectorAll('table.sortable th')].find(th => th.textContent === 'ack_ch')"
    ids = "[...document.querySelectorAll('table.sortable tbody tr')].map(row => row.cells[0].textContent).join()"
    before = chromium.ask(ids)
    chromium.ask(f"{column}.querySelector('button').focus()")
    chromium.press("Enter")
    assert chromium.ask(f"{column}.getAttribute('aria-sort')") == "descending"
    assert chromium.ask(ids) == "6,7,10,9"  # 52 s, 2 ms, 1.3 ms, none
    chromium.press("Enter")
    assert chromium.ask(f"{column}.getAttribute('aria-sort')") == "ascending"
    assert chromium.ask(ids) == "10,7,6,9"
    assert chromium.ask("document.querySelectorAll('th[aria-sort]').length") == 1
    assert before == "6,7,9,10"


def test_rows_are_filtered_as_one_types(chromium: Chromium, tmp_path: Path) -> None:
    chromium.load(made_of(ticket(), tmp_path / "ticket.html"))
    chromium.ask("document.querySelector('input[type=search]').focus()")
    for key in "refused":
        chromium.press(key)
    assert chromium.ask("[...document.querySelectorAll('table.sortable tbody tr')].filter(r => !r.hidden).length") == 1
    assert chromium.ask("document.querySelector('.filter [role=status]').textContent") == "1 of 4"


def test_a_picture_is_enlarged_and_read_by_keyboard(chromium: Chromium, stalled: Path) -> None:
    chromium.load(stalled)
    chromium.ask("document.querySelector('article figure .scroll').focus()")
    width = "document.querySelector('article figure svg').getBoundingClientRect().width"
    natural = chromium.ask(width)
    chromium.press("+")
    assert chromium.ask(width) == pytest.approx(1.4 * natural, rel=0.01)
    chromium.press("0")
    assert chromium.ask(width) == natural
    chromium.press("Tab")
    told = "document.querySelector('article .detail').textContent"
    first = chromium.ask(told)
    assert "outbound 12170, futex" in first
    assert "outbound.strace:1495" in first
    chromium.press("ArrowDown")
    assert chromium.ask(told) != first


def test_all_is_there_without_the_script(chromium: Chromium, stalled: Path) -> None:
    chromium.load(stalled, scripts=False)
    assert chromium.errors == []
    chromium.call("Emulation.setScriptExecutionDisabled", value=False)
    assert chromium.ask("document.querySelectorAll('button, input').length") == 0
    text = chromium.ask("document.body.innerText")
    assert "1 of 11 flows stalled" in text
    assert "no thread waited on that set for 52.2" in text.replace("\xa0", " ")
    assert chromium.ask("document.querySelectorAll('figure svg').length") == 3


def test_what_a_stranger_named_a_server_runs_nothing(chromium: Chromium, tmp_path: Path) -> None:
    names = [HOSTILE, '"><img src=x onerror=alert(1)>', "</title></svg></style><script>document.title='x'</script>"]
    flows = [silent_client(number)._replace(sni=name, verdict=name) for number, name in enumerate(names, 1)]
    for made in (hostile(), report(flows)):
        chromium.load(made_of(made, tmp_path / "hostile.html"))
        assert chromium.errors == []
        assert chromium.ask("document.scripts.length") == 1
        assert chromium.ask("document.querySelectorAll('img, iframe, object, link').length") == 0
        assert chromium.ask("document.title").startswith("TLS stalls: ")


@pytest.mark.parametrize("width", [390, 800, 1280])
def test_nothing_but_tables_and_pictures_is_wider_than_the_screen(
    width: int, chromium: Chromium, stalled: Path
) -> None:
    chromium.load(stalled, width=width)
    assert chromium.ask("document.documentElement.scrollWidth") <= width


def test_a_narrow_screen_shows_the_left_of_a_waterfall_first(chromium: Chromium, stalled: Path) -> None:
    chromium.load(stalled, width=390)
    assert chromium.ask("document.querySelector('article .scroll').scrollLeft") == 0
    lane = "article .scroll .lane"
    client = f"document.querySelector('{lane}').getBoundingClientRect().left"
    assert 0 < chromium.ask(client) < 390 - 40


def test_the_answers_are_seen_before_the_numbers(chromium: Chromium, tmp_path: Path) -> None:
    chromium.load(made_of(ticket(), tmp_path / "page.html"), width=1280)
    heads = chromium.ask("[...document.querySelectorAll('table th')].map(th => th.innerText.trim())")
    assert heads[:9] == ["#", "client", "server", "stalled", "length", "cause", "confidence", "outcome", "reason"]
    right = "[...document.querySelectorAll('table th')][7].getBoundingClientRect().right"
    assert chromium.ask(right) < 1280


def test_it_is_printed_by_day_and_without_tools(chromium: Chromium, stalled: Path) -> None:
    chromium.load(stalled, dark=True)
    chromium.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert chromium.ask("getComputedStyle(document.querySelector('.tools')).display") == "none"
    assert chromium.ask("getComputedStyle(document.querySelector('svg text')).fill") == "rgb(28, 32, 36)"
    chromium.call("Emulation.setEmulatedMedia", media="", features=[])
