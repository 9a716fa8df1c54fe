"""What may go before a ClientHello: STARTTLS, SSLRequest, CONNECT, SOCKS5, the PROXY protocol."""

from __future__ import annotations

from lab.namespaces import run
from lab.scenario import SERVER, STAGE, Check, Lab, scenario
from lab.scenarios.common import CA, KEY, NAME, curl, nginx

_MAIL = "From: a@example\r\nTo: b@example\r\nSubject: lab\r\n\r\nhello\r\n"
_POSTGRES = "/usr/lib/postgresql/15/bin"


def smtp_server(lab: Lab, *options: str) -> None:
    """Start the SMTP server on port 25 of the second host."""
    server = lab.namespaces["server"]
    if not (STAGE / "server.pem").exists():
        lab.certificate("server", "mail.example")
    lab.start(server, "smtp_server.py", "--listen", f"{SERVER}:25", "--certificate", CA, "--key", KEY,
              *options).wait_for("listening")  # fmt: skip


def send_mail(lab: Lab) -> None:
    """Send one mail with curl."""
    lab.namespaces["client"].run(
        "curl", "-sS", "--ssl-reqd", "--cacert", CA, "--resolve", f"mail.example:25:{SERVER}", "smtp://mail.example:25",
        "--mail-from", "a@example", "--mail-rcpt", "b@example", "-T", "-", stdin=_MAIL, check=False,
    )  # fmt: skip


@scenario(
    "smtp-starttls",
    "SMTP with STARTTLS: the server speaks first, and TLS comes after its 220",
    happened="""\
curl sends a mail with STARTTLS (RFC 3207), then once more to a server that takes 1.4 s to answer STARTTLS; openssl
s_client -starttls smtp connects too.""",
    expected="""\
preamble smtp-starttls and preamble_ns; the second flow's ack_ch of 1.4 s is await_server: it is the server's answer
that the client waits for. The others healthy.""",
    checks=[
        Check("capture.pcap", 'tcp.dstport == 25 && tcp.payload[0:8] == "STARTTLS"', 3),
        Check("capture.pcap", "tls.handshake.type == 1", 3),
        Check("capture.pcap", "tls.handshake.type == 1 && tcp.time_relative > 1.4", 1),
    ],
)  # fmt: skip
def smtp_starttls(lab: Lab) -> None:
    """Curl and openssl against the lab's SMTP server."""
    client, server = lab.two_hosts()
    lab.certificate("server", "mail.example")
    lab.capture_both(client, server)
    smtp_server(lab)
    send_mail(lab)
    client.run("openssl", "s_client", "-starttls", "smtp", "-connect", f"{SERVER}:25", "-CAfile", CA, "-ign_eof",
               "-quiet", stdin="EHLO client.example\r\nQUIT\r\n", check=False)  # fmt: skip
    lab.stop_programs()
    smtp_server(lab, "--starttls-after", "1.4")
    send_mail(lab)


@scenario(
    "postgresql-sslrequest",
    "PostgreSQL: SSLRequest, one byte of answer, then TLS",
    happened="""\
psql asks PostgreSQL 15 for TLS (SSLRequest, 8 bytes; the server answers S), twice, and for plaintext once. The
server takes only P-256, so each handshake has a HelloRetryRequest.""",
    expected="""\
two flows with preamble postgresql, established, hrr_ch2 measured; the third is not_tls, neither stalled nor failed.""",
    checks=[
        Check("capture.pcap", "tcp.dstport == 5432 && tcp.payload == 00:00:00:08:04:d2:16:2f", 2),
        Check("capture.pcap", "tls.handshake.type == 1", 4),
        Check("capture.pcap", "pgsql.query", 1, at_least=True),
    ],
)
def postgresql_sslrequest(lab: Lab) -> None:
    """Psql and PostgreSQL."""
    client, server = lab.two_hosts()
    lab.certificate("server", "db.example")
    data = STAGE / "pg"
    data.mkdir()
    run("cp", CA, KEY, str(data))
    run("chown", "-R", "postgres", str(data))
    as_postgres = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
    run(*as_postgres, f"{_POSTGRES}/initdb", "-D", f"{data}/db", "-A", "trust", "-E", "UTF8", "--locale=C")
    with (data / "db" / "pg_hba.conf").open("a") as rules:
        rules.write("host all all 0.0.0.0/0 trust\n")
    settings = {"ssl": "on", "ssl_cert_file": f"{data}/server.pem", "ssl_key_file": f"{data}/server.key",
                "listen_addresses": SERVER, "unix_socket_directories": str(data)}  # fmt: skip
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    lab.start(server, *as_postgres, f"{_POSTGRES}/postgres", "-D", f"{data}/db", *words)
    lab.wait_listening(server, 5432)
    lab.capture_both(client, server)
    for mode in ("require", "require", "disable"):
        client.run("psql", f"host={SERVER} user=postgres dbname=postgres sslmode={mode}", "-Atc", "select 1")


