"""What the network does to a handshake: loss of each of its parts, black holes, forgetful NAT, injected resets."""

from __future__ import annotations

import time
from collections.abc import Iterable

from lab.packets import Packet, reset
from lab.router import Delivery, Mirror, Rule, Side, drop, forward
from lab.scenario import CLIENT, SERVER, SERVER6, Check, Lab, scenario
from lab.scenarios.common import NAME, curl, from_port, is_client_hello, is_syn_ack, nginx, tls_client, tls_server

_MTU_OF_PATH = 1400


def _is_syn(packet: Packet) -> bool:
    return packet.is_syn


def _is_server_hello(packet: Packet) -> bool:
    return packet.is_server_hello


def _run(lab: Lab, rules: Iterable[Rule], *ports: int, one_way_s: float = 0.01) -> None:
    """Two healthy requests, then one client from each port, under the rules."""
    client, server = lab.two_hosts(rules, one_way_s=one_way_s)
    nginx(lab, server)
    lab.capture_both(client, server)
    curl(client, times=2)
    for port in ports:
        tls_client(lab, client, "--source-port", str(port)).wait()


@scenario(
    "syn-lost",
    "the first SYN is lost on the way, then the first two",
    happened="""\
Round trip 20 ms. The router loses the first SYN from port 41001 and the first two from port 41002; the kernel sends
them again after 1 s. Two healthy requests before.""",
    expected="""\
At the client: syn_synack 1 s and 2 s, TSecr of the SYN-ACK is the later SYN's: lost, or dropped by the server's host:
cause unknown, medium. At the server the first SYN is not there: nothing to blame the server for.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.flags.syn == 1", 2),
        Check("capture.pcap", "tcp.srcport == 41002 && tcp.flags.syn == 1", 3),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.flags.syn == 1", 1),
        Check("capture_server.pcap", "tcp.srcport == 41002 && tcp.flags.syn == 1", 1),
    ],
)
def syn_lost(lab: Lab) -> None:
    """Rules on SYNs."""
    _run(lab, [Rule(Side.CLIENT, from_port(41001, _is_syn), drop, count=1),
               Rule(Side.CLIENT, from_port(41002, _is_syn), drop, count=2)], 41001, 41002)  # fmt: skip


@scenario(
    "syn-ack-lost",
    "the SYN-ACK is lost on the way",
    happened="""\
Round trip 20 ms. The router loses the first SYN-ACK to port 41001 and the first three to port 41002; the client's
SYN and the server's SYN-ACK are sent again after 1 s. Two healthy requests before.""",
    expected="""\
syn_synack over 1 s; where the SYN-ACK that came echoes the first SYN's TSval: syn_ack_loss, network, high. At the
server: the SYN was answered at once and the answer repeated.""",
    checks=[
        Check("capture.pcap", "tcp.dstport == 41001 && tcp.flags.syn == 1 && tcp.flags.ack == 1", 1, at_least=True),
        Check("capture_server.pcap", "tcp.dstport == 41001 && tcp.flags.syn == 1 && tcp.flags.ack == 1", 2,
              at_least=True),
        Check("capture_server.pcap", "tcp.dstport == 41002 && tcp.flags.syn == 1 && tcp.flags.ack == 1", 4,
              at_least=True),
        Check("capture.pcap", "tcp.srcport == 41001 && tls.handshake.type == 1 && tcp.time_relative > 1", 1),
    ],
)  # fmt: skip
def syn_ack_lost(lab: Lab) -> None:
    """Rules on SYN-ACKs."""
    _run(lab, [Rule(Side.SERVER, from_port(41001, is_syn_ack), drop, count=1),
               Rule(Side.SERVER, from_port(41002, is_syn_ack), drop, count=3)], 41001, 41002)  # fmt: skip


