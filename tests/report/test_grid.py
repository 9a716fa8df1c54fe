import pytest
from factories import alerted, flow, healthy, refused, silent_client, slow_server
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.times import MS, SECOND, US
from pcapstall.report.flow_grid import CLOCK_SET, LEGENDS, flow_grid, outcome_of
from pcapstall.report.grid import BAD, Grid, GridColumn, decimals, milliseconds, plain
from pcapstall.report.names import INTERVALS
from pcapstall.report.to_table import legend


def names(grid):
    return [column.name for column in grid.columns]


def column(grid, name):
    at = names(grid).index(name)
    return [row[at] for row in grid.rows]


def test_columns_that_say_nothing_are_left_out():
    grid = flow_grid([refused()])
    assert names(grid) == ["#", "client", "server", "cause", "confidence", "outcome", "reason"]


def test_a_hello_in_one_segment_has_no_column_for_its_span():
    assert "ch_span" not in names(flow_grid([flow(1), flow(2)]))
    assert "ch_span" in names(flow_grid([flow(1), flow(2, intervals={"ch_span": 5 * US})]))


def test_ch_close_is_shown_only_when_it_says_more_than_ch_fin():
    assert "ch_close" not in names(flow_grid([flow(1)]))
    both = flow_grid([flow(1), flow(2, intervals={"ch_close": 7 * MS})])
    assert "ch_close" in names(both)
    assert "ch_fin" not in names(both), "ch_close has the FINs too"
    near = flow(3, intervals={"ch_fin": 500 * MS, "ch_close": 496 * MS})
    assert "ch_close" not in names(flow_grid([flow(1), near]))
    apart = flow(4, intervals={"ch_fin": 500 * MS, "ch_close": 400 * MS})
    assert {"ch_fin", "ch_close"} <= set(names(flow_grid([flow(1), apart])))


def test_open_intervals_and_absent_ones_are_told_apart():
    assert column(flow_grid([slow_server(), silent_client()]), "ch_sh") == [">4500.0", "-"]


def test_negative_lengths_keep_their_sign():
    assert column(flow_grid([flow(1, intervals={"ack_ch": -7 * MS})]), "ack_ch") == ["-7.0"]


def test_a_close_before_the_hello_is_no_length_from_the_hello():
    assert {"ch_fin", "ch_close"}.isdisjoint(names(flow_grid([silent_client()])))
    assert column(flow_grid([silent_client(), flow(1)]), "ch_fin") == ["-", "812.0"]


@pytest.mark.parametrize("flows", [[silent_client()], [silent_client(), slow_server(), refused(), alerted()]])
def test_the_server_has_room_on_80_columns(flows):
    fitted = flow_grid(flows).fitted(80, lambda columns: 2 * (columns - 1))
    assert "server" in names(fitted)


def test_how_long_a_flow_lived_goes_before_who_it_was_and_how_it_ended():
    flows = [silent_client(), flow(2, tls_outcome="alert")]
    keep = {column.name: column.keep for column in flow_grid(flows).columns}
    assert keep["ch_fin"] > max(keep[name] for name in ("server", "outcome", "ack_close"))


def test_a_column_has_as_many_decimals_as_its_smallest_length_needs():
    assert column(
        flow_grid([flow(1, intervals={"ch_sh": 2 * MS}), flow(2, intervals={"ch_sh": 41 * US})]), "ch_sh"
    ) == ["2.000", "0.041"]
    assert decimals([0, MS, -2 * MS]) == 1
    assert decimals([0, -999_999]) == 3
    assert milliseconds(0, 1) == "0.0"
    assert milliseconds(None, 1) == "-"


def test_the_outcome_is_tcps_where_tcp_did_not_connect():
    assert [outcome_of(one) for one in (refused(), alerted(), flow(tls_outcome=None))] == [
        "refused",
        "alert",
        "connected",
    ]


def test_every_interval_has_a_legend():
    assert list(LEGENDS) == list(INTERVALS)


@pytest.mark.parametrize("width", [10, 40, 60, 80, 100, 120, 200])
def test_the_interval_that_stalled_is_never_left_out(width):
    grid = flow_grid([silent_client(), slow_server()]).fitted(width, lambda columns: 2 * (columns - 1))
    assert {"#", "client", "cause"} <= set(names(grid))
    if column(grid, "stalled") != ["ack_ch", "ch_sh"]:
        assert column(grid, "stalled") == ["ack_ch  52091.2", "ch_sh   >4500.0"]
    else:
        assert {"ack_ch", "ch_sh"} <= set(names(grid))
    assert set(names(grid)) | set(grid.left_out) == set(names(flow_grid([silent_client(), slow_server()])))


def test_healthy_flows_have_no_column_for_a_cause():
    assert "cause" not in names(flow_grid(healthy(3)))


