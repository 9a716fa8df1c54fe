"""What the commands that read captures have in common: arguments looked at first, the reading itself, how it ends.

Nothing is written to standard output here, and no command is known.
"""

import sys
from collections.abc import Callable, Mapping, Sequence

import click

from pcapstall.capture.source import STDIN, Stop
from pcapstall.cli import destination, terminal
from pcapstall.cli.main import CONDITION_HOLDS, OK, UNREADABLE_INPUT
from pcapstall.cli.stages import stages
from pcapstall.core.errors import InputError, UsageError
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.report.conditions import FailConditions
from pcapstall.report.percentiles import Tally


def check_inputs(captures: tuple[str, ...]) -> None:
    """Standard input must be a pipe or a file: nobody types a capture."""
    if "" in captures:
        raise UsageError("the name of a capture is empty")
    if any(capture in STDIN for capture in captures) and sys.stdin is not None and sys.stdin.isatty():
        name = click.get_current_context().info_name
        raise UsageError(f"standard input is a terminal: pipe a capture into it, tcpdump -w - | pcapstall {name} -")


def read(
    captures: tuple[str, ...], wanted: Options, before_closing: Callable[[Analysis, Stop], None] | None = None
) -> Analysis:
    """Analyse ``captures``; Ctrl-C ends the reading, and progress is shown when it takes long.

    ``before_closing`` gets the analysis while its inputs are open, and a switch of its own: whoever ended the first
    reading wants what was read, and ends the second one with another Ctrl-C. KeyboardInterrupt when nothing was read.
    """
    stop = Stop()

    def look_again(analysis: Analysis) -> None:
        again = Stop()
        with terminal.ctrl_c_stops(again):
            try:
                if before_closing is not None:
                    before_closing(analysis, again)
            finally:
                again.close()

    with terminal.ctrl_c_stops(stop), terminal.Progress() as progress:
        try:
            analysis = analyse(captures, wanted, stop=stop, progress=progress, stage=stages, before_closing=look_again)
        finally:
            stop.close()
    if not analysis.captures:
        end_if_stopped(stop, analysis.unreadable)
    return analysis


def end_if_stopped(stop: Stop, unreadable: Sequence[InputError]) -> None:
    """KeyboardInterrupt when the reading was stopped before there was anything to report; what there is not is said."""
    if stop.count:
        for error in unreadable:
            destination.complain(error)
        raise KeyboardInterrupt


def exit_code(analysis: Analysis, conditions: FailConditions, groups: Mapping[str, Tally] | None = None) -> int:
    """What the command ends with; a condition that holds is told on standard error, and for which of ``groups``."""
    if groups is None:
        results = conditions.results(analysis.tally)
    else:
        results = conditions.group_results(analysis.tally, groups)
    for result in results:
        if result.holds:
            destination.say(f"--fail-if {result.text}: {result.detail}")
    if analysis.unreadable:
        return UNREADABLE_INPUT
    return CONDITION_HOLDS if any(result.holds for result in results) else OK
