"""The `pcapstall` command: its sub-commands, its version, and how errors become exit codes.

Exit codes: 0 done; 1 a `--fail-if` condition holds; 2 wrong usage; 3 an input cannot be read at all. Commands are
imported only when one is called, for `pcapstall --help` must be quick.
"""

import os
import sys
from importlib import import_module
from typing import Any, Final

import click

from pcapstall.core.errors import PcapstallError, UsageError

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
    "summary": "pcapstall.cli.summary_command",
    "verify": "pcapstall.cli.verify_command",
}
"""Name of each command and the module whose `command` it is."""


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
        return command


def _show_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    import pcapstall
    from pcapstall import _build  # looks at every compiled module, so only here

    python = ".".join(map(str, sys.version_info[:3]))
    click.echo(f"pcapstall {pcapstall.__version__}, {_build.kind()}, Python {python}")
    ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
    help="Print the version, and whether the hot path is compiled.",
)  # fmt: skip
def root() -> None:
    """Explain why a TLS connection hung: what was late, and whose time it was.

    \b
    pcapstall report capture.pcap
    tcpdump -i any -U -w - 'tcp port 443' | pcapstall report -
    """


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    from pcapstall.cli import destination

    destination.write_any_text()
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return WRONG_USAGE
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:  # of --help and --version, as below; commands see to their own output
        destination.discard()
        return OK
    except UsageError as error:
        destination.complain(error)
        return WRONG_USAGE
    except PcapstallError as error:
        destination.complain(error)
        return UNREADABLE_INPUT
    except OSError as error:
        destination.discard()
        destination.say(f"standard output: {error.strerror}")
        return WRONG_USAGE


def _run(arguments: list[str]) -> int:
    """What click's own `main` does, but for a closed output: that one ends with 1, which says something else here."""
    if wanted := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, PROGRAM, COMPLETE, wanted)
    with root.make_context(PROGRAM, list(arguments)) as context:
        result: Any = root.invoke(context)
        return result if isinstance(result, int) else OK
