"""Captures by URL from servers that run here, as far as the libraries of their kinds are installed.

`s3://` needs s3fs and moto, `http://` aiohttp. Everything goes over loopback.
"""

import gzip
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
        self.is_stuck = is_stuck = threading.Event()

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
                    is_stuck.set()
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
            assert self.is_stuck.wait(30)
            time.sleep(0.5)  # what was sent is being read
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err.count(b"\n")) == (130, b"", 2), err
        name = b"Ctrl-C" if number == signal.SIGINT else b"SIGTERM"
        assert err.endswith(b"\npcapstall: ended by %s: nothing was written\n" % name)
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
