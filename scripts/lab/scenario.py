"""What a scenario is made of: its name and story, the hosts and programs it may use, and the checks that prove it.

A scenario is a function registered under the name of its folder. It builds hosts, starts recorders and programs,
waits, and returns; the checks are then run with tshark, so that a capture that does not show its story is refused.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab import recorders
from lab.namespaces import Namespace, run
from lab.router import Port, Router, Rule

STAGE = Path("/opt/lab")
"""Where programs run and outputs grow: a path that tells nothing of the machine, for it shows in straces."""
PYTHON = ("/usr/bin/python3", "-I")
CLIENT = "10.40.39.45"
SERVER = "10.40.42.129"
CLIENT6 = "2001:db8:39::45"
SERVER6 = "2001:db8:42::129"
_PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Check:
    """So many frames of a file satisfy a display filter."""

    file: str
    """Its name, or a pattern for files to be taken together."""
    display_filter: str
    frames: int
    at_least: bool = False
    """The number is a lower bound."""
    options: tuple[str, ...] = ()
    """More of tshark's options, such as -d for a port."""

    def command(self, at: str = "") -> list[str]:
        """Return the tshark command whose lines are counted."""
        return ["tshark", "-n", "-r", f"{at}{self.file}", *self.options, "-Y", self.display_filter]

    def holds(self, folder: Path) -> tuple[bool, int]:
        """Say whether it holds, and the number found."""
        found = 0
        for path in sorted(folder.glob(self.file)):
            found += len(run(*replace(self, file=path.name).command(f"{folder}/")).splitlines())
        return (found >= self.frames if self.at_least else found == self.frames), found


@dataclass(frozen=True)
class Scenario:
    """One folder of captures and how it is made."""

    name: str
    title: str
    """One line for the list of all."""
    happened: str
    expected: str
    """What pcapstall should say."""
    checks: tuple[Check, ...]
    make: Callable[[Lab], None] = field(repr=False)


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    name: str, title: str, *, happened: str, expected: str, checks: Iterable[Check]
) -> Callable[[Callable[[Lab], None]], Callable[[Lab], None]]:
    """Register the decorated function as the maker of `captures/NAME`."""

    def register(make: Callable[[Lab], None]) -> Callable[[Lab], None]:
        if name in SCENARIOS:
            raise ValueError(f"two scenarios are called {name}")
        SCENARIOS[name] = Scenario(name, title, happened, expected, tuple(checks), make)
        return make

    return register


