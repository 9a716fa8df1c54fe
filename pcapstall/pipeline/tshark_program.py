"""The tshark that is installed: where it is, and whether it is one that can be asked.

Everything that is wrong with it becomes one sentence. How it is run over a capture is in `tshark_capture`.
"""

import os
import re
import shutil
import subprocess
from typing import Final

from pcapstall.core.errors import PcapstallError

INSTALL: Final = (
    "install it with `apt install tshark` (Debian, Ubuntu), `dnf install wireshark-cli` (Fedora) or "
    "`brew install wireshark` (macOS)"
)
OLDEST: Final = (3, 0)
"""Since 3.0 tshark has the preferences that are set here, and calls TLS tls."""
START_S: Final = 20.0
"""How long tshark may take to tell its version."""

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
    try:
        answer = subprocess.run(
            [path, "--version"], check=False, capture_output=True, timeout=START_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise TsharkError(f"{path} --version did not answer in {START_S:g} s") from None
    except OSError as error:
        raise TsharkError(f"{path} cannot be started: {error.strerror or error}") from None
    match = _VERSION.search(answer.stdout.decode(errors="replace"))
    if match is None:
        raise TsharkError(f"{path} does not say its version, so it is no tshark: {INSTALL}")
    numbers = tuple(map(int, match.groups()))
    if numbers[:2] < OLDEST:
        raise TsharkError(f"{path} is version {'.'.join(match.groups())}; 3.0 or newer is needed: {INSTALL}")
    return ".".join(match.groups())
