r"""Strings as strace prints them: decoded, mapped by what they are, and printed again in the same way.

``"\26\3\1\2"``, ``"\x16\x03"``; an ellipsis behind the quote says that it was cut and is not the string's. Which call a
string is of is known to `strace_text`.
"""

import ipaddress
import re
from collections.abc import Callable
from typing import Final

from pcapstall.anonymise.free_text import FreeText
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.plain_stream import plain_streams
from pcapstall.anonymise.tls_stream import Stretches, TlsStream
from pcapstall.wire.preamble import find_client_hello, server_tls_start
from pcapstall.wire.tls_names import CLIENT_HELLO, SERVER_HELLO

_ESCAPE: Final = re.compile(rb"\\(?:x(?P<hex>[0-9a-fA-F]{2})|(?P<octal>[0-7]{1,3})|(?P<other>.))", re.DOTALL)
"""A traced program's own output may stand among the lines: ``\\9`` and a cut ``\\x`` are no escapes of strace."""
_NAMED: Final = {b"n": 10, b"t": 9, b"r": 13, b"f": 12, b"v": 11, b"a": 7, b"b": 8, b"e": 27}
_SHORT: Final = {10: b"\\n", 9: b"\\t", 13: b"\\r", 12: b"\\f", 11: b"\\v", 0x22: b'\\"', 0x5C: b"\\\\"}
_ALL_HEX: Final = re.compile(rb"(?:\\x[0-9a-f]{2})+")
_LIBRARY: Final = re.compile(r"(ld-linux[\w-]*|lib[a-z0-9_+]+)[\d.-]*\.so[.\d]*")
_KERNELS: Final = ("/proc/", "/sys/", "/dev/")

KEPT_PATHS: Final = frozenset(
    """
    etc usr lib lib64 libexec lib32 x86_64-linux-gnu aarch64-linux-gnu proc self thread-self sys dev null zero
    urandom random tty pts shm tmp var run log root home opt bin sbin share local locale ssl certs resolv.conf
    hosts passwd nsswitch.conf group ld.so.cache ld.so.preload host.conf gai.conf services protocols localtime
    task status stat statm maps fd net tcp tcp6 cgroup memory.max cpu.max os-release openssl.cnf kernel mm fs
    devices system cpu online possible nscd socket cache python3 zoneinfo locale.alias locale-archive gconv gconv-
    modules gconv-modules.cache meminfo cpuinfo overcommit_memory transparent_hugepage enabled somaxconn core exe
    cmdline environ mounts mountinfo limits comm
    """.split()
)
"""Parts of paths that every system has."""
KEPT_LIBRARIES: Final = frozenset(
    """
    ld-linux-x86-64 ld-linux-aarch64 libc libm libdl librt libz libssl libcrypto libpthread libresolv libnss_files
    libnss_dns libstdc libgcc_s libexpat libffi liblzma libbz2 libzstd libuuid libgnutls libnghttp2 libcurl
    """.split()
)


def decoded(text: bytes) -> bytes:
    """The bytes that ``text``, without its quotes, stands for."""

    def one(match: re.Match[bytes]) -> bytes:
        if match["hex"] is not None:
            return bytes((int(match["hex"], 16),))
        if match["octal"] is not None:
            return bytes((int(match["octal"], 8) & 0xFF,))
        other = match["other"]
        return bytes((_NAMED[other],)) if other in _NAMED else other

    return _ESCAPE.sub(one, text)


def encoded(data: bytes, like: bytes) -> bytes:
    """``data`` as strace prints it, in hexadecimal where ``like`` was."""
    if _ALL_HEX.fullmatch(like) or (not like and b"\\x" in like):
        return b"".join(b"\\x%02x" % byte for byte in data)
    if b"\\x" in like and any(byte > 0x7E for byte in data):
        return b"".join(b"\\x%02x" % byte for byte in data)
    out = []
    for at, byte in enumerate(data):
        if byte in _SHORT:
            out.append(_SHORT[byte])
        elif 0x20 <= byte <= 0x7E:
            out.append(bytes((byte,)))
        else:
            digit_next = at + 1 < len(data) and 0x30 <= data[at + 1] <= 0x39
            out.append((b"\\%03o" if digit_next else b"\\%o") % byte)
    return b"".join(out)


class Strings:
    """Maps strings by what they are."""

    def __init__(self, mapping: Mapping, text: FreeText, known_line: Callable[[bytes], bytes | None]) -> None:
        self._mapping = mapping
        self._text = text
        self._known_line = known_line
        """What becomes of a line of a log that begins like this, if it is one."""

    def buffer(self, data: bytes) -> bytes:
        """What passes through a call that reads or writes, as far as it was shown."""
        if not data:
            return data
        line = self._known_line(data)
        if line is not None:
            return line[: len(data)]
        there = Stretches()
        there.add(0, len(data))
        at = int(find_client_hello(data, 0)) if len(data) > 1 else -1
        if at >= 0:
            said = plain_streams(data[:at], b"", self._mapping)[0]
            stream = TlsStream(self._mapping, True, data, there, ())
            stream.run(at)
            return said + bytes(stream.out[at:])
        stream = TlsStream(self._mapping, False, data, there, ())
        if len(data) > 1 and server_tls_start(data, 0) == 0:
            stream.run(0)
            return bytes(stream.out)
        if data[0] in (CLIENT_HELLO, SERVER_HELLO) and data[1:2] == b"\0" and data[4:5] == b"\3":
            return stream.messages(data)
        return plain_streams(data, b"", self._mapping)[0]

    def address(self, data: bytes) -> bytes:
        """What inet_addr or inet_pton is printed with."""
        try:
            return self._text.address(data.decode("ascii")).encode()
        except UnicodeDecodeError:
            return b"?"

    def packed(self, data: bytes) -> bytes:
        """An address as its bytes (-e abbrev=none, -X raw)."""
        return self._mapping.ip(data) if len(data) in (4, 16) else bytes(len(data))

    def other(self, data: bytes) -> bytes:
        """A path, an argument, a name: parts of paths that every system has stay, and numbers in the kernel's paths."""
        text = data.decode("latin-1")
        kernel = text.startswith(_KERNELS)
        return "/".join(self._part(part, kernel) for part in text.split("/")).encode("latin-1", "replace")

    def _part(self, part: str, kernel: bool) -> str:
        address = self._address(part)
        if address is not None:
            return address
        library = _LIBRARY.fullmatch(part)
        if self._text.hides(part):
            return self._mapping.words(part)
        if part in KEPT_PATHS or (library and library[1].rstrip("-") in KEPT_LIBRARIES):
            return part
        if kernel and part.isdigit():
            return part
        host, colon, port = part.rpartition(":")
        if colon and port.isdigit():
            address = self._address(host)
            if address is not None or self._text.is_host(host.lower()):
                return f"{address or self._mapping.name(host)}:{port}"
        return self._mapping.name(part) if self._text.is_host(part.lower()) else self._mapping.words(part)

    def _address(self, part: str) -> str | None:
        """The other name of an address, perhaps in brackets; None for what is none."""
        bare = part.strip("[]")
        try:
            ipaddress.ip_address(bare)
        except ValueError:
            return None
        other = self._text.address(bare)
        return f"[{other}]" if part.startswith("[") else other
