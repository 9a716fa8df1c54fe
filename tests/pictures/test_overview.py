import re
import tracemalloc

from factories import event, flow, healthy, refused, report, silent_client, slow_server, ticket
from picture_support import STALLED, analysed, read, texts, titles

from pcapstall.core.times import MS, SECOND
from pcapstall.report.pictures import ecdf, overview, svg
from pcapstall.report.pictures.spread import SERVERS_MAX, STEPS, Spread, busiest, lengths_of, of_flows, unended_of
from pcapstall.report.ranking import worst_first

SVG = "{http://www.w3.org/2000/svg}"
T0 = 1_621_450_142_123_456_000


def stalled(number, start_ns, length_ns, cause="client_process"):
    return silent_client(number)._replace(
        events=silent_client().events | {"syn": event(start_ns, number)},
        intervals_ns=silent_client().intervals_ns | {"ack_ch": length_ns},
        cause=cause,
    )


def spread_of(count, servers=3):
    spread = Spread()
    for at in range(count):
        lengths = {"ack_ch": (1 + at % 977) * MS, "syn_synack": (1 + at % 13) * MS}
        spread.add(T0 + at * MS, f"10.0.0.{at % servers}:443", lengths)
    return spread


def test_golden(golden) -> None:
    analysis = analysed(STALLED / "capture.pcap", pictures=True)
    picture = overview.draw(worst_first(analysis.report.flows), analysis.report.spread)
    golden("whole-capture.svg", picture.document())


def test_every_flow_is_a_mark_and_the_legend_counts_them() -> None:
    root = read(overview.draw(worst_first(ticket().flows), spread_of(10)))
    lines = texts(root)
    assert "client process (1)" in lines
    assert "no stall (10)" in lines
    assert any(title.startswith("Flow 6, ") and "ack_ch 52.1 s, client process" in title for title in titles(root))


def test_what_ended_at_one_moment_ends_at_one_edge() -> None:
    flows = [stalled(at, at * SECOND, (20 - at) * SECOND) for at in range(1, 9)]
    text = overview.draw(flows, Spread()).document()
    ends = {part.split("H")[1].split("m")[0] for part in text.split('whisker l-client_process" d="')[1:]}
    assert len(ends) == 1


def test_an_open_interval_is_an_arrow() -> None:
    one = slow_server()._replace(events=slow_server().events | {"syn": event(0, 1)})
    assert "M0-7V-15" in overview.draw([one], Spread()).document()
    assert "M0-7V-15" not in overview.draw([stalled(1, 0, SECOND)], Spread()).document()


def test_flows_without_a_length_are_beside_the_scale() -> None:
    one = refused()._replace(events=refused().events | {"syn": event(0, 1)})
    assert "none" in texts(read(overview.draw([one], Spread())))


def test_marks_lead_to_their_stories_where_there_are_any() -> None:
    flows = [stalled(4, 0, SECOND)]
    assert '<a href="#flow-4"' in overview.draw(flows, Spread(), linked=True).element()
    assert "href" not in overview.draw(flows, Spread()).element()


def test_very_many_flows_are_a_small_picture() -> None:
    causes = ("client_process", "network", "unknown")
    flows = [stalled(at, at * MS, SECOND + at * MS, causes[at % 3]) for at in range(1, 2000)]
    text = overview.draw(flows, spread_of(20_000)).document()
    assert len(text) < 600_000
    assert "no stall (20000)" in text


def test_nothing_is_no_picture() -> None:
    assert overview.draw([], Spread()) is None
    assert overview.draw([flow(1)], Spread()) is None
    assert ecdf.draw([]) is None
    assert ecdf.draw([Spread()]) is None
    assert ecdf.draw([of_flows(healthy(2))]) is None


def test_a_line_climbs_from_none_to_all() -> None:
    root = read(ecdf.draw([of_flows(healthy(40))]))
    assert [title for title in titles(root) if title.startswith("10.40.42.129:8086: 40 flows, half within")]
    lines = [node.get("d") for node in root.iter("{http://www.w3.org/2000/svg}path") if node.get("class") == "step s0"]
    assert len(lines) == 5  # a sample beside its name, and each step
    for d in lines[1:]:
        heights = [float(part.split("H")[0]) for part in d.split("V")[1:]]
        assert heights == sorted(heights, reverse=True)
        assert heights[-1] == 34


