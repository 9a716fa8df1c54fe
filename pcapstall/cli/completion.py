"""What a shell is told when somebody presses Tab: files, and the words of the options that have a language.

The scripts for bash, zsh and fish are click's. Imported only while a shell asks.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Final

import click
from click.shell_completion import CompletionItem, get_completion_class

from pcapstall.core.errors import UsageError

SHELLS: Final = ("bash", "zsh", "fish")

_FORMATS_OF: Final = {
    "diff": "to_changes.FORMATS",
    "compare": "to_two_ends.FORMATS",
    "summary": "render.PAGE_FORMATS",
    "timeline": "render.PAGE_FORMATS",
    "plot": "to_picture.FORMATS",
}
"""In `pcapstall.report`, of commands that have not all of `render.FORMATS`. One at a time: a shell waits."""

Items = list[CompletionItem]


def script(shell: str, program: str, variable: str, root: click.Command) -> str:
    """What ``shell`` is to evaluate so that it completes ``program``."""
    kind = get_completion_class(shell)
    if kind is None or shell not in SHELLS:
        raise UsageError(f"--completion {shell}: there are {', '.join(SHELLS)}")
    return kind(root, {}, program, variable).source()


def files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Files, which the shell finds itself."""
    return [CompletionItem(incomplete, type="file")]


def formats(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Names of the formats that the command has."""
    module, _, name = _FORMATS_OF.get(ctx.info_name or "", "render.FORMATS").partition(".")
    return _beginning(getattr(import_module(f"pcapstall.report.{module}"), name), incomplete)


def slow(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Intervals that can stall."""
    from pcapstall.report.names import STALL_INTERVALS

    return _beginning((f"{name}=" for name in STALL_INTERVALS), incomplete)


def columns(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Columns, for the first word of a filter."""
    from pcapstall.report.columns import FLOW_COLUMNS

    return _beginning(sorted(FLOW_COLUMNS), incomplete)


def conditions(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """What a condition can ask for."""
    from pcapstall.report.condition_language import STATISTICS
    from pcapstall.report.names import INTERVALS

    changes = ("new_stalls", "gone_stalls") if ctx.info_name == "diff" else ()
    statistics = (f"{name}.{of}" for name in INTERVALS for of in STATISTICS)
    return _beginning(("stalled", "failed", "flows", *changes, *statistics), incomplete)


def _beginning(words: Iterable[str], incomplete: str) -> Items:
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]
