"""A long strace: the lines of a short one again and again, each time later and with other process numbers.

Lines keep their order. Stamps must be seconds since the epoch (`-ttt`), and the process number, where there is one,
must come first (`-f -o FILE`) or in brackets (`[pid 123]`). The numbers come round again as the kernel's do. Every time
the ports that the kernel chose and the ClientHellos' randoms are others, so that no two connections look alike.
"""

import argparse
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from bench_decorate import decorated

_LINE = re.compile(rb"(\[pid +)?(\d+)?(\]? *)(\d{9,10})\.(\d+) (.*)", re.DOTALL)
_PORT = re.compile(rb"(?<=htons\()(\d+)(?=\))|(?<=\d:)(\d+)(?=->|\]>)")
_HELLO = re.compile(rb'(?<="\\26\\3\\1\\2\\0\\1\\0\\1\\374\\3\\3)((?:[^"\\]|\\.)*)(?=")')
_ESCAPES = {b"\n": b"\\n", b"\t": b"\\t", b"\r": b"\\r", b"\f": b"\\f", b"\v": b"\\v", b'"': b'\\"', b"\\": b"\\\\"}
PID_STEP = 10_000
PID_MAX = 4_190_000
"""A little below the kernel's limit of 2**22."""
EPHEMERAL = 32_768
"""Ports from here on are chosen by the kernel (net.ipv4.ip_local_port_range)."""
_PORTS = 28_000
_PORT_STEP = 101


def port_of(port: int, turn: int) -> int:
    """The port that takes the place of ``port`` in this turn."""
    return port if port < EPHEMERAL else EPHEMERAL + (port - EPHEMERAL + turn * _PORT_STEP) % _PORTS


def random_of(random: bytes, turn: int) -> bytes:
    """The bytes that take the place of ``random``; a shorter beginning of one gives the beginning of the same bytes."""
    return hashlib.sha256(random[:16] + b"%d" % turn).digest()[: len(random)] if turn else random


def step_of(lines: list[bytes]) -> int:
    """By how many seconds each turn is later than the one before; ValueError when ``lines`` hold no stamp."""
    seconds = [int(match[4]) for line in lines if (match := _LINE.fullmatch(line)) is not None]
    if not seconds:
        raise ValueError("no line has a stamp in seconds since the epoch (strace -ttt)")
    return max(seconds) - min(seconds) + 1


def printed(data: bytes) -> bytes:
    """``data`` as strace prints a string: octal escapes as short as may be."""
    parts = []
    for at in range(len(data)):
        byte = data[at : at + 1]
        if byte in _ESCAPES:
            parts.append(_ESCAPES[byte])
        elif 32 <= data[at] < 127:
            parts.append(byte)
        else:
            parts.append(b"\\%03o" % data[at] if data[at + 1 : at + 2].isdigit() else b"\\%o" % data[at])
    return b"".join(parts)


def _in_turn(rest: bytes, turn: int) -> bytes:
    """What a line says, with the ports and the random of this turn."""
    rest = _PORT.sub(lambda found: b"%d" % port_of(int(found[0]), turn), rest)
    return _HELLO.sub(
        lambda found: printed(random_of(found[0].decode("unicode_escape").encode("latin-1"), turn)), rest, count=1
    )


def repeated(lines: list[bytes], total: int) -> Iterator[bytes]:
    """``total`` lines; ValueError when ``lines`` hold no stamp."""
    step = step_of(lines)
    parts = [match.groups() if (match := _LINE.fullmatch(line)) else None for line in lines]
    changes = [part is not None and (_PORT.search(part[5]) or _HELLO.search(part[5])) for part in parts]
    for number in range(total):
        turn, index = divmod(number, len(lines))
        part = parts[index]
        if part is None or turn == 0:
            yield lines[index]
            continue
        bracket, pid, gap, second, fraction, rest = part
        shifted = b"%d" % ((int(pid) + turn * PID_STEP) % PID_MAX) if pid else b""
        if changes[index]:
            rest = _in_turn(rest, turn)
        yield b"%s%s%s%d.%s %s" % (bracket or b"", shifted, gap, int(second) + turn * step, fraction, rest)


def write(trace: Path, path: Path, total: int, decorate: bool = False) -> None:
    """Write the long trace, with ``decorate`` as `-yy` would have it; a file that exists is whole."""
    lines = trace.read_bytes().splitlines(keepends=True)
    if decorate:
        lines = list(decorated(lines))
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as out:
        out.writelines(repeated(lines, total))
    unfinished.rename(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("path", type=Path)
    parser.add_argument("total", type=int)
    parser.add_argument("--yy", action="store_true", help="decorate descriptors")
    options = parser.parse_args()
    write(options.trace, options.path, options.total, options.yy)
