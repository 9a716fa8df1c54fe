"""The ordinary life of TLS over TCP: versions, retries, resumption, alerts, and how connections fail and end."""

from __future__ import annotations

import time

from lab.packets import Packet
from lab.router import Delivery, Rule, Side, drop
from lab.scenario import SERVER, SERVER6, STAGE, Check, Lab, scenario
from lab.scenarios.common import CA, KEY, NAME, browser, curl, nginx, tls_client, tls_server

PORT = f"{SERVER}:443"


@scenario(
    "tls13-healthy",
    "three HTTPS requests over TLS 1.3",
    happened="curl asks nginx for a page three times, over a new connection each time (TLS 1.3, HTTP/2).",
    expected="three healthy flows, established, TLS 1.3, SNI server.example, ALPN h2.",
    checks=[
        Check("capture.pcap", "tls.handshake.type == 1", 3),
        Check("capture.pcap", "tls.handshake.extensions.supported_version == 0x0304 && tls.handshake.type == 2", 3),
        Check("capture_server.pcap", "tls.handshake.type == 2", 3),
    ],
)
def tls13_healthy(lab: Lab) -> None:
    """Curl and nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture_both(client, server)
    curl(client, times=3)


@scenario(
    "tls12-healthy",
    "five HTTPS requests over TLS 1.2, RSA certificate, one session resumed",
    happened="curl asks nginx three times with TLS 1.2; openssl s_client connects and resumes that session once.",
    expected="five healthy flows, established, TLS 1.2; the last one resumed (its ServerHello is followed by CCS).",
    checks=[
        Check("capture.pcap", "tls.handshake.type == 1", 5),
        Check("capture.pcap", "tls.handshake.type == 14", 4),
        Check("capture.pcap", "tls.handshake.type == 2 && tls.change_cipher_spec", 1),
    ],
)
def tls12_healthy(lab: Lab) -> None:
    """Curl, openssl and nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server, rsa=True)
    lab.capture_both(client, server)
    curl(client, "--tls-max", "1.2", times=3)
    common = ("openssl", "s_client", "-connect", PORT, "-servername", NAME, "-CAfile", CA, "-tls1_2")
    request = "GET / HTTP/1.0\r\nHost: server.example\r\n\r\n"
    client.run(*common, "-ign_eof", "-sess_out", f"{STAGE}/session", stdin=request)
    client.run(*common, "-ign_eof", "-sess_in", f"{STAGE}/session", stdin=request)


@scenario(
    "hello-retry-request",
    "the client offers a key share that the server does not take",
    happened="openssl s_client offers an X25519 share; s_server wants P-384 and asks for it (RFC 8446 4.1.4).",
    expected="established; hrr_ch2 and ch2_sh are measured; ch_sh ends at the HelloRetryRequest.",
    checks=[
        Check("capture.pcap", "tls.handshake.type == 1", 2),
        Check("capture.pcap", "tls.handshake.type == 2", 2),
        Check("capture.pcap", "tls.handshake.random == "
              "cf:21:ad:74:e5:9a:61:11:be:1d:8c:02:1e:65:b8:91:c2:a2:11:16:7a:bb:8c:5e:07:9e:09:e2:c8:a8:33:9c", 1),
    ],
)  # fmt: skip
def hello_retry_request(lab: Lab) -> None:
    """openssl at both ends."""
    client, server = lab.two_hosts(one_way_s=0.005)
    lab.certificate("server", NAME)
    lab.start(server, "openssl", "s_server", "-accept", "443", "-cert", CA, "-key", KEY, "-groups", "P-384", "-www")
    lab.wait_listening(server, 443)
    lab.capture_both(client, server)
    client.run("openssl", "s_client", "-connect", PORT, "-groups", "X25519:P-384", "-servername", NAME, "-CAfile", CA,
               "-ign_eof", stdin="GET / HTTP/1.0\r\n\r\n")  # fmt: skip


