"""A router in user space between two namespaces: a TAP (or TUN) device in each, and a rule for every packet.

It delays, drops, repeats, rewrites or answers packets as its rules say and lowers the TTL as a router does. It keeps
no log: what happened is in the captures at both ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum

from lab.namespaces import Namespace, run
from lab.packets import Packet

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_TAP, _IFF_NO_PI = 0x0001, 0x0002, 0x1000
_ETHERNET_LEN = 14


class Side(Enum):
    """Where a packet came from, or goes to."""

    CLIENT = 0
    SERVER = 1

    @property
    def other(self) -> Side:
        """The opposite side."""
        return Side.SERVER if self is Side.CLIENT else Side.CLIENT


@dataclass(frozen=True)
class Delivery:
    """One packet to hand to one side, some time from now."""

    to: Side
    packet: Packet
    delay_s: float = 0.0


Action = Callable[[Side, Packet], Iterable[Delivery]]
"""What becomes of a packet that came from a side. No delivery: it is lost."""


def _open_device(name: str, mode: int, namespace: Namespace) -> int:
    """Make a TUN or TAP device, move it into a namespace and return what stands for its other end."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    temporary = f"lab{fd}"
    fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", temporary.encode(), mode | _IFF_NO_PI))
    run("ip", "link", "set", temporary, "netns", namespace.name)
    namespace.ip("link", "set", temporary, "name", name)
    namespace.ip("link", "set", name, "addrgenmode", "none")
    return fd


class Mirror:
    """A mirror port: gets a copy, with VLAN tags if any, of each frame that passes a place on the path."""

    def __init__(
        self, namespace: Namespace, device: str, tags: Iterable[tuple[int, int]] = (), from_client_s: float = 0.0
    ) -> None:
        self.from_client_s = from_client_s
        """How far it is from the client, of the router's one-way delay."""
        self._fd = _open_device(device, _IFF_TAP, namespace)
        namespace.ip("link", "set", device, "arp", "off", "up")
        self._tags = b"".join(struct.pack("!HH", ethertype, identifier) for ethertype, identifier in tags)

    def copy(self, frame: bytes) -> None:
        """Send the copy."""
        os.write(self._fd, frame[:12] + self._tags + frame[12:])

    def close(self) -> None:
        """Remove the port."""
        os.close(self._fd)


def drop(_origin: Side, _packet: Packet) -> Iterable[Delivery]:
    """Lose the packet."""
    return ()


def late(seconds: float) -> Action:
    """Deliver the packet, some seconds later than others."""

    def action(origin: Side, packet: Packet) -> Iterable[Delivery]:
        return (Delivery(origin.other, packet.hop(), seconds),)

    return action


def forward(origin: Side, packet: Packet) -> Iterable[Delivery]:
    """Deliver the packet to the other side."""
    return (Delivery(origin.other, packet.hop()),)


@dataclass
class Rule:
    """What to do with packets from one side that satisfy a condition."""

    origin: Side
    matches: Callable[[Packet], bool]
    action: Action
    skip: int = 0
    """So many matching packets are first let through."""
    count: int | None = None
    """It acts on so many, then no more; None: on all."""
    seen: int = field(default=0, init=False)

    def applies(self, origin: Side, packet: Packet) -> bool:
        """Say whether this packet is one to act on, and count it."""
        if origin is not self.origin or not self.matches(packet):
            return False
        self.seen += 1
        return self.seen > self.skip and (self.count is None or self.seen <= self.skip + self.count)


@dataclass(frozen=True)
class Port:
    """The router's end of the link to one host."""

    namespace: Namespace
    addresses: tuple[str, ...]
    """The host's addresses, each with its prefix length."""
    gateways: tuple[str, ...]
    """The router's own addresses there."""
    mtu: int = 1500


