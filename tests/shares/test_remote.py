"""Captures by URL, and what is said where that cannot be."""

import gzip
import socket
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest
from shares_support import CAPTURES, told

from pcapstall.capture import remote as by_url
from pcapstall.capture.opening import is_url
from pcapstall.pipeline import Options, analyse

CAPTURE = CAPTURES / "stalled-client-hello" / "capture.pcap"
OTHER = "it needs other credentials"
REACH = "is the address right, and does the server run?"


def library_error(
    module: str, name: str = "Error", base: str = "Base", said: str = "no", **fields: object
) -> BaseException:
    """One as a library of one kind of URLs raises it."""
    parent = type(base, (Exception,), {"__module__": module})
    error: BaseException = type(name, (parent,), {"__module__": module})(said)
    for key, value in fields.items():
        setattr(error, key, value)
    return error


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("path", "url"),
    [("s3://bucket/a.pcap", True), ("ssh://host/a.pcap", True), ("a.pcap", False), ("/a://b.pcap", False),
     ("./x:y.pcap", False), ("://a", False), ("git+ssh://a", True)],
)  # fmt: skip
def test_what_a_url_is(path: str, url: bool) -> None:
    assert is_url(path) == url


def test_without_fsspec_it_is_said_what_to_install() -> None:
    code = (
        "import sys; sys.modules['fsspec'] = None; from pcapstall.__main__ import main;"
        "sys.argv = ['pcapstall', 'report', 's3://bucket/a.pcap']; sys.exit(main())"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stderr == (
        "pcapstall: s3://bucket/a.pcap: captures by URL need fsspec: "
        "pip install '.[dask]' in a clone (from an index 'pcapstall[dask]')\n"
    )


def test_without_dask_it_is_said_what_to_install() -> None:
    code = (
        "import sys; sys.modules['distributed'] = None; from pcapstall.__main__ import main;"
        f"sys.argv = ['pcapstall', 'report', '--engine', 'dask', {str(CAPTURE)!r}]; sys.exit(main())"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == (
        "pcapstall: --engine dask needs Dask: pip install '.[dask]' in a clone (from an index 'pcapstall[dask]')\n"
    )


class TestMemory:
    @pytest.fixture(autouse=True)
    def files(self) -> None:
        fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'pcapstall[dask]'")
        memory = fsspec.filesystem("memory")
        memory.pipe("/ring/a.pcap", CAPTURE.read_bytes())
        memory.pipe("/ring/a.pcap.gz", gzip.compress(CAPTURE.read_bytes()))
        memory.pipe("/ring/none.pcap", b"no capture")

    @pytest.mark.parametrize("url", ["memory://ring/a.pcap", "memory://ring/a.pcap.gz", "memory:///ring/a*.pcap"])
    def test_it_is_read_like_a_file(self, url: str) -> None:
        remote = analyse([url], Options())
        name = remote.report.captures[0].file
        assert name.startswith("memory://")
        assert told(remote).replace(name, str(CAPTURE)) == told(analyse([str(CAPTURE)], Options()))

    def test_a_pattern_keeps_what_stands_before_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The host of ``ssh://user@host/a*.pcap``: a file system does not tell it with a name."""
        system = SimpleNamespace(glob=lambda _: ["/b.pcap", "/a.pcap"], unstrip_protocol="ssh://{}".format)
        monkeypatch.setattr(by_url, "_located", lambda _: (system, "/?.pcap"))
        assert by_url.expand_url("ssh://me@host:22/?.pcap") == [f"ssh://me@host:22/{name}.pcap" for name in "ab"]

    def test_it_takes_one_process(self) -> None:
        assert analyse(["memory://ring/a.pcap"], Options(jobs=2)).alone.startswith("what is not on this host")

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("memory://ring/nosuch.pcap", "there is no such file"),
            ("memory://nosuch/*.pcap", "no file has a name like this"),
            ("memory://ring/none.pcap", "not a capture: text ('no capture')"),
            ("nosuch://ring/a.pcap", "cannot be read: Protocol not known: nosuch"),
        ],
    )
    def test_one_that_cannot_be_read(self, url: str, reason: str) -> None:
        (error,) = analyse([url], Options()).unreadable
        assert error.reason == reason

    def test_one_whose_size_nobody_knows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As that of a web server that sends no Content-Length."""
        from fsspec.implementations.memory import MemoryFileSystem

        monkeypatch.setattr(MemoryFileSystem, "size", lambda _self, _path: None)
        remote = analyse(["memory://ring/a.pcap"], Options())
        assert not remote.unreadable
        assert told(remote).replace("memory://ring/a.pcap", str(CAPTURE)) == told(analyse([str(CAPTURE)], Options()))

    @pytest.mark.parametrize("where", ["size", "open", "glob"])
    @pytest.mark.parametrize("error", [MemoryError(), TypeError("a fault of our own"), KeyError("another")])
    def test_what_is_no_trouble_of_the_file_is_let_through(
        self, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception
    ) -> None:
        self.fail(monkeypatch, where, error)
        with pytest.raises(type(error)):
            analyse(["memory://ring/*.pcap"], Options())

    @pytest.mark.parametrize("where", ["size", "open"])
    def test_what_the_library_of_one_kind_raises_is_told(self, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
        """botocore's are of no kind of Python's own."""

        class BotoCoreError(Exception):
            pass

        module = ModuleType("botocore.exceptions")
        monkeypatch.setattr(module, "BotoCoreError", BotoCoreError, raising=False)
        monkeypatch.setitem(sys.modules, "botocore.exceptions", module)
        self.fail(monkeypatch, where, BotoCoreError("Unable to locate credentials"))
        (error,) = analyse(["memory://ring/a.pcap"], Options()).unreadable
        assert error.reason == (
            "cannot be read: Unable to locate credentials"
            " (set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"
        )

    @pytest.mark.parametrize(
        ("error", "hint"),
        [
            # No word of a name tells anything.
            (OSError("Connection reset by peer while reading https://h/ring-20240403.pcap"), ""),
            (OSError(5, "Input/output error", "b/disconnected.pcap"), ""),
            (OSError("gave up on Access Denied.pcap"), ""),
            (ConnectionResetError(104, "Connection reset by peer"), ""),
            (library_error("aiohttp.client_exceptions", status=500, said="500, message='Forbidden'"), ""),
            (library_error("asyncssh.misc", code=14, said="403 Forbidden"), ""),
            (library_error("aiohttp.client_exceptions", "ClientSSLError", base="ClientConnectorError"), ""),
            # What it is does.
            (library_error("aiohttp.client_exceptions", status=403), OTHER),
            (library_error("gcsfs.retry", code=401), OTHER),
            (library_error("azure.core.exceptions", status_code=403), OTHER),
            (library_error("botocore.exceptions", response={"ResponseMetadata": {"HTTPStatusCode": 403}}), OTHER),
            (library_error("requests.exceptions", response=SimpleNamespace(status_code=403)), OTHER),
            (PermissionError("no"), OTHER),
            (OSError("Forbidden: https://storage.googleapis.com/b/a.pcap\nno"), OTHER),
            (caused(OSError(5, "no"), library_error("botocore.exceptions", status=403)), OTHER),
            (ConnectionRefusedError(111, "Connection refused"), REACH),
            (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 22, 0, 0)"), REACH),
            (library_error("aiohttp.client_exceptions", "ClientConnectorError"), REACH),
            (socket.gaierror(-2, "Name or service not known"), "is the host's name right?"),
            (library_error("asyncssh.misc", "PermissionDenied", code=14),
             "is the key in ssh-agent, and the user right? ssh://USER@HOST/..."),
            (caused(PermissionError("no"), library_error("asyncssh.misc", "PermissionDenied", code=14)),
             "is the key in ssh-agent, and the user right? ssh://USER@HOST/..."),
            (caused(PermissionError("no"), library_error("asyncssh.misc")), OTHER),
            (library_error("google.api_core.exceptions", "PermissionDenied", code=403), OTHER),
        ],
    )  # fmt: skip
    def test_a_hint_goes_by_what_an_exception_is(self, error: BaseException, hint: str) -> None:
        said = by_url._reason(error, "gs://h/Access Denied.pcap")
        assert said == f"cannot be read: {' '.join(str(error).split())}" + (f" ({hint})" if hint else "")

    @staticmethod
    def fail(monkeypatch: pytest.MonkeyPatch, where: str, error: Exception) -> None:
        from fsspec.implementations.memory import MemoryFileSystem

        def failing(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(MemoryFileSystem, where, failing)

    def test_a_url_that_tells_too_little(self) -> None:
        (error,) = analyse(["github://a.pcap"], Options()).unreadable
        assert error.reason.startswith(("this kind of URL tells too little: ", "this kind of URL needs a library: "))
