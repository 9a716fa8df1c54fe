"""`pcapstall summary`: how long each step takes with each server, SNI or client, and how the connections ended.

Every flow is counted in its group, and none is shown by itself. What is to be mistrusted of a capture is
told on standard error, for the output of every format is the numbers alone.
"""

from collections.abc import Callable, Iterator

import click

from pcapstall.cli import destination, options, terminal
from pcapstall.cli.inputs import check_inputs
from pcapstall.cli.reading import exit_code, how_to_read, in_parallel, read
from pcapstall.cli.stages import stages
from pcapstall.pipeline import Analysis
from pcapstall.report.conditions import FailConditions
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.groups import GROUPS, rows_of, tallies_by
from pcapstall.report.percentiles import Tally
from pcapstall.report.prose import what_was_read
from pcapstall.report.render import parse_page_format
from pcapstall.report.summary import NO_KEY, render_summary


@click.command("summary")
@options.add_options(
    options.captures_argument,
    click.option(
        "--by",
        type=click.Choice(GROUPS),
        default="server",
        show_default=True,
        help="What to group flows by: the server's endpoint, the name asked for in the ClientHello, or the"
        " client's address.",
    ),
    options.format_option,
    options.output_option,
    options.filter_option,
    *options.reading_options,
    *options.parallel_options,
    options.fail_if_option,
)
def command(
    captures: tuple[str, ...],
    by: str,
    wanted: str,
    output: str | None,
    filter_text: str | None,
    slow: tuple[str, ...],
    at: str | None,
    tls_ports: tuple[int, ...],
    max_flows: int,
    jobs: int | None,
    engine: str,
    scheduler: str | None,
    fail_if: tuple[str, ...],
) -> int:
    """Sum up the flows of CAPTURE by server, SNI or client: outcomes, and percentiles of each interval.

    CAPTURE is as in pcapstall report. Those with most stalls come first.

    Exit status: 0 done, 1 a --fail-if condition holds, 2 wrong usage, 3 an input cannot be read.
    """
    wanted = options.chosen_format(wanted, output)
    parse_page_format(wanted)
    keep = options.chosen_filter(filter_text)
    conditions = FailConditions(fail_if)
    how = in_parallel(how_to_read(slow, at, tls_ports, max_flows), jobs, engine, scheduler)
    check_inputs(captures)
    destination.check(output, captures)
    analysis = read(captures, how._replace(all_flows=True))
    counted = Tally()
    tallies = tallies_by(_counted(analysis, keep, conditions, counted), by)
    rows = rows_of(tallies)
    for error in analysis.unreadable:
        destination.complain(error)
    for doubt in what_was_read(analysis.report)[1:]:
        destination.say(doubt)
    if filter_text is not None and not rows and analysis.report.captures:
        destination.say(f"none of {analysis.report.totals.flows} flows matches the filter {filter_text}")
    if analysis.report.captures:
        stages("writing")
        with destination.opened(output) as out:
            render_summary(rows, by, out, wanted, terminal.look_of(out))
    groups = {NO_KEY if key is None else key: tally for key, tally in tallies.items()}
    return exit_code(conditions.group_results(counted, groups), analysis.unreadable)


def _counted(
    analysis: Analysis, keep: Callable[[FlowReport], bool] | None, conditions: FailConditions, tally: Tally
) -> Iterator[FlowReport]:
    """The flows for which ``keep`` holds, each shown to ``conditions`` and added to ``tally`` as it passes."""
    for flow in analysis.report.flows:
        if keep is None or keep(flow):
            conditions.add(flow)
            tally.add(flow)
            yield flow