@scenario(
    "resumption-and-early-data",
    "a TLS 1.3 session is resumed with early data, once taken and once not",
    happened="""\
s_client gets a ticket; a second connection resumes it and sends early data with its ClientHello, which s_server
takes; a third one offers the same ticket and early data again, but s_server takes a ticket only once: full handshake,
the early data is skipped.""",
    expected="three flows, established; may_be_early_data on the last two; resumed on the second only.",
    checks=[
        Check("capture.pcap", "tls.handshake.type == 1", 3),
        Check("capture.pcap", "tls.handshake.type == 1 && tls.handshake.extension.type == 42", 2),
        Check("capture.pcap", "tls.handshake.type == 2 && tls.handshake.extension.type == 41", 1),
        Check("capture.pcap", "tls.handshake.type == 2 && !(tls.handshake.extension.type == 41)", 2),
    ],
)
def resumption_and_early_data(lab: Lab) -> None:
    """openssl at both ends."""
    client, server = lab.two_hosts(one_way_s=0.005)
    lab.certificate("server", NAME)
    lab.start(server, "openssl", "s_server", "-accept", "443", "-cert", CA, "-key", KEY, "-early_data",
              "-max_early_data", "16384", "-tls1_3")  # fmt: skip
    lab.wait_listening(server, 443)
    lab.capture_both(client, server)
    early, session = STAGE / "early", STAGE / "session"
    early.write_text("early data\n")
    common = ("openssl", "s_client", "-connect", PORT, "-servername", NAME, "-CAfile", CA, "-tls1_3")
    script = 'out=$1; shift; (sleep 0.4; echo late; sleep 0.3) | "$@" > "$out" 2>&1 || true'
    client.run("sh", "-c", script, "sh", f"{STAGE}/first", *common, "-sess_out", str(session))
    for number in (2, 3):
        client.run("sh", "-c", script, "sh", f"{STAGE}/{number}", *common, "-sess_in", str(session), "-early_data",
                   str(early))  # fmt: skip


@scenario(
    "alert-unknown-ca",
    "the client does not know the server's CA and says so",
    happened="""\
A client without the server's CA ends the handshake with the alert unknown_ca: curl (OpenSSL) in clear with TLS 1.2
and, before it changes its keys, with TLS 1.3; gnutls-cli encrypts it with TLS 1.3.""",
    expected="""\
three flows with tls_outcome alert from the client: unknown_ca on the first two; on the third the alert is inferred
from its length. The side whose configuration is to be looked at is named, never with high confidence.""",
    checks=[
        Check("capture.pcap", "tls.alert_message.desc == 48 && tcp.dstport == 443", 2),
        Check("capture.pcap", "tls.handshake.type == 2 && tls.handshake.extensions.supported_version == 0x0304", 2),
        Check("capture.pcap", "tcp.dstport == 443 && tls.record.opaque_type == 23 && tls.record.length == 19", 1),
    ],
)
def alert_unknown_ca(lab: Lab) -> None:
    """Curl and gnutls-cli against nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture_both(client, server)
    system = "/etc/ssl/certs/ca-certificates.crt"
    curl(client, "--tls-max", "1.2", "--cacert", system)
    curl(client, "--cacert", system)
    client.run("gnutls-cli", "--x509cafile", system, "--sni-hostname", NAME, "--verify-hostname", NAME, "-p", "443",
               "--priority", "NORMAL:-VERS-ALL:+VERS-TLS1.3", SERVER, check=False, stdin="")  # fmt: skip


@scenario(
    "client-rejects",
    "a client that finishes the handshake, then closes without a word: it did not like the certificate",
    happened="""\
A client (curl on BoringSSL, browser greeting) without the server's CA checks the certificate only after it has sent
its Finished, and closes: no alert, no data. Then the same client with the CA asks for a page.""",
    expected="one flow with tls_outcome client_rejected_likely, one established.",
    checks=[
        Check("capture.pcap", "tcp.stream == 0 && tcp.dstport == 443 && tls.record.opaque_type == 23", 1),
        Check("capture.pcap", "tcp.stream == 0 && tcp.flags.fin == 1 && tcp.dstport == 443", 1),
        Check("capture.pcap", "tcp.stream == 1 && tls.handshake.type == 2", 1),
    ],
)
def client_rejects(lab: Lab) -> None:
    """curl_cffi and nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture_both(client, server)
    browser(lab, client, ca="/etc/ssl/certs/ca-certificates.crt")
    browser(lab, client)


