"""Whether a tracer was told to leave calls out (-e trace=, -z): from the kinds of calls that never come.

A thread that makes no traced call may then be in one that is not traced.
"""

from typing import Final

from pcapstall.strace import syscalls as sc
from pcapstall.strace.index import Index

_SUNDRY: Final = frozenset(
    b"""brk munmap mprotect madvise mremap gettid getpid getppid getpgrp prctl getrandom rseq set_robust_list
    set_tid_address prlimit64 getrlimit getrusage uname sysinfo sched_yield sched_getaffinity membarrier""".split()
)
"""Every program calls some of these, and nobody who wants to see a few kinds of calls asks for them: they are in none
of the classes %network, %desc, %file, %process, %signal and %ipc of strace(1)."""


def leaves_calls_out(index: Index) -> bool:
    """Whether the tracer seems to have been told to leave calls out: those that block may be among them."""
    if index.coverage.only_successful:
        return True  # a wait that timed out, or was interrupted, has failed
    if not any(syscall.name in _SUNDRY for syscall in index.syscalls):
        return True
    return len(index.threads) > 1 and sc.FUTEXES not in index.coverage.families_seen