def test_columns_of_several_stalls_do_not_push_the_cause_out():
    stalled = [
        slow_server(at)._replace(stalled=name, intervals_ns={}, open_ns={name: at * SECOND})
        for at, name in enumerate(("syn_synack", "ch_ack", "ch_sh", "sh_cfin"), 1)
    ]
    grid = flow_grid(stalled).fitted(80, lambda columns: 2 * (columns - 1))
    assert names(grid)[:5] == ["#", "client", "server", "stalled", "cause"]
    assert column(grid, "stalled") == [
        "syn_synack  >1000.0",
        "ch_ack      >2000.0",
        "ch_sh       >3000.0",
        "sh_cfin     >4000.0",
    ]
    assert [grid.marks[row, "stalled"] for row in range(4)] == [BAD] * 4
    assert "ch_sh is ClientHello to ServerHello" in legend(grid)


def test_what_was_left_out_is_named_with_the_width_that_shows_it():
    whole = flow_grid([silent_client(), slow_server()])
    fitted = whole.fitted(80, lambda columns: 2 * (columns - 1))
    assert f"No room for {', '.join(fitted.left_out)} (" in legend(fitted)
    assert f"COLUMNS={fitted.whole_width} " in legend(fitted)
    assert not whole.fitted(fitted.whole_width, lambda columns: 2 * (columns - 1)).left_out


def test_a_length_in_which_the_clock_was_set_is_no_number():
    stepped = slow_server(1)._replace(
        cause="capture", reason="clock_step", intervals_ns={"ch_sh": 3_600 * SECOND, "sh_cfin": 5 * MS,
        "ch_fin": 3_601 * SECOND, "ch_ack": 26 * MS}, open_ns={},
    )  # fmt: skip
    back = flow(2, intervals={"ch_sh": -3_600 * SECOND, "sh_cfin": 6 * MS, "ch_fin": 40 * MS})
    grid = flow_grid([stepped, back])
    assert column(grid, "ch_sh") == [CLOCK_SET, CLOCK_SET]
    assert column(grid, "ch_fin")[0] == CLOCK_SET
    assert column(grid, "sh_cfin") == ["5.0", "6.0"]
    assert "clock set: the capture's clock was set meanwhile" in legend(grid)
    assert "clock" not in legend(flow_grid([slow_server()]))


def test_columns_go_in_the_order_of_their_importance():
    whole = flow_grid([silent_client(), slow_server(), alerted()])
    gone: list[list[str]] = []
    for width in range(250, 60, -1):
        left_out = whole.fitted(width, lambda columns: 2 * (columns - 1)).left_out
        if left_out and (not gone or left_out != gone[-1]):
            gone.append(left_out)
    importance = {column.name: column.keep for column in whole.columns}
    assert importance[gone[0][0]] == max(importance.values())
    assert not any({"#", "client", "cause"}.intersection(left_out) for left_out in gone)
    assert all("server" not in left_out or {"outcome", "confidence", "ch_sh"} <= set(left_out) for left_out in gone)


def test_texts_are_shortened_before_columns_go_and_only_as_far_as_needed():
    sni = "metrics.eu-central-1.api.example.com"
    whole = Grid([GridColumn("#"), GridColumn("sni", keep=1, shrinks_to=16)], [["1", sni], ["2", "a.example"]])
    assert whole.fitted(50, lambda columns: 0).rows == whole.rows
    assert whole.fitted(31, lambda columns: 0).rows == [["1", "metrics.eu-cent…pi.example.com"], ["2", "a.example"]]
    assert whole.fitted(17, lambda columns: 0).rows[0] == ["1", "metrics.…ple.com"]
    assert names(whole.fitted(16, lambda columns: 0)) == ["#"]


@given(st.integers(20, 260), st.integers(0, 12))
def test_a_fitted_grid_fits_when_what_must_stay_does(width, count):
    grid = flow_grid([silent_client(), refused(), *healthy(count)]).fitted(width, lambda columns: 3 * columns + 1)
    least = (
        3 * len(grid.columns)
        + 1
        + sum(max(len(column.name), *(len(row[at]) for row in grid.rows)) for at, column in enumerate(grid.columns))
    )
    assert least <= width or all(column.keep == 0 for column in grid.columns)


@given(st.text())
def test_a_cell_holds_no_markup_and_no_control_characters(text):
    cell = plain(text)
    assert "](" not in cell
    assert not set(cell) & set("|<&`*\"'={}~^!$\x1b\x00\n\r\t\u202e")
    assert cell.isprintable()


def test_what_a_cell_cannot_hold_is_shown_as_bytes():
    assert plain("a|b\x1b[0m\\") == "a\\x7cb\\x1b[0m\\x5c"
    assert plain("é\udcff") == "\\xc3\\xa9\\xed\\xb3\\xbf"