def test_the_busiest_servers_have_lines() -> None:
    spread = spread_of(90, servers=9)
    spread.add(T0, "10.0.0.99:443", {"ack_ch": MS})
    for _ in range(30):
        spread.add(T0, "10.0.0.8:443", {"ack_ch": MS})
    lines = texts(read(ecdf.draw([spread])))
    assert lines[1] == "10.0.0.8:443, 40 flows"
    assert sum("flows" in line and ":443" in line for line in lines) == 6


def test_servers_without_a_line_are_counted() -> None:
    def meaning(spread: Spread) -> str:
        return next(line for line in texts(read(ecdf.draw([spread]))) if line.startswith("Each step by server"))

    assert "busiest" not in meaning(spread_of(30, servers=3))
    assert "the 6 busiest of 24 servers: the share of the flows" in meaning(spread_of(240, servers=24))
    seldom = spread_of(30, servers=3)
    seldom.add(T0, "10.0.0.99:443", {"ack_ch": MS})
    assert "the 3 busiest of 4 servers: " in meaning(seldom)
    scan = spread_of(4 * SERVERS_MAX, servers=SERVERS_MAX + 1)
    assert f"the 6 busiest of more than {SERVERS_MAX} servers: " in meaning(scan)


def test_a_scan_of_a_network_does_not_fill_the_memory() -> None:
    spread = spread_of(SERVERS_MAX + 500, servers=SERVERS_MAX + 500)
    assert len(spread.servers) == SERVERS_MAX
    assert len(spread.ack_ch_ns) == SERVERS_MAX + 500


def test_a_server_of_which_nobody_counted_all_flows_is_none_of_the_busiest() -> None:
    counted = spread_of(SERVERS_MAX, servers=SERVERS_MAX)
    shown = Spread()
    for _ in range(9):
        shown.add(T0, "10.0.1.1:443", {"ack_ch": MS})
        shown.add(T0, "10.0.0.7:443", {"ack_ch": MS})
    assert next(iter(busiest([counted, shown], 1).items())) == ("10.0.0.7:443", 10)
    assert busiest([shown], 9) == {"10.0.0.7:443": 9, "10.0.1.1:443": 9}


def test_very_many_flows_take_no_memory_of_their_own() -> None:
    spread = spread_of(30_000)
    tracemalloc.start()
    try:
        overview.draw([], spread)
        ecdf.draw([spread, of_flows(healthy(40))])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000 * 60


def test_flows_that_are_not_shown_are_dots_all_the_same() -> None:
    shown = analysed(STALLED / "capture.pcap", all_flows=True, pictures=True).report
    hidden = analysed(STALLED / "capture.pcap", pictures=True).report
    assert (len(shown.spread.ack_ch_ns), len(list(shown.flows))) == (0, 11)
    assert (len(hidden.spread.ack_ch_ns), len(list(hidden.flows))) == (10, 1)
    both = [[report.spread, of_flows(report.flows)] for report in (shown, hidden)]
    for name in ("starts_ns", "ack_ch_ns"):
        first, second = (sorted(ns for spread in spreads for ns in getattr(spread, name)) for spreads in both)
        assert first == second
    assert busiest(both[0], 99) == busiest(both[1], 99)
    for server in busiest(both[0], 99):
        for step in STEPS:
            assert sorted(lengths_of(both[0], server, step)) == sorted(lengths_of(both[1], server, step))
            assert sorted(unended_of(both[0], server, step)) == sorted(unended_of(both[1], server, step))
    assert analysed(STALLED / "capture.pcap").report.spread is None


def test_the_report_of_the_factories_is_drawn() -> None:
    assert overview.draw(worst_first(report().flows), Spread()) is None


def test_what_never_ended_keeps_the_line_below_all() -> None:
    ended = [each._replace(id=at, server="10.0.0.1:443") for at, each in enumerate(healthy(3))]
    begun = [slow_server(10 + at)._replace(server="10.0.0.1:443") for at in range(4)]
    root = read(ecdf.draw([of_flows([*ended, *begun])]))
    assert "10.0.0.1:443, 7 flows; not ended: 4 ch_sh" in texts(root)
    (said,) = (title for title in titles(root) if "4 had not ended" in title)
    assert said.endswith("fewer than half ended, the longest more than 4.5 s")
    paths = [node.get("d") for node in root.iter("{http://www.w3.org/2000/svg}path") if node.get("class") == "step s0"]
    tops = [float(d.split("V")[-1].split("H")[0]) for d in paths[1:]]
    assert sorted(set(tops)) == [34, round(138 - 3 / 7 * 104, 1)]


