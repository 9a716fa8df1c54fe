"""Rarer reasons: lost ACKs, detours, slow paths, firewalls of hosts, Nagle's algorithm, unanswered requests."""

from __future__ import annotations

import time

from lab.packets import ACK, Packet
from lab.router import Rule, Side, drop, late
from lab.scenario import SERVER, SERVER6, Check, Lab, scenario
from lab.scenarios.common import CA, NAME, from_port, is_client_hello, is_syn_ack, slow_names, tls_client, tls_server

_SLOW = "slow.example"


def _is_bare_ack(packet: Packet) -> bool:
    return packet.has(ACK) and not packet.payload


@scenario(
    "ack-lost",
    "ACKs are lost: those of a SYN-ACK, then those of a ClientHello",
    happened="""\
Round trip 20 ms. The router loses two bare ACKs of the client from port 41001, which says hello 1.6 s after the
SYN-ACK: the server repeats that, and the hello is what acknowledges it. It loses one of port 41003, whose next ACK
answers the repeated SYN-ACK. Then four ACKs of the hello from port 41002, whose answer takes the server 2.2 s: the
client's kernel sends the hello again and again, and the ACK that comes through has a duplicate SACK. A healthy request
before.""",
    expected="""\
At the server, flow 2: synack_ack 1.6 s, client_silent (the IP IDs count as many lost segments as there were ACKs), flow
3: synack_ack 1 s, ack_loss, network. At the client both are ack_ch, client_silent. There flow 4 has a ch_ack of 1.8 s,
ack_loss, network; the server's answer came 0.3 s later still.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.len == 0 && tcp.flags == 0x010", 2, at_least=True),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.time_relative < 1.5", 1),
        Check("capture_server.pcap", "tcp.dstport == 41001 && tcp.flags == 0x012", 2, at_least=True),
        Check("capture.pcap", "tcp.srcport == 41002 && tcp.len == 517", 3, at_least=True),
        Check("capture.pcap", "tcp.dstport == 41002 && tcp.options.sack_le && tcp.len == 0", 1, at_least=True),
    ],
)
def ack_lost(lab: Lab) -> None:
    """Rules on bare ACKs."""
    client, server = lab.two_hosts(
        [Rule(Side.CLIENT, from_port(41001, _is_bare_ack), drop, count=2),
         Rule(Side.CLIENT, from_port(41003, _is_bare_ack), drop, count=1),
         Rule(Side.SERVER, from_port(41002, _is_bare_ack), drop, count=4)], one_way_s=0.01,
    )  # fmt: skip
    identity = lab.certificate("server", NAME, names=[_SLOW])
    tls_server(lab, server, "--slow", f"{_SLOW}=2.2", identity=identity)
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    tls_client(lab, client, "--source-port", "41001", "--hello-after", "1.6").wait()
    tls_client(lab, client, "--source-port", "41003", "--hello-after", "1.8").wait()
    tls_client(lab, client, "--source-port", "41002", "--name", _SLOW).wait()


@scenario(
    "detour",
    "a ClientHello and a SYN-ACK that take a long way: late, and not lost",
    happened="""\
Round trip 20 ms. The hello from port 41001, and each copy of it, is 1.5 s on its way to the server. The SYN-ACK to port
41002 is 0.7 s on its way. Healthy requests before, one of them idle for 0.3 s, which tells the rate of the clocks.""",
    expected="""\
At the server, flow 3: ack_ch 1.5 s, network, high_rtt: by the client's timestamps the hello left that much earlier. At
the client: ch_ack 1.5 s, and the ACK answers the first copy. With --slow 500ms flow 4 has a syn_synack of 0.7 s: a slow
path or a slow host, which the client cannot tell.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.len == 517", 3, at_least=True),
        Check("capture_server.pcap", "tcp.srcport == 41001 && tls.handshake.type == 1 && tcp.time_relative > 1.5", 1,
              at_least=True),
        Check("capture.pcap", "tcp.dstport == 41002 && tcp.flags == 0x012 && tcp.time_relative > 0.7", 1),
    ],
)  # fmt: skip
def detour(lab: Lab) -> None:
    """Rules that deliver late."""
    client, server = lab.two_hosts(
        [
            Rule(Side.CLIENT, from_port(41001, is_client_hello), late(1.5)),
            Rule(Side.SERVER, from_port(41002, is_syn_ack), late(0.7)),
        ],
        one_way_s=0.01,
    )
    tls_server(lab, server)
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    tls_client(lab, client, "--request-after", "0.3").wait()
    tls_client(lab, client, "--source-port", "41001").wait()
    tls_client(lab, client, "--source-port", "41002").wait()


@scenario(
    "slow-path",
    "a round trip of 1.3 s, as over two satellites: everything is slow, and nobody's fault",
    happened="""\
Round trip 1.3 s. Two requests; the kernel repeats each SYN after 1 s although nothing was lost.""",
    expected="""\
syn_synack 1.3 s at the client, synack_ack at the server: network, high_rtt. The repeated SYN is no loss: the SYN-ACK
answers the first.""",
    checks=[
        Check("capture.pcap", "tcp.flags == 0x002", 4),
        Check("capture.pcap", "tls.handshake.type == 2", 2),
    ],
)
def slow_path(lab: Lab) -> None:
    """The lab's own client and server, far apart."""
    client, server = lab.two_hosts(one_way_s=0.65)
    tls_server(lab, server)
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    tls_client(lab, client).wait()


