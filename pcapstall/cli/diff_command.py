"""`pcapstall diff`: what became of the stalls, intervals and outcomes of one report in a later one.

Checks all arguments, reads the two sides one after the other, renders, and judges the conditions.
"""

import click

from pcapstall.cli import destination, options, terminal
from pcapstall.cli.inputs import check_inputs
from pcapstall.cli.reading import exit_code, how_to_read
from pcapstall.cli.stages import stages
from pcapstall.core.errors import UsageError
from pcapstall.pipeline.compare.changes import read_side, thresholds_differ
from pcapstall.report.changes import GONE, NEW, compare_reports
from pcapstall.report.conditions import ChangeConditions
from pcapstall.report.to_changes import FORMATS, render_changes


@click.command("diff")
@options.add_options(
    click.argument("before", metavar="BEFORE", shell_complete=options.completed_by("files")),
    click.argument("after", metavar="AFTER", shell_complete=options.completed_by("files")),
    options.format_option_of("table, markdown, jira or json. [default: what the name of -o ends with, else table]"),
    options.output_option,
    options.filter_option,
    *options.reading_options,
    click.option(
        "--fail-if",
        multiple=True,
        metavar="CONDITION",
        shell_complete=options.completed_by("conditions"),
        help='Exit with 1 if CONDITION holds: new_stalls, "ack_ch.p99 > 2x", "failed > 1.5x", "ch_ack.max > 1s".',
    ),
)
def command(
    before: str,
    after: str,
    wanted: str,
    output: str | None,
    filter_text: str | None,
    slow: tuple[str, ...],
    at: str | None,
    tls_ports: tuple[int, ...],
    max_flows: int,
    fail_if: tuple[str, ...],
) -> int:
    """Compare two reports: new and gone stalls, percentiles side by side, outcomes.

    BEFORE and AFTER are each a capture, a pattern for the files of one ring, or a report that was written with
    pcapstall report -f json (or jsonl). Flows are never matched across time: stalls are counted by server name (or
    server), interval and cause. A report was judged when it was made: --slow, --at, --tls and --max-flows are for
    captures.

    Exit status: 0 done, 1 a --fail-if condition holds, 2 wrong usage, 3 an input cannot be read.
    """
    wanted = options.chosen_format(wanted, output)
    if wanted not in FORMATS:
        raise UsageError(f"-f {wanted}: diff writes {', '.join(FORMATS)}")
    keep = options.chosen_filter(filter_text)
    conditions = ChangeConditions(fail_if)
    how = how_to_read(slow, at, tls_ports, max_flows)._replace(all_flows=True)
    names = (before, after)
    check_inputs(names)
    destination.check(output, names)
    if before == after == "-":
        raise UsageError("standard input can be BEFORE or AFTER, not both")
    with terminal.ctrl_c_stops() as stop, terminal.Progress() as progress:
        try:
            stages("reading BEFORE")
            earlier = read_side(before, how, keep, conditions.see_before, stop=stop, progress=progress)
            stages("reading AFTER")
            later = read_side(after, how, keep, conditions.see_after, stop=stop, progress=progress)
        finally:
            if stop.count:
                raise KeyboardInterrupt(stop.by)  # half of a side would be compared with a whole one
    if thresholds_differ(earlier, later):
        later.remarks.append("what is called a stall differs between the two (--slow): some may be new for that")
    unreadable = earlier.unreadable + later.unreadable
    for error in unreadable:
        destination.complain(error)
    changes = compare_reports(earlier, later)
    stages("writing")
    with destination.opened(output) as out:
        render_changes(changes, out, wanted, terminal.look_of(out))
    results = conditions.results(earlier.tally, later.tally, len(changes.of_kind(NEW)), len(changes.of_kind(GONE)))
    return exit_code(results, unreadable)