@scenario(
    "alert-handshake-failure",
    "no common cipher, and no common version",
    happened="""\
One s_server has an ECDSA certificate and is asked by a client that offers only an RSA cipher: handshake_failure.
Another one speaks only TLS 1.3 and is asked for TLS 1.2: protocol_version.""",
    expected="two flows with tls_outcome alert from the server: handshake_failure, protocol_version.",
    checks=[
        Check("capture.pcap", "tls.alert_message.desc == 40 && tcp.srcport == 443", 1),
        Check(
            "capture.pcap",
            "tls.alert_message.desc == 70 && tcp.srcport == 8443",
            1,
            options=("-d", "tcp.port==8443,tls"),
        ),
    ],
)
def alert_handshake_failure(lab: Lab) -> None:
    """openssl at both ends."""
    client, server = lab.two_hosts()
    lab.certificate("server", NAME)
    common = ("openssl", "s_server", "-cert", CA, "-key", KEY, "-www")
    lab.start(server, *common, "-accept", "443")
    lab.start(server, *common, "-accept", "8443", "-tls1_3")
    lab.wait_listening(server, 443, 8443)
    lab.capture_both(client, server)
    ask = ("openssl", "s_client", "-servername", NAME, "-CAfile", CA, "-tls1_2")
    client.run(*ask, "-connect", PORT, "-cipher", "AES128-GCM-SHA256", check=False)
    client.run(*ask, "-connect", f"{SERVER}:8443", check=False)


@scenario(
    "ml-kem-hello",
    "a browser's ClientHello with X25519MLKEM768: longer than one segment",
    happened="""\
A client that greets as Chrome does (GREASE, ECH, post-quantum key share; the hello has about 1.8 kB and goes out in
two segments) asks nginx for a page twice. The server takes the classic share.""",
    expected="two healthy flows; ch_span is between the hello's two segments; GREASE and ECH change nothing.",
    checks=[
        Check("capture.pcap", "tls.handshake.type == 1 && tls.handshake.extensions_key_share_group == 4588", 2),
        Check("capture.pcap", "tcp.dstport == 443 && tcp.len == 1448", 2),
        Check("capture.pcap", "tls.handshake.type == 2", 2),
    ],
)
def ml_kem_hello(lab: Lab) -> None:
    """curl_cffi and nginx."""
    client, server = lab.two_hosts(one_way_s=0.005)
    nginx(lab, server)
    lab.capture_both(client, server)
    for _ in range(2):
        browser(lab, client)


@scenario(
    "tcp-fast-open",
    "a ClientHello in the SYN: cookie asked for, taken, and refused",
    happened="""\
curl --tcp-fastopen: the first connection gets a cookie; the second sends the ClientHello with its SYN, and the
SYN-ACK acknowledges it; then the server's key changes and the third one's data is not taken: the hello comes again
after the handshake (RFC 7413).""",
    expected="""\
three healthy flows; syn_data absent, accepted, rejected; ack_ch is 0 or negative on the second, and starts at the
copy after the handshake on the third.""",
    checks=[
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 0 && tcp.len > 0", 2),
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 1 && tcp.ack == 1", 2),
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 1 && tcp.ack > 1", 1),
        Check("capture.pcap", "tls.handshake.type == 2", 3),
    ],
)
def tcp_fast_open(lab: Lab) -> None:
    """Curl and nginx."""
    client, server = lab.two_hosts(one_way_s=0.005)
    for host in (client, server):
        host.sysctl(net__ipv4__tcp_fastopen=3)
    nginx(lab, server, "listen 443 ssl fastopen=16")
    lab.capture_both(client, server)
    curl(client, "--tcp-fastopen", times=2)
    server.sysctl(net__ipv4__tcp_fastopen_key="01234567-89abcdef-fedcba98-76543210")
    curl(client, "--tcp-fastopen")


