"""The stall that pcapstall was written for: a ClientHello 52 seconds late between two proxies of a service mesh."""

from __future__ import annotations

from lab.scenario import CLIENT, SERVER, STAGE, Check, Lab, scenario

_TLS = ("-d", "tcp.port==8086,tls")
_STALLED = "tcp.port == 34506"


@scenario(
    "stalled-client-hello",
    "an outbound proxy sends its ClientHello 52 s after the handshake; the inbound one gave up after 10 s",
    happened="""\
A worker of the outbound proxy waits for a lock (the policy thread holds it while the control plane takes 54 s to
answer). The main thread meanwhile connects from port 34506 and registers the socket with that worker's epoll set,
on which nobody waits; the other workers go on with their own sets and other connections to the same inbound proxy.
The inbound proxy accepts at once, looks for TLS, hears nothing for 10 s, logs "TLS detection timed out" and closes.
When the lock is free the worker waits on its set, writes the ClientHello to a closed socket and is answered by RST.""",
    expected="""\
Flow 10.40.39.45:34506 -> 10.40.42.129:8086: ack_ch about 52 s (client_process), server closed by FIN at 10.0 s (its
timer), late_hello, RST. With outbound.strace: epoll_not_waited, high. The other flows are healthy.""",
    checks=[
        Check("capture.pcap", f"{_STALLED} && tls.handshake.type == 1 && tcp.time_relative > 52", 1, options=_TLS),
        Check("capture.pcap", f"{_STALLED} && tcp.srcport == 8086 && tcp.flags.fin == 1 && tcp.time_relative > 10 "
              "&& tcp.time_relative < 10.1", 1),
        Check("capture.pcap", f"{_STALLED} && tcp.flags.reset == 1 && tcp.srcport == 8086", 1, at_least=True),
        Check("capture_server.pcap", f"{_STALLED} && tcp.flags.reset == 1 && tcp.srcport == 8086", 1, at_least=True),
        Check("capture_server.pcap", f"{_STALLED} && tls.handshake.type == 1 && tcp.time_relative > 52", 1,
              options=_TLS),
        Check("capture.pcap", "tls.handshake.type == 2", 10, options=_TLS),
    ],
)  # fmt: skip
def stalled_client_hello(lab: Lab) -> None:
    """Record both proxies from their start, at both ends."""
    client, server = lab.two_hosts()
    certificate, key = lab.certificate("inbound", "influxdb.metrics")
    lab.capture_both(client, server)
    inbound = lab.start(
        server, "inbound_proxy.py", "--listen", f"{SERVER}:8086", "--certificate", certificate, "--key", key,
        log="inbound.log", trace="inbound.strace",
    )  # fmt: skip
    inbound.wait_for("listening")
    control = lab.start(client, "control_plane.py", "--listen", "8090", "--answer-after", "54.6")
    control.wait_for("listening")
    outbound = lab.start(
        client, "outbound_proxy.py", "--listen", "4140", "--source", CLIENT, "--to", f"{SERVER}:8086",
        "--server-name", "influxdb.metrics", "--ca", f"{STAGE}/inbound.pem", "--control-plane", "8090",
        log="outbound.log", trace="outbound.strace",
    )  # fmt: skip
    outbound.wait_for("listening")
    application = lab.start(
        client, "application.py", "--proxy", "4140", "34482@0.2", "34484@0.5", "34490@0.9", "34496@3", "34502@5",
        "34506@9.3", "34512@13", "34520@21", "34534@34", "34548@47", "34560@62",
    )  # fmt: skip
    application.wait(90)
