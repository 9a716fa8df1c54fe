"""`pcapstall timeline`: what happened to one flow, packets, system calls and log lines in one order.

Checks all arguments before anything is read, then reads, picks the flow and renders its timeline.
"""

import click

from pcapstall.capture.source import Stop
from pcapstall.cli import destination, options, terminal
from pcapstall.cli.inputs import check_inputs
from pcapstall.cli.reading import exit_code, how_to_read, read
from pcapstall.cli.stages import stages
from pcapstall.core.errors import UsageError
from pcapstall.pipeline import Analysis
from pcapstall.pipeline.ends.given import given_files
from pcapstall.report.render import parse_page_format
from pcapstall.report.selector import asks_for_verdicts, compile_selector, the_only_one
from pcapstall.report.timeline import Timeline


@click.command("timeline")
@options.add_options(
    options.captures_argument,
    click.option(
        "--flow",
        "selector",
        required=True,
        metavar="SELECTOR",
        help="Which flow: its row in pcapstall report, 10.0.0.1:34506, 10.0.0.1:34506-10.0.0.2:443, an address that has"
        " one flow, or a filter.",
    ),
    options.strace_option,
    options.log_option,
    options.format_option,
    options.output_option,
    click.option("--all", "everything", is_flag=True, help="Every packet, call and log line of the time of the flow."),
    click.option("--picture", is_flag=True, help="Lanes of client and server with arrows between, not a table."),
    *options.reading_options,
)
def command(
    captures: tuple[str, ...],
    selector: str,
    straces: tuple[str, ...],
    logs: tuple[str, ...],
    wanted: str,
    output: str | None,
    everything: bool,
    picture: bool,
    slow: tuple[str, ...],
    at: str | None,
    tls_ports: tuple[int, ...],
    max_flows: int,
) -> int:
    """Tell what happened to one flow of CAPTURE: packets, calls of both ends and log lines in one order.

    CAPTURE is as in pcapstall report. Only key events are told unless --all is given; repeated ones are one row.

    Exit status: 0 done, 2 wrong usage or no such flow, 3 an input cannot be read.
    """
    wanted = options.chosen_format(wanted, output)
    if parse_page_format(wanted)[0] != "table" and picture:
        raise UsageError("--picture draws with text: it goes with -f table; html has its picture, plot makes files")
    compile_selector(selector)
    given = given_files(straces, logs)
    how = how_to_read(slow, at, tls_ports, max_flows)
    check_inputs(captures)
    destination.check(output, [*captures, *given.paths])
    made: list[Timeline] = []

    def make(analysis: Analysis, stop: Stop) -> None:
        from pcapstall.pipeline.timeline.timeline import timeline_of

        if analysis.report.captures:
            stages("putting the timeline together")
            made.append(
                timeline_of(analysis, the_only_one(analysis.report.flows, selector), captures, everything, stop)
            )

    how = how._replace(all_flows=True, straces=given.straces, logs=given.logs)
    analysis = read(captures, how._replace(straces_later=not asks_for_verdicts(selector)), make)
    for error in analysis.unreadable:
        destination.complain(error)
    for timeline in made:
        from pcapstall.report.timeline_render import render_timeline

        with destination.opened(output) as out:
            stages("writing")
            render_timeline(timeline, out, wanted, terminal.look_of(out)._replace(picture=picture))
    return exit_code((), analysis.unreadable)
