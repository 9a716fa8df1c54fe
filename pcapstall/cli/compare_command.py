"""`pcapstall compare`: the same connections seen at both ends, where time and packets went.

Checks all arguments before anything is read, then reads both captures, puts them together, renders and judges the
conditions.
"""

import click

from pcapstall.capture.source import STDIN
from pcapstall.cli import destination, options, terminal
from pcapstall.cli.inputs import check_read_twice
from pcapstall.cli.main import CONDITION_HOLDS, OK, UNREADABLE_INPUT
from pcapstall.cli.reading import end_if_stopped, how_to_read
from pcapstall.cli.stages import stages
from pcapstall.core.errors import UsageError
from pcapstall.core.files import files_named
from pcapstall.report.to_two_ends import FORMATS, check_format, render


@click.command("compare")
@click.argument("client", metavar="CLIENT", shell_complete=options.completed_by("files"))
@click.argument("server", metavar="SERVER", shell_complete=options.completed_by("files"))
@options.format_option_of(
    f"{', '.join(FORMATS)}. [default: what the name of -o ends with (.md, .json, .jira), else table]"
)
@options.add_options(
    options.output_option,
    click.option(
        "--all",
        "all_flows",
        is_flag=True,
        help="Show every connection, not only those that stalled or failed, and every flow of one capture only.",
    ),
    options.slow_option,
    options.tls_option,
    options.max_flows_option,
    click.option(
        "--fail-if",
        multiple=True,
        type=click.Choice(("stalled", "failed")),
        help="Exit with 1 if a connection that is in both captures stalled, or failed, at either end.",
    ),
)
def command(
    client: str,
    server: str,
    wanted: str,
    output: str | None,
    all_flows: bool,
    slow: tuple[str, ...],
    tls_ports: tuple[int, ...],
    max_flows: int,
    fail_if: tuple[str, ...],
) -> int:
    """Put a capture at the client and one at the server together: where time and packets went.

    CLIENT and SERVER are files, or quoted patterns for the files of a ring. Connections are found in both by their
    initial sequence numbers or the random of the ClientHello, whatever NAT does to addresses; the clocks need not
    agree. The wrong order is noticed.

    Exit status: 0 done, 1 a --fail-if condition holds, 2 wrong usage or nothing in common,
    3 an input cannot be read.
    """
    wanted = options.chosen_format(wanted, output)
    check_format(wanted)
    how = how_to_read(slow, None, tls_ports, max_flows)
    for capture in (client, server):
        _check(capture)
    destination.check(output, (client, server))
    from pcapstall.pipeline.compare.two_ends import read_both  # the rules of two ends are needed by no other command
    from pcapstall.pipeline.compare.two_ends_report import two_ends

    stages("reading both")
    with terminal.ctrl_c_stops() as stop, terminal.Progress() as progress:
        together, unreadable = read_both([client], [server], how, all_flows, stop=stop, progress=progress)
    if together is None:
        end_if_stopped(stop, unreadable)
    for error in unreadable:
        destination.complain(error)
    if together is None:
        return UNREADABLE_INPUT
    stages("putting both together")
    report = two_ends(together, all_flows)
    stages("writing")
    with destination.opened(output) as out:
        render(report, out, wanted, terminal.look_of(out, all_flows))
    held = [
        name for name, count in (("stalled", report.stalled), ("failed", report.failed)) if name in fail_if and count
    ]
    for name in held:
        destination.say(f"--fail-if {name}: {getattr(report, name)} of {report.paired} connections")
    if unreadable:
        return UNREADABLE_INPUT
    return CONDITION_HOLDS if held else OK


def _check(capture: str) -> None:
    """UsageError for what cannot be read twice."""
    if not capture:
        raise UsageError("the name of a capture is empty")
    for path in [capture] if capture in STDIN else files_named(capture):
        check_read_twice(path)