class Router(threading.Thread):
    """Carries packets between two ports until it is stopped."""

    def __init__(
        self,
        client: Port,
        server: Port,
        rules: Iterable[Rule] = (),
        *,
        one_way_s: float = 0.00025,
        ethernet: bool = True,
    ) -> None:
        super().__init__(name="router", daemon=True)
        self.rules = list(rules)
        self.mirrors: list[Mirror] = []
        self._one_way_s = one_way_s
        self._link_len = _ETHERNET_LEN if ethernet else 0
        self._stopping = threading.Event()
        self._headers: dict[Side, dict[int, bytes]] = {}
        self._fds = {
            Side.CLIENT: self._attach(Side.CLIENT, client),
            Side.SERVER: self._attach(Side.SERVER, server),
        }
        self._queue: list[tuple[float, int, Side, bytes]] = []
        self._copies: list[tuple[float, int, Mirror, bytes]] = []
        self._queued = 0

    def _attach(self, side: Side, port: Port) -> int:
        fd = _open_device("eth0", _IFF_TAP if self._link_len else _IFF_TUN, port.namespace)
        ip = port.namespace.ip
        host, gateway = f"02:00:00:00:0{side.value}:02", f"02:00:00:00:0{side.value}:01"
        if self._link_len:
            ip("link", "set", "eth0", "address", host)
            addressed = bytes.fromhex((host + gateway).replace(":", ""))
            self._headers[side] = {4: addressed + b"\x08\x00", 6: addressed + b"\x86\xdd"}
        ip("link", "set", "eth0", "mtu", str(port.mtu), "up")
        for address in port.addresses:
            ip("addr", "add", address, "dev", "eth0", *(("nodad",) if ":" in address else ()))
        for router in port.gateways:
            family = "-6" if ":" in router else "-4"
            if self._link_len:
                ip("neigh", "add", router, "lladdr", gateway, "dev", "eth0", "nud", "permanent")
            ip(family, "route", "add", "default", "via", router, "dev", "eth0")
        return fd

    def run(self) -> None:
        """Carry packets until `stop`."""
        sides = {fd: side for side, fd in self._fds.items()}
        while not self._stopping.is_set():
            timeout_s = 0.2
            due = [queue[0][0] for queue in (self._queue, self._copies) if queue]
            if due:
                timeout_s = min(timeout_s, max(0.0, min(due) - time.monotonic()))
            readable, _, _ = select.select(list(sides), [], [], timeout_s)
            for fd in readable:
                self._receive(sides[fd], fd)
            self._deliver_due()

    def _receive(self, origin: Side, fd: int) -> None:
        while True:
            try:
                frame = os.read(fd, 65536)
            except BlockingIOError:
                return
            if self._link_len and frame[12:14] not in (b"\x08\x00", b"\x86\xdd"):
                continue
            packet = Packet(frame[self._link_len :])
            if packet.destination[0] in (0xFF, 0xE0):
                continue  # multicast: nothing here listens
            if origin is Side.CLIENT:
                self._mirror(time.monotonic(), frame, away_from_client=True)
            for delivery in self._decide(origin, packet):
                self.send(delivery)

    def _decide(self, origin: Side, packet: Packet) -> Iterable[Delivery]:
        for rule in self.rules:
            if rule.applies(origin, packet):
                return rule.action(origin, packet)
        return forward(origin, packet)

    def send(self, delivery: Delivery) -> None:
        """Queue a packet for a side, behind the link's own delay."""
        data = delivery.packet.data
        if self._link_len:
            data = self._headers[delivery.to][delivery.packet.version] + data
        self._queued += 1
        due = time.monotonic() + self._one_way_s + delivery.delay_s
        heapq.heappush(self._queue, (due, self._queued, delivery.to, data))
        if delivery.to is Side.CLIENT:
            self._mirror(due, data, away_from_client=False)

    def _deliver_due(self) -> None:
        while self._queue and self._queue[0][0] <= time.monotonic():
            _, _, side, data = heapq.heappop(self._queue)
            with contextlib.suppress(BlockingIOError):  # a full device queue loses packets, as routers do
                os.write(self._fds[side], data)
        while self._copies and self._copies[0][0] <= time.monotonic():
            _, _, mirror, frame = heapq.heappop(self._copies)
            mirror.copy(frame)

    def _mirror(self, at_client_s: float, frame: bytes, *, away_from_client: bool) -> None:
        """Queue the copies of a frame that left the client, or will reach it, at a time.

        What a rule loses is lost at the server's end of the path: a mirror port sees it if the client sent it.
        """
        for mirror in self.mirrors:
            delay_s = mirror.from_client_s if away_from_client else -mirror.from_client_s
            self._queued += 1
            heapq.heappush(self._copies, (at_client_s + delay_s, self._queued, mirror, frame))

    def stop(self) -> None:
        """Stop carrying packets and remove the devices."""
        self._stopping.set()
        self.join()
        for fd in self._fds.values():
            os.close(fd)
        for mirror in self.mirrors:
            mirror.close()
