"""Lines of logs under other names: what looks like an address or a host, and the names that packets and straces told.

A log is free text: what nobody knows to be a name stays. Lines keep their number.
"""

import re
from typing import Final

from pcapstall.anonymise.free_text import FreeText
from pcapstall.anonymise.mapping import Mapping

HEAD_LEN: Final = 24
"""Characters by which a line is known again where a strace shows that it was written."""
_HEADS_MAX: Final = 200_000
_KEPT_LEN: Final = 4096
_STAMP: Final = r"(?:<\d+>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|1? ?\d{4}-\d\d-\d\dT\S+) "
_SYSLOG: Final = re.compile(
    rf"^({_STAMP})([A-Za-z0-9][\w.-]*|(?=[0-9A-Fa-f]*:)[0-9A-Fa-f:.]*[0-9A-Fa-f])( [\w./-]+(?:\[\d+\])?:)"
)
"""RFC 3164, RFC 5424 and journald's short-iso: the stamp, the host, and who says it."""


class LogText:
    """Maps one line after the other, and remembers how lines begin."""

    def __init__(self, mapping: Mapping, text: FreeText) -> None:
        self._mapping = mapping
        self._text = text
        self._heads: dict[bytes, bytes] = {}

    def line(self, line: bytes) -> bytes:
        """One line without its end."""
        text = line.decode("utf-8", "surrogateescape")
        stamped = _SYSLOG.match(text)
        if stamped is not None:
            host = self._text.host(stamped[2])
            text = self._text.line(stamped[1]) + host + self._text.line(text[stamped.end(2) :])
        else:
            text = self._text.line(text)
        mapped = text.encode("utf-8", "surrogateescape")
        if len(self._heads) < _HEADS_MAX and len(line) >= HEAD_LEN:
            self._heads.setdefault(line[:HEAD_LEN], mapped[:_KEPT_LEN])
        return mapped

    def known_line(self, data: bytes) -> bytes | None:
        """What became of the line that begins like ``data``."""
        return self._heads.get(data[:HEAD_LEN]) if len(data) >= HEAD_LEN else None
