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
_ZONE: Final = r"(?: ?(?:[Zz]|UTC|GMT|CES?T|[ECMP][SD]T|[+-]\d\d(?::?\d\d)?))?"
_TIME: Final = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMP: Final = (
    rf"(?:(?:[A-Z][a-z]{{2}},? )?[A-Z][a-z]{{2}} [ \d]\d (?:\d{{4}} )?{_TIME}(?: \d{{4}})?{_ZONE}"
    rf"|\d{{4}}[-/.]\d\d[-/.]\d\d[Tt ]{_TIME}{_ZONE}|\d{{10}}(?:\.\d{{1,9}})?)"
)
"""May 19 2026 07:24:11, Nov 30 07:24:11.123, 2026-11-30T07:24:11.5Z, 2026-11-30 07:24:11 UTC, 1796023442.083943."""
_HOST: Final = r"[A-Za-z0-9][\w.-]*|(?=[0-9A-Fa-f]*:)[0-9A-Fa-f:.]*[0-9A-Fa-f]"
_LEVEL: Final = (
    r"(?i:trace|debug|info|information|notice|warn|warning|err|error|crit|critical|alert|emerg|fatal|panic|severe|fine"
    r"|log|stdout|stderr)(?![\w.-])"
)
"""What other logs have where syslog has the host."""
_SYSLOG: Final = re.compile(
    rf"^(?P<head><\d{{1,3}}>(?:\d{{1,2}} (?:{_STAMP}|\S+)|{_STAMP}) )(?P<host>{_HOST})(?= )"
    rf"|^(?P<bare>(?:1 )?{_STAMP} )(?!{_LEVEL})(?P<sender>{_HOST})(?= [\w./@()-]+(?:\[\d+\])?:)"
)
"""RFC 3164, RFC 5424 and journald's forms: the stamp, the host; without a priority only before who says it."""


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
            head, host = stamped["head"] or stamped["bare"], stamped["host"] or stamped["sender"]
            text = self._text.line(head) + self._text.host(host) + self._text.line(text[stamped.end() :])
        else:
            text = self._text.line(text)
        mapped = text.encode("utf-8", "surrogateescape")
        if len(self._heads) < _HEADS_MAX and len(line) >= HEAD_LEN:
            self._heads.setdefault(line[:HEAD_LEN], mapped[:_KEPT_LEN])
        return mapped

    def known_line(self, data: bytes) -> bytes | None:
        """What became of the line that begins like ``data``."""
        return self._heads.get(data[:HEAD_LEN]) if len(data) >= HEAD_LEN else None
