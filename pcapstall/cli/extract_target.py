"""Where an extract goes: one file, or a folder with a capture and the straces and logs that belong to it.

Everything is looked at before anything is read. What is written is not known here.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pcapstall.capture.source import can_be_read_again
from pcapstall.cli import destination
from pcapstall.core.errors import UsageError
from pcapstall.pipeline.ends.given import Given

if TYPE_CHECKING:
    from pcapstall.pipeline.extract.anonymised_files import Planned

_NAMED_MAX: Final = 3
"""So many files are named in an error."""


class Target(NamedTuple):
    """What is to be written."""

    folder: str | None
    """None for one file."""
    capture: str
    """The capture's path; ``-`` is standard output."""
    wanted: str
    """Its format."""
    others: "Sequence[Planned]" = ()
    """Straces and logs, to be written into the folder."""
    inputs: Sequence[str] = ()
    """Straces and logs that are read."""

    def check(self, captures: Sequence[str]) -> None:
        """UsageError when it cannot be written, or is one of the inputs."""
        inputs = [*captures, *self.inputs]
        if self.folder is not None and not os.path.isdir(self.folder):
            above = os.path.dirname(os.path.abspath(self.folder))
            if not os.path.isdir(above) or not os.access(above, os.W_OK):
                raise UsageError(f"-o {self.folder}: no folder can be made in {above}")
            return
        destination.check(self.capture, inputs)
        for planned in self.others:
            destination.check(os.path.join(self.folder or "", planned.name), inputs)
        if self.folder is not None:
            self._check_others(self.folder)

    def _check_others(self, folder: str) -> None:
        """UsageError when there is something in the folder that would go out with what is written."""
        written = {os.path.basename(self.capture), *(planned.name for planned in self.others)}
        try:
            there = sorted(set(os.listdir(folder)) - written)
        except OSError as error:
            raise UsageError(f"-o {folder}: {error.strerror}") from error
        if there:
            more = f" and {len(there) - _NAMED_MAX} more" if len(there) > _NAMED_MAX else ""
            raise UsageError(
                f"-o {folder}: there is something else in it, {', '.join(there[:_NAMED_MAX])}{more}, that would be"
                " passed on, too: name a new folder"
            )

    def make_folder(self) -> None:
        """The folder is there, or UsageError says why it cannot be."""
        if self.folder is not None:
            try:
                os.makedirs(self.folder, exist_ok=True)
            except OSError as error:
                raise UsageError(f"-o {self.folder}: {error.strerror}") from error


def target_of(output: str, wanted: str | None, anonymize: bool, given: Given) -> Target:
    """What ``-o output`` means; UsageError when it cannot be meant."""
    inputs = given.paths
    is_folder = output.endswith(os.sep) or os.path.isdir(output)
    if not anonymize:
        if is_folder:
            raise UsageError(f"-o {output}: is a folder: name a file in it, {os.path.join(output, 'small.pcapng')}")
        return Target(None, output, wanted or _format_of(output), inputs=inputs)
    if not inputs and not is_folder:
        return Target(None, output, wanted or _format_of(output))
    if output == destination.STDOUT or output.endswith((".pcap", ".pcapng")) or os.path.isfile(output):
        raise UsageError(f"-o {output}: the straces and logs are written, too: name a folder, -o extract/")
    once = next((path for path in inputs if not can_be_read_again(path)), None)
    if once is not None:
        raise UsageError(f"{once} is read more than once, so a pipe will not do: save it to a file first")
    from pcapstall.pipeline.extract.anonymised_files import plan

    kind = wanted or "pcapng"
    folder = output.rstrip(os.sep) or os.sep
    others = plan(given.straces, given.logs)
    return Target(folder, os.path.join(folder, f"capture.{kind}"), kind, others, inputs)


def _format_of(output: str) -> str:
    return "pcap" if output.endswith(".pcap") else "pcapng"
