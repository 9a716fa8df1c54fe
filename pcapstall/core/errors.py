"""The tree of everything that can go wrong, and the one form in which it is said.

An error names the file, the frame or line, the offset, what was needed and what was there. Nothing here decides what
happens next: the command line turns the tree into exit codes.
"""


class PcapstallError(Exception):
    """The root: anything pcapstall says about its input or its arguments."""


class UsageError(PcapstallError):
    """The command line asks for what cannot be done (exit 2)."""


class InputError(PcapstallError):
    """An input cannot be read at all (exit 3)."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type["InputError"], tuple[str, str]]:
        return InputError, (self.path, self.reason)
