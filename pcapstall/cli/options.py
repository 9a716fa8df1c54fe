"""Options that several commands share, each declared once.

Only what click must know is here; values are parsed by the layer that uses them, and its errors point at the place.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from pcapstall.core.digits import is_decimal, is_whole_number
from pcapstall.flows.kept import MAX_FLOWS
from pcapstall.report.render import format_of_name

if TYPE_CHECKING:
    from pcapstall.report.filter import Filter

Command = Callable[..., Any]
_JOBS_MAX: Final = 256


def port(text: str) -> int:
    """A TCP port; click's own range of numbers would say only that a word is none."""
    if not (is_decimal(text) and len(text) < 6 and 0 < int(text) < 1 << 16):
        raise click.BadParameter(f"{text!r} is not a port: a number from 1 to 65535")
    return int(text)


class WholeNumber(click.types.IntParamType):
    """A number in ASCII digits; what `int` takes besides is none: other scripts' digits, blanks, underscores.

    Not click's range, which puts formulas into the help: an option's text says what may be given, in words.
    """

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        self._least = least
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; click.BadParameter when it is none, or out of range."""
        if isinstance(value, str) and not is_whole_number(value):
            self.fail(f"{value!r} is not a whole number", param, ctx)
        number = super().convert(value, param, ctx)
        if self._least is not None and number < self._least:
            self.fail(f"{number} is too small: {self._least} at least", param, ctx)
        if self._most is not None and number > self._most:
            self.fail(f"{number} is too large: {self._most} at most", param, ctx)
        return number


def completed_by(name: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """The function ``name`` of `completion`, which is loaded only when a shell asks."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from pcapstall.cli import completion

        found: list[Any] = getattr(completion, name)(ctx, param, incomplete)
        return found

    return complete


def format_option_of(formats: str) -> Callable[[Command], Command]:
    """``-f`` of a command that has ``formats``, as its help says."""
    return click.option(
        "-f",
        "--format",
        "wanted",
        default="table",
        metavar="FORMAT",
        shell_complete=completed_by("formats"),
        help=formats,
    )


captures_argument: Final = click.argument(
    "captures", nargs=-1, required=True, metavar="CAPTURE...", shell_complete=completed_by("files")
)

slow_option: Final = click.option(
    "--slow",
    multiple=True,
    metavar="[INTERVAL=]TIME",
    shell_complete=completed_by("slow"),
    help="Call an interval stalled from TIME on: 500ms, ch_ack=200ms. May be repeated. [default: 1s, ch_ack=500ms]",
)
filter_option: Final = click.option(
    "--filter",
    "filter_text",
    metavar="EXPR",
    shell_complete=completed_by("columns"),
    help='Only flows for which EXPR holds: "ack_ch > 1s and sni ~ \'api\'", "server = 10.0.0.0/8".',
)
fail_if_option: Final = click.option(
    "--fail-if",
    multiple=True,
    metavar="CONDITION",
    shell_complete=completed_by("conditions"),
    help='Exit with 1 if CONDITION holds: stalled, failed, "ack_ch.p99 > 1s", "count(tls_outcome = alert) > 0". May be'
    " repeated.",
)
at_option: Final = click.option(
    "--at", type=click.Choice(["client", "server"]), help="Where the capture was taken, if pcapstall cannot tell."
)
tls_option: Final = click.option(
    "--tls",
    "tls_ports",
    type=port,
    multiple=True,
    metavar="PORT",
    help="This server port speaks TLS, though no ClientHello to it was seen. May be repeated.",
)
max_flows_option: Final = click.option(
    "--max-flows",
    type=WholeNumber(least=1),
    default=MAX_FLOWS,
    show_default=True,
    metavar="N",
    help="Follow at most N flows at once; over it the one that was idle for longest is closed early.",
)
jobs_option: Final = click.option(
    "--jobs",
    type=WholeNumber(1, _JOBS_MAX),
    metavar="N",
    help=f"Follow the flows in N processes, {_JOBS_MAX} at most. [default: as many as pay: the cores for large files"
    " that are not compressed, else 1]",
)
engine_option: Final = click.option(
    "--engine",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="Who follows the flows: processes of this host, or a Dask cluster.",
)
scheduler_option: Final = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="With --engine dask: the scheduler of a cluster that runs already, tcp://10.0.0.1:8786. [default: a cluster"
    " of this host's, for this run]",
)
parallel_options: Final = (jobs_option, engine_option, scheduler_option)
"""By how many, and by whom; `reading.in_parallel` takes what they say."""
reading_options: Final = (slow_option, at_option, tls_option, max_flows_option)
"""How captures are read and judged; `reading.how_to_read` takes what they say."""
strace_option: Final = click.option(
    "--strace",
    "straces",
    multiple=True,
    metavar="[LABEL=]FILE",
    shell_complete=completed_by("files"),
    help="A strace of either end (strace -f -ttt -T -o FILE), to tell what the process did. May be repeated.",
)
log_option: Final = click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="[LABEL=]FILE",
    shell_complete=completed_by("files"),
    help="A log of either end: lines that name an endpoint of a flow are shown with it. May be repeated.",
)
all_option: Final = click.option(
    "--all", "all_flows", is_flag=True, help="Show every flow, not only those that stalled or failed."
)
output_option: Final = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True, allow_dash=True),
    metavar="FILE",
    help="Write to FILE. [default: standard output]",
)
_PAGES: Final = "table, markdown, jira, json, jsonl, csv, html, "
_STYLE: Final = "or table:STYLE with a style of tabulate. [default: what the name of -o ends with"
format_option: Final = format_option_of(f"{_PAGES}{_STYLE} (.html, .md, .json, .jsonl, .csv), else table]")
flow_format_option: Final = format_option_of(
    f"{_PAGES}parquet, {_STYLE} (.html, .md, .json, .jsonl, .csv, .parquet), else table]"
)


def chosen_format(wanted: str, output: str | None) -> str:
    """What `-f` asks for; without it what the name of `-o` ends with."""
    given = click.get_current_context().get_parameter_source("wanted") is not ParameterSource.DEFAULT
    return wanted if given or output is None else format_of_name(output)


def chosen_filter(text: str | None) -> "Filter[Any] | None":
    """What `--filter` asks for; None without one, and then its language is not even loaded."""
    if text is None:
        return None
    from pcapstall.report.filter import compile_filter

    return compile_filter(text)


def add_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Decorate a command with ``options``, shown in this order by `--help`."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