class Program:
    """A running program of the lab and what it has printed."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log

    def wait_for(self, text: str, timeout_s: float = 10.0) -> None:
        """Wait until it has printed a text."""
        until = time.monotonic() + timeout_s
        while text not in self._log.read_text(errors="replace"):
            if time.monotonic() > until or self._process.poll() not in (None, 0):
                raise RuntimeError(f"no {text!r} in {self._log.name}: {self._log.read_text(errors='replace')[-500:]}")
            time.sleep(0.01)

    def wait(self, timeout_s: float = 30.0) -> int:
        """Wait for its end and return its exit status."""
        return self._process.wait(timeout_s)

    def stop(self) -> None:
        """End it by SIGTERM; a traced program gets it through its tracer."""
        if self._process.poll() is None:
            children = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(self._process.pid)], check=False, capture_output=True, text=True
            ).stdout.split()
            command = Path(f"/proc/{self._process.pid}/comm").read_text().strip()
            targets = children if command == "strace" else [str(self._process.pid)]
            subprocess.run(["kill", "-TERM", *targets], check=False)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Lab:
    """The hosts, recorders and programs of one run; everything it started ends with it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.out = STAGE / "out"
        shutil.rmtree(STAGE, ignore_errors=True)
        self.out.mkdir(parents=True)
        for program in _PROGRAMS.glob("*.py"):
            shutil.copy(program, STAGE / program.name)
        self.namespaces: dict[str, Namespace] = {}
        """Hosts by name: "client", "server"."""
        self._programs: list[Program] = []
        self._started = 0
        self._captures: list[recorders.Capture] = []
        self.router: Router | None = None

    def namespace(self, name: str) -> Namespace:
        """Add a host."""
        made = Namespace(f"lab-{name}")
        self.namespaces[name] = made
        return made

    def two_hosts(
        self,
        rules: Iterable[Rule] = (),
        *,
        addresses: tuple[str, str] = (CLIENT, SERVER),
        one_way_s: float = 0.00025,
        ethernet: bool = True,
        mtu: tuple[int, int] = (1500, 1500),
    ) -> tuple[Namespace, Namespace]:
        """Return client and server, joined by the router in user space."""
        client, server = self.namespace("client"), self.namespace("server")
        self.router = Router(
            _port(client, addresses[0], CLIENT6, mtu[0]),
            _port(server, addresses[1], SERVER6, mtu[1]),
            rules,
            one_way_s=one_way_s,
            ethernet=ethernet,
        )
        self.router.start()
        return client, server

    def capture(
        self,
        namespace: Namespace,
        file: str,
        *options: str,
        device: str = "eth0",
        expression: str = recorders.EXPRESSION,
    ) -> None:
        """Record with tcpdump into a file of the scenario until the run ends."""
        recorder = recorders.tcpdump(namespace, self.out / file, *options, device=device, expression=expression)
        self._captures.append(recorder)

    def capture_both(
        self, client: Namespace, server: Namespace, *options: str, expression: str = recorders.EXPRESSION
    ) -> None:
        """Record at both hosts."""
        self.capture(client, "capture.pcap", *options, expression=expression)
        self.capture(server, "capture_server.pcap", *options, expression=expression)

    def dumpcap(self, namespace: Namespace, file: str, *options: str, devices: Sequence[str] = ("eth0",)) -> None:
        """Record with dumpcap into a file of the scenario until the run ends."""
        self._captures.append(recorders.dumpcap(namespace, self.out / file, *options, devices=devices))

    def certificate(
        self, name: str = "server", common_name: str = "server.example", *options: str, names: Sequence[str] = ()
    ) -> tuple[str, str]:
        """Make a self-signed certificate, for more names if given; return the paths of certificate and key."""
        certificate, key = f"{STAGE}/{name}.pem", f"{STAGE}/{name}.key"
        kind = options or ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
        alternative = "subjectAltName=" + ",".join(f"DNS:{one}" for one in (common_name, *names))
        run("openssl", "req", "-x509", *kind, "-nodes", "-days", "3650", "-subj", f"/CN={common_name}",
            "-addext", alternative, "-keyout", key, "-out", certificate)  # fmt: skip
        return certificate, key

    def start(
        self, namespace: Namespace, *argv: str, log: str = "", trace: str = "", trace_options: Sequence[str] = ()
    ) -> Program:
        """Start a program; keep what it prints and its strace in files of the scenario if named."""
        words = list(argv)
        self._started += 1
        if words[0].endswith(".py"):
            words = [*PYTHON, f"{STAGE}/{words[0]}", *words[1:]]
        path = self.out / log if log else STAGE / f"{self._started}.log"
        if trace:
            words = [*recorders.strace(self.out / trace, *trace_options), *words]
        with path.open("wb") as file:
            # Standard input stays open: openssl and its like end when it does.
            program = Program(namespace.popen(*words, stdin=subprocess.PIPE, stdout=file, cwd=STAGE), path)
        self._programs.append(program)
        return program

    def wait_listening(self, namespace: Namespace, *ports: int) -> None:
        """Wait until something listens on these TCP ports of a host, without connecting to them."""
        until = time.monotonic() + 10
        for port in ports:
            while not namespace.run("ss", "-Hltn", f"sport = :{port}"):
                if time.monotonic() > until:
                    raise RuntimeError(f"nothing listens on port {port}")
                time.sleep(0.02)

    def python(self, namespace: Namespace, *argv: str) -> str:
        """Run one of the lab's programs to its end and return what it printed."""
        return namespace.run(*PYTHON, f"{STAGE}/{argv[0]}", *argv[1:], check=False)

    def end_captures(self) -> None:
        """End the recordings before the programs end."""
        for capture in self._captures:
            capture.stop()
        self._captures.clear()

    def stop_programs(self) -> None:
        """End all programs, the newest first."""
        while self._programs:
            self._programs.pop().stop()

    def close(self) -> None:
        """End everything that was started, the newest first."""
        self.end_captures()
        self.stop_programs()
        if self.router is not None:
            self.router.stop()
        for namespace in self.namespaces.values():
            namespace.delete()
            shutil.rmtree(f"/etc/netns/{namespace.name}", ignore_errors=True)


def _port(namespace: Namespace, ipv4: str, ipv6: str, mtu: int) -> Port:
    gateway = ipv4.rsplit(".", 1)[0] + ".1"
    gateway6 = ipv6.rsplit("::", 1)[0] + "::1"
    return Port(namespace, (f"{ipv4}/24", f"{ipv6}/64"), (gateway, gateway6), mtu)
