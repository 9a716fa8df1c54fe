"""Lines of a strace under other names: strings by the call that they belong to, addresses, paths and commands' names.

Numbers, times, descriptors, flags and results stay, and a line stays a line, so that a report cites the same ones. How
strings are printed is in `strace_strings`.
"""

import re
from collections.abc import Callable
from typing import Final

from pcapstall.anonymise.free_text import FreeText
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.strace_strings import Strings, decoded, encoded

_STRING: Final = re.compile(rb'"((?:[^"\\]|\\.)*+)("|\\?$)|<(/(?:[^>\\]|\\.)*+)(>|\\?$)', re.DOTALL)
"""A string, or the path that a descriptor is decorated with."""
_CALL: Final = re.compile(rb"(?:<\.\.\. |(?<![a-z0-9_]))([a-z_][a-z0-9_]*+)(?:\(| resumed>)")
_BUFFERS: Final = re.compile(
    rb"p?(?:read|write)v?(?:64|2)?|recv(?:from|msg|mmsg)?|send(?:to|msg|mmsg)?|getrandom|vmsplice|process_vm_\w+|add_key"
)
_BEFORE_LEN: Final = 100
"""Bytes before a string that say what it is."""
_PATH_NAMES: Final = re.compile(rb"sun_path=@?$")
_ADDRESS: Final = re.compile(rb"(?:inet_addr\(|inet_pton\(\w+, |inet_ntop\(\w+, )$")
_PACKED: Final = re.compile(rb"sin6?_addr=(?:\{\w+=)?$")
_HARMLESS: Final = re.compile(rb"(?:sin6?_port|sin6_flowinfo)=$")
_COMMAND: Final = re.compile(rb"^(\[pid +\d+|\s*\d+)<(.{0,64}?)>(?=[\s\]])")
_DECODED_PID: Final = re.compile(rb"(?<=\d)<([^</\[\]>:]*)>(?=[\] ,)}|]|$)")
_HARDWARE: Final = re.compile(rb"(\b(?:sll_addr|hwaddr|sa_data)=\[)([^\]]*)")
_BYTE: Final = re.compile(rb"0x[0-9a-f]+|\d+")
_DUMP: Final = re.compile(rb"^ \| [0-9a-f]{5}")
_HEXADECIMAL: Final = re.compile(rb"\b[0-9a-f]{2}\b")
_STACK: Final = re.compile(rb"^ > ")
_PREFIX: Final = (
    rb"\s*+(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ strace\[\d+\]: )?"
    rb"(?:(?:\[pid +\d+(?:<.{0,64}?>)?\]|\d+<.{0,64}?>|\d[\d:.T+-]*Z?|\(\+ *[\d.]+\)|\[[0-9a-f?]+\]|\[ *\d+\])\s++)*+"
)
"""Of strace's lines: its journal's head, the thread, the time, the instruction pointer, the call's number."""
_REST: Final = (
    rb"(?:\"(?:[^\"\\]|\\.)*+\"(?:\.\.\.)?|0x[0-9a-f]+|[A-Z][A-Z0-9_]*+(?![a-z])|[a-z_]++=|\(s\)|[^A-Za-z_\"])*"
)
"""The rest of a call within which a program wrote a line of its own."""
_ENDED: Final = re.compile(rb"\) += |<unfinished|<detached|<\.\.\. |---$|\+\+\+$|^strace: |^\s*$|^[%-]|^ \* ")
_WORDS_IN_CALL: Final = re.compile(rb"[A-Za-z_]\w*+\((?!-?\d|\"|NULL|child_stack=|[A-Z_]+[,|]|[\[{])")
"""No beginning of a call, but what programs write of their functions."""
_CUT_WORD: Final = re.compile(
    rb"(?<![A-Za-z0-9_])(?:0x[0-9a-f]+|[A-Z][A-Z0-9_]+(?![A-Za-z])|[a-z_]++[=(])|([A-Za-z][A-Za-z0-9]*+)"
)
"""Behind a call that does not end another program's words may stand; the group has those."""
_KNOWN: Final = re.compile(
    rb"^(?:" + _PREFIX + rb"(?:(?:[a-z_][a-z0-9_]*+|\?\?\?\?)\(|<\.\.\. (?:[a-z_][a-z0-9_]* )?resumed>|"
    rb"--- SIG[A-Z0-9_+]+(?: \(.*\))?(?: \{.*\})?(?: @ .*)? ---$|--- stopped by SIG[A-Z0-9_+]+ ---$|"
    rb"\+\+\+ (?:exited with \d+|killed by SIG[A-Z0-9_+]+(?: \(core dumped\))?|superseded by execve in pid \d+)"
    rb" \+\+\+$)|"
    rb"strace: Process \d+(?:<.{0,64}>)? (?:attached|detached)(?: \(.*\))?$|"
    rb"strace: \[ Process PID=\d+ runs in \w+ bit mode\. \]$|"
    rb"\s*<unfinished \.\.\.>$| \* \d+ bytes in buffer \d+$|"
    + _REST
    + rb"\) += (?:-?\d|0x|\?)|% time +seconds|[- ]+$|\s*$)"
)
"""The exact forms of strace's own lines: a program's errors, which may stand among them, are no such line."""
_SCRIPT: Final = re.compile(rb"^(Script (?:started|done) on [-+: \d]+).*", re.DOTALL)
_SYSLOG: Final = re.compile(rb"^([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )(\S+)( strace\[)")