@scenario(
    "client-hello-lost",
    "the ClientHello is lost on the way, once and four times",
    happened="""\
Round trip 20 ms. The router loses the ClientHello from port 41001 four times and from port 41002 once; the client's
kernel sends it again after 0.2, 0.4, 0.8 s and so on. Two healthy requests before.""",
    expected="""\
At the client: ch_ack over 1 s on the first flow: client_hello_loss, network. At the server: ack_ch is long, but IP IDs
show that copies were lost before the capture. The second flow is no stall.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.len == 517", 5),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.len == 517", 1),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.len == 517 && tcp.time_relative > 1", 1),
        Check("capture.pcap", "tcp.srcport == 41002 && tcp.len == 517", 2),
    ],
)
def client_hello_lost(lab: Lab) -> None:
    """Rules on ClientHellos."""
    _run(lab, [Rule(Side.CLIENT, from_port(41001, is_client_hello), drop, count=4),
               Rule(Side.CLIENT, from_port(41002, is_client_hello), drop, count=1)], 41001, 41002)  # fmt: skip


@scenario(
    "server-hello-lost",
    "the ServerHello is lost on the way, four times",
    happened="""\
Round trip 20 ms. The router loses the segment with the ServerHello to port 41001 four times; the server's kernel
sends it again after 0.2, 0.4, 0.8 s and so on. Two healthy requests before.""",
    expected="""\
At the server: server_hello_loss, network. At the client: ClientHello acknowledged at once, ServerHello over 1 s later;
a gap in the server's IP IDs tells it from a slow server, else medium with what would settle it.""",
    checks=[
        Check("capture_server.pcap", "tcp.dstport == 41001 && tls.handshake.type == 2", 1, at_least=True),
        Check("capture_server.pcap", "tcp.dstport == 41001 && tcp.seq == 1 && tcp.len > 500", 5),
        Check("capture.pcap", "tcp.dstport == 41001 && tcp.seq == 1 && tcp.len > 500", 1),
        Check("capture.pcap", "tcp.dstport == 41001 && tls.handshake.type == 2 && tcp.time_relative > 1", 1),
    ],
)
def server_hello_lost(lab: Lab) -> None:
    """A rule on ServerHellos."""
    _run(lab, [Rule(Side.SERVER, from_port(41001, _is_server_hello), drop, count=4)], 41001)


