import io
import re
import subprocess
import sys

import pytest
import tabulate
from factories import (
    MS,
    alerted,
    capture,
    clean,
    event,
    flow,
    healthy,
    hostile,
    one_stall,
    refused,
    report,
    silent_client,
    slow_server,
    strace,
    ticket,
)
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.errors import UsageError
from pcapstall.report import drawing
from pcapstall.report.drawing import draw
from pcapstall.report.end_model import ProcessReport
from pcapstall.report.flow_grid import flow_grid
from pcapstall.report.names import EVENTS, STALL_INTERVALS
from pcapstall.report.options import RenderOptions
from pcapstall.report.prose import headline, healthy_line, numbers
from pcapstall.report.ranking import worst_first
from pcapstall.report.render import PAGE_FORMATS, parse_format, render
from pcapstall.report.styles import ESCAPES
from pcapstall.report.to_table import wrap
from pcapstall.report.untrusted import display_width

SGR = re.compile(r"\x1b\[[\d;]*m")


def rendered(made, wanted="table", **options):
    out = io.StringIO()
    render(made, out, wanted, RenderOptions(**options))
    return out.getvalue()


def said(*shown, hidden=()):
    return answer(report(shown, hidden))


REPORTS = {"ticket": ticket, "one_stall": one_stall, "clean": clean}


@pytest.mark.parametrize("width", [80, 120, None])
@pytest.mark.parametrize("name", REPORTS)
def test_golden(golden, name, width):
    golden(f"{name}.table.{width or 'pipe'}.txt", rendered(REPORTS[name](), width=width))


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 132, 250])
@pytest.mark.parametrize("name", ["ticket", "one_stall", "clean", "hostile"])
def test_no_line_is_wider_than_the_terminal(name, width):
    text = rendered({**REPORTS, "hostile": hostile}[name](), width=width)
    for line in text.splitlines():
        longest_word = max(map(len, line.split()), default=0)
        assert display_width(line) <= width or longest_word > width - 4 or "[" in line, line


def test_a_pipe_gets_no_colour_and_no_width():
    text = rendered(ticket())
    assert all(line.isprintable() and line == line.rstrip() for line in text.split("\n"))


def test_colour_changes_nothing_but_colour():
    colored = rendered(ticket(), width=100, color=True)
    assert SGR.search(colored)
    assert SGR.sub("", colored) == rendered(ticket(), width=100)


def test_what_stalled_stands_out():
    colored = rendered(ticket(), color=True)
    assert "\x1b[31;1m52091.2\x1b[0m" in colored
    assert "\x1b[31;1m>4500.0\x1b[0m" in colored
    assert "\x1b[33mrefused\x1b[0m" in colored


@pytest.mark.parametrize("style", tabulate.tabulate_formats)
def test_every_style_of_tabulate_draws_the_table(style):
    text = rendered(one_stall(), f"table:{style}", width=100)
    assert "52091.2" in text


@pytest.mark.parametrize("style", sorted(ESCAPES))
def test_markup_is_the_table_alone(style):
    """No sentence, which would have to be escaped, and none of what the terminal is: its width, its colours."""
    assert style in tabulate.tabulate_formats
    alone = rendered(hostile(), f"table:{style}", width=60, color=True)
    grid = flow_grid(worst_first(list(hostile().flows)))
    names = [column.name for column in grid.columns]
    sides = ["right" if column.right else "left" for column in grid.columns]
    assert alone == draw(names, grid.rows, sides, style) + "\n"
    assert rendered(report([], []), f"table:{style}") == ""


@pytest.mark.parametrize("style", ["simple", "grid", "rounded_outline", "psql", "plain", "presto", "pretty"])
def test_a_table_fits_in_every_style(style):
    text = rendered(one_stall(), f"table:{style}", width=80)
    assert max(map(display_width, text.splitlines())) <= 80


def test_tabulate_is_left_as_it_was():
    before = tabulate.MIN_PADDING
    draw(["a"], [["1"]], ["left"], "simple")
    assert tabulate.MIN_PADDING == before > 0


