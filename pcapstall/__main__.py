"""The program: `pcapstall`, and `python -m pcapstall`. What must hold from its first instant on, before any import.

Ctrl-C while modules are imported ends with 130 and no traceback, and a fault of pcapstall's own is told as one. The
command line itself is `pcapstall.cli.main`.
"""

import os
import sys

TYPE_CHECKING = False  # typing itself would be an import
if TYPE_CHECKING:
    from types import TracebackType

_INTERRUPTED = 130  # as pcapstall.cli.main says, which is not imported yet


def main() -> int:
    """Run the command line; returns the exit code."""
    sys.unraisablehook = _lost
    sys.excepthook = _fault
    try:
        from pcapstall.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return _INTERRUPTED


def _lost(unraisable: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C came in a callback (such as the import system's own) which cannot pass it on: end here and now."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        os._exit(_INTERRUPTED)
    sys.__unraisablehook__(unraisable)


def _fault(kind: type[BaseException], error: BaseException, traceback: "TracebackType | None") -> None:
    """What nobody expected, and so nobody caught."""
    if issubclass(kind, KeyboardInterrupt):
        os._exit(_INTERRUPTED)
    from pcapstall.cli.debugging import end_with_fault

    end_with_fault(error)


if __name__ == "__main__":
    sys.exit(main())
