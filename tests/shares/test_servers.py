"""Captures by URL from servers that run here, as far as the libraries of their kinds are installed.

`s3://` needs s3fs and moto, `http://` aiohttp, `ssh://` sshfs and sshd. Everything goes over loopback.
"""

import gzip
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from shares_support import CAPTURES, told

from pcapstall.pipeline import Options, analyse

CAPTURE = CAPTURES / "stalled-client-hello" / "capture.pcap"
pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'pcapstall[dask]'")


def same_as_the_file(url: str, name: str | None = None, jobs: int = 1) -> None:
    remote = analyse([url], Options(jobs=jobs))
    assert not remote.unreadable
    assert told(remote).replace(name or url, str(CAPTURE)) == told(analyse([str(CAPTURE)], Options()))


def reason(url: str) -> str:
    (error,) = analyse([url], Options()).unreadable
    assert "\n" not in error.reason
    return error.reason


class TestHttp:
    @pytest.fixture
    def server(self) -> Iterator[str]:
        pytest.importorskip("aiohttp", reason="aiohttp is not installed, without which fsspec reads no http://")
        data = CAPTURE.read_bytes()
        go_on = threading.Event()

        class Answer(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                if self.path.startswith("/error"):
                    self.send_error(int(self.path[6:9]))
                    return
                self.send_response(200)
                if self.path != "/sizeless.pcap":
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command == "HEAD":
                    return
                whole = self.path not in ("/cut.pcap", "/stuck.pcap")
                self.wfile.write(data if whole else data[: len(data) // 2])
                self.wfile.flush()
                if self.path == "/stuck.pcap":
                    go_on.wait(60)
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as http:
            thread = threading.Thread(target=http.serve_forever)
            thread.start()
            yield f"http://127.0.0.1:{http.server_port}"
            go_on.set()
            http.shutdown()
            thread.join()

    @pytest.mark.parametrize("name", ["a.pcap", "sizeless.pcap"])
    def test_it_is_read_like_a_file(self, server: str, name: str) -> None:
        same_as_the_file(f"{server}/{name}")

    def test_what_went_wrong_is_told(self, server: str) -> None:
        assert reason(f"{server}/error404.pcap") == "there is no such file"
        assert "403" in reason(f"{server}/error403.pcap")
        assert "(it needs other credentials)" in reason(f"{server}/error403.pcap")
        assert "500, message='Internal Server Error'" in reason(f"{server}/error500.pcap")
        assert "(is the address right, and does the server run?)" in reason("http://127.0.0.1:1/a.pcap")
        assert reason(f"{server}/cut.pcap").startswith("cannot be read on: Response payload is not completed")

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_server_that_goes_silent_is_left_at_the_first_ctrl_c(self, server: str, number: int) -> None:
        command = [sys.executable, "-m", "pcapstall", "report", f"{server}/stuck.pcap"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            time.sleep(4)
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err.count(b"\n")) == (130, b"", 1), err
        assert b"Traceback" not in err


class TestS3:
    @pytest.fixture(autouse=True)
    def bucket(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed, without which fsspec reads no s3://")
        server: Any = pytest.importorskip("moto.server", reason="moto's server is not installed: moto[server]")
        running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        running.start()
        endpoint = "http://{}:{}".format(*running.get_host_and_port())
        for name, value in {
            "AWS_ACCESS_KEY_ID": "one",
            "AWS_SECRET_ACCESS_KEY": "two",
            "FSSPEC_S3_ENDPOINT_URL": endpoint,
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setitem(__import__("fsspec").config.conf, "s3", {"endpoint_url": endpoint})
        s3 = s3fs.S3FileSystem(endpoint_url=endpoint, skip_instance_cache=True)
        if not s3.exists("ring"):  # all servers of moto in a process have the same buckets
            s3.mkdir("ring")
        s3.pipe("ring/a.pcap", CAPTURE.read_bytes())
        s3.pipe("ring/a.pcap.gz", gzip.compress(CAPTURE.read_bytes()))
        yield
        running.stop()

    @pytest.mark.parametrize("name", ["a.pcap", "a.pcap.gz", "*.gz"])
    def test_it_is_read_like_a_file(self, name: str) -> None:
        same_as_the_file(f"s3://ring/{name}", f"s3://ring/{name.replace('*', 'a.pcap')}")

    def test_what_went_wrong_is_told(self) -> None:
        assert reason("s3://ring/nosuch.pcap") == "there is no such file"
        assert reason("s3://nosuch/a.pcap") == "there is no such file"
        assert reason("s3://ring/x*.pcap") == "no file has a name like this"


class TestSsh:
    @pytest.fixture(autouse=True)
    def server(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        pytest.importorskip("sshfs", reason="sshfs is not installed, without which fsspec reads no ssh://")
        sshd, keygen = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin"), shutil.which("ssh-keygen")
        if sshd is None or keygen is None or os.geteuid() != 0:
            pytest.skip("there is no sshd that may be started here")
        home = tmp_path / "home" / ".ssh"
        home.mkdir(parents=True)
        Path("/run/sshd").mkdir(exist_ok=True)
        for key in (tmp_path / "host", home / "id_ed25519"):
            subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        port = free_port()
        (tmp_path / "config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nStrictModes no\nPidFile none\n"
            f"AuthorizedKeysFile {home}/id_ed25519.pub\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n"
        )
        monkeypatch.setenv("HOME", str(home.parent))
        shutil.copy(CAPTURE, tmp_path / "a.pcap")
        command = [sshd, "-D", "-r", "-e", "-f", str(tmp_path / "config")]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            assert b"listening" in process.stderr.readline()
            self.here = SimpleNamespace(port=port, base=f"ssh://root@127.0.0.1:{port}{tmp_path}")
            yield
            process.terminate()
            process.stderr.close()

    @pytest.mark.parametrize("name", ["a.pcap", "*.pcap"])
    def test_it_is_read_like_a_file(self, name: str) -> None:
        same_as_the_file(f"{self.here.base}/{name}", f"{self.here.base}/a.pcap")

    def test_what_went_wrong_is_told(self) -> None:
        assert reason(f"{self.here.base}/nosuch.pcap") == "there is no such file"
        assert "(is the key in ssh-agent" in reason(f"ssh://nobody@127.0.0.1:{self.here.port}/a.pcap")
        assert "(is the address right" in reason("ssh://root@127.0.0.1:1/a.pcap")


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
