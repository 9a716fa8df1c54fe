"""What a capture can look like: cut, copied, begun late, cut into files, other stamps and formats, encapsulated."""

from __future__ import annotations

import time
from collections.abc import Iterable

from lab.namespaces import Namespace, join_by_veth
from lab.packets import Packet
from lab.router import Delivery, Mirror, Rule, Side, forward, late
from lab.scenario import CLIENT, SERVER, Check, Lab, Program, scenario
from lab.scenarios.common import NAME, curl, from_port, is_client_hello, nginx, tls_client, tls_server

_INNER = ("10.244.0.1", "10.244.0.2")
"""Addresses inside the tunnels."""


@scenario(
    "snaplen-96",
    "tcpdump -s 96: headers and the first bytes only",
    happened="Two requests to nginx, each packet cut to 96 bytes: the first 30 of the hello are there, its SNI is not.",
    expected="""\
two healthy flows with flag snaplen_cut; SNI, ALPN and the like absent; the times of the handshake as far as the
bytes kept show them.""",
    checks=[
        Check("capture.pcap", "frame.cap_len < frame.len && tcp.payload[0:3] == 16:03:01", 2),
        Check("capture.pcap", "frame.cap_len > 96", 0),
    ],
)
def snaplen_96(lab: Lab) -> None:
    """Curl and nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture_both(client, server, "-s", "96")
    curl(client, times=2)


@scenario(
    "any-interface-copies",
    "tcpdump -i any on a node: each packet is there three times (SLL2)",
    happened="""\
A pod behind a bridge of its node talks to a server behind the node's eth0. `tcpdump -i any` on the node sees each
packet at the pod's veth, at the bridge and, with a TTL less by one, at eth0. One healthy request and one client that
says hello 1.3 s after the handshake.""",
    expected="""\
two flows, copies counted and no retransmission; measured at one interface only; the second stalled in ack_ch.""",
    checks=[
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 0", 6),
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 0 && ip.ttl == 63", 2),
        Check("capture.pcap", "sll.ifindex", 30, at_least=True),
    ],
)
def any_interface_copies(lab: Lab) -> None:
    """Curl and the lab's own client against nginx, captured between."""
    client, node, server = (lab.namespace(name) for name in ("client", "node", "server"))
    node.sysctl(net__ipv4__ip_forward=1)
    join_by_veth(client, node, f"{CLIENT}/24", "", devices=("eth0", "veth8a1f"))
    join_by_veth(node, server, "10.40.42.1/24", f"{SERVER}/24")
    node.ip("link", "add", "cni0", "type", "bridge")
    node.ip("link", "set", "veth8a1f", "master", "cni0")
    node.ip("addr", "add", "10.40.39.1/24", "dev", "cni0")
    node.ip("link", "set", "cni0", "up")
    client.ip("route", "add", "default", "via", "10.40.39.1")
    server.ip("route", "add", "default", "via", "10.40.42.1")
    time.sleep(1)
    nginx(lab, server, "listen 443 ssl")
    lab.capture(node, "capture.pcap", device="any", expression="tcp")
    curl(client)
    tls_client(lab, client, "--hello-after", "1.3").wait()


