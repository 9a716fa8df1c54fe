"""`--debug`: tracebacks for a bug report, and how long each stage took; and what is said of a bug without it.

Tells only what happened. Which error has which exit code is `main`'s.
"""

import os
import sys
import warnings
from types import TracebackType
from typing import Final, NoReturn, TextIO

from pcapstall.cli import destination
from pcapstall.cli.stages import stages
from pcapstall.core.lacking import lack_of

VARIABLE: Final = "PCAPSTALL_DEBUG"
"""Set to 1 it is `--debug` for every call."""
FAULT: Final = 70
"""The exit code for a fault of pcapstall's own: EX_SOFTWARE of sysexits.h."""


def wanted() -> bool:
    """Whether the user asked for more than sentences."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def hear_warnings() -> None:
    """Let what pcapstall warns Python of be a line on standard error; with --debug also what cost nothing but time."""
    others = warnings.showwarning

    def tell(
        message: Warning | str, category: type[Warning], filename: str, lineno: int,
        file: TextIO | None = None, line: str | None = None,
    ) -> None:  # fmt: skip
        if category is ResourceWarning and not wanted():
            return  # Python's own of a file that is closed late, where memory has run out in between
        if category.__module__.partition(".")[0] != "pcapstall":
            others(message, category, filename, lineno, file, line)
        elif wanted():
            destination.say(f"debug: {message}\n{getattr(message, 'trace', '')}".rstrip())
        elif not issubclass(category, ResourceWarning):
            destination.say(str(message))

    warnings.showwarning = tell
    warnings.filterwarnings("always", category=ResourceWarning, module=r"pcapstall\.")


def show_traceback(error: BaseException) -> None:
    """Where ``error`` came from."""
    import traceback

    destination.say("".join(traceback.format_exception(error)).rstrip())


def show_stages() -> None:
    """How long each stage took, and what the whole program used."""
    import resource

    for line in stages.lines():
        destination.say(f"debug: {line}")
    used = resource.getrusage(resource.RUSAGE_SELF)
    processor = f"processor {used.ru_utime:.2f} s user, {used.ru_stime:.2f} s system"
    destination.say(f"debug: {processor}; memory {used.ru_maxrss // 1024} MiB")


def end_with_fault(error: BaseException) -> NoReturn:
    """Say that this is a fault of pcapstall's own, where it lies and how to report it; ends the program.

    MemoryError where it is none: there was no room for a library.
    """
    if lack_of(error):
        raise MemoryError from error
    destination.say(
        "this is a fault of pcapstall, not of your files: "
        f"{type(error).__name__}: {error} ({_place(error.__traceback__)}, {_versions()})"
    )
    if wanted():
        show_traceback(error)
        show_stages()
    else:
        import shlex

        command = shlex.join(["pcapstall", "--debug", *sys.argv[1:]])
        destination.say(f"please report it with what this prints, and with the file if you can: {command}")
    destination.discard(sys.stdout)
    os._exit(FAULT)


def _versions() -> str:
    import platform

    import pcapstall

    return f"version {pcapstall.__version__}, Python {platform.python_version()}"


def _place(trace: TracebackType | None) -> str:
    """The innermost line of pcapstall's own on the way to an error."""
    import traceback

    place = "nowhere"
    for frame in traceback.extract_tb(trace):
        _, package, name = frame.filename.rpartition("pcapstall/")
        if package:
            place = f"{package}{name}:{frame.lineno}"
    return place
