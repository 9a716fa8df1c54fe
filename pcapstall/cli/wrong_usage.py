"""What is said of a command line that cannot be meant: one line, with what to type instead.

Imported only when it is wrong. The errors of expressions point at their place themselves.
"""

import os
import shlex
from collections.abc import Iterable, Sequence

import click

from pcapstall.report.expression import did_you_mean


def no_such_command(arguments: Sequence[str], commands: Iterable[str]) -> str:
    """Of ``arguments`` whose first word is none of ``commands``: a capture without its command, or a slip."""
    word = arguments[0]
    if word == "-" or os.path.exists(word) or os.path.splitext(word)[1]:
        return f"{word} is no command; to have its report: {shlex.join(['pcapstall', 'report', *arguments])}"
    hint = did_you_mean(word, commands)
    if hint:
        near = hint.removeprefix("; did you mean ").removesuffix("?")
        return f"there is no command {word}; did you mean: {shlex.join(['pcapstall', near, *arguments[1:]])}"
    return f"there is no command {word}; there are {', '.join(commands)} (pcapstall --help)"


def told_by_click(error: click.ClickException) -> str:
    """What click found, without the lines that it puts before it, and where to read on."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context is not None else "pcapstall"
    said = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.NoSuchOption) and context is not None and isinstance(context.command, click.Group):
        return f"{said}; options of a command stand after its name: pcapstall report {error.option_name} ..."
    return f"{said}{'' if said.endswith('?') else '.'} {path} --help tells what there is."
