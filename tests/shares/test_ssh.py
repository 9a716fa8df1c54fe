"""Captures by `ssh://` and `sftp://`, from a sshd that is started here, with keys of its own, on loopback.

Needs OpenSSH's server, and sshfs (Python's, with asyncssh); the tests say what is missing.
"""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from shares_support import CAPTURES

for name in ("fsspec", "sshfs"):
    pytest.importorskip(name, reason=f"{name} is not installed, without which no ssh:// is read")

CAPTURE = CAPTURES / "stalled-client-hello" / "capture.pcap"
MAX_S = 60
CONFIG = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/home/.ssh/id_ed25519.pub
PidFile none
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM {pam}
Subsystem sftp internal-sftp
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Server"]:
    sshd = shutil.which("sshd", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))
    if sshd is None:
        pytest.skip("there is no sshd: openssh-server")
    folder = tmp_path_factory.mktemp("ssh")
    keys = folder / "home" / ".ssh"
    keys.mkdir(parents=True)
    for path in (folder / "host_key", keys / "id_ed25519"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Without PAM an account without a password is a locked one; with it sshd has to be root's.
    pam = "yes" if os.geteuid() == 0 else "no"
    (folder / "config").write_text(CONFIG.format(port=port, folder=folder, pam=pam))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sshd, "-D", "-e", "-f", str(folder / "config")], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        until = time.monotonic() + MAX_S
        while b"Server listening" not in (said := (folder / "log").read_bytes()):
            if process.poll() is not None:
                pytest.fail(f"sshd does not start: {said.decode().strip()}")
            assert time.monotonic() < until
            time.sleep(0.01)
        ring = folder / "ring"
        ring.mkdir()
        shutil.copy(CAPTURE, ring / "a.pcap")
        (ring / "none.pcap").write_text("no capture")
        yield Server(f"{getpass.getuser()}@127.0.0.1:{port}", ring, folder / "home")
    finally:
        process.terminate()
        process.wait()


class Server:
    def __init__(self, address: str, ring: Path, home: Path) -> None:
        self.address = address
        self.ring = ring
        self.home = home

    def url(self, name: str, scheme: str = "ssh") -> str:
        return f"{scheme}://{self.address}{self.ring}/{name}"

    def report(self, *arguments: str, home: Path | None = None) -> "subprocess.CompletedProcess[str]":
        environment = os.environ | {"HOME": str(home or self.home)}
        environment.pop("SSH_AUTH_SOCK", None)
        return subprocess.run(
            [sys.executable, "-m", "pcapstall", "report", *arguments, "-f", "json"],
            capture_output=True, text=True, env=environment, timeout=MAX_S, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def of_the_file() -> str:
    """The report of the same capture as a file of this host."""
    ended = subprocess.run(
        [sys.executable, "-m", "pcapstall", "report", str(CAPTURE), "-f", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ended.stdout


@pytest.mark.parametrize(
    ("scheme", "engine", "name"),
    [
        ("ssh", "local", "a.pcap"),
        ("ssh", "local", "?.pcap"),
        ("ssh", "dask", "?.pcap"),
        ("sftp", "local", "[a].pcap"),
        ("sftp", "dask", "a.pcap"),
    ],
)
def test_it_is_read_like_a_file(server: Server, of_the_file: str, scheme: str, engine: str, name: str) -> None:
    if engine == "dask":
        pytest.importorskip("distributed", reason="Dask is not installed: pip install 'pcapstall[dask]'")
    ended = server.report(server.url(name, scheme), "--engine", engine, "--jobs", "2" if engine == "dask" else "1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.replace(server.url("a.pcap", scheme), str(CAPTURE)) == of_the_file


def test_what_went_wrong_is_told(server: Server) -> None:
    urls = [server.url("nosuch.pcap"), server.url("x*.pcap"), server.url("none.pcap")]
    ended = server.report(*urls)
    assert (ended.returncode, ended.stdout) == (3, "")
    said = ended.stderr.splitlines()
    assert sorted(said) == sorted(
        [
            f"pcapstall: {urls[0]}: there is no such file",
            f"pcapstall: {urls[1]}: no file has a name like this",
            f"pcapstall: {urls[2]}: not a capture: text ('no capture')",
        ]
    )


def test_without_a_key(server: Server, tmp_path: Path) -> None:
    ended = server.report(server.url("a.pcap"), home=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (3, "", 1)
    assert ended.stderr.endswith("(is the key in ssh-agent, and the user right? ssh://USER@HOST/...)\n")


def test_where_no_server_is(server: Server) -> None:
    ended = server.report("ssh://127.0.0.1:1/a.pcap")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (3, "", 1)
    assert ended.stderr.endswith("(is the address right, and does the server run?)\n")
