"""The `pcapstall` command: its sub-commands, its version, and how errors become exit codes.

Exit codes: 0 done; 1 a `--fail-if` condition holds; 2 wrong usage; 3 an input cannot be read at all, or
memory or descriptors ran out. Commands are imported only when one is called, for `pcapstall --help` must be quick.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

import click

from pcapstall.cli import debugging, destination
from pcapstall.cli.sigterm import sigterm_interrupts
from pcapstall.cli.stages import stages
from pcapstall.core import signals
from pcapstall.core.errors import PcapstallError, UsageError
from pcapstall.core.lacking import lack_of

OK: Final = 0
CONDITION_HOLDS: Final = 1
WRONG_USAGE: Final = 2
UNREADABLE_INPUT: Final = 3
INTERRUPTED: Final = 130

PROGRAM: Final = "pcapstall"
COMPLETE: Final = "_PCAPSTALL_COMPLETE"
"""The variable by which a shell asks for completions (click's documentation, "Shell Completion")."""

COMMANDS: Final = {
    "report": "pcapstall.cli.report_command",
    "timeline": "pcapstall.cli.timeline_command",
    "summary": "pcapstall.cli.summary_command",
    "watch": "pcapstall.cli.watch_command",
    "compare": "pcapstall.cli.compare_command",
    "diff": "pcapstall.cli.diff_command",
    "plot": "pcapstall.cli.plot_command",
    "extract": "pcapstall.cli.extract_command",
    "verify": "pcapstall.cli.verify_command",
}
"""Name of each command and the module whose `command` it is."""
SUMMARIES: Final = {
    "report": "Report the flows of CAPTURE that stalled or failed, and how the others did.",
    "timeline": "Tell what happened to one flow of CAPTURE: packets, calls of both ends and log lines in one order.",
    "summary": "Sum up the flows of CAPTURE by server, SNI or client: outcomes, and percentiles of each interval.",
    "watch": "Tell of each flow of CAPTURE when it stalls, goes on, fails or ends, as packets arrive.",
    "compare": "Put a capture at the client and one at the server together: where time and packets went.",
    "diff": "Compare two reports: new and gone stalls, percentiles side by side, outcomes.",
    "plot": "Draw CAPTURE: each flow at its start and its delay, and how long each step took; or one flow.",
    "extract": "Write some flows of CAPTURE to a small capture, to be attached to a ticket or opened in Wireshark.",
    "verify": "Read CAPTURE with tshark, too, and list where the two readings differ.",
}
"""The first sentence of the help of each, for which not all of them shall be imported."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        if not any(parameter.name == "debug" for parameter in command.params):
            command.params.append(_debug_option(hidden=True))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command with the whole first sentence of its help; click would import them all and cut it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names; UsageError tells what to type instead."""
        if args[0] not in COMMANDS and (args[0] == "-" or not args[0].startswith("-")):
            from pcapstall.cli.wrong_usage import no_such_command

            raise UsageError(no_such_command(args, COMMANDS))
        found = super().resolve_command(ctx, args)
        if not ctx.resilient_parsing:
            ctx.with_resource(sigterm_interrupts())  # the modules are there, and whatever follows is the command's
        return found


def _show_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    import pcapstall
    from pcapstall import _build  # looks for every compiled module, so only here

    python = ".".join(map(str, sys.version_info[:3]))
    click.echo(f"pcapstall {pcapstall.__version__}, {_build.kind()}, Python {python}")
    ctx.exit()


def _set_debug(_ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        os.environ[debugging.VARIABLE] = "1"


def _show_completion(ctx: click.Context, _param: click.Parameter, shell: str | None) -> None:
    if shell is None or ctx.resilient_parsing:
        return
    from pcapstall.cli import completion

    click.echo(completion.script(shell, PROGRAM, COMPLETE, root))
    ctx.exit()


def _debug_option(hidden: bool) -> click.Option:
    """It may stand before the command's name, where it is shown, and after it."""
    return click.Option(
        ["--debug"], is_flag=True, is_eager=True, expose_value=False, callback=_set_debug, hidden=hidden,
        help="For a bug report: show where an error comes from, and how long each stage took.",
    )  # fmt: skip


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
    help="Print the version, and whether the hot path is compiled.",
)  # fmt: skip
@click.option(
    "--completion", metavar="SHELL", is_eager=True, expose_value=False, callback=_show_completion,
    help="Print what bash, zsh or fish is to evaluate to complete commands, options and files.",
)  # fmt: skip
def root() -> None:
    """Explain why a TLS connection hung: what was late, and whose time it was.

    \b
    pcapstall report capture.pcap
    tcpdump --immediate-mode -i any -U -w - 'tcp port 443' |
      pcapstall report -

    Exit status of every command: 0 done, 1 what was asked for by --fail-if (or a difference, in verify), 2 wrong
    usage, 3 an input cannot be read, 70 a fault of pcapstall's own, 130 ended by Ctrl-C.
    """


root.params.append(_debug_option(hidden=False))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    destination.write_any_text()
    destination.forget()
    signals.forget()
    debugging.hear_warnings()
    stages.forget()
    stages("starting")
    code = _guarded(sys.argv[1:] if arguments is None else arguments)
    if debugging.wanted():
        debugging.show_stages()
    return code


def _guarded(arguments: list[str]) -> int:
    """The exit code, whatever happens; what went wrong is said on standard error."""
    try:
        return _judged(arguments)
    except (MemoryError, OSError, ImportError, SystemError) as error:
        lack = lack_of(error)
        if not lack:
            raise
        if debugging.wanted():
            with suppress(MemoryError):
                debugging.show_traceback(error)
    # Behind the clause nobody holds the frames any more, and what they held is free for the telling.
    from pcapstall.cli import run_out

    destination.say(run_out.told(lack))
    destination.discard(sys.stdout)
    return UNREADABLE_INPUT


def _judged(arguments: list[str]) -> int:
    """The exit code of what ends as it may."""
    try:
        return _run(arguments)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, click.Abort) as interrupt:
        by = str(interrupt)  # the name of a signal; Python's own says nothing
        destination.say(f"ended by {'Ctrl-C' if by in ('', 'SIGINT') else by}: {destination.what_there_is()}")
        return INTERRUPTED
    except BrokenPipeError:  # of --help and --version, as below; commands see to their own output
        destination.discard(sys.stdout)
        return OK
    except click.ClickException as error:
        from pcapstall.cli.wrong_usage import told_by_click

        return _failed(error, UsageError(told_by_click(error)), WRONG_USAGE)
    except UsageError as error:
        return _failed(error, error, WRONG_USAGE)
    except PcapstallError as error:
        return _failed(error, error, UNREADABLE_INPUT)
    except OSError as error:
        if error.filename is not None or lack_of(error):
            raise  # of a file that nobody should have opened without looking: a fault
        destination.discard(sys.stdout)
        return _failed(error, destination.not_written(error), WRONG_USAGE)


def _failed(cause: Exception, said: PcapstallError, code: int) -> int:
    if debugging.wanted():
        debugging.show_traceback(cause)
    destination.complain(said)
    return code


def _run(arguments: list[str]) -> int:
    """What click's own `main` does, but for a closed output: that one ends with 1, which says something else here."""
    if wanted := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, PROGRAM, COMPLETE, wanted)
    if not arguments:
        destination.say_plainly(root.get_help(click.Context(root, info_name=PROGRAM, **root.context_settings)))
        return WRONG_USAGE
    with root.make_context(PROGRAM, list(arguments)) as context:
        result: Any = root.invoke(context)
        return result if isinstance(result, int) else OK
