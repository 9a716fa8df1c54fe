"""Logs as the tests write them: lines to a file, read by whoever wants everything."""

from pathlib import Path

from pcapstall.core.textfile import TextSource
from pcapstall.logs.endpoints import Endpoint, endpoints_in
from pcapstall.logs.lines import LogFile
from pcapstall.logs.reader import read_log
from pcapstall.logs.stamps import Stamp


class Everything:
    """Wants each line, for the endpoints that it names."""

    def names(self, line: bytes) -> tuple[Endpoint, ...] | None:
        return tuple(endpoints_in(line))

    def fits(self, endpoints: tuple[Endpoint, ...], stamp: Stamp | None) -> bool:
        return True


class Naming(Everything):
    """Wants the lines that name an endpoint."""

    def names(self, line: bytes) -> tuple[Endpoint, ...] | None:
        return tuple(endpoints_in(line)) or None


def read_bytes(data: bytes, folder: Path, wanted: Everything | None = None, name: str = "a.log") -> LogFile:
    path = folder / name
    path.write_bytes(data)
    return read_log(TextSource(str(path)), wanted or Everything())


def read_lines(lines: list[str], folder: Path, wanted: Everything | None = None) -> LogFile:
    return read_bytes("".join(line + "\n" for line in lines).encode(), folder, wanted)
