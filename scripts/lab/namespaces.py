"""Network namespaces of the lab: made, addressed, joined by veth pairs, and programs run inside them.

Only `ip` is called; what travels between namespaces is the router's business or the kernel's.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8", "TZ": "UTC"}
"""What every program of the lab gets: nothing of the machine it happens to run on."""


def run(*argv: str) -> str:
    """Run a command of the host to its end and return what it printed."""
    return subprocess.run(argv, check=True, capture_output=True, text=True, env=ENVIRONMENT).stdout


class Namespace:
    """One network namespace: a host of the lab."""

    def __init__(self, name: str) -> None:
        self.name = name
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        run("ip", "netns", "add", name)
        self.ip("link", "set", "lo", "up")

    def ip(self, *arguments: str) -> str:
        """Run `ip` on this namespace."""
        return run("ip", "-n", self.name, *arguments)

    def sysctl(self, **values: str | int) -> None:
        """Set kernel parameters; a dot in a name is written as two underscores."""
        for name, value in values.items():
            self.run("sysctl", "-qw", f"{name.replace('__', '.')}={value}")

    def resolver(self, address: str) -> None:
        """Let programs here ask this name server; `ip netns exec` binds the file over /etc/resolv.conf."""
        folder = Path("/etc/netns") / self.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "resolv.conf").write_text(f"nameserver {address}\n")

    def command(self, argv: Sequence[str]) -> list[str]:
        """Return the argv that runs a command here under a host name of its own."""
        hostname = self.name.removeprefix("lab-")
        return ["ip", "netns", "exec", self.name, "unshare", "--uts", "sh", "-c",
                f'hostname {hostname}; exec "$@"', "sh", *argv]  # fmt: skip

    def run(self, *argv: str, check: bool = True, stdin: str | None = None) -> str:
        """Run a command here to its end and return what it printed."""
        return subprocess.run(
            self.command(argv), check=check, capture_output=True, text=True, env=ENVIRONMENT, input=stdin
        ).stdout

    def popen(
        self,
        *argv: str,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.DEVNULL,
        stderr: int | IO[bytes] = subprocess.STDOUT,
        cwd: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a command here."""
        return subprocess.Popen(self.command(argv), stdin=stdin, stdout=stdout, stderr=stderr, env=ENVIRONMENT, cwd=cwd)

    def delete(self) -> None:
        """Remove the namespace and its devices."""
        run("ip", "netns", "del", self.name)


def join_by_veth(
    left: Namespace,
    right: Namespace,
    left_address: str,
    right_address: str,
    devices: tuple[str, str] = ("eth0", "eth0"),
) -> None:
    """Join two namespaces by a veth pair, one address with its prefix length (or none) at each end."""
    ends = ((left, left_address, devices[0]), (right, right_address, devices[1]))
    run("ip", "link", "add", devices[0], "netns", left.name, "type", "veth", "peer", "name", devices[1],
        "netns", right.name)  # fmt: skip
    for namespace, address, device in ends:
        if address:
            namespace.ip("addr", "add", address, "dev", device, *(("nodad",) if ":" in address else ()))
        namespace.ip("link", "set", device, "up")