@scenario(
    "midstream",
    "a capture that begins after the handshakes and ends before the ends",
    happened="""\
Two connections had done their handshakes before tcpdump started; one of them goes on and closes, the other still
lives when tcpdump stops. A third begins meanwhile, and its ClientHello has not come when tcpdump stops, more
than a second after its handshake.""",
    expected="""\
two flows seen_midway, not judged; the third with ack_ch open and near_capture_end, not stalled: no packet came
after its ACK, so that nothing in the capture shows how long it waited.""",
    checks=[
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 0", 1),
        Check("capture.pcap", "tls.handshake.type == 1", 0),
        Check("capture.pcap", "tcp.flags.fin == 1", 2),
        Check("capture.pcap", "tcp.len > 0", 4, at_least=True),
    ],
)
def midstream(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts()
    tls_server(lab, server)
    tls_client(lab, client, "--request-after", "1.5")
    tls_client(lab, client, "--request-after", "1.7", "--hold", "3")
    time.sleep(0.8)
    lab.capture_both(client, server)
    time.sleep(0.5)
    tls_client(lab, client, "--hello-after", "3")
    time.sleep(1.4)
    lab.end_captures()


@scenario(
    "ring",
    "one capture in many files: tcpdump -G, and a dumpcap ring that has lost its beginning",
    happened="""\
`tcpdump -G 1` begins a new file each second (at a packet); `dumpcap -b filesize:8 -b files:4` keeps the last four
files of about 8 kB. Meanwhile a client that says hello 2.2 s after its handshake, among healthy requests.""",
    expected="""\
The tcpdump files read as one in any order: the slow flow's handshake and hello are in different files; ack_ch 2.2 s.
The dumpcap files alone begin midway.""",
    checks=[
        Check("rotated-*.pcap", "tls.handshake.type == 1", 13),
        Check("rotated-*.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 0", 13),
        Check("ring_*.pcapng", "tcp", 40, at_least=True),
    ],
)
def ring(lab: Lab) -> None:
    """Curl and the lab's own client against nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture(client, "rotated-%Y%m%d-%H%M%S.pcap", "-G", "1")
    lab.dumpcap(client, "ring.pcapng", "-b", "filesize:8", "-b", "files:4")
    slow = tls_client(lab, client, "--hello-after", "2.2")
    for _ in range(12):
        curl(client)
        time.sleep(0.3)
    slow.wait()


@scenario(
    "nanoseconds",
    "a pcap with nanosecond stamps",
    happened="Two requests to nginx, recorded with `tcpdump --time-stamp-precision=nano`.",
    expected="two healthy flows, format pcap-ns, times to the nanosecond.",
    checks=[
        Check("capture.pcap", "tls.handshake.type == 1", 2),
        Check("capture.pcap", "frame.time_delta", 30, at_least=True),
    ],
)
def nanoseconds(lab: Lab) -> None:
    """Curl and nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture_both(client, server, "--time-stamp-precision=nano")
    curl(client, times=2)


@scenario(
    "two-interfaces",
    "a pcapng by dumpcap with two interfaces of different link types",
    happened="""\
curl asks through a CONNECT proxy on its own host, twice: one leg is on lo (Ethernet), the other on eth0 (raw IP, a TUN
device). dumpcap records both into one pcapng.""",
    expected="""\
four flows: two on lo with preamble http-connect, two on eth0 without; the interfaces are told apart and the legs are
not copies of each other.""",
    checks=[
        Check("capture.pcapng", "frame.interface_id == 0 && tls.handshake.type == 1", 2),
        Check("capture.pcapng", "frame.interface_id == 1 && tcp.payload[0:7] == \"CONNECT\"", 2),
        Check("capture.pcapng", "frame.interface_id == 1 && tcp.payload[0:3] == 16:03:01", 2),
    ],
)  # fmt: skip
def two_interfaces(lab: Lab) -> None:
    """Curl, the lab's proxy and nginx."""
    client, server = lab.two_hosts(ethernet=False)
    nginx(lab, server)
    lab.start(client, "forward_proxy.py", "--listen", "127.0.0.1:3128", "--upstream", f"{SERVER}:443").wait_for(
        "listening"
    )
    lab.dumpcap(client, "capture.pcapng", "-f", "tcp", devices=("eth0", "lo"))
    curl(client, "--proxy", "127.0.0.1:3128", times=2)


def _inside(lab: Lab, client: Namespace) -> None:
    """One healthy request and one slow client through a tunnel."""
    nginx(lab, lab.namespaces["server"])
    curl(client, server=_INNER[1])
    tls_client(lab, client, "--hello-after", "1.3", address=f"{_INNER[1]}:443").wait()


@scenario(
    "vxlan",
    "TLS inside VXLAN, captured on the underlay",
    happened="""\
Two hosts joined by a VXLAN of the kernel (VNI 42, UDP 4789), captured on eth0: one healthy request and one client that
says hello 1.3 s after the handshake, between 10.244.0.1 and 10.244.0.2.""",
    expected="two flows with tunnel vxlan and the inner addresses; the second stalled in ack_ch.",
    checks=[
        Check("capture.pcap", "vxlan.vni == 42 && tls.handshake.type == 1", 2),
        Check("capture.pcap", "vxlan && tls.handshake.type == 1 && tcp.time_relative > 1.3", 1),
        Check("capture.pcap", "tcp && !vxlan", 0),
    ],
)
def vxlan(lab: Lab) -> None:
    """Curl and the lab's own client against nginx."""
    client, server = lab.two_hosts()
    ends = ((client, CLIENT, SERVER, _INNER[0]), (server, SERVER, CLIENT, _INNER[1]))
    for host, local, remote, inner in ends:
        host.ip("link", "add", "vxlan42", "type", "vxlan", "id", "42", "dstport", "4789", "local", local, "remote",
                remote, "dev", "eth0")  # fmt: skip
        host.ip("addr", "add", f"{inner}/24", "dev", "vxlan42")
        host.ip("link", "set", "vxlan42", "up")
    lab.capture_both(client, server, expression="udp port 4789")
    _inside(lab, client)


@scenario(
    "gre",
    "TLS inside GRE, captured on the underlay",
    happened="""\
Two hosts joined by a GRE tunnel (made by a program in user space at each end), captured on eth0: one healthy request
and one client that says hello 1.3 s after the handshake, between 10.244.0.1 and 10.244.0.2.""",
    expected="two flows with tunnel gre and the inner addresses; the second stalled in ack_ch.",
    checks=[
        Check("capture.pcap", "gre && tls.handshake.type == 1", 2),
        Check("capture.pcap", "gre && tls.handshake.type == 1 && tcp.time_relative > 1.3", 1),
    ],
)
def gre(lab: Lab) -> None:
    """Curl and the lab's own client against nginx."""
    client, server = lab.two_hosts()
    ends = ((client, CLIENT, SERVER, _INNER[0]), (server, SERVER, CLIENT, _INNER[1]))
    for host, local, remote, inner in ends:
        lab.start(host, "gre_tunnel.py", "--local", local, "--remote", remote).wait_for("ready")
        host.ip("addr", "add", f"{inner}/24", "dev", "gre0")
        host.ip("link", "set", "gre0", "mtu", "1476", "up")
    lab.capture_both(client, server, expression="ip proto 47")
    _inside(lab, client)


@scenario(
    "vlan",
    "a switch's mirror port: frames with an 802.1Q tag",
    happened="""\
The router copies what passes its client's port to a mirror port, tagged with VLAN 39, where tcpdump listens: one
healthy request and one client that says hello 1.3 s after the handshake. A second file has two tags (802.1ad).""",
    expected="two flows; the tags change nothing; TTL 64 from the client and 63 from the server: near the client.",
    checks=[
        Check("capture.pcap", "vlan.id == 39 && tls.handshake.type == 1", 2),
        Check("capture.pcap", "tls.handshake.type == 1 && tcp.time_relative > 1.3", 1),
        Check("capture.pcap", "tcp && !vlan", 0),
        Check("capture_qinq.pcap", "ieee8021ad && vlan && tls.handshake.type == 1", 2),
    ],
)
def vlan(lab: Lab) -> None:
    """Curl and the lab's own client against nginx, captured at mirror ports."""
    client, server = lab.two_hosts()
    monitor = lab.namespace("monitor")
    assert lab.router is not None
    lab.router.mirrors = [
        Mirror(monitor, "span0", tags=((0x8100, 39),)),
        Mirror(monitor, "span1", tags=((0x88A8, 7), (0x8100, 39))),
    ]
    nginx(lab, server)
    lab.capture(monitor, "capture.pcap", device="span0", expression="")
    lab.capture(monitor, "capture_qinq.pcap", device="span1", expression="")
    curl(client)
    tls_client(lab, client, "--hello-after", "1.3", "--name", NAME).wait()


def _recorder(lab: Lab, host: Namespace, file: str, *faults: str) -> Program:
    """Record at a host with the lab's own recorder and its faults."""
    started = lab.start(host, "recorder.py", str(lab.out / file), *faults)
    started.wait_for("listening")
    return started


@scenario(
    "clock-set",
    "the clock of the capturing host is set forward by 5 s, in the middle of two handshakes",
    happened="""\
Five requests. The recorder at the client has a clock that is set forward by 5 s just before it stamps the ClientHello
from port 41001, and again before the ServerHello to port 41002; nobody waited there. The client at port 41003 is
silent for 2.5 s, by any clock. At the server tcpdump records with a clock that nobody sets.""",
    expected="""\
ack_ch of the third flow and ch_sh of the fourth are 5 s long by the capture's clock and not by the TCP timestamps of
either host: clock_step, nobody's. The fifth is client_silent. At the server the fifth is the only stall.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tls.handshake.type == 1 && tcp.time_delta > 4.9", 1),
        Check("capture.pcap", "tcp.dstport == 41002 && tls.handshake.type == 2 && tcp.time_relative > 4.9", 1),
        Check("capture.pcap", "tcp.srcport == 41003 && tls.handshake.type == 1 && tcp.time_delta > 2.4", 1),
        Check("capture_server.pcap", "tcp.port in {41001, 41002} && tcp.time_delta > 0.5", 0),
    ],
)
def clock_set(lab: Lab) -> None:
    """The lab's own recorder, clients and nginx."""
    client, server = lab.two_hosts(one_way_s=0.01)
    nginx(lab, server)
    lab.capture(server, "capture_server.pcap")
    recorder = _recorder(lab, client, "capture.pcap", "--set", "41001", "client", "5", "--set", "41002", "server", "5")
    curl(client, times=2)
    for port, after in ((41001, "0"), (41002, "0"), (41003, "2.5")):
        tls_client(lab, client, "--source-port", str(port), "--hello-after", after).wait()
    time.sleep(0.3)
    recorder.stop()


def _twice(origin: Side, packet: Packet) -> Iterable[Delivery]:
    """Deliver a packet now, and once more after 1.5 s."""
    return (*forward(origin, packet), *late(1.5)(origin, packet))


@scenario(
    "missed-by-capture",
    "the capture misses a ClientHello, and has a copy of it that came late and for nothing",
    happened="""\
Two requests. The path delivers the ClientHello from port 41001 twice, the second time after 1.5 s. At the server the
recorder misses the first copy and has the second. The client holds its connection for 2 s.""",
    expected="""\
At the server ack_ch is 1.5 s, but the server's ACK and ServerHello are there before the ClientHello that they answer:
missed_by_capture, nobody's. At the client nothing stalled.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.payload[0:3] == 16:03:01", 1),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.payload[0:3] == 16:03:01 && tcp.time_relative > 1.4",
              1),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.payload[0:3] == 16:03:01 && tcp.time_relative < 1.4",
              0),
        Check("capture_server.pcap", "tcp.dstport == 41001 && tcp.ack > 1 && tcp.time_relative < 1", 1,
              at_least=True),
    ],
)  # fmt: skip
def missed_by_capture(lab: Lab) -> None:
    """The lab's own recorder and client, and a path that repeats."""
    client, server = lab.two_hosts([Rule(Side.CLIENT, from_port(41001, is_client_hello), _twice)], one_way_s=0.01)
    nginx(lab, server)
    lab.capture(client, "capture.pcap")
    recorder = _recorder(lab, server, "capture_server.pcap", "--miss", "41001", "1")
    curl(client)
    tls_client(lab, client, "--source-port", "41001", "--hold", "2").wait()
    time.sleep(0.3)
    recorder.stop()


@scenario(
    "missed-ack",
    "the capture misses the last ACK of a TCP handshake, and the client says hello 3 s later",
    happened="""\
Two requests. The client at port 41001 is silent for 3 s after its handshake; the recorder at the client misses the
ACK of it. At the server tcpdump misses nothing.""",
    expected="""\
At the client synack_ack is 3 s. Neither the SYN nor the SYN-ACK was repeated, so both had been answered: client_silent,
not an ACK that the client's host held back. At the server it is ack_ch, 3 s, client_silent.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.len == 0 && tcp.time_relative < 2.9 && tcp.flags.ack == 1",
              0),
        Check("capture.pcap", "tcp.srcport == 41001 && tls.handshake.type == 1 && tcp.time_delta > 2.9", 1),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.len == 0 && tcp.time_relative < 1 && "
              "tcp.flags == 0x10", 1),
    ],
)  # fmt: skip
def missed_ack(lab: Lab) -> None:
    """The lab's own recorder and client."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    recorder = _recorder(lab, client, "capture.pcap", "--miss-acks", "41001", "1")
    lab.capture(server, "capture_server.pcap")
    curl(client)
    tls_client(lab, client, "--source-port", "41001", "--hello-after", "3").wait()
    time.sleep(0.3)
    recorder.stop()
