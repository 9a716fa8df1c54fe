"""Lines of a strace under other names: strings by the call that they belong to, addresses, and every word not its own.

Numbers, times, descriptors, flags and results stay, and a line stays a line, so that a report cites the same ones. How
strings are printed is in `strace_strings`, which words are strace's in `strace_words`.
"""

import re
from collections.abc import Callable
from typing import Final

from pcapstall.anonymise.free_text import FreeText
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.notations import MAC, V4, V6
from pcapstall.anonymise.strace_strings import Strings, decoded, encoded
from pcapstall.anonymise.strace_words import MESSAGES, is_straces

_PIECE: Final = re.compile(
    # "a string", or one that was cut
    r'"(?P<string>(?:[^"\\]|\\.)*+)(?P<quote>"|\\?$)'
    # 3</a/path>, and what device it is: 1</dev/pts/0<char 136:0>>
    r"|<(?P<path>/(?:[^<>\\]|\\.)*+)(?P<device><(?:char|block) \d+:\d+(?=>))?(?P<end>>|\\?$)?"
    # 3<TCP:[10.0.0.1:443->10.0.0.2:80]>, 12<a thread>
    r'|(?<=\d)<(?P<owner>(?:->|[^<>"]|"(?:[^"\\]|\\.)*+")*+)>'
    r"|\b(?P<error>E[A-Z0-9_]+) \((?P<message>[^()]*)\)"
    r"|(?P<bytes>\b(?:sll_addr|hwaddr|sa_data)=\[(?:0x[0-9a-f]{1,2}(?!\w)|\d{1,3}(?!\w)|[, ])*)"
    rf"|(?P<address>{MAC}|{V6}|{V4})"
    r"|(?P<word>\w+)|(?P<other>[^\t -~])",
    re.DOTALL | re.ASCII,
)
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]+|\d+", re.ASCII)
_NUMBERED: Final = re.compile(r"\d+T\d+Z?|syscall_0x[0-9a-f]+|(?:SIG)?RT_\d+", re.ASCII)
_KIND: Final = re.compile(
    r"(?:TCP|UDP|UDP-?Lite|RAW|PING|ICMP|SCTP|MPTCP|UNIX)(?:v6)?(?:-[A-Z]+)?|NETLINK|PACKET|VSOCK|ALG|XDP|socket|pipe"
    r"|anon_inode|signalfd|net|mnt|pid|user|uts|ipc|cgroup|time"
)
"""What stands before the colon in what a descriptor is decorated with."""
_INSIDE: Final = frozenset(
    """
    HUP INT QUIT USR1 USR2 TERM CHLD ALRM PIPE
    eventpoll eventfd timerfd signalfd io_uring fanotify inotify pidfd userfaultfd perf_event bpf map prog btf link
    ROUTE USERSOCK FIREWALL SOCK_DIAG NFLOG XFRM SELINUX ISCSI AUDIT FIB_LOOKUP CONNECTOR NETFILTER IP6_FW DNRTMSG
    KOBJECT_UEVENT GENERIC SCSITRANSPORT ECRYPTFS RDMA CRYPTO SMC
    """.split()
)
"""And behind it, but for names and addresses."""
_CALL: Final = re.compile(r"(?:<\.\.\. |(?<![a-z0-9_]))([a-z_][a-z0-9_]*+)(?:\(| resumed>)")
_BUFFERS: Final = re.compile(
    r"p?(?:read|write)v?(?:64|2)?|recv(?:from|msg|mmsg)?|send(?:to|msg|mmsg)?|getrandom|vmsplice|process_vm_\w+|add_key"
)
_BEFORE_LEN: Final = 100
"""Characters before a string that say what it is."""
_PATH_NAMES: Final = re.compile(r"sun_path=@?$")
_ADDRESS: Final = re.compile(r"(?:inet_addr\(|inet_pton\(\w+, |inet_ntop\(\w+, )$")
_PACKED: Final = re.compile(r"sin6?_addr=(?:\{\w+=)?$")
_HARMLESS: Final = re.compile(r"(?:sin6?_port|sin6_flowinfo)=$")
_HTONL: Final = re.compile(r"(?:s_addr=|htonl\()$")
_BYTE: Final = re.compile(r"0x[0-9a-f]+|\d+")
_DUMP: Final = re.compile(rb"( \| [0-9a-f]{5,16} )((?: (?:[0-9a-f]{2}|  )| ){16,18})")
_HEXADECIMAL: Final = re.compile(rb"\b[0-9a-f]{2}\b")
_STACK: Final = re.compile(rb"^ > ")
_CONTEXT: Final = r"\[[^\]:\s]+:[^\]\s]+\]"
_PREFIX: Final = (
    r"\s*+(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ strace\[\d+\]: )?"
    r"(?:(?:\[pid +\d+(?:<.{0,64}?>)?\]|\d+<.{0,64}?>|\d[\d:.T+-]*Z?|\(\+ *[\d.]+\)|\[[0-9a-f?]+\]|\[ *\d+\]"
    rf"|{_CONTEXT})\s++)*+"
)
"""Of strace's lines: its journal's head, the thread, its security context, the time, where it is, the call's number."""
_REST: Final = (
    r"(?:\"(?:[^\"\\]|\\.)*+\"(?:\.\.\.)?|0x[0-9a-f]+|[A-Z][A-Z0-9_]*+(?![a-z])|[a-z_]++=|\(s\)|[^A-Za-z_\"])*"
)
"""The rest of a call within which a program wrote a line of its own."""
_ENDED: Final = re.compile(rb"\) += |<unfinished|<detached|<\.\.\. |---$|\+\+\+$|^strace: |^\s*$|^[%-]|^ \* ")
_WORDS_IN_CALL: Final = re.compile(rb"[A-Za-z_]\w*+\((?!-?\d|\"|NULL|child_stack=|[A-Z_]+[,|]|[\[{])")
"""No beginning of a call, but what programs write of their functions."""
_BEGINNING: Final = re.compile(_PREFIX, re.ASCII)
_KNOWN: Final = re.compile(
    r"(?:" + _PREFIX + r"(?:(?:[a-z_][a-z0-9_]*+|\?\?\?\?)\(|<\.\.\. (?:[a-z_][a-z0-9_]* )?resumed>|"
    r"--- SIG[A-Z0-9_+]+(?: \(.*\))?(?: \{.*\})?(?: @ .*)? ---$|--- stopped by SIG[A-Z0-9_+]+ ---$|"
    r"\+\+\+ (?:exited with \d+|killed by SIG[A-Z0-9_+]+(?: \(core dumped\))?|superseded by execve in pid \d+)"
    r" \+\+\+$)|"
    r"strace: Process \d+(?:<.{0,64}>)? (?:attached|detached)(?: \(.*\))?$|"
    r"strace: \[ Process PID=\d+ runs in \w+ bit mode\. \]$|"
    r"\s*<unfinished \.\.\.>$| \* \d+ bytes in buffer \d+$|"
    + _REST
    + r"\) += (?:-?\d|0x|\?)|% time +seconds|[- ]+$|\s*$)",
    re.ASCII,
)
"""The exact forms of strace's own lines: a program's errors, which may stand among them, are no such line."""
_SCRIPT: Final = re.compile(rb"^(Script (?:started|done) on [-+: \d]+).*", re.DOTALL)
_HEAD: Final = re.compile(
    r"^(?P<stamp>\s*[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )(?P<host>\S+)(?= strace\[)"
    rf"|(?<=\d)<(?P<thread>.{{0,64}}?)>(?=[\s\]])|(?P<context>{_CONTEXT})",
    re.ASCII,
)


