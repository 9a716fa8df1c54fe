"""`pcapstall report`: flows, stalls and verdicts of captures, as a table for the ticket or data for a program.

Checks all arguments before anything is read, then reads, filters, renders and judges the conditions.
"""

import sys

import click

from pcapstall.capture.source import Stop
from pcapstall.cli import destination, options, terminal
from pcapstall.cli.inputs import check_inputs
from pcapstall.cli.reading import exit_code, how_to_read, in_parallel, read
from pcapstall.cli.stages import stages
from pcapstall.core.errors import UsageError
from pcapstall.pipeline import Analysis
from pcapstall.pipeline.ends.given import given_files
from pcapstall.report.conditions import FailConditions
from pcapstall.report.model import Totals
from pcapstall.report.options import RenderOptions
from pcapstall.report.render import STREAMED, parse_format, render


@click.command("report")
@options.add_options(
    options.captures_argument,
    options.strace_option,
    options.log_option,
    options.flow_format_option,
    options.output_option,
    options.all_option,
    click.option(
        "--explain",
        "row",
        type=options.WholeNumber(),
        metavar="ROW",
        help="Instead of the table: which rules were tried for the flow in ROW, and why each held or not.",
    ),
    options.filter_option,
    *options.reading_options,
    *options.parallel_options,
    options.fail_if_option,
)
def command(
    captures: tuple[str, ...],
    straces: tuple[str, ...],
    logs: tuple[str, ...],
    wanted: str,
    output: str | None,
    all_flows: bool,
    row: int | None,
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
    """Report the flows of CAPTURE that stalled or failed, and how the others did.

    CAPTURE is a file that tcpdump, dumpcap or Wireshark wrote (also compressed), several files of one ring in any
    order, or - for standard input. Ctrl-C reports what was read until then.

    Exit status: 0 done, 1 a --fail-if condition holds, 2 wrong usage, 3 an input cannot be read.
    """
    wanted = options.chosen_format(wanted, output)
    format_name, _ = parse_format(wanted)
    if row is not None:
        from pcapstall.report import explanation  # few want it, and start-up is most of a small capture's time

        explanation.check_format(wanted)
        if filter_text is not None:
            raise UsageError("--explain and --filter do not go together: ROW is one flow, whatever the filter keeps")
    if format_name == "parquet":
        from pcapstall.report import to_parquet

        if output in (None, destination.STDOUT):
            to_parquet.check(destination.standard_output().isatty())
        else:
            to_parquet.check(False)
    keep = options.chosen_filter(filter_text)
    conditions = FailConditions(fail_if)
    how = in_parallel(how_to_read(slow, at, tls_ports, max_flows), jobs, engine, scheduler)
    check_inputs(captures)
    given = given_files(straces, logs)
    destination.check(output, [*captures, *given.paths])
    everything = all_flows or row is not None or format_name in STREAMED
    pictured: list[Analysis] = []

    def draw(analysis: Analysis, stop: Stop) -> None:
        from pcapstall.pipeline.timeline.pictures import with_timelines

        stages("reading the worst flows once more")
        pictured.append(with_timelines(analysis, captures, keep, stop))

    is_page = format_name == "html" and row is None
    analysis = read(
        captures,
        how._replace(
            all_flows=everything or keep is not None or conditions.reads_flows,
            straces=given.straces,
            logs=given.logs,
            pictures=is_page,
        ),
        draw if is_page else None,
    )
    analysis = pictured[0] if pictured else analysis
    if keep is not None or conditions.reads_flows:
        from pcapstall.pipeline.select import select  # most are narrowed by nothing

        analysis = select(analysis, keep, conditions, everything, filter_text)
    for error in analysis.unreadable:
        destination.complain(error)
    if analysis.report.captures:
        explained = None
        if row is not None:
            explained = explanation.explanation_of(analysis.report, row, analysis.findings.explain)
        stages("writing")
        with destination.opened(output) as out:
            look = terminal.look_of(out, all_flows)
            if explained is None:
                render(analysis.report, out, wanted, look)
            else:
                explanation.render_explanation(explained, out, wanted, look)
        if explained is None and (wanted == "table" or output is not None):
            _close(analysis.report.totals, output)
    return exit_code(conditions.results(analysis.tally), analysis.unreadable)


def _close(totals: Totals, output: str | None) -> None:
    """On a terminal the last line says what came of it; standard error says it when the report went into a file."""
    out = sys.stderr if output not in (None, destination.STDOUT) else sys.stdout
    width = terminal.width_of(out) if out is not None and out.isatty() else None
    if width is None:
        return
    from pcapstall.report.prose import closing_line  # not in a pipe
    from pcapstall.report.to_table import GREEN, RED, YELLOW, paint

    color = RED if totals.stalled else YELLOW if totals.failed else GREEN
    look = RenderOptions(color=terminal.may_color(out))
    out.write(f"{paint(closing_line(totals, stages.elapsed_ns(), width), color, look)}\n")
