"""Servers and clients that several scenarios share: nginx, curl, openssl and the lab's own TLS programs."""

from __future__ import annotations

import os
from collections.abc import Callable

from lab.namespaces import Namespace
from lab.packets import Packet
from lab.scenario import CLIENT, SERVER, STAGE, Lab, Program

NAME = "server.example"
CA = f"{STAGE}/server.pem"
KEY = f"{STAGE}/server.key"

_NGINX = """\
daemon off; master_process off; pid {stage}/nginx.pid; error_log {stage}/nginx.error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {stage}/t1; proxy_temp_path {stage}/t2; fastcgi_temp_path {stage}/t3;
  uwsgi_temp_path {stage}/t4; scgi_temp_path {stage}/t5;
  ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;
  server {{ server_name server.example; {listen} location / {{ return 200 "hello\\n"; }} }}
}}
"""


def nginx(lab: Lab, server: Namespace, *listen: str, ports: tuple[int, ...] = (443,), rsa: bool = False) -> None:
    """Serve HTTPS with nginx; `listen` are its directives."""
    certificate, key = lab.certificate("server", NAME, *(("-newkey", "rsa:2048") if rsa else ()))
    config = STAGE / "nginx.conf"
    lines = " ".join(f"{one};" for one in listen or ("listen 443 ssl http2", "listen [::]:443 ssl http2"))
    config.write_text(_NGINX.format(stage=STAGE, certificate=certificate, key=key, listen=lines))
    lab.start(server, "nginx", "-e", f"{STAGE}/nginx.error.log", "-c", str(config))
    lab.wait_listening(server, *ports)


def curl(client: Namespace, *options: str, server: str = SERVER, port: int = 443, times: int = 1) -> str:
    """Ask for one page, over a new connection each time."""
    command = ("curl", "-sS", "--cacert", CA, "--max-time", "20", "--resolve", f"{NAME}:{port}:{server}",
               *options, f"https://{NAME}:{port}/")  # fmt: skip
    return "".join(client.run(*command, check=False) for _ in range(times))


def browser(lab: Lab, client: Namespace, ca: str = CA) -> None:
    """Ask for one page with the TLS greeting of a browser: curl_cffi, which LAB_PACKAGES has to hold."""
    packages = os.environ.get("LAB_PACKAGES")
    if not packages:
        raise RuntimeError("set LAB_PACKAGES to a directory made by `pip install --target DIRECTORY curl_cffi`")
    client.resolver("127.0.0.1")  # refused at once: it asks for HTTPS records before it greets
    lab.start(client, "browser.py", packages, ca, f"https://{NAME}/", f"{NAME}:443:{SERVER}").wait()


def tls_server(
    lab: Lab,
    server: Namespace,
    *options: str,
    address: str = f"{SERVER}:443",
    identity: tuple[str, str] | None = None,
    **files: str,
) -> Program:
    """Start the lab's own TLS server, with a certificate and key of its own if given."""
    if identity is None:
        identity = lab.certificate("server", NAME) if not (STAGE / "server.pem").exists() else (CA, KEY)
    certificate, key = identity
    started = lab.start(
        server, "tls_server.py", "--listen", address, "--certificate", certificate, "--key", key, *options, **files
    )
    started.wait_for("listening")
    return started


def tls_client(lab: Lab, client: Namespace, *options: str, address: str = f"{SERVER}:443", **files: str) -> Program:
    """Start the lab's own TLS client."""
    return lab.start(client, "tls_client.py", "--connect", address, "--ca", CA, *options, **files)


def slow_names(lab: Lab, client: Namespace, server: Namespace, address: str = SERVER) -> None:
    """Let the server's host answer the client's DNS queries after 2.5 s, and record both ends with DNS."""
    client.resolver(address)
    lab.start(server, "dns_server.py", "--listen", address, "--address", SERVER, "--answer-after", "2.5").wait_for(
        "listening"
    )
    lab.capture_both(client, server, expression="tcp or udp port 53")


def from_port(port: int, matches: Callable[[Packet], bool]) -> Callable[[Packet], bool]:
    """Match packets of the flow from a client port."""
    return lambda packet: port in (packet.source_port, packet.destination_port) and matches(packet)


def is_client_hello(packet: Packet) -> bool:
    """Match the beginning of a ClientHello."""
    return packet.is_client_hello


def is_syn_ack(packet: Packet) -> bool:
    """Match a SYN-ACK."""
    return packet.is_syn_ack


def flow(port: int) -> str:
    """Return the display filter of the flow from a client port."""
    return f"ip.addr == {CLIENT} && tcp.port == {port}"