@pytest.mark.parametrize("call", ["json, ticket", "jsonl, ticket", "csv, ticket", "table, clean", "table, one_stall"])
def test_tabulate_is_imported_only_where_a_style_asks_for_it(call):
    wanted, name = call.split(", ")
    folder = __file__.rpartition("/")[0]
    program = (
        f"import sys, io; sys.path.append({folder!r}); import factories\n"
        "from pcapstall.report.render import render; from pcapstall.report.options import RenderOptions\n"
        f"render(factories.{name}(), io.StringIO(), {wanted!r}, RenderOptions())\n"
        "assert 'tabulate' not in sys.modules\n"
        "render(factories.ticket(), io.StringIO(), 'table:plain', RenderOptions())\n"
        "assert 'tabulate' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tabulate_is_to_others_what_it_is_without_us():
    """pandas asks it for its version before it draws a table."""
    program = (
        "import sys; from pcapstall.report.drawing import draw\n"
        "assert draw(['a'], [['1']], ['left'], 'plain') == 'a\\n1'\n"
        "import tabulate, importlib.metadata\n"
        "assert tabulate.__version__ == importlib.metadata.version('tabulate')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_worst_first():
    flows = [flow(1), alerted(2), slow_server(3), silent_client(4), refused(5)]
    assert [one.id for one in worst_first(flows)] == [4, 3, 2, 5, 1]


@pytest.mark.parametrize(
    ("shown", "hidden", "expected"),
    [
        (
            [silent_client()],
            healthy(36),
            (
                "1 of 37 flows stalled: 10.40.39.45:34506 sent its ClientHello to 10.40.42.129:8086 52.1 s after the"
                " TCP handshake; the server had closed at 10.0 s (client process: no thread waited on the socket's"
                " epoll set, high confidence)."
            ),
        ),
        ([], healthy(37), "No stall: 37 flows, all within 4.1 ms at every step (longest: ch_sh)."),
        (healthy(1), [], "No stall: 1 flow, all within 2.4 ms at every step (longest: ch_sh)."),
        ([], [], "No TCP connection in what was read."),
        (
            [],
            [flow(intervals={}, tls_outcome="not_tls")],
            (
                "Nothing to judge: 1 flow, but no step of a TCP or TLS handshake from its start to its end"
                " (seen midway, cut short or not TLS)."
            ),
        ),
        (
            [],
            [flow(intervals={"ch_span": 0}, tcp_outcome="seen_midway", tls_outcome="incomplete")],
            (
                "Nothing to judge: 1 flow, but no step of a TCP or TLS handshake from its start to its end"
                " (seen midway, cut short or not TLS). Take a capture of both directions that begins before the"
                " connections do."
            ),
        ),
        (
            [],
            [*healthy(2), flow(intervals={})],
            (
                "No stall: 3 flows, all within 2.4 ms at every step (longest: ch_sh); 1 of them showed no handshake"
                " to judge."
            ),
        ),
        (
            [slow_server()],
            [],
            (
                "1 of 1 flow stalled: 10.40.42.129:8086 had not answered the ClientHello of 10.40.39.45:34507"
                " after 4.5 s; the capture ends there (server process, medium confidence)."
            ),
        ),
        (
            [refused()],
            healthy(1),
            (
                "No stall, but 1 of 2 flows failed: [2001:db8:40:42::129]:8087 refused the connection of"
                " [2001:db8:40:39::45]:34509 (cause unknown)."
            ),
        ),
        (
            [alerted(), refused(11)._replace(cause=None)],
            [],
            (
                "No stall, but 2 of 2 flows failed; the first: the TLS handshake of 10.40.39.45:34510 with"
                " 10.40.42.129:8086 ended with an alert: protocol_version, sent by the server"
                " (cause unknown)."
            ),
        ),
        ([], [silent_client()], "1 of 1 flow stalled."),
    ],
)
def test_the_answer_comes_first(shown, hidden, expected):
    assert said(*shown, hidden=hidden) == expected


@pytest.mark.parametrize(
    ("shown", "hidden", "answer"),
    [
        ([], [], "None of 11 flows matches the filter ack_ch > 1h."),
        ([], healthy(2), "No stall: 2 flows that match (of 11), all within 2.4 ms at every step (longest: ch_sh)."),
        ([silent_client()], [], "1 of 1 flow that matches (of 11) stalled: "),
    ],
)
def test_what_a_filter_left_out_is_said(shown, hidden, answer):
    made = report(shown, hidden, filter_text="ack_ch > 1h", unfiltered_flows=11)
    lines = rendered(made).splitlines()
    assert lines[0].startswith(answer)
    assert f"(410 TCP), 11 flows, {len(shown) + len(hidden)} by the filter ack_ch > 1h, 62.2 s" in lines[1]


def test_a_filter_over_nothing_is_not_to_blame():
    assert headline(report(filter_text="failed", unfiltered_flows=0), []) == "No TCP connection in what was read."


def test_the_outcomes_of_healthy_flows_add_up():
    hidden = [
        *healthy(2),
        flow(intervals={}, tcp_outcome="seen_midway", tls_outcome="incomplete"),
        flow(intervals={}, tcp_outcome="seen_midway", tls_outcome="not_tls"),
        flow(intervals={}, tcp_outcome="raced", tls_outcome=None),
    ]
    line = healthy_line(report([], hidden), False)
    assert line.startswith("5 flows did not stall or fail (established 2, incomplete 1, not_tls 1, raced 1); ")


@pytest.mark.parametrize(
    ("lengths_ms", "expected"),
    [
        ([3], "; in ms: ch_sh 3.0."),
        ([3, 5], "; p50/max in ms: ch_sh 3.0/5.0."),
        (range(1, 20), "; p50/max in ms: ch_sh 10.0/19.0."),
        (range(1, 21), "; p50/p90/p99/max in ms: ch_sh 10.0/18.0/20.0/20.0."),
    ],
)
def test_few_flows_have_no_high_percentile(lengths_ms, expected):
    hidden = [flow(at, intervals={"ch_sh": ms * 1_000_000}) for at, ms in enumerate(lengths_ms, 1)]
    assert healthy_line(report([], hidden), False).endswith(expected)


def test_a_length_that_the_capture_made_does_not_lead():
    broken = silent_client(1)._replace(intervals_ns={"ack_ch": 10**18}, cause="capture")
    assert [one.id for one in worst_first([broken, slow_server(2), silent_client(3), alerted(4)])] == [3, 2, 1, 4]


def test_a_hello_that_nobody_is_known_to_have_held_back_came_late_and_was_not_sent_late():
    lost = silent_client()._replace(
        cause="network", side="network", intervals_ns={"ack_ch": 860_000_000}, confidence="high"
    )
    assert "the ClientHello of 10.40.39.45:34506 came 860 ms after the TCP handshake (network" in said(lost)


@pytest.mark.parametrize(
    ("cause", "why"),
    [
        ("network", "(network: the ClientHello was lost, "),
        ("unknown", "(cause unknown: the ClientHello was lost, or not taken by the server's host)"),
    ],
)
def test_what_may_not_have_been_lost_is_not_said_to_be(cause, why):
    made = slow_server()._replace(stalled="ch_ack", open_ns={"ch_ack": 3_000_000_000}, cause=cause)
    assert why in said(made._replace(reason="client_hello_loss", intervals_ns={}))


def test_a_stall_that_a_clock_made_is_not_told_as_one():
    made = slow_server()._replace(cause="capture", reason="clock_step", confidence="low")
    said_of = "the capture's clock seems to have been set by about 4.5 s during the ch_sh of 10.40.39.45:34507 to "
    assert said_of + "10.40.42.129:8086 (the capture itself, low confidence)" in said(made)
    assert "ch_sh, clock set by about 4.5 s" in rendered(report([made]))
    half = {"unknown": 9_000_000_000, "capture": 11_000_000_000}
    text = rendered(report([made._replace(parts_ns={"ch_sh": half}, open_ns={"ch_sh": 20_000_000_000})]))
    assert "ch_sh, clock set by 11.0 s or more" in text
    assert "ch_sh = " not in text


def test_an_open_stall_says_how_it_ended():
    closed = slow_server()._replace(flags=[], closed_by="client", close_kind="rst")
    assert "after 4.5 s; then the client reset the connection (" in said(closed)


def test_what_was_read_and_what_to_mistrust_is_said_before_the_table_and_the_straces_last():
    made = report(
        [silent_client()],
        captures=[
            capture(dropped=3, malformed={"bad IP length": 2}, trust="clock_steps", warnings=["cut off at frame 412"]),
            capture(file="b.pcap", linktypes=["EN10MB", "LINUX_SLL2"]),
        ],
        straces=[
            strace(clock_offset_ns=-1_500_000_000),
            strace(file="x.strace", label="outbound", processes=[ProcessReport(1, None, [])], clock_offset_ns=None),
        ],
    )
    lines = rendered(made).splitlines()
    assert lines[1:6] == [
        (
            "Read client.pcap, b.pcap: 824 packets (820 TCP), 1 flow, 62.2 s from 2021-05-19 18:49:02.123456 UTC"
            " by a clock that was set, EN10MB, LINUX_SLL2, captured at the client."
        ),
        "client.pcap: to be read with care: clock steps",
        "client.pcap: 3 packets dropped by the capturing host",
        "client.pcap: 2 packets malformed (bad IP length 2)",
        "Warning: client.pcap: cut off at frame 412",
    ]
    assert lines[6] == ""
    assert lines[-3:] == [
        "",
        (
            "Read client.strace: 3734 lines (2 not understood), process 30033 is the client of flow 6, 1 socket"
            " matched no flow, its clock is 1.5 s ahead, give or take 120 us."
        ),
        "Read x.strace (outbound): 3734 lines (2 not understood), no socket of it is a flow of the capture.",
    ]


@pytest.mark.parametrize("wanted", ["table", "markdown", "jira"])
def test_many_warnings_do_not_hide_the_table(wanted):
    ring = [capture(file=f"ring{at:02}.pcap", warnings=["cut off at frame 412"]) for at in range(20)]
    page = rendered(report([silent_client()], captures=ring), wanted)
    before = page[: page.index("synack_ack")]
    assert before.count("cut off at frame 412") == 3
    assert "17 more to be mistrusted are told last" in before
    assert page.count("cut off at frame 412") == 20


def test_many_captures_are_counted():
    made = report([], healthy(1), captures=[capture(file=f"ring{at:02}.pcap") for at in range(12)])
    assert "Read 12 captures (ring00.pcap ... ring11.pcap): 4944 packets" in rendered(made)


@pytest.mark.parametrize(
    ("silent_ns", "said"),
    [(None, " UTC, EN10MB"), (20_000_000, " UTC, EN10MB"), (3_800_000_000, " UTC, watched for 66.0 s, EN10MB")],
)
def test_a_live_capture_was_watched_longer_than_its_packets_took(silent_ns, said):
    one = capture()
    until_ns = None if silent_ns is None else one.last_ns + silent_ns
    made = report([], healthy(1), captures=[one], watched_until_ns=until_ns)
    assert f"62.2 s from 2021-05-19 18:49:02.123456{said}" in " ".join(rendered(made).split())


def test_with_several_captures_frames_name_theirs():
    made = report([silent_client()], captures=[capture(), capture(file="b.pcap")])
    assert "[frames 3, 9 of client.pcap]" in rendered(made)


@pytest.mark.parametrize(
    ("file", "captures", "said"),
    [
        (0, 1, "ack_ch 52.1 s (frames 3 -> 9, 18:49:02.123 UTC); outcome"),
        (0, 2, "ack_ch 52.1 s (frames 3 -> 9 of a0.pcap, 18:49:02.123 UTC); outcome"),
        (1, 2, "ack_ch 52.1 s (frames 3 of a0.pcap -> 9 of a1.pcap, 18:49:02.123 UTC); outcome"),
    ],
)
def test_a_stall_says_where_and_when_it_is(file, captures, said):
    one = silent_client()
    hello = one.events["client_hello_first"]._replace(file=file)
    one = one._replace(events=one.events | {"client_hello_first": hello})
    made = report([one], captures=[capture(file=f"a{at}.pcap") for at in range(captures)])
    assert said in rendered(made)


def test_an_open_stall_says_where_it_began():
    opened = slow_server()._replace(events=slow_server().events | {"client_hello_last": event(5_000_000, 21)})
    assert "ch_sh more than 4.5 s (from frame 21, 18:49:02.128 UTC); outcome" in rendered(report([opened]))
    assert "ch_sh more than 4.5 s; outcome" in rendered(report([slow_server()]))


@pytest.mark.parametrize("name", STALL_INTERVALS)
def test_every_interval_that_can_stall_lies_between_two_events(name):
    events = {event_name: event(at * 1_000_000, at) for at, event_name in enumerate(EVENTS, 1)}
    one = flow(intervals={name: 10**10}, stalled=name, events=events)
    assert re.search(rf"{name} 10\.0 s \(frames \d+ -> \d+, 18:49:02", rendered(report([one])))


def test_long_lists_of_frames_are_counted():
    assert numbers(list(range(1, 11))) == "1, 2, 3, 4, 5, 6, 7, 8 and 2 more"


def test_the_verdicts_of_many_flows_are_told_only_with_all():
    made = report([silent_client(number) for number in range(1, 41)])
    assert rendered(made).count("\nFlow ") == 25
    assert "The verdicts of 15 more are told with --all or in -f json." in rendered(made)
    assert rendered(made, all_flows=True).count("\nFlow ") == 40


def test_healthy_flows_that_are_shown_have_a_row_and_no_story():
    text = rendered(report([silent_client(), *healthy(2)]))
    assert "10.40.39.45:34601" in text
    assert text.count("\nFlow ") == 1
    assert "did not stall" not in text


def test_outside_text_cannot_act_on_a_terminal():
    text = rendered(hostile(), width=120, color=True)
    text = SGR.sub("", text)
    assert all(line.isprintable() for line in text.split("\n"))
    text.encode("utf-8")


@given(st.text(alphabet="a b1 ms,.", max_size=60), st.integers(1, 30))
def test_wrapping_loses_nothing_and_breaks_no_word(text, width):
    assert " ".join(wrap(text, width)).split() == text.split()


def test_a_number_keeps_its_unit():
    assert wrap("it took 52.1 s and 3 ms", 12) == ["it took", "52.1 s and", "3 ms"]
    assert wrap("a very long word: aaaaaaaaaaaaaaaaaaaa", 10, "  ") == [
        "a very",
        "  long",
        "  word:",
        "  aaaaaaaaaaaaaaaaaaaa",
    ]


def test_formats():
    assert parse_format("markdown") == ("markdown", "")
    assert parse_format("table:grid") == ("table", "grid")
    for wanted, expected in {
        "tabel": "did you mean table",
        "": "there are table, markdown",
        "table:gird": "did you mean grid",
        "csv:grid": "only table has styles",
    }.items():
        with pytest.raises(UsageError, match=expected):
            parse_format(wanted)


@pytest.mark.parametrize("wanted", PAGE_FORMATS)
def test_every_format_takes_every_report(wanted):
    for made in (ticket(), one_stall(), clean(), hostile(), report(), report(captures=[])):
        assert rendered(made, wanted, width=80)


def test_only_the_rows_whose_verdict_is_told_are_kept_whole() -> None:
    flows = [silent_client(at)._replace(intervals_ns={"ack_ch": at * 10**9}) for at in (3, 1, 4, 2)]
    kept = worst_first(iter(flows), 2)
    assert [one.id for one in kept] == [one.id for one in worst_first(flows)] == [4, 3, 2, 1]
    assert kept[:2] == [flows[2], flows[0]]
    assert all(one.events == {} and one.evidence == [] for one in kept[2:])
    assert rendered(report(flows), stories=2).splitlines()[:9] == rendered(report(flows)).splitlines()[:9]


WORDS = st.sampled_from(["", "-", "True", "12", "1.5"])
NARROW = st.text(st.sampled_from("ab 1.-+>|_:\\*<éü…\n"), max_size=6) | WORDS
WIDE = st.text(st.sampled_from("ab 1\u4e2d\uff21\uac00e\u0301"), max_size=6) | WORDS
PLAIN_CELLS = st.text(st.sampled_from("ab 1.-…ü"), max_size=6) | WORDS


def tables(names, cells):
    """Names, rows and alignments; no row is empty, of which tabulate leaves some out."""
    return st.integers(1, 4).flatmap(
        lambda columns: st.tuples(
            st.lists(names, min_size=columns, max_size=columns),
            st.lists(st.lists(cells, min_size=columns, max_size=columns).filter(lambda row: "".join(row).strip())),
            st.lists(st.sampled_from(["left", "right"]), min_size=columns, max_size=columns),
        )
    )


@given(tables(st.text("abc#_", min_size=1, max_size=4), NARROW))
def test_the_usual_style_is_that_of_tabulate(table):
    assert draw(*table, "simple") == drawing._drawn(*table, "simple")


def on_terminal(text):
    """A letter for each column that it takes."""
    return "".join(letter * display_width(letter) for letter in text)


@given(tables(st.text("a\u4e2d", min_size=1, max_size=4), WIDE))
def test_columns_are_as_wide_as_a_terminal_shows_them(table):
    names, rows, sides = table
    lines = draw(*table, "simple").split("\n")
    places = [match.span() for match in re.finditer("-+", lines[1])]
    cells = [[cell.strip() for cell in row] for row in (names, *rows)]
    assert [end - start for start, end in places] == [max(map(display_width, row)) for row in zip(*cells, strict=True)]
    for line, row in zip([lines[0], *lines[2:]], cells, strict=True):
        shown = on_terminal(line).ljust(places[-1][1])
        for (start, end), cell, side in zip(places, row, sides, strict=True):
            room = " " * (end - start - display_width(cell))
            assert shown[start:end] == (room + on_terminal(cell) if side == "right" else on_terminal(cell) + room)


def test_the_usual_style_asks_nobody(monkeypatch):
    monkeypatch.setattr(drawing, "_drawn", None)
    rows = [["1", "Köln"], ["22", "\u4e2d\u4e2d\nx"], ["", ""]]
    assert draw(["n", "at"], rows, ["right", "left"], "simple").splitlines() == [
        " n  at",
        "--  ----",
        " 1  Köln",
        "22  \u4e2d\u4e2d",
        "    x",
    ]  # fmt: skip
    assert draw(["n", "at"], [], ["right", "left"], "simple") == "n  at\n-  --"


@given(
    st.lists(st.lists(PLAIN_CELLS, min_size=2, max_size=2), min_size=1, max_size=4),
    st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 1)), st.sampled_from(["31;1", "33"])),
    st.sampled_from(["simple", "plain", "presto", "psql", "outline"]),
)
def test_colours_take_no_room(rows, colors, style):
    colors = {place: color for place, color in colors.items() if place[0] < len(rows)}
    drawn = draw(["n", "cell"], rows, ["right", "left"], style, colors).rstrip("\n")
    painted = [[cell.strip() for cell in row] for row in rows]
    for (row, column), color in colors.items():
        if painted[row][column]:
            painted[row][column] = drawing.colored(painted[row][column], color)
    assert drawn == drawing._drawn(["n", "cell"], painted, ["right", "left"], style).rstrip("\n")
    assert [line.rstrip() for line in SGR.sub("", drawn).split("\n")] == draw(
        ["n", "cell"], rows, ["right", "left"], style
    ).rstrip("\n").split("\n")


