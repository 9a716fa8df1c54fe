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


class DamageError(PcapstallError):
    """An input is damaged from here on; what came before was read."""

    def __init__(self, path: str, what: str, frame: int, offset: int, needed: int, got: int) -> None:
        super().__init__(f"{path}: frame {frame}, offset {offset}: {what}: needed {needed}, got {got}")
        self.path = path
        self.what = what
        self.frame = frame
        self.offset = offset
        self.needed = needed
        self.got = got
