"""What the commands that read captures have in common: how they are to be read, the reading itself, how it ends.

Nothing is written to standard output here, and no command is known.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pcapstall.capture.interrupting import interrupting
from pcapstall.capture.source import Stop
from pcapstall.cli import destination, terminal
from pcapstall.cli.main import CONDITION_HOLDS, OK, UNREADABLE_INPUT
from pcapstall.cli.stages import stages
from pcapstall.core.errors import InputError, UsageError
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.pipeline.options import AS_MANY_AS_PAY, DASK
from pcapstall.report.thresholds import parse_thresholds

if TYPE_CHECKING:
    from pcapstall.report.condition_results import ConditionResult

_latest: list[Analysis] = []
"""What was read last lives until the process ends: to take it down flow by flow is a twentieth of the whole time."""


def how_to_read(slow: Sequence[str], at: str | None, tls_ports: Sequence[int], max_flows: int) -> Options:
    """What `options.reading_options` say; UsageError for a ``slow`` that is none."""
    return Options(
        thresholds_ns=parse_thresholds(slow), at=at or "", tls_ports=frozenset(tls_ports), max_flows=max_flows
    )


def in_parallel(how: Options, jobs: int | None, engine: str, scheduler: str | None) -> Options:
    """``how``, and what `options.parallel_options` say; UsageError where they do not go together."""
    if scheduler is not None and engine != DASK:
        raise UsageError("--scheduler is the address of a Dask cluster: say --engine dask, too")
    return how._replace(jobs=AS_MANY_AS_PAY if jobs is None else jobs, engine=engine, scheduler=scheduler or "")


def read(
    captures: tuple[str, ...], wanted: Options, before_closing: Callable[[Analysis, Stop], None] | None = None
) -> Analysis:
    """Analyse ``captures``; Ctrl-C ends the reading, and progress is shown when it takes long.

    ``before_closing`` gets the analysis while its inputs are open, and a switch of its own: whoever ended the first
    reading wants what was read, and ends the second one with another Ctrl-C. KeyboardInterrupt when nothing was read.
    """

    def look_again(analysis: Analysis) -> None:
        if before_closing is not None:
            with terminal.ctrl_c_stops() as again, interrupting(again, 2):
                before_closing(analysis, again)

    with terminal.ctrl_c_stops() as stop, terminal.Progress() as progress:
        analysis = analyse(captures, wanted, stop=stop, progress=progress, stage=stages, before_closing=look_again)
    if analysis.alone and (wanted.jobs > 1 or wanted.engine == DASK):
        asked = "--engine dask" if wanted.engine == DASK else f"--jobs {wanted.jobs}"
        destination.say(f"{asked}: one process did it, for {analysis.alone}")
    if not analysis.report.captures:
        end_if_stopped(stop, analysis.unreadable)
    _latest[:] = [analysis]
    return analysis


def end_if_stopped(stop: Stop, unreadable: Sequence[InputError]) -> None:
    """KeyboardInterrupt when the reading was stopped before there was anything to report; what there is not is said."""
    if stop.count:
        for error in unreadable:
            destination.complain(error)
        raise KeyboardInterrupt(stop.by)


def exit_code(results: "Iterable[ConditionResult]", unreadable: Sequence[InputError]) -> int:
    """What the command ends with; a condition that holds is told on standard error."""
    holding = [result for result in results if result.holds]
    for result in holding:
        destination.say(f"--fail-if {result.text}: {result.detail}")
    if unreadable:
        return UNREADABLE_INPUT
    return CONDITION_HOLDS if holding else OK