def lost_hello(number=3, **fields):
    """A stall of 99 s whose cause the packets do not tell."""
    return slow_server(number)._replace(open_ns={"ch_sh": 99_000 * MS}, cause="unknown", side=None, **fields)


def answer(made):
    return headline(made, worst_first(list(made.flows)))


def test_a_worst_flow_in_no_strace_does_not_hide_what_the_straces_explain():
    shown = [lost_hello(), silent_client(6), silent_client(8)]
    said = answer(report(shown, straces=[strace()]))
    assert said == (
        "3 of 3 flows stalled (client process 2, cause unknown 1); the worst, in no strace: 10.40.42.129:8086 had not"
        " answered the ClientHello of 10.40.39.45:34503 after 99.0 s; the capture ends there (cause unknown); 2 others"
        " are in the straces, their worst: 10.40.39.45:34506 sent its ClientHello to 10.40.42.129:8086 52.1 s after the"
        " TCP handshake; the server had closed at 10.0 s (client process: no thread waited on the socket's epoll set,"
        " high confidence)."
    )
    one = answer(report(shown[:2], straces=[strace()]))
    assert "; 1 other is in the straces: 10.40.39.45:34506 sent its ClientHello " in one
    half = answer(report([lost_hello(match="endpoints"), silent_client()], straces=[strace()]))
    assert "; the worst: 10.40.42.129:8086 had not answered" in half
    assert "; 1 other is in the straces: " in half


def test_without_straces_or_with_a_known_cause_the_worst_flow_is_all_there_is():
    known = lost_hello()._replace(cause="network", side="network")
    for made in (
        report([lost_hello(), silent_client()._replace(match=None)]),
        report([known, silent_client()], straces=[strace()]),
        report([lost_hello(), lost_hello(4, match="endpoints")], straces=[strace()]),
    ):
        assert "straces" not in answer(made)
