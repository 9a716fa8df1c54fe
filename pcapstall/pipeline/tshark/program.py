"""The tshark that is installed: where it is, and whether it is one that can be asked.

Everything that is wrong with it becomes one sentence. How it is run over a capture is in `capture`.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from typing import Final

from pcapstall.core.errors import PcapstallError
from pcapstall.report.untrusted import printable, shorten

INSTALL: Final = (
    "install it with `apt install tshark` (Debian, Ubuntu), `dnf install wireshark-cli` (Fedora) or "
    "`brew install wireshark` (macOS)"
)
OLDEST: Final = (3, 0)
"""Since 3.0 tshark has the preferences that are set here, and calls TLS tls."""
START_S: Final = 20.0
"""How long tshark may take to tell its version."""

_ANSWER_MAX: Final = 1 << 16
"""More than this of an answer is not read: it would be no version."""

_SAID_MAX: Final = 120
_MAC_APP: Final = "/Applications/Wireshark.app/Contents/MacOS/tshark"
_VERSION: Final = re.compile(r"TShark[^\n]*?(\d+)\.(\d+)\.(\d+)")


class TsharkError(PcapstallError):
    """tshark is missing, too old, or did not do its work; the text is one sentence."""


class Tshark:
    """The tshark that is installed. TsharkError when there is none that works."""

    def __init__(self) -> None:
        found = shutil.which("tshark") or (_MAC_APP if os.access(_MAC_APP, os.X_OK) else None)
        if found is None:
            raise TsharkError(f"there is no tshark on this system, and verify asks it: {INSTALL}")
        self.path = found
        self.version = _version(found)
        """``4.0.17``."""


def _version(path: str) -> str:
    answer = _answer(path)
    match = _VERSION.search(answer.decode(errors="replace"))
    if match is None:
        first, _, _ = answer.decode(errors="replace").strip().partition("\n")
        instead = f" but {shorten(printable(first), _SAID_MAX)!r}" if first else ""
        raise TsharkError(f"{path} does not say its version{instead}, so it is no tshark that works: {INSTALL}")
    numbers = tuple(map(int, match.groups()))
    if numbers[:2] < OLDEST:
        raise TsharkError(f"{path} is version {'.'.join(match.groups())}; 3.0 or newer is needed: {INSTALL}")
    return ".".join(match.groups())


def _answer(path: str) -> bytes:
    """What ``path --version`` prints, its beginning if there is no end to it. TsharkError when it says nothing."""
    try:
        process = subprocess.Popen(
            [path, "--version"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise TsharkError(f"{path} cannot be started: {error.strerror or error}") from None
    assert process.stdout is not None
    answer = b""
    until_s = time.monotonic() + START_S
    with process.stdout as pipe:
        try:
            while len(answer) < _ANSWER_MAX:
                if not select.select([pipe], [], [], max(until_s - time.monotonic(), 0))[0]:
                    raise TsharkError(f"{path} --version did not answer in {START_S:g} s")
                part = os.read(pipe.fileno(), _ANSWER_MAX)
                if not part:
                    break
                answer += part
        finally:
            # Before its exit it has closed its output; whoever has not is not waited for.
            kill_group(process.pid)
            process.wait()
    return answer


def kill_group(leader: int) -> None:
    """End a tshark that was started in a session of its own, and whatever it has started: it may be a wrapper."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
