"""Captures by URL (``s3://bucket/ring/*.pcap``), read by way of fsspec, which is an extra of the package.

Everything that knows a URL is here, but for what one looks like (`opening.is_url`). What a file system raises is told
like any other input that cannot be read; what else goes wrong is let through.
"""

import re
import sys
from errno import ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from pcapstall.capture.interrupting import interrupting
from pcapstall.capture.source import CHUNK, Source, Stop
from pcapstall.core.errors import InputError
from pcapstall.core.extras import install_words
from pcapstall.core.lacking import NO_MEMORY, lack_of

if TYPE_CHECKING:
    from typing import BinaryIO

_INSTALL: Final = install_words("dask")
_BLOCK: Final = 8 << 20
"""Bytes fetched ahead: a request takes longer than many chunks."""


_RAISED: Final = (OSError, ValueError, EOFError, NotImplementedError)
"""By fsspec and what it stands on, where a file cannot be read: network, permissions, a protocol that is not known."""
_RAISED_BY: Final = (
    ("aiohttp.client_exceptions", "ClientError"),
    ("asyncssh.misc", "Error"),
    ("azure.core.exceptions", "AzureError"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("gcsfs.retry", "HttpError"),
    ("google.auth.exceptions", "GoogleAuthError"),
    ("http.client", "HTTPException"),
    ("paramiko.ssh_exception", "SSHException"),
    ("smbprotocol.exceptions", "SMBException"),
)
"""Libraries of single kinds of URLs raise their own: where, and the class that all of them are of."""
_LOG: Final = ("asyncssh", "botocore", "fsspec", "gcsfs", "google", "paramiko", "s3fs")
"""Libraries that log what they also raise; where nobody asked for logs Python prints them, tracebacks and all."""
_HTTP_GONE: Final = (404, 410)
_OTHER: Final = "it needs other credentials"
_REACH: Final = "is the address right, and does the server run?"
_NAME: Final = "is the host's name right?"
_SSH: Final = "is the key in ssh-agent, and the user right? ssh://USER@HOST/..."
_AWS: Final = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_BY_TYPE: Final = {
    "aiohttp.ClientConnectorDNSError": _NAME,
    "aiohttp.ClientConnectorError": _REACH,
    "aiohttp.ClientSSLError": "",
    "asyncssh.HostKeyNotVerifiable": "connect once with ssh, and accept the host's key",
    "asyncssh.PermissionDenied": _SSH,
    "azure.ServiceRequestError": _REACH,
    "botocore.ConnectTimeoutError": _REACH,
    "botocore.EndpointConnectionError": _REACH,
    "botocore.NoCredentialsError": _AWS,
    "botocore.PartialCredentialsError": _AWS,
    "builtins.PermissionError": _OTHER,
    "google.DefaultCredentialsError": "run gcloud auth application-default login",
    "paramiko.AuthenticationException": _SSH,
    "paramiko.NoValidConnectionsError": _REACH,
    "socket.gaierror": _NAME,
}
"""What can be done, by the package and the class of an exception, the nearest of its bases first."""
_BY_STATUS: Final = {401: _OTHER, 403: _OTHER}
"""By a status of HTTP."""
_BY_ERRNO: Final = dict.fromkeys((ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT), _REACH)
_BY_WORDS: Final = (
    (re.compile("Unable to locate credentials"), _AWS),
    # gcsfs: OSError("Forbidden: https://...") and no more
    (re.compile("^Forbidden:|Access ?Denied"), _OTHER),
    # asyncio, for a host of several addresses: OSError("Multiple exceptions: [Errno 111] Connect call failed ...")
    (re.compile("Connect call failed"), _REACH),
)
"""By what is said besides names, where nothing else tells."""


_WITHOUT_QUERY: Final = ("ftp", "sftp", "smb", "ssh")
"""Kinds of URLs of which fsspec takes what follows a question mark for a query all the same."""
_ANY: Final = "\ue000"
"""Stands for it meanwhile; a letter that is nobody's."""


class _Told:
    """Turns what comes out of a file system that cannot read a file into an InputError."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None and lack_of(error) == NO_MEMORY:
            return
        if isinstance(error, ImportError):
            raise InputError(self._path, f"this kind of URL needs a library: {error}") from error
        if isinstance(error, FileNotFoundError):
            # By HTTP fsspec calls everything so that went wrong, and hands the reason on.
            why = error.__cause__
            if not type(why).__module__.startswith("aiohttp.") or getattr(why, "status", 0) in _HTTP_GONE:
                raise InputError(self._path, "there is no such file") from error
            raise InputError(self._path, _reason(why, self._path)) from error
        if isinstance(error, _RAISED) or _is_of_a_library(error):
            raise InputError(self._path, _reason(error, self._path)) from error


def _reason(error: BaseException | None, path: str) -> str:
    """What is said of ``error``, on one line, and what can be done about it."""
    said = " ".join(str(error).split()) or type(error).__name__
    hint = _hint(error, _without_names(said, path))
    return f"cannot be read: {said}" + (f" ({hint})" if hint else "")


def _hint(error: BaseException | None, words: str) -> str:
    """What can be done about ``error``, whose message without names is ``words``; empty when nobody knows."""
    if isinstance(error, PermissionError) and error.__cause__ is not None:
        return _hint(error.__cause__, words) or _OTHER  # what a library says itself tells more
    told = False
    while error is not None:
        for kind in type(error).__mro__:
            hint = _BY_TYPE.get(f"{kind.__module__.partition('.')[0]}.{kind.__name__}")
            if hint is not None:
                return hint
        status: int = _status(error)
        number: Any = getattr(error, "errno", None)
        hint = _BY_STATUS.get(status, "") or _BY_ERRNO.get(number, "")
        if hint:
            return hint
        told = told or status != 0 or number is not None
        error = error.__cause__
    return "" if told else next((hint for pattern, hint in _BY_WORDS if pattern.search(words)), "")


def _status(error: BaseException) -> int:
    """The status of HTTP that ``error`` has; 0 without one.

    As aiohttp's ``status``, azure's ``status_code``, gcsfs's ``code``, or in the ``response`` of botocore and requests.
    """
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        found = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        found = getattr(response, "status_code", None)
    for name in ("status", "status_code", "code"):
        found = found or getattr(error, name, None)
    # asyncssh has reasons of SSH as its code, from 1 on.
    return found if isinstance(found, int) and found >= 100 else 0


def _without_names(said: str, path: str) -> str:
    """``said`` without the URL, its parts and what else looks like a path, which may hold any word."""
    _, _, rest = path.partition("://")
    host, _, name = rest.partition("/")
    address = host.rpartition("@")[2]
    names = {path, rest, host, address, address.partition(":")[0], name, name.rpartition("/")[2]} - {""}
    pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(r"\S*/\S*", "", re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", "", said))


def _is_of_a_library(error: BaseException | None) -> bool:
    """Whether one of `_RAISED_BY` raised it, which is loaded then."""
    return any(
        module in sys.modules and isinstance(error, getattr(sys.modules[module], name, ()))
        for module, name in _RAISED_BY
    )


def _fsspec(path: str) -> Any:
    try:
        import fsspec
    except ImportError as error:
        if lack_of(error):
            raise
        raise InputError(path, f"captures by URL need fsspec: {_INSTALL}") from error
    import logging  # fsspec has loaded it

    for name in _LOG:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
    return fsspec


def _located(path: str) -> tuple[Any, str]:
    """The file system of a URL, and the name there."""
    fsspec = _fsspec(path)
    with _Told(path):
        try:
            system, name = fsspec.core.url_to_fs(path)
        except TypeError as error:  # an argument of the file system's class that the URL does not have
            raise InputError(path, f"this kind of URL tells too little: {error}") from error
    return system, str(name)


def expand_url(path: str) -> list[str]:
    """The files that a URL with a pattern stands for; the URL itself without one."""
    if not any(letter in path for letter in "*?["):
        return [path]
    if path.partition("://")[0] in _WITHOUT_QUERY:
        system, pattern = _located(path.replace("?", _ANY))
        pattern = pattern.replace(_ANY, "?")
    else:
        system, pattern = _located(path)
    # A name of the file system does not tell the host.
    before = path.removesuffix(pattern) if path.endswith(pattern) else None
    with _Told(path):
        names = sorted(map(str, system.glob(pattern)))
    found = [str(system.unstrip_protocol(name)) if before is None else before + name for name in names]
    if not found:
        raise InputError(path, "no file has a name like this")
    return found


class RemoteSource(Source):
    """A file of another file system, from its beginning to its end."""

    def __init__(self, path: str, stop: Stop | None = None) -> None:
        super().__init__(path, stop)
        with interrupting(self.stop_switch, 1):
            system, name = _located(path)
            with _Told(path):
                size = system.size(name)
                # A server of HTTP need not tell.
                self.total_bytes = None if size is None else int(size)
                self._file: BinaryIO | None = system.open(name, "rb", block_size=_BLOCK)

    def _read(self) -> bytes:
        if self._file is None or self.stop_switch.is_reached:
            return b""
        try:
            with interrupting(self.stop_switch, 1), _Told(self.path):
                chunk = self._file.read(CHUNK)
        except KeyboardInterrupt:
            if not self.stopped:
                raise
            return b""
        except InputError as error:
            self.trouble = f"cannot be read on: {error.reason.removeprefix('cannot be read: ')}"
            return b""
        self.bytes_read += len(chunk)
        return chunk

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with _Told(self.path):
                self._file.close()
        self._file = None
