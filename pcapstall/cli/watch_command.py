"""`pcapstall watch`: a line for each flow when it stalls, goes on, fails or ends, while packets arrive.

Checks all arguments before anything is read. Every line is written out at once; what is in it is made elsewhere.
"""

from collections.abc import Sequence

import click

from pcapstall.capture.source import can_be_read_again
from pcapstall.cli import destination, options, terminal
from pcapstall.cli.inputs import check_inputs
from pcapstall.cli.lines import Lines
from pcapstall.cli.main import OK
from pcapstall.cli.reading import end_if_stopped, exit_code, how_to_read
from pcapstall.cli.stages import stages
from pcapstall.core.errors import UsageError
from pcapstall.core.times import MS, parse_duration
from pcapstall.pipeline.watch.run import Watched, watch
from pcapstall.report.conditions import FailConditions
from pcapstall.report.percentiles import Tally
from pcapstall.report.watching import FORMATS, Standing, Told, line_of


@click.command("watch")
@options.add_options(
    options.captures_argument,
    click.option(
        "-f",
        "--format",
        "wanted",
        type=click.Choice(FORMATS),
        default=FORMATS[0],
        show_default=True,
        help="Lines for people, or a JSON object a line with the names of the report's.",
    ),
    click.option(
        "--every",
        metavar="TIME",
        help="Also say how things stand every TIME (60s): flows open, stalled and failed, packets, drops.",
    ),
    options.filter_option,
    *options.reading_options,
    click.option(
        "--fail-if",
        multiple=True,
        metavar="CONDITION",
        help="Exit with 1 if CONDITION holds in the end: stalled, failed, stalled > 3.",
    ),
)
def command(
    captures: tuple[str, ...],
    wanted: str,
    every: str | None,
    filter_text: str | None,
    slow: tuple[str, ...],
    at: str | None,
    tls_ports: tuple[int, ...],
    max_flows: int,
    fail_if: tuple[str, ...],
) -> int:
    """Tell of each flow of CAPTURE when it stalls, goes on, fails or ends, as packets arrive.

    tcpdump --immediate-mode -i any -U -w - 'tcp port 443' | pcapstall watch -

    CAPTURE is - for standard input, which may go on for days, or a file, or several. Healthy flows print nothing. The
    last line, also after Ctrl-C, says how things stood.

    Exit status: 0 done, 1 a --fail-if condition holds, 2 wrong usage, 3 an input cannot be read.
    """
    keep = options.chosen_filter(filter_text)
    conditions = _conditions(fail_if)
    how = how_to_read(slow, at, tls_ports, max_flows)
    every_ns = _every(every)
    check_inputs(captures)
    stages("watching")
    found: list[Watched] = []
    with destination.opened(None) as out, terminal.ctrl_c_stops() as stop:
        lines = Lines(out, stop, lambda: _held_up(captures, "nothing is read meanwhile"))

        def tell(told: Told | Standing) -> None:
            lines.write(line_of(told, wanted))

        found.append(watch(captures, how, tell, keep=keep, every_ns=every_ns, stop=stop))
        if lines.waited_s:
            _held_up(captures, f"nothing was read for {lines.waited_s:.1f} s in all")
    for watched in found:
        if not watched.captures:
            end_if_stopped(stop, watched.unreadable)
        return _finish(watched, conditions)
    return OK  # whoever reads the lines has had enough


def _held_up(captures: Sequence[str], what: str) -> None:
    """Say that the reader of the lines does not keep up, where that may cost packets: of a file none are lost."""
    if not all(map(can_be_read_again, captures)):
        destination.say(
            f"whoever reads standard output does not keep up: {what}, and what writes the capture may drop packets"
            " (tcpdump tells how many when it ends)"
        )


def _every(text: str | None) -> int:
    if text is None:
        return 0
    try:
        every_ns = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--every {text}: {error}") from None
    if every_ns < 100 * MS:
        raise UsageError(f"--every {text}: 100ms at least")
    return every_ns


def _conditions(texts: tuple[str, ...]) -> FailConditions:
    """Those that can be judged by counts alone: nothing is kept of a flow that is over."""
    conditions = FailConditions(texts)
    for text, metric in conditions.metrics:
        if metric not in ("stalled", "failed"):
            raise UsageError(f"--fail-if {text}: watch keeps no flows, so it can only ask for stalled and failed")
    return conditions


def _finish(watched: Watched, conditions: FailConditions) -> int:
    """Say what is to be mistrusted; the exit code."""
    for error in watched.unreadable:
        destination.complain(error)
    for capture in watched.captures:
        for warning in capture.warnings:
            destination.say(f"{capture.file}: {warning}")
    tally = Tally()
    tally.stalled, tally.failed = watched.standing.stalled, watched.standing.failed
    return exit_code(conditions.results(tally), watched.unreadable)
