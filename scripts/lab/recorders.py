"""What records a run: tcpdump, dumpcap and strace, each started, waited for until it is ready, and stopped cleanly.

A recorder never decides what is recorded; the scenario gives device, filter and options.
"""

from __future__ import annotations

import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from lab.namespaces import Namespace

EXPRESSION = "tcp or icmp or (icmp6 and ip6[40] < 128)"
"""TCP and what routers have to say about it; no neighbour discovery."""
_READY_S = 5.0
_SETTLE_S = 0.3


class Capture:
    """A running tcpdump or dumpcap."""

    def __init__(self, namespace: Namespace, argv: Sequence[str], ready: bytes) -> None:
        self.argv = list(argv)
        self._process = namespace.popen(*argv, stderr=subprocess.PIPE)
        self._wait_for(ready)

    def _wait_for(self, ready: bytes) -> None:
        assert self._process.stderr is not None
        until = time.monotonic() + _READY_S
        heard = b""
        while ready not in heard:
            readable, _, _ = select.select([self._process.stderr], [], [], max(0.0, until - time.monotonic()))
            chunk = self._process.stderr.read1(4096) if readable else b""  # type: ignore[attr-defined]
            if not chunk:
                raise RuntimeError(f"{self.argv[0]} did not start: {heard.decode(errors='replace')}")
            heard += chunk
        time.sleep(0.1)

    def stop(self) -> None:
        """Let the last packets arrive, then end the recording as Ctrl-C does."""
        time.sleep(_SETTLE_S)
        self._process.send_signal(signal.SIGINT)
        _, said = self._process.communicate(timeout=_READY_S)
        dropped = re.search(rb"([1-9]\d*) packets dropped by kernel", said or b"")
        if dropped:
            raise RuntimeError(f"{self.argv[0]}: {dropped.group().decode()}")


def tcpdump(
    namespace: Namespace, path: Path, *options: str, device: str = "eth0", expression: str = EXPRESSION
) -> Capture:
    """Record with tcpdump: microseconds and the default snapshot length unless options say otherwise."""
    # In immediate mode each packet takes a slot of the snapshot length: 2 MiB of buffer would be eight packets.
    argv = ["tcpdump", "-i", device, "--immediate-mode", "-B", "65536", "-U", "-Z", "root", "-w", str(path), *options]
    return Capture(namespace, [*argv, *((expression,) if expression else ())], b"listening on")


def dumpcap(namespace: Namespace, path: Path, *options: str, devices: Sequence[str] = ("eth0",)) -> Capture:
    """Record a pcapng with dumpcap, on several interfaces at once if asked."""
    interfaces = [word for device in devices for word in ("-i", device)]
    capture = Capture(namespace, ["dumpcap", "-q", *interfaces, *options, "-w", str(path)], b"File: ")
    time.sleep(0.3)
    return capture


def strace(path: Path, *options: str) -> list[str]:
    """Return the command words that trace what follows them from its start, as an operator types them."""
    return ["strace", "-f", "-ttt", "-T", *options, "-o", str(path)]