class StraceText:
    """Maps one line after the other."""

    def __init__(
        self, mapping: Mapping, text: FreeText, known_line: Callable[[bytes], bytes | None] = lambda _data: None
    ) -> None:
        self._mapping = mapping
        self._text = text
        self._strings = Strings(mapping, text, known_line)

    def line(self, line: bytes) -> bytes:
        """One line without its end."""
        if _DUMP.match(line):
            return line[:10] + _HEXADECIMAL.sub(b"00", line[10:58]) + b"." * len(line[58:])
        if _STACK.match(line):
            return b" > " + self._words(line[3:])
        script = _SCRIPT.match(line)
        if script is not None:
            return script[1]
        is_whole = _ENDED.search(line) is not None
        if _KNOWN.search(line) is None or (not is_whole and _WORDS_IN_CALL.match(line)):
            return self._words(line)
        line = _SYSLOG.sub(lambda match: match[1] + self._name(match[2]) + match[3], line)
        line = _COMMAND.sub(lambda match: match[1] + b"<" + self._words(match[2]) + b">", line)
        call = _CALL.search(line)
        is_buffer = call is not None and _BUFFERS.fullmatch(call[1]) is not None
        parts: list[bytes] = []
        at = 0
        for match in _STRING.finditer(line):
            parts.append(self._between(line[at : match.start()], is_whole))
            if match[3] is not None:
                path, device, number = match[3].partition(b"<")
                parts.append(b"<" + _path(self._strings.other(decoded(path))) + device + number + match[4])
            else:
                parts.append(
                    b'"'
                    + self._string(match[1], line[max(match.start() - _BEFORE_LEN, 0) : match.start()], is_buffer)
                    + match[2]
                )
            at = match.end()
        parts.append(self._between(line[at:], is_whole))
        return b"".join(parts)

    def _string(self, text: bytes, before: bytes, is_buffer: bool) -> bytes:
        data = decoded(text)
        if _HARMLESS.search(before):
            return text
        if _ADDRESS.search(before):
            mapped = self._strings.address(data)
        elif _PACKED.search(before):
            mapped = self._strings.packed(data)
        elif is_buffer and not _PATH_NAMES.search(before):
            mapped = self._strings.buffer(data)
        elif before.endswith(b"sa_data="):
            mapped = bytes(len(data))
        else:
            mapped = self._strings.other(data)
        return encoded(mapped, text)

    def _between(self, text: bytes, is_whole: bool) -> bytes:
        """What stands outside of strings: addresses, commands' names, and words that are to be hidden."""
        text = _HARDWARE.sub(lambda match: match[1] + _BYTE.sub(b"0", match[2]), text)
        text = _DECODED_PID.sub(lambda match: b"<" + self._words(match[1]) + b">", text)
        if not is_whole:
            text = _CUT_WORD.sub(lambda match: match[0] if match[1] is None else self._words(match[1]), text)
        return self._text.addresses(text.decode("latin-1")).encode("latin-1")

    def _words(self, text: bytes) -> bytes:
        """Text that is no call: each word of it."""
        return self._mapping.words(text.decode("latin-1")).encode("latin-1")

    def _name(self, text: bytes) -> bytes:
        return self._mapping.name(text.decode("latin-1")).encode("latin-1")


def _path(path: bytes) -> bytes:
    """As strace decorates a descriptor with it: what would end it is escaped."""
    return encoded(path, b"").replace(b"<", b"\\074").replace(b">", b"\\076")
