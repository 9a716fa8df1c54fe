"""The program: `pcapstall`, and `python -m pcapstall`. What must hold from its first instant on, before any import.

Ctrl-C while modules are imported ends with 130 and no traceback, and a fault of pcapstall's own is told as one. The
process spends no time on garbage that it does not make, nor on taking itself down. The command line itself is
`pcapstall.cli.main`.
"""

import gc
import os
import sys

TYPE_CHECKING = False  # typing itself would be an import
if TYPE_CHECKING:
    from types import TracebackType
    from typing import NoReturn

_INTERRUPTED = 130  # as pcapstall.cli.main says, which is not imported yet
_NO_MEMORY = b"pcapstall: out of memory before anything was read: it needs 60 MB at least (ulimit -v)\n"
_UNREADABLE = 3
_GARBAGE_MAX = 100_000
"""Objects that may have been made since garbage was last looked for. What the imports make is half as much and stays:
with the usual threshold of 700 it is looked at a hundred times over, 3% of the time of a small capture."""


def main() -> "NoReturn":
    """Run the command line, and end the process with its exit code."""
    sys.unraisablehook = _lost
    sys.excepthook = _fault
    gc.set_threshold(_GARBAGE_MAX, 10, 10)
    try:
        from pcapstall.cli.main import main as run

        code = run()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except MemoryError:
        _end_without_memory()
    _end(code)


def _end(code: int) -> "NoReturn":
    """End the process without taking its objects down one by one, which takes as long as a small capture did."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        sys.exit(code)  # which says what cannot be written
    os._exit(code)


def _lost(unraisable: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C came in a callback (such as the import system's own) which cannot pass it on: end here and now.

    Nor is there room for what an object does that goes when memory has run out; that it has is told.
    """
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        os._exit(_INTERRUPTED)
    if not issubclass(unraisable.exc_type, MemoryError):
        sys.__unraisablehook__(unraisable)


def _fault(kind: type[BaseException], error: BaseException, traceback: "TracebackType | None") -> None:
    """What nobody expected, and so nobody caught."""
    if issubclass(kind, KeyboardInterrupt):
        os._exit(_INTERRUPTED)
    try:
        from pcapstall.cli.debugging import end_with_fault

        end_with_fault(error)
    except (MemoryError, ImportError):
        _end_without_memory()


def _end_without_memory() -> "NoReturn":
    """Say so with what is there already: there is no room for more."""
    os.write(2, _NO_MEMORY)
    os._exit(_UNREADABLE)


if __name__ == "__main__":
    main()
