"""What a file is, told from its first lines: a strace and how it is wrapped, or something else, refused by its name.

Only a sample is looked at. The layout of the lines themselves (pids, times, -T) is not decided here: each line is read
for what it is.
"""

import re
from typing import Final, NamedTuple

from pcapstall.core.errors import InputError
from pcapstall.core.textfile import NO_TEXT, BytesStream, TextSource
from pcapstall.strace.body import EXIT, REMARK
from pcapstall.strace.feed import LineFeed
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.syscalls import Syscalls
from pcapstall.strace.tasks import Threads
from pcapstall.strace.wrappers import PREFIXES, Wrapper

SAMPLE: Final = 64 * 1024
"""Bytes that are looked at."""
_SAMPLE_LINES: Final = 300
_MAGICS: Final = (
    (b"PERFILE2", "perf.data: use strace, not perf record"),
    *NO_TEXT,
)
_STAMP: Final = rb"(?:\[pid +\d+\] |\d+ +)?(?:[\d:.]+ )?"
_FOREIGN: Final = (
    (re.compile(rb"\[ *\d+: *\d+\] \S+ [EX] \w+\("), "a gVisor (runsc) log"),
    (re.compile(rb"^\s*\d+\.\d+ \( *(?:\d+\.\d+ ms)? *\): "), "the output of perf trace"),
    (
        re.compile(rb"^" + _STAMP + rb"(?:(?:__libc_start_main|SYS_\w+|[\w./+-]+->\w+)\(|\+\+\+ exited \(status )"),
        "an ltrace",
    ),
    (re.compile(rb"\)\s+= -?\d+ \(0x[0-9a-f]+\)$"), "the output of truss"),
    (re.compile(rb"\)\t+ *(?:= |Err#)"), "the output of truss or dtruss"),
    (re.compile(rb"^ *\d+(?: \d+)? \S+ +(?:CALL|RET|NAMI|GIO|PSIG|STRU) "), "the output of kdump"),
    (re.compile(rb"^\d+ \d\d:\d\d:\d\d\.\d+ \d+ \S+ \(\d+[.\d]*\) [<>] \w+"), "the output of sysdig"),
)
_ALSO_SYSCALLS: Final = frozenset(
    b"access alarm arch_prctl brk capget chdir chmod chown clock_gettime faccessat2 fchmodat fork fstatat64 getcwd"
    b" getdents64 getegid geteuid getgid getitimer getpgrp getpriority getrandom getresuid getrlimit getrusage"
    b" getsid gettimeofday getuid getxattr kill link lstat madvise mincore mkdir mlock mmap mmap2 mount mprotect mremap"
    b" msync munmap membarrier prctl prlimit64 ptrace readlink rename rmdir rseq rt_sigaction rt_sigpending"
    b" rt_sigprocmask rt_sigreturn rt_sigtimedwait sched_getaffinity sched_setaffinity sched_yield set_robust_list"
    b" set_tid_address setitimer setpgid setpriority setrlimit setsid setuid sigaltstack sigreturn stat statfs symlink"
    b" sync sysinfo tgkill time timer_create timer_settime tkill umask uname unlink utimensat write shmat shmget"
    b" landlock_create_ruleset process_vm_readv getppid getpgid bpf capset personality ioperm sendfile".split()
)


class Layout(NamedTuple):
    """How the lines of one file are to be read."""

    wrapper: str
    """A key of `wrappers.PREFIXES`; empty for none."""
    quoted_printable: bool
    names_tids: bool
    """Its lines say whose they are. Where not, the name of a `-ff` file does."""

    def make_wrapper(self) -> Wrapper | None:
        """A wrapper for one pass over the file."""
        if not self.wrapper and not self.quoted_printable:
            return None
        return Wrapper(self.wrapper, self.quoted_printable)


class _Trial(NamedTuple):
    """What reading the sample in one way gave."""

    lines: int
    understood: int
    """Calls, halves, signals, exits."""
    remarks: int
    """Without empty lines."""
    known: int
    """Calls of system calls that exist."""
    names_tids: bool


def examine(source: TextSource) -> Layout:
    """The layout of ``source``; InputError when it is no strace."""
    stream = source.open()
    parts: list[bytes] = []
    size = 0
    while size < SAMPLE:
        chunk = stream.read()
        if not chunk:
            break
        parts.append(chunk)
        size += len(chunk)
    if not parts and stream.trouble:
        raise InputError(source.path, f"{source.compression} data cannot be unpacked: {stream.trouble}")
    stream.close()
    return layout_of(b"".join(parts), source.path)


def layout_of(sample: bytes, path: str) -> Layout:
    """The layout of a file that begins with ``sample``; InputError when that is no beginning of a strace."""
    for magic, name in _MAGICS:
        if sample.startswith(magic):
            raise InputError(path, f"is {name}")
    lines = sample.splitlines(keepends=True)
    if len(lines) > 1 and len(sample) >= SAMPLE:
        lines.pop()
    lines = lines[:_SAMPLE_LINES]
    text = b"".join(lines)
    filled = sum(1 for line in lines if line.strip())
    if not filled:
        return Layout("", False, False)
    if text.count(b"\0") > len(text) // 64 + 4:
        raise InputError(path, "is binary data, not the text that strace writes")
    if re.match(rb'\s*(?:\{\s*"|\[\s*\{\s*")', text):
        raise InputError(path, "is JSON, not the text that strace writes")
    for pattern, name in _FOREIGN:
        if 2 * sum(1 for line in lines if pattern.search(line.rstrip(b"\r\n"))) > filled:
            raise InputError(path, f"is {name}, not of strace")
    quoted = text.count(b") =3D ") > text.count(b") = ")
    best = Layout("", quoted, False)
    trial = _try(text, best)
    if trial.understood < 0.7 * filled:
        for name in PREFIXES:
            layout = Layout(name, quoted, False)
            other = _try(text, layout)
            if other.understood > trial.understood * 1.2 + 1:
                best, trial = layout, other
    _refuse_strangers(path, trial, lines)
    return Layout(best.wrapper, best.quoted_printable, trial.names_tids)


def _refuse_strangers(path: str, trial: _Trial, lines: list[bytes]) -> None:
    if not trial.understood and not trial.remarks:
        first = next(line for line in lines if line.strip()).strip()[:80].decode("utf-8", "backslashreplace")
        said = f"is no strace: not one of its first {trial.lines} lines is a system call ({first!r})"
        raise InputError(path, f"{said}; a log is given as --log")
    if trial.understood >= 5 and not trial.known:
        raise InputError(path, "is no strace: it has calls, but none of them is a system call (an ltrace?)")


def _try(text: bytes, layout: Layout) -> _Trial:
    syscalls = Syscalls()
    threads = Threads()
    known_names = set(syscalls.by_name) | _ALSO_SYSCALLS
    reader = StraceReader(LineFeed(BytesStream(text), layout.make_wrapper()), threads, syscalls)
    known = 0
    while reader.next():
        if reader.kind <= EXIT:
            name = reader.syscall.name
            known += name in known_names or name.startswith((b"syscall_", b"?", b"io_", b"mq_", b"timer", b"key"))
    counts = reader.counts
    blank = sum(1 for line in text.splitlines() if not line.strip())
    return _Trial(sum(counts), sum(counts[: EXIT + 1]), counts[REMARK] - blank, known, reader.names_tids)