@scenario(
    "port-reuse",
    "the same addresses and ports three times: three flows",
    happened="""\
The client uses source port 40000 three times within seconds: the first connection ends by its RST, the second is
closed first by the server, the third by the client. The link has no Ethernet header (raw IP from a TUN device).""",
    expected="three flows with the same endpoints, each established and with its own numbers.",
    checks=[
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 0 && tcp.srcport == 40000", 3),
        Check("capture.pcap", "tcp.stream == 2 && tls.handshake.type == 2", 1),
        Check("capture.pcap", "tcp.flags.reset == 1 && tcp.srcport == 40000", 1, at_least=True),
    ],
)
def port_reuse(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts(ethernet=False)
    client.sysctl(net__ipv4__tcp_tw_reuse=1)
    first = tls_server(lab, server)
    lab.capture_both(client, server)
    port = ("--source-port", "40000")
    tls_client(lab, client, *port, "--reset").wait()
    first.stop()
    second = tls_server(lab, server, "--close-first")
    tls_client(lab, client, *port, "--wait-for-close").wait()
    second.stop()
    time.sleep(1.1)
    tls_server(lab, server)
    tls_client(lab, client, *port).wait()


@scenario(
    "refused",
    "nothing listens: RST to the SYN",
    happened="curl asks twice for a page at port 8443, where nothing listens; the server's kernel answers RST.",
    expected="two flows with tcp_outcome refused; cause unknown unless captured at the server.",
    checks=[
        Check("capture.pcap", "tcp.flags.syn == 1", 2),
        Check("capture.pcap", "tcp.flags.reset == 1 && tcp.srcport == 8443", 2),
    ],
)
def refused(lab: Lab) -> None:
    """curl only."""
    client, server = lab.two_hosts()
    lab.capture_both(client, server)
    curl(client, "--cacert", "/dev/null", port=8443, times=2)


@scenario(
    "filtered-syn",
    "SYNs that are lost on the way, all of them",
    happened="""\
A filter on the way drops what goes to port 8443: curl sends its SYN four times in 4 s and gives up. A request to
port 443 of the same server goes through.""",
    expected="""\
one flow with tcp_outcome filtered and syn_synack open, cause unknown between network and server's host at the
client; at the server it is never seen. One healthy flow.""",
    checks=[
        Check("capture.pcap", "tcp.dstport == 8443 && tcp.flags.syn == 1", 4),
        Check("capture.pcap", "tcp.srcport == 8443", 0),
        Check("capture_server.pcap", "tcp.port == 8443", 0),
    ],
)
def filtered_syn(lab: Lab) -> None:
    """curl and nginx."""
    client, server = lab.two_hosts([Rule(Side.CLIENT, lambda packet: packet.destination_port == 8443, drop)])
    nginx(lab, server)
    lab.capture_both(client, server)
    curl(client)
    curl(client, "--connect-timeout", "4", port=8443)


def _prohibit(origin: Side, packet: Packet) -> tuple[Delivery, ...]:
    return (Delivery(origin, packet.icmp_prohibited("10.40.39.1")),)


@scenario(
    "icmp-prohibited",
    "a router answers the SYN: communication administratively prohibited",
    happened="A router answers SYNs to port 8443 with ICMP type 3 code 13 and forwards nothing; curl fails at once.",
    expected="one flow with tcp_outcome prohibited, the ICMP frame cited; one healthy flow.",
    checks=[
        Check("capture.pcap", "icmp.type == 3 && icmp.code == 13", 1, at_least=True),
        Check("capture.pcap", "tcp.srcport == 8443 && !icmp", 0),
    ],
)
def icmp_prohibited(lab: Lab) -> None:
    """curl and nginx."""
    client, server = lab.two_hosts([Rule(Side.CLIENT, lambda packet: packet.destination_port == 8443, _prohibit)])
    nginx(lab, server)
    lab.capture_both(client, server)
    curl(client)
    curl(client, "--connect-timeout", "4", port=8443)


@scenario(
    "probe",
    "a load balancer's health checks: connect and close, nothing sent",
    happened="""\
Twelve health checks a quarter of a second apart: connect, close; every third one closes with RST. Two real requests
between them.""",
    expected="twelve probes, counted and not failed; two healthy flows.",
    checks=[
        Check("capture.pcap", "tcp.flags.syn == 1 && tcp.flags.ack == 0", 14),
        Check("capture.pcap", "tls.handshake.type == 1", 2),
        Check("capture.pcap", "tcp.flags.reset == 1 && tcp.dstport == 443", 4),
    ],
)
def probe(lab: Lab) -> None:
    """The lab's own client and curl against nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture_both(client, server)
    for number in range(12):
        tls_client(lab, client, "--silent", *(("--reset",) if number % 3 == 2 else ())).wait()
        if number in (4, 9):
            curl(client)


@scenario(
    "keep-alives",
    "TCP keep-alives on an idle TLS connection",
    happened="""\
After the TLS handshake the client is idle for 4.5 s; its kernel sends a keep-alive each second (RFC 9293 3.8.4: no
data, sequence number one below), which the server acknowledges; then it asks and closes.""",
    expected="one healthy flow; keep-alives are neither data nor retransmissions.",
    checks=[
        Check("capture.pcap", "tcp.analysis.keep_alive", 3, at_least=True),
        Check("capture.pcap", "tcp.analysis.retransmission", 0),
    ],
)
def keep_alives(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts()
    tls_server(lab, server)
    lab.capture_both(client, server)
    tls_client(lab, client, "--keep-alive", "1", "--request-after", "4.5").wait()


@scenario(
    "simultaneous-close",
    "both ends close at the same moment: FINs cross on the way",
    happened="Round trip 60 ms; client and server both close at the same time of day, after an answer.",
    expected="established; closed_by the one whose FIN is first in the capture; both FINs within one round trip.",
    checks=[
        Check("capture.pcap", "tcp.flags.fin == 1", 2),
        Check("capture.pcap", "tcp.flags.fin == 1 && tcp.srcport == 443 && tcp.nxtseq > 0", 1),
    ],
)
def simultaneous_close(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts(one_way_s=0.03)
    at = ("--close-at", f"{time.time() + 3:.3f}")
    tls_server(lab, server, *at)
    lab.capture_both(client, server)
    tls_client(lab, client, *at).wait()


@scenario(
    "half-open",
    "the server's host loses a connection without a word; the client finds out by RST",
    happened="""\
After the TLS handshake the server forgets the connection (TCP_REPAIR: closed without FIN or RST, as after a crash
and reboot; RFC 9293 3.5.1 calls it half-open). 2 s later the client sends its request and gets RST.""",
    expected="the flow ends by the server's RST after client_finished; no stage of the handshake stalled.",
    checks=[
        Check("capture.pcap", "tls.handshake.type == 2", 1),
        Check("capture.pcap", "tcp.flags.reset == 1 && tcp.srcport == 443 && tcp.time_relative > 2", 1),
        Check("capture.pcap", "tcp.flags.fin == 1 && tcp.srcport == 443", 0),
    ],
)
def half_open(lab: Lab) -> None:
    """The lab's own client and server."""
    client, server = lab.two_hosts()
    tls_server(lab, server, "--vanish-after", "0.5", "--tls", "1.2")
    lab.capture_both(client, server)
    tls_client(lab, client, "--request-after", "2", "--tls", "1.2").wait()


@scenario(
    "ipv6",
    "IPv6, healthy and slow",
    happened="Two healthy requests over IPv6, then a client that says hello 1.8 s after the handshake.",
    expected="three flows with endpoints such as [2001:db8:42::129]:443; the last one stalled in ack_ch.",
    checks=[
        Check("capture.pcap", "ipv6 && tls.handshake.type == 1", 3),
        Check("capture.pcap", "tls.handshake.type == 1 && tcp.time_relative > 1.7", 1),
        Check("capture.pcap", "ip", 0),
    ],
)
def ipv6(lab: Lab) -> None:
    """Curl and the lab's own client against nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture_both(client, server)
    curl(client, "-6", server=f"[{SERVER6}]", times=2)
    tls_client(lab, client, "--hello-after", "1.8", address=f"[{SERVER6}]:443").wait()