def test_a_step_in_which_something_stalled_has_a_panel() -> None:
    def panels(flows):
        lines = texts(read(ecdf.draw([of_flows(flows)])))
        return {step for step in ("ack_ch", "sh_cfin") if any(line.startswith(step) for line in lines)}

    stuck = [each._replace(open_ns={"sh_cfin": 2 * SECOND}, intervals_ns={}) for each in healthy(5)]
    assert panels([*healthy(5), *stuck]) == {"ack_ch"}
    assert panels([*healthy(5), *(each._replace(stalled="sh_cfin") for each in stuck)]) == {"ack_ch", "sh_cfin"}
    assert panels([each._replace(stalled="sh_cfin") for each in stuck]) == {"sh_cfin"}


def test_flows_without_a_mark_are_counted_under_the_picture() -> None:
    spread = spread_of(10)
    spread.add(T0, "10.0.0.1:443", {"syn_synack": MS})
    said = texts(read(overview.draw([stalled(1, T0, SECOND)], spread)))
    assert said[-1].startswith("1 of 12 flows has no mark: ")
    assert not any("no mark" in line for line in texts(read(overview.draw([stalled(1, T0, SECOND)], spread_of(10)))))


def test_the_worst_that_had_not_ended_took_more_than_that() -> None:
    one = slow_server()._replace(events=slow_server().events | {"syn": event(0, 1)})
    assert "flow 7: ch_sh more than 4.5 s" in texts(read(overview.draw([one], Spread())))


def test_lengths_of_a_set_clock_are_in_no_distribution() -> None:
    stepped = slow_server(1)._replace(
        cause="capture", reason="clock_step", intervals_ns={"ack_ch": 2 * MS, "ch_sh": 3600 * SECOND}
    )
    spread = of_flows([stepped])
    assert list(spread.servers[stepped.server]["ack_ch"]) == [2 * MS]
    assert not spread.servers[stepped.server]["ch_sh"]
    assert spread.unended == {}


def test_a_legend_of_every_kind_stays_within_the_picture() -> None:
    causes = ("client_process", "server_process", "network", "client_kernel", "server_kernel", "capture", "unknown")
    flows = [stalled(at, at * SECOND, SECOND, cause) for at, cause in enumerate(causes, 1)]
    failed = refused()._replace(events=refused().events | {"syn": event(0, 1)})
    root = read(overview.draw([*flows, failed], spread_of(10)))
    legend = [text for text in root.iter(f"{SVG}text") if " (1" in (text.text or "")]
    assert len(legend) == 9
    for text in legend:
        assert float(text.get("x", "")) + svg.width_of(text.text or "") <= overview.WIDTH


def test_the_name_of_the_worst_flow_is_moved_off_other_marks_and_their_arrows() -> None:
    worst = stalled(1, 0, 20 * SECOND)
    others = [
        stalled(at, at * SECOND, 19 * SECOND)._replace(open_ns={"ack_ch": 19 * SECOND}, intervals_ns={})
        for at in range(2, 5)
    ]
    for beside in ([], others, [stalled(9, 30 * SECOND, SECOND), *others]):
        root = read(overview.draw([worst, *beside], Spread()))
        (name,) = [text for text in root.iter(f"{SVG}text") if (text.text or "").startswith("flow 1: ")]
        x, y = float(name.get("x", "")), float(name.get("y", ""))
        wide = len(name.text or "") * svg.BOLD
        left = x - wide if "end" in (name.get("class") or "") else x
        for path in root.iter(f"{SVG}path"):
            classes = (path.get("class") or "").split()
            if "mark" in classes or "step" in classes:
                across, down = (float(number) for number in re.findall(r"-?[\d.]+", path.get("transform", "")))
                above = 16 if "step" in classes else 5
                assert not (left < across + 3 and across - 3 < left + wide and y - 9 < down + 5 and down - above < y)
