"""A long strace: the lines of a short one again and again, each time later and with other process numbers.

Lines keep their order. Stamps must be seconds since the epoch (`-ttt`), and the process number, where there is one,
must come first (`-f -o FILE`) or in brackets (`[pid 123]`). The numbers come round again as the kernel's do.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_LINE = re.compile(rb"(\[pid +)?(\d+)?(\]? *)(\d{9,10})\.(\d+) (.*)", re.DOTALL)
PID_STEP = 10_000
PID_MAX = 4_190_000
"""A little below the kernel's limit of 2**22."""


def repeated(lines: list[bytes], total: int) -> Iterator[bytes]:
    """``total`` lines; ValueError when ``lines`` hold no stamp."""
    parts = [match.groups() if (match := _LINE.fullmatch(line)) else None for line in lines]
    seconds = [int(part[3]) for part in parts if part is not None]
    if not seconds:
        raise ValueError("no line has a stamp in seconds since the epoch (strace -ttt)")
    step = max(seconds) - min(seconds) + 1
    for number in range(total):
        turn, index = divmod(number, len(lines))
        part = parts[index]
        if part is None or turn == 0:
            yield lines[index]
            continue
        bracket, pid, gap, second, fraction, rest = part
        shifted = b"%d" % ((int(pid) + turn * PID_STEP) % PID_MAX) if pid else b""
        yield b"%s%s%s%d.%s %s" % (bracket or b"", shifted, gap, int(second) + turn * step, fraction, rest)


def write(trace: Path, path: Path, total: int) -> None:
    """Write the long trace; a file that exists is whole."""
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as out:
        out.writelines(repeated(trace.read_bytes().splitlines(keepends=True), total))
    unfinished.rename(path)


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
