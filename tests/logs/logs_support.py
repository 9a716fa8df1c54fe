"""Logs as the tests write them: lines to a file, read by whoever wants everything."""

from pathlib import Path

from pcapstall.core.textfile import TextSource
from pcapstall.logs.endpoints import Endpoint, endpoints_in
from pcapstall.logs.lines import LogFile
from pcapstall.logs.reader import read_log
from pcapstall.logs.stamps import Stamp


class Everything:
    """Wants each line, for the endpoints that it names."""

    def wants(self, line: bytes, stamp: Stamp | None) -> tuple[Endpoint, ...] | None:
        return tuple(endpoints_in(line))


class Naming:
    """Wants the lines that name an endpoint."""

    def wants(self, line: bytes, stamp: Stamp | None) -> tuple[Endpoint, ...] | None:
        return tuple(endpoints_in(line)) or None


def read_bytes(data: bytes, folder: Path, wanted: Everything | Naming | None = None, name: str = "a.log") -> LogFile:
    path = folder / name
    path.write_bytes(data)
    return read_log(TextSource(str(path)), wanted or Everything())


def read_lines(lines: list[str], folder: Path, wanted: Everything | Naming | None = None) -> LogFile:
    return read_bytes("".join(line + "\n" for line in lines).encode(), folder, wanted)
