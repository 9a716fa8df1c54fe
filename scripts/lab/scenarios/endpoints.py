"""What the two ends do to a handshake: late to accept, to read, to answer, to greet, to speak at all."""

from __future__ import annotations

import time

from lab.scenario import SERVER, Check, Lab, scenario
from lab.scenarios.common import NAME, curl, nginx, slow_names, tls_client, tls_server
from lab.scenarios.preambles import send_mail, smtp_server

_SLOW = "slow.example"


@scenario(
    "slow-server",
    "the server has the ClientHello and takes 2.5 s to answer",
    happened="""\
Round trip 20 ms. The server looks up the certificate for slow.example, which takes 2.5 s (its thread sleeps); for
server.example it answers at once, before, meanwhile and after. server.strace is the server from its start.""",
    expected="""\
ch_sh 2.5 s on the flow to slow.example. At the server: server_process, server_slow_hello, high. At the client: high
only if the server's IP IDs run on. With server.strace: slow_handling, blocked_in_syscall (clock_nanosleep).""",
    checks=[
        Check("capture.pcap", f'tls.handshake.extensions_server_name == "{_SLOW}"', 1),
        Check("capture.pcap", "tls.handshake.type == 2 && tcp.time_relative > 2.5", 1),
        Check("capture_server.pcap", "tls.handshake.type == 2", 4),
    ],
)
def slow_server(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts(one_way_s=0.01)
    identity = lab.certificate("server", NAME, names=[_SLOW])
    tls_server(lab, server, "--slow", f"{_SLOW}=2.5", identity=identity, log="server.log", trace="server.strace")
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    slow = tls_client(lab, client, "--name", _SLOW)
    tls_client(lab, client, "--hello-after", "0.3").wait()
    slow.wait()
    tls_client(lab, client).wait()


@scenario(
    "late-accept",
    "the server does not accept for some seconds and its accept queue is full",
    happened="""\
Round trip 80 ms. The server listens with a backlog of 3 and begins to accept only 5 s after it started. Clients 41001
and 41002 connect, then 41003, 41004 and 41005 at the same moment, then 41006. Four fill the queue: their ClientHellos
are acknowledged by the kernel and answered when the server accepts. The fifth handshake is complete for its client, but
the server's kernel drops its ACK and its hello and repeats the SYN-ACK; the sixth SYN is dropped. server.strace is the
server from its start.""",
    expected="""\
At the server: four flows with ch_sh of some seconds (late_accept with server.strace, high), one with accept_queue_full
(ch_ack, SYN-ACK repeated), one with syn_dropped_by_host (syn_synack), both server_kernel. At the client the same
intervals, less sure.""",
    checks=[
        Check("capture_server.pcap", "tcp.srcport in {41001,41002,41003,41004,41005} && tcp.flags.syn == 1", 5),
        Check("capture_server.pcap", "tcp.srcport == 41006 && tcp.flags.syn == 1", 2, at_least=True),
        Check("capture_server.pcap", "tcp.dstport in {41003,41004,41005} && tcp.flags.syn == 1 && tcp.flags.ack == 1",
              4, at_least=True),
        Check("capture.pcap", "tls.handshake.type == 2 && tcp.time_relative > 2", 6),
    ],
)  # fmt: skip
def late_accept(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts(one_way_s=0.04)
    tls_server(lab, server, "--backlog", "3", "--accept-after", "5", trace="server.strace")
    lab.capture_both(client, server)
    waiting = []
    for ports in ((41001, 41002), (41003, 41004, 41005), (41006,)):
        waiting += [tls_client(lab, client, "--source-port", str(port)) for port in ports]
        time.sleep(0.5)
    for one in waiting:
        one.wait()


@scenario(
    "defer-accept",
    "TCP_DEFER_ACCEPT: the server's kernel waits for the first byte and repeats its SYN-ACK",
    happened="""\
The server sets TCP_DEFER_ACCEPT. A client from port 41001 says hello 2.5 s after its handshake: the server's kernel
ignores its bare ACK and repeats the SYN-ACK after 1 s. A client that says hello at once sees nothing of it.""",
    expected="""\
ack_ch 2.5 s, the client's silence. A bare ACK and a repeated SYN-ACK with no data is no full accept queue.""",
    checks=[
        Check("capture.pcap", "tcp.dstport == 41001 && tcp.flags.syn == 1 && tcp.flags.ack == 1", 2, at_least=True),
        Check("capture.pcap", "tcp.srcport == 41001 && tls.handshake.type == 1 && tcp.time_relative > 2.5", 1),
        Check("capture.pcap", "tls.handshake.type == 2", 2),
    ],
)
def defer_accept(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts()
    tls_server(lab, server, "--defer-accept", "1")
    lab.capture_both(client, server)
    tls_client(lab, client).wait()
    tls_client(lab, client, "--source-port", "41001", "--hello-after", "2.5").wait()


@scenario(
    "zero-window",
    "the server does not read for 3 s; a long ClientHello fills its receive window",
    happened="""\
Round trip 20 ms. The server's receive buffer is small and it reads only 3 s after accepting; the ClientHello of about
12 kB (from port 41001) fills the window, and the client's kernel probes the closed window until it opens. The server
is traced.""",
    expected="""\
ch_span over 2 s: zero_window, server_process. With server.strace: late_read. The short hello of the other client fits
into the window: its ch_sh of 3 s is the server's too.""",
    checks=[
        Check("capture.pcap", "tcp.srcport == 443 && tcp.window_size == 0 && tcp.flags.reset == 0", 1, at_least=True),
        Check("capture.pcap", "tcp.analysis.zero_window_probe || tcp.analysis.zero_window", 1, at_least=True),
        Check("capture.pcap", "tls.handshake.type == 2 && tcp.time_relative > 3", 2),
    ],
)
def zero_window(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts(one_way_s=0.01)
    tls_server(lab, server, "--receive-buffer", "4096", "--read-after", "3", trace="server.strace")
    lab.capture_both(client, server)
    short = tls_client(lab, client)
    tls_client(lab, client, "--source-port", "41001", "--alpn-bytes", "12000").wait()
    short.wait()


@scenario(
    "late-banner",
    "SMTP: the server greets after 3 s, and the client has to wait for it",
    happened="""\
curl sends two mails with STARTTLS to a server that says 220 at once, then one to a server that says it after 3 s: in
between neither side says a byte.""",
    expected="""\
On the third flow ack_ch is over 3 s and its time is await_server: in a server-first protocol the server owes the
greeting.""",
    checks=[
        Check("capture.pcap", 'tcp.srcport == 25 && tcp.payload[0:4] == "220 " && tcp.time_relative > 3', 2),
        Check("capture.pcap", "tls.handshake.type == 1 && tcp.time_relative > 3", 1),
    ],
)
def late_banner(lab: Lab) -> None:
    """Curl against the lab's SMTP server."""
    client, server = lab.two_hosts()
    lab.capture_both(client, server)
    smtp_server(lab)
    send_mail(lab)
    send_mail(lab)
    lab.stop_programs()
    smtp_server(lab, "--banner-after", "3")
    send_mail(lab)


@scenario(
    "client-waits-for-dns",
    "between handshake and ClientHello the client looks a name up, which takes 2.5 s",
    happened="""\
A client connects, then looks up api.example (A and AAAA) before it says hello; the name server answers after 2.5 s.
DNS is in the capture; client.strace is the client from its start. A client that looks nothing up is healthy.""",
    expected="""\
ack_ch 2.5 s: client_process, client_silent; the DNS query and answer that fill the gap are cited. With client.strace:
not_written, blocked_in_syscall (poll on the resolver's socket).""",
    checks=[
        Check("capture.pcap", 'dns.qry.name == "api.example" && dns.flags.response == 0', 2, at_least=True),
        Check("capture.pcap", "dns.flags.response == 1 && dns.time > 2.4", 1, at_least=True),
        Check("capture.pcap", "tls.handshake.type == 1 && tcp.time_relative > 2.5", 1),
    ],
)
def client_waits_for_dns(lab: Lab) -> None:
    """The lab's own client, server and name server."""
    client, server = lab.two_hosts(one_way_s=0.005)
    tls_server(lab, server)
    slow_names(lab, client, server)
    tls_client(lab, client).wait()
    tls_client(lab, client, "--resolve", "api.example", trace="client.strace").wait()


@scenario(
    "preconnect-idle",
    "connections opened ahead of need: one used after 3.2 s, one never",
    happened="""\
As browsers and connection pools do: one connection to port 443 is opened and used 3.2 s later, another is opened and
closed by the client after 4 s with no byte sent. Two healthy requests before.""",
    expected="""\
The first: ack_ch 3.2 s of the client's silence (from packets nobody can tell that it was meant). The second:
closed_before_client_hello by the client, no hello ever: client_silent. Neither is the server's or the network's.""",
    checks=[
        Check("capture.pcap", "tls.handshake.type == 1 && tcp.time_relative > 3.2", 1),
        Check("capture.pcap", "tcp.dstport == 443 && tcp.flags.fin == 1 && tcp.seq == 1 && tcp.time_relative > 4", 1),
        Check("capture.pcap", "tls.handshake.type == 2", 3),
    ],
)
def preconnect_idle(lab: Lab) -> None:
    """Curl and the lab's own client against nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture_both(client, server)
    curl(client, times=2)
    used = tls_client(lab, client, "--hello-after", "3.2")
    tls_client(lab, client, "--silent", "--hello-after", "4").wait()
    used.wait()


@scenario(
    "plaintext-idle",
    "plaintext HTTP, idle before and between requests",
    happened="""\
Port 80: a client asks 2.5 s after its handshake and again 2 s later; another connects and says nothing for 3 s, then
closes. No TLS anywhere.""",
    expected="""\
The first flow not_tls, neither stalled nor failed. The second, silent to its end on an endpoint that nothing shows to
speak TLS: both_silent at most, low.""",
    checks=[
        Check("capture.pcap", "http.request", 2),
        Check("capture.pcap", "tls", 0),
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 0", 2),
    ],
)
def plaintext_idle(lab: Lab) -> None:
    """The lab's plain client against nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server, "listen 80", ports=(80,))
    lab.capture_both(client, server)
    silent = lab.start(client, "plain_client.py", "--connect", f"{SERVER}:80", "--hold", "3")
    lab.start(client, "plain_client.py", "--connect", f"{SERVER}:80", "2.5", "2").wait()
    silent.wait()


@scenario(
    "syn-cookies",
    "SYN cookies: the SYN-ACK's timestamp is no clock",
    happened="""\
Round trip 20 ms. The server answers every SYN with a cookie (tcp_syncookies=2), its options coded into the TSval. Two
healthy requests, and a client from port 41001 that says hello 1.5 s after its handshake.""",
    expected="""\
Two healthy flows, ack_ch 1.5 s on the third; the SYN-ACK's TSval is used for nothing.""",
    checks=[
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 1", 3),
        Check("capture.pcap", "tls.handshake.type == 1 && tcp.time_relative > 1.5", 1),
        Check("capture.pcap", "tls.handshake.type == 2", 3),
    ],
)
def syn_cookies(lab: Lab) -> None:
    """Curl and the lab's own client against nginx."""
    client, server = lab.two_hosts(one_way_s=0.01)
    server.sysctl(net__ipv4__tcp_syncookies=2)
    nginx(lab, server)
    lab.capture_both(client, server)
    curl(client, times=2)
    tls_client(lab, client, "--source-port", "41001", "--hello-after", "1.5").wait()