@scenario(
    "mtu-black-hole",
    "full-sized segments vanish without a word, in either direction",
    happened="""\
The path loses packets over 1400 bytes and says nothing. A ClientHello of three segments (port 41001): the two full
ones are lost again and again, the short last one arrives and is acknowledged by SACK. Then a short ClientHello (port
41002), whose answer of several segments is lost the same way. Both clients give up after 6 s.""",
    expected="""\
mtu_black_hole, network: on the first flow ch_span or ch_ack open, on the second ch_sh open, with the holes that SACK
or the later segments show. A short request before is healthy.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.len == 1448", 4, at_least=True),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.len == 1448", 0),
        Check("capture.pcap", "tcp.dstport == 41001 && tcp.options.sack_le", 1, at_least=True),
        Check("capture_server.pcap", "tcp.dstport == 41002 && tcp.len == 1448", 4, at_least=True),
        Check("capture.pcap", "tcp.dstport == 41002 && tcp.len == 1448", 0),
        Check("capture.pcap", "tcp.dstport == 41002 && tcp.len > 0", 1, at_least=True),
    ],
)
def mtu_black_hole(lab: Lab) -> None:
    """A rule on length."""

    def too_long(packet: Packet) -> bool:
        return len(packet.data) > _MTU_OF_PATH

    client, server = lab.two_hosts([Rule(side, too_long, drop) for side in Side], one_way_s=0.01)
    tls_server(lab, server)
    names = [f"host-{number}.example" for number in range(120)]
    long = lab.certificate("long", NAME, "-newkey", "rsa:2048", names=names)
    tls_server(lab, server, address=f"{SERVER}:8443", identity=long)
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    tls_client(lab, client, "--source-port", "41001", "--alpn-bytes", "2900", "--timeout", "6").wait()
    tls_client(lab, client, "--source-port", "41002", "--timeout", "6", address=f"{SERVER}:8443").wait()


def _inject_resets(origin: Side, packet: Packet) -> Iterable[Delivery]:
    """What a censoring box does: let the hello pass, and reset both ends in each other's name."""
    back = packet.reset_to_sender(ttl=57)
    ahead = reset(
        (CLIENT, packet.source_port), (SERVER, packet.destination_port),
        sequence=packet.sequence + len(packet.payload), acknowledgment=packet.acknowledgment, ttl=57,
    )  # fmt: skip
    return (*forward(origin, packet), Delivery(origin, back), Delivery(origin.other, ahead))


@scenario(
    "injected-rst",
    "a box on the path answers the ClientHello with resets to both ends",
    happened="""\
Round trip 20 ms, TTL 63 at arrival. When the ClientHello from port 41001 passes, a box on the path sends RSTs to both
ends in the other's name, with TTL 57, IP ID 0 and no options. Two healthy requests before.""",
    expected="""\
reset right after the ClientHello, before an answer could have come; its TTL differs from the server's other segments:
sent by something else on the path, medium.""",
    checks=[
        Check("capture.pcap", "tcp.dstport == 41001 && tcp.flags.reset == 1 && ip.ttl == 57", 1),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.flags.reset == 1 && ip.ttl == 57", 1),
        Check("capture.pcap", "tcp.dstport == 41001 && tcp.flags.syn == 1 && ip.ttl == 63", 1),
    ],
)
def injected_rst(lab: Lab) -> None:
    """A rule on one ClientHello."""
    _run(lab, [Rule(Side.CLIENT, from_port(41001, is_client_hello), _inject_resets)], 41001)


class _ForgetfulNat:
    """Source NAT that forgets a flow after some idle seconds and then loses its packets."""

    def __init__(self, public: str, forgets_after_s: float) -> None:
        self._public, self._forgets_after_s = public, forgets_after_s
        self._last_seen: dict[int, float] = {}

    def _knows(self, port: int) -> bool:
        seen = self._last_seen.get(port)
        return seen is not None and time.monotonic() - seen < self._forgets_after_s

    def outward(self, origin: Side, packet: Packet) -> Iterable[Delivery]:
        """Translate and forward what belongs to a known flow, or begins one."""
        if not packet.is_syn and not self._knows(packet.source_port):
            return ()
        self._last_seen[packet.source_port] = time.monotonic()
        return forward(origin, packet.translated(source=(self._public, packet.source_port)))

    def inward(self, origin: Side, packet: Packet) -> Iterable[Delivery]:
        """Translate and forward what belongs to a known flow."""
        if not self._knows(packet.destination_port):
            return ()
        self._last_seen[packet.destination_port] = time.monotonic()
        return forward(origin, packet.translated(destination=(CLIENT, packet.destination_port)))


@scenario(
    "nat-forgot",
    "a NAT forgets an idle connection: its ClientHello leads nowhere",
    happened="""\
A NAT (10.40.39.45 is 203.0.113.7 outside) forgets flows idle for 2 s. A healthy request; then a client from port 41001
says hello 2.5 s after its handshake: the hello is sent again and again, nothing comes back, it gives up after 6 s.""",
    expected="""\
At the client: ack_ch 2.5 s of its own silence, then ch_ack open for 6 s, longest: client_hello_loss. At the server,
under the address 203.0.113.7: ack_ch open, nothing more ever came.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.len == 517", 4, at_least=True),
        Check("capture.pcap", "tcp.dstport == 41001", 1),
        Check("capture_server.pcap", "ip.src == 203.0.113.7 && tcp.srcport == 41001", 2),
        Check("capture_server.pcap", "ip.src == 203.0.113.7 && tls.handshake.type == 1", 1),
    ],
)
def nat_forgot(lab: Lab) -> None:
    """A NAT between."""
    nat = _ForgetfulNat("203.0.113.7", 2.0)
    client, server = lab.two_hosts(
        [Rule(Side.CLIENT, lambda packet: packet.version == 4, nat.outward),
         Rule(Side.SERVER, lambda packet: packet.version == 4, nat.inward)], one_way_s=0.01,
    )  # fmt: skip
    nginx(lab, server)
    lab.capture_both(client, server)
    curl(client)
    tls_client(lab, client, "--source-port", "41001", "--hello-after", "2.5", "--timeout", "6").wait()


@scenario(
    "happy-eyeballs",
    "curl tries IPv6 and IPv4; IPv6 is filtered and given up",
    happened="""\
The name has both addresses and the path loses IPv6. curl sends its SYN over IPv6, 0.2 s later over IPv4, which
connects at once, and closes the IPv6 socket. Twice.""",
    expected="two healthy flows over IPv4; the IPv6 SYNs are raced, neither filtered nor stalled.",
    checks=[
        Check("capture.pcap", "ipv6 && tcp.flags.syn == 1", 2),
        Check("capture.pcap", "ip && tls.handshake.type == 2", 2),
        Check("capture_server.pcap", "ipv6 && tcp", 0),
    ],
)
def happy_eyeballs(lab: Lab) -> None:
    """Curl and nginx."""
    client, server = lab.two_hosts([Rule(Side.CLIENT, lambda packet: packet.version == 6, drop)])
    nginx(lab, server)
    lab.capture_both(client, server)
    curl(client, server=f"[{SERVER6}],{SERVER}", times=2)


@scenario(
    "middle",
    "a mirror port in the middle of the path",
    happened="""\
Round trip 40 ms; the mirror port sees each packet a quarter of the way from the client. One healthy request, one
client that says hello 1.3 s after the handshake, and one whose first SYN is lost behind the mirror port.""",
    expected="""\
capture point middle: syn_synack about 30 ms, synack_ack about 10 ms. The slow hello's ack_ch: the client's, as far as
IP IDs run on. The lost SYN: seen here, not answered.""",
    checks=[
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 0", 4),
        Check("capture.pcap", "tls.handshake.type == 1 && tcp.time_relative > 1.3", 1),
    ],
)
def middle(lab: Lab) -> None:
    """A mirror port within the router's delay."""
    client, server = lab.two_hosts([Rule(Side.CLIENT, from_port(41001, _is_syn), drop, count=1)], one_way_s=0.02)
    monitor = lab.namespace("monitor")
    assert lab.router is not None
    lab.router.mirrors = [Mirror(monitor, "span0", from_client_s=0.005)]
    nginx(lab, server)
    lab.capture(monitor, "capture.pcap", device="span0", expression="")
    lab.capture(server, "capture_server.pcap")
    curl(client)
    tls_client(lab, client, "--hello-after", "1.3").wait()
    tls_client(lab, client, "--source-port", "41001").wait()