def _proxied(lab: Lab, *proxy: str) -> None:
    client, server = lab.two_hosts()
    nginx(lab, server)
    lab.capture_both(client, server)
    for port, options in ((1080, ()), (1081, ("--answer-after", "1.5"))):
        socks = ("--socks5",) if "--socks5-hostname" in proxy else ()
        lab.start(server, "forward_proxy.py", "--listen", f"{SERVER}:{port}", "--upstream", "127.0.0.1:443", *socks,
                  *options).wait_for("listening")  # fmt: skip
        curl(client, *proxy, f"{SERVER}:{port}", times=2 - len(options) // 2)


@scenario(
    "http-connect",
    "TLS through an HTTP proxy: CONNECT first; one proxy takes 1.5 s to answer",
    happened="""\
curl goes through a proxy with CONNECT twice, then through one that answers CONNECT after 1.5 s. The proxy is the
TCP peer; the TLS server is behind it.""",
    expected="""\
preamble http-connect; two healthy flows; on the third ack_ch of 1.5 s is await_server, for the client waits for the
proxy's 200.""",
    checks=[
        Check("capture.pcap", 'tcp.payload[0:7] == "CONNECT"', 3),
        Check("capture.pcap", "tcp.payload[0:3] == 16:03:01", 3),
        Check("capture.pcap", "tcp.payload[0:3] == 16:03:01 && tcp.time_relative > 1.5", 1),
    ],
)
def http_connect(lab: Lab) -> None:
    """Curl, the lab's proxy and nginx behind it."""
    _proxied(lab, "--proxy")


@scenario(
    "socks5",
    "TLS through a SOCKS5 proxy; one takes 1.5 s to answer",
    happened="""\
curl goes through a SOCKS5 proxy twice (name given to the proxy), then through one that answers the request after
1.5 s.""",
    expected="preamble socks5; two healthy flows; on the third ack_ch of 1.5 s is await_server.",
    checks=[
        Check("capture.pcap", "tcp.payload[0:2] == 05:00 && tcp.srcport == 1080", 4),
        Check("capture.pcap", "tcp.payload[0:3] == 16:03:01", 3),
        Check("capture.pcap", "tcp.payload[0:3] == 16:03:01 && tcp.time_relative > 1.5", 1),
    ],
)
def socks5(lab: Lab) -> None:
    """Curl, the lab's proxy and nginx behind it."""
    _proxied(lab, "--socks5-hostname")


@scenario(
    "proxy-protocol",
    "a load balancer's PROXY header before the ClientHello, versions 1 and 2",
    happened="curl --haproxy-protocol sends the text header (v1), another client the binary one (v2), both to nginx.",
    expected="two healthy flows, preamble proxy-v1 and proxy-v2.",
    checks=[
        Check("capture.pcap", 'tcp.payload[0:6] == "PROXY "', 1),
        Check("capture.pcap", "tcp.payload[0:12] == 0d:0a:0d:0a:00:0d:0a:51:55:49:54:0a", 1),
        Check("capture.pcap", "tcp.payload[0:3] == 16:03:03 && tcp.srcport == 8443", 2),
    ],
)
def proxy_protocol(lab: Lab) -> None:
    """Curl and the lab's own client against nginx."""
    client, server = lab.two_hosts()
    nginx(lab, server, "listen 8443 ssl proxy_protocol", ports=(8443,))
    lab.capture_both(client, server)
    curl(client, "--haproxy-protocol", port=8443)
    lab.python(client, "proxy_header_client.py", "--connect", f"{SERVER}:8443", "--ca", CA, "--name", NAME)
