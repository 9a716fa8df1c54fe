"""Traffic that is written while it is watched, and what was told of it."""

import importlib.util
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from random import Random
from types import ModuleType

import bench_traffic as traffic

from pcapstall.pipeline import Options
from pcapstall.pipeline.watch.run import Watched, watch
from pcapstall.report.thresholds import parse_thresholds
from pcapstall.report.watching import Standing, Told

ROOT = Path(__file__).resolve().parents[2]
HEADER = traffic._PCAP_HEADER
SECOND = 1_000_000_000
MS = 1_000_000
START_NS = traffic.START_NS

Packets = Iterable[tuple[int, bytes]]


def load_soak() -> ModuleType:
    """`scripts/soak`, which has no suffix."""
    loader = SourceFileLoader("soak", str(ROOT / "scripts" / "soak"))
    spec = importlib.util.spec_from_loader("soak", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def flow(number: int, ns: int = START_NS, late_ns: int = 0, missing: int = 0) -> list[tuple[int, bytes]]:
    """Ten packets of a healthy flow; all from the ClientHello on come ``late_ns`` later, the last ones are missing."""
    mix = traffic.Mix(10, 1, seed=number, stalls=0.0, retransmits=0.0)
    mix.chain_len, mix.clients = traffic.MIXES["ten"].chain_len, traffic.MIXES["ten"].clients
    found = list(traffic.flow(mix, Random(number), number, 10, ns))
    found = found[: len(found) - missing]
    return [(at, data) for at, data in found[:3]] + [(at + late_ns, data) for at, data in found[3:]]


def stamped(ns: int, record: bytes) -> bytes:
    """``record`` with another stamp."""
    return struct.pack("<II", *divmod(ns, SECOND)) + record[8:]


def capture(*flows: Packets) -> bytes:
    """A capture of ``flows`` in order of time."""
    packets = sorted((packet for one in flows for packet in one), key=lambda packet: packet[0])
    return HEADER + b"".join(stamped(ns, record) for ns, record in packets)


def feed(write: Callable[[bytes], object], packets: Packets) -> None:
    """Write each packet when its time has come, and with that time."""
    shift_ns = time.time_ns() - START_NS
    for ns, record in packets:
        time.sleep(max(ns + shift_ns - time.time_ns(), 0) / SECOND)
        write(stamped(ns + shift_ns, record))


class Listening:
    """Watches a capture and keeps what is told, with this machine's time."""

    def __init__(self, *slow: str, max_flows: int = 100_000, every_ns: int = 0) -> None:
        self.options = Options(thresholds_ns=parse_thresholds(slow), max_flows=max_flows)
        self.every_ns = every_ns
        self.lines: list[Told | Standing] = []
        self.came_s: list[float] = []

    def __call__(self, told: Told | Standing) -> None:
        self.lines.append(told)
        self.came_s.append(time.monotonic())

    def watch(self, *paths: str) -> Watched:
        return watch(list(paths), self.options, self, every_ns=self.every_ns)

    def told(self) -> Iterator[Told]:
        return (line for line in self.lines if isinstance(line, Told))

    def events(self) -> list[tuple[str, str | None]]:
        """What was told of flows: the event, and what had stalled."""
        return [(told.event, told.flow.stalled) for told in self.told()]