class StraceText:
    """Maps one line after the other."""

    def __init__(
        self, mapping: Mapping, text: FreeText, known_line: Callable[[bytes], bytes | None] = lambda _data: None
    ) -> None:
        self._mapping = mapping
        self._strings = Strings(mapping, text, known_line)
        self._text = text

    def line(self, line: bytes) -> bytes:
        """One line without its end."""
        dump = _DUMP.match(line)
        if dump is not None:
            return dump[1] + _HEXADECIMAL.sub(b"00", dump[2]) + b"." * (len(line) - dump.end())
        if _STACK.match(line):
            return b" > " + self._mapping.words(line[3:].decode("latin-1")).encode("ascii")
        script = _SCRIPT.match(line)
        if script is not None:
            return script[1]
        text = line.decode("latin-1")
        if _KNOWN.match(text) is None or (_ENDED.search(line) is None and _WORDS_IN_CALL.match(line)):
            return self._mapping.words(text).encode("ascii")
        beginning = _BEGINNING.match(text)
        at = beginning.end() if beginning is not None else 0
        return (_HEAD.sub(self._head, text[:at]) + self._pieces(text[at:], is_straces)).encode("latin-1")

    def _head(self, match: re.Match[str]) -> str:
        if match["host"] is not None:
            return match["stamp"] + self._mapping.name(match["host"])
        if match["thread"] is not None:
            return f"<{self._mapping.words(match['thread'])}>"
        return self._mapping.words(match["context"])

    def _pieces(self, text: str, is_known: Callable[[str], bool]) -> str:
        """What a line says, of whose words only those stay that are known."""
        call = _CALL.search(text)
        is_buffer = call is not None and _BUFFERS.fullmatch(call[1]) is not None

        def piece(match: re.Match[str]) -> str:
            kind = match.lastgroup
            if kind == "word":
                return self._word(match, is_known)
            if kind == "address":
                return self._text.written(match[0])
            if kind == "quote":
                before = text[max(match.start() - _BEFORE_LEN, 0) : match.start()]
                return f'"{self._string(match["string"], before, is_buffer)}{match["quote"]}'
            if kind in ("path", "device", "end"):
                return f"<{self._path(match['path'])}{match['device'] or ''}{match['end'] or ''}"
            if kind == "owner":
                return f"<{self._owner(match['owner'])}>"
            if kind == "message":
                error, message = match["error"], match["message"]
                error = error if is_known(error) else self._mapping.words(error)
                return f"{error} ({message if message in MESSAGES else self._mapping.words(message)})"
            if kind == "bytes":
                name, equals, values = match[0].partition("=")
                return name + equals + _BYTE.sub("0", values)
            return "x"

        return _PIECE.sub(piece, text)

    def _word(self, match: re.Match[str], is_known: Callable[[str], bool]) -> str:
        word = match[0]
        if _NUMBER.fullmatch(word):
            return self._text.number(
                word, _HTONL.search(match.string[max(match.start() - 8, 0) : match.start()]) is not None
            )
        if (is_known(word) or _NUMBERED.fullmatch(word)) and not self._mapping.hides(word):
            return word
        return self._mapping.words(word)

    def _string(self, text: str, before: str, is_buffer: bool) -> str:
        printed = text.encode("latin-1")
        data = decoded(printed)
        if _HARMLESS.search(before) and len(data) <= 4:
            return text
        if _ADDRESS.search(before):
            mapped = self._strings.address(data)
        elif _PACKED.search(before):
            mapped = self._strings.packed(data)
        elif is_buffer and not _PATH_NAMES.search(before):
            mapped = self._strings.buffer(data)
        elif before.endswith("sa_data="):
            mapped = bytes(len(data))
        else:
            mapped = self._strings.other(data)
        return encoded(mapped, printed).decode("latin-1")

    def _path(self, text: str) -> str:
        """As strace decorates a descriptor with it: what would end it is escaped."""
        mapped = encoded(self._strings.other(decoded(text.encode("latin-1"))), b"").decode("latin-1")
        return mapped.replace("<", "\\074").replace(">", "\\076")

    def _owner(self, text: str) -> str:
        """What a descriptor is, or how a thread is called."""
        kind, colon, rest = text.partition(":")
        if colon and _KIND.fullmatch(kind) and not self._mapping.hides(kind):
            return kind + colon + self._pieces(rest, _INSIDE.__contains__)
        return self._mapping.words(text)
