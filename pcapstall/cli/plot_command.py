"""`pcapstall plot`: pictures of a capture, or of one flow, as a file for a ticket.

Checks all arguments before anything is read, then reads and draws. What is drawn is known to the report.
"""

import click

from pcapstall.capture.source import Stop
from pcapstall.cli import destination, options
from pcapstall.cli.inputs import check_inputs
from pcapstall.cli.reading import exit_code, how_to_read, read
from pcapstall.cli.stages import stages
from pcapstall.pipeline import Analysis
from pcapstall.pipeline.ends.given import given_files
from pcapstall.pipeline.select import select
from pcapstall.report.conditions import FailConditions
from pcapstall.report.selector import asks_for_verdicts, compile_selector, the_only_one
from pcapstall.report.timeline import Timeline


@click.command("plot")
@options.add_options(
    options.captures_argument,
    click.option(
        "--flow",
        "selector",
        metavar="SELECTOR",
        help="One flow's waterfall instead: its row in pcapstall report, 10.0.0.1:34506, a pair of endpoints, an"
        " address that has one flow, or a filter.",
    ),
    options.strace_option,
    options.log_option,
    click.option(
        "-f",
        "--format",
        "wanted",
        metavar="FORMAT",
        shell_complete=options.completed_by("formats"),
        help="svg, png (needs resvg-py) or html. [default: what the name of -o ends with, else svg]",
    ),
    options.output_option,
    options.filter_option,
    *options.reading_options,
)
def command(
    captures: tuple[str, ...],
    selector: str | None,
    straces: tuple[str, ...],
    logs: tuple[str, ...],
    wanted: str | None,
    output: str | None,
    filter_text: str | None,
    slow: tuple[str, ...],
    at: str | None,
    tls_ports: tuple[int, ...],
    max_flows: int,
) -> int:
    """Draw CAPTURE: each flow at its start and its delay, and how long each step took; or one flow.

    CAPTURE is as in pcapstall report. Shapes and colours say whose time a stall was.

    Exit status: 0 done, 2 wrong usage or no such flow, 3 an input cannot be read.
    """
    from pcapstall.report import to_picture  # not for --help

    name = to_picture.chosen_format(wanted, output)
    if selector is not None:
        compile_selector(selector)
    keep = options.chosen_filter(filter_text)
    given = given_files(straces, logs)
    how = how_to_read(slow, at, tls_ports, max_flows)
    check_inputs(captures)
    destination.check(output, [*captures, *given.paths])
    made: list[Timeline] = []

    def look_again(analysis: Analysis, stop: Stop) -> None:
        from pcapstall.pipeline.timeline.pictures import whole
        from pcapstall.pipeline.timeline.timeline import timeline_of

        if selector is not None and analysis.report.captures:
            flows = filter(keep, analysis.report.flows) if keep is not None else analysis.report.flows
            made.append(whole(timeline_of(analysis, the_only_one(flows, selector), captures, False, stop)))

    analysis = read(
        captures,
        how._replace(
            all_flows=selector is not None or keep is not None,
            straces=given.straces,
            logs=given.logs,
            pictures=selector is None,
            straces_later=selector is not None and keep is None and not asks_for_verdicts(selector),
        ),
        look_again,
    )
    for error in analysis.unreadable:
        destination.complain(error)
    if analysis.report.captures:
        stages("drawing")
        if made:
            drawing = to_picture.of_flow(made[0])
        else:
            chosen = select(analysis, keep, FailConditions(()), False, filter_text)
            drawing = to_picture.of_report(chosen.report)
        data = to_picture.encoded(drawing, name)
        with destination.opened_for_bytes(output or destination.STDOUT) as out:
            out.write(data)
    return exit_code((), analysis.unreadable)