@scenario(
    "nagle",
    "a ClientHello in two writes: Nagle's algorithm waits for an ACK that the other end delays",
    happened="""\
Round trip 10 ms. The client writes the first 100 bytes of its hello, then the rest; its kernel holds the rest until the
ACK of the first (Nagle's algorithm), which the server's kernel delays by 40 ms. A healthy request before.""",
    expected="""\
With --slow ch_span=30ms: ch_span of about 50 ms, nagle_delayed_ack, the kernels of both ends. Without: no stall.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.len == 100", 1),
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.len > 100 && tcp.seq == 101 && tcp.time_delta > 0", 1),
    ],
)
def nagle(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts(one_way_s=0.005)
    tls_server(lab, server, "--delay-acks")
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    _piecewise(lab, "--first-piece", "100")


def _piecewise(lab: Lab, *options: str) -> None:
    client = lab.namespaces["client"]
    lab.start(client, "piecewise_client.py", "--connect", f"{SERVER}:443", "--ca", CA, "--source-port", "41001",
              *options).wait()  # fmt: skip


@scenario(
    "slow-finish",
    "the client thinks for 2.2 s about the server's certificate before its Finished",
    happened="""\
Round trip 20 ms. The client from port 41001 has the server's flight and answers it 2.2 s later, as one does that asks
an OCSP responder. A healthy request before.""",
    expected="""\
sh_cfin 2.2 s: client_process, client_slow_finish, high at both ends (the client's IP IDs run on).""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.time_delta > 2.1 && tcp.len > 0", 1),
        Check("capture.pcap", "tls.handshake.type == 2", 2),
    ],
)
def slow_finish(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts(one_way_s=0.01)
    tls_server(lab, server)
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    _piecewise(lab, "--finish-after", "2.2")


@scenario(
    "host-firewall",
    "the firewall of an end's own host: it drops a ClientHello, then SYN-ACKs, behind the capture",
    happened="""\
Round trip 20 ms. For 1.3 s the server's iptables drop what has payload from port 41001: the hello is in the server's
capture and its kernel does not get it. For 2.5 s the client's iptables drop SYN-ACKs to port 41002. Healthy before.""",
    expected="""\
At the server, flow 2: ch_ack over 1 s, server_kernel (held back by its host). At the client, flow 3: synack_ack over
2 s, client_kernel. At the other ends the same is not told from loss.""",
    checks=[
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.len == 517", 3, at_least=True),
        Check("capture.pcap", "tcp.dstport == 41002 && tcp.flags == 0x012", 2, at_least=True),
        Check("capture.pcap", "tls.handshake.type == 2", 3),
    ],
)
def host_firewall(lab: Lab) -> None:
    """Iptables at either end."""
    client, server = lab.two_hosts(one_way_s=0.01)
    tls_server(lab, server)
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    payload = ("INPUT", "-p", "tcp", "--sport", "41001", "-m", "length", "--length", "200:1500", "-j", "DROP")
    server.run("iptables", "-A", *payload)
    first = tls_client(lab, client, "--source-port", "41001")
    time.sleep(1.3)
    server.run("iptables", "-D", *payload)
    first.wait()
    syn_acks = ("INPUT", "-p", "tcp", "--dport", "41002", "--tcp-flags", "SYN,ACK", "SYN,ACK", "-j", "DROP")
    client.run("iptables", "-A", *syn_acks)
    second = tls_client(lab, client, "--source-port", "41002")
    time.sleep(2.5)
    client.run("iptables", "-D", *syn_acks)
    second.wait()


@scenario(
    "segment-lost",
    "the first of a ClientHello's three segments is lost, four times",
    happened="""\
Round trip 20 ms. The hello from port 41001 has three segments; the router loses the first one four times, the others
come through. A request with a hello as long is healthy before.""",
    expected="""\
ch_span at the server, ch_ack at the client: client_hello_loss, network. A full segment did come through, so it is no
black hole.""",
    checks=[
        Check("capture_server.pcap", "tcp.srcport == 41001 && tcp.len == 1448", 2, at_least=True),
        Check("capture.pcap", "tcp.srcport == 41001 && tcp.len == 1448 && tcp.seq == 1", 5, at_least=True),
        Check("capture.pcap", "tls.handshake.type == 2", 2),
    ],
)
def segment_lost(lab: Lab) -> None:
    """A rule on the hello's first segment."""
    client, server = lab.two_hosts(
        [Rule(Side.CLIENT, from_port(41001, is_client_hello), drop, count=4)], one_way_s=0.01
    )
    tls_server(lab, server)
    client.run("ip", "link", "set", "eth0", "gso_max_segs", "1", check=False)
    lab.capture_both(client, server)
    tls_client(lab, client, "--alpn-bytes", "2900").wait()
    tls_client(lab, client, "--source-port", "41001", "--alpn-bytes", "2900").wait()


@scenario(
    "waits-over-ipv6",
    "over IPv6 a client looks a name up between handshake and ClientHello, seen from the server",
    happened="""\
A client connects over IPv6, then looks up api.example before it says hello; the name server, on the server's host,
answers after 2.5 s. IPv6 has no IP IDs. A client that looks nothing up is healthy.""",
    expected="""\
At the client: ack_ch 2.5 s, client_process, high. At the server: client_process, medium: nothing proves that no hello
was lost, but the lookup of the client's host fills the gap, and is cited.""",
    checks=[
        Check("capture_server.pcap", 'dns.qry.name == "api.example" && dns.flags.response == 0', 1, at_least=True),
        Check("capture_server.pcap", "ipv6 && tls.handshake.type == 1 && tcp.time_relative > 2.5", 1),
    ],
)
def waits_over_ipv6(lab: Lab) -> None:
    """The lab's own client, server and name server."""
    client, server = lab.two_hosts(one_way_s=0.005)
    address = f"[{SERVER6}]:443"
    tls_server(lab, server, address=address)
    slow_names(lab, client, server, SERVER6)
    tls_client(lab, client, address=address).wait()
    tls_client(lab, client, "--resolve", "api.example", address=address).wait()


@scenario(
    "server-resets",
    "the server reads the ClientHello and resets the connection",
    happened="Round trip 20 ms. The server on port 8443 closes with RST when it has read; on port 443 it answers.",
    expected="""\
reset_by_server right after the ClientHello. At the server: server_process; at the client: unknown, for something on the
path may have sent the RST.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 8443 && tcp.flags.reset == 1", 1),
        Check("capture.pcap", "tls.handshake.type == 1", 2),
        Check("capture.pcap", "tls.handshake.type == 2", 1),
    ],
)
def server_resets(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts(one_way_s=0.01)
    tls_server(lab, server)
    tls_server(lab, server, "--reset-after-hello", address=f"{SERVER}:8443")
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    tls_client(lab, client, address=f"{SERVER}:8443").wait()


@scenario(
    "unanswered-requests",
    "what is said before TLS, or instead of it, and comes to nothing",
    happened="""\
Round trip 20 ms. A proxy (port 1081) does not answer CONNECT for 6 s, when its client leaves. The CONNECT to another
one (port 1080) is lost again and again. A server (port 7000) takes bytes of no known protocol and says nothing. A web
server (port 80) gets a ClientHello and answers in plain HTTP. A SOCKS5 client is silent when its tunnel is open.""",
    expected="""\
Flow 1: await_server, server_process (http_connect). Flow 2: not acknowledged, unknown. Flow 3: nobody is blamed. Flow
4: not_tls, told as plain HTTP. Flow 5: the client owes the hello.""",
    checks=[
        Check("capture.pcap", 'tcp.payload[0:7] == "CONNECT" && tcp.dstport == 1081', 1),
        Check("capture.pcap", 'tcp.payload[0:7] == "CONNECT" && tcp.dstport == 1080', 4, at_least=True),
        Check("capture_server.pcap", "tcp.dstport == 1080 && tcp.len > 0", 0),
        Check("capture.pcap", 'tcp.srcport == 80 && tcp.payload[0:5] == "HTTP/"', 1),
        Check("capture.pcap", "tcp.dstport == 7000 && tcp.len > 0", 1),
        Check("capture.pcap", "tcp.dstport == 1082 && tcp.payload[0:2] == 05:01", 2),
    ],
)
def unanswered_requests(lab: Lab) -> None:
    """The lab's proxy, and a server that says what it is told to say."""
    client, server = lab.two_hosts(
        [Rule(Side.CLIENT, lambda packet: packet.destination_port == 1080 and bool(packet.payload), drop)],
        one_way_s=0.01,
    )
    lab.start(server, "forward_proxy.py", "--listen", f"{SERVER}:1081", "--upstream", "127.0.0.1:443",
              "--answer-after", "60").wait_for("listening")  # fmt: skip
    for port in (1080, 1082, 7000, 80):
        lab.start(server, "terse_server.py", "--listen", f"{SERVER}:{port}").wait_for("listening")
    lab.certificate("server", NAME)
    lab.capture_both(client, server)
    connect = f"CONNECT {NAME}:443 HTTP/1.1\\r\\nHost: {NAME}:443\\r\\n\\r\\n"
    for port, lines in ((1081, [connect]), (1080, [connect]), (7000, ["\\x10\\x64\\x87\\x80hello"])):
        lab.start(client, "terse_client.py", "--connect", f"{SERVER}:{port}", "--hold", "6", *lines).wait()
    tls_client(lab, client, address=f"{SERVER}:80").wait()
    socks = ["\\x05\\x01\\x00", "\\x05\\x01\\x00\\x01\\x0a\\x28\\x2a\\x81\\x01\\xbb"]
    lab.start(client, "terse_client.py", "--connect", f"{SERVER}:1082", "--hold", "3", *socks).wait()
