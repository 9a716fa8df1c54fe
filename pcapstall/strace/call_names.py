"""The names of system calls by what they do to one descriptor, for whoever looks at calls that were kept.

While lines are read, calls are told apart by the codes of `syscalls`.
"""

from typing import Final

WRITES: Final = frozenset(
    "write send writev pwritev pwritev2 sendto sendmsg sendmmsg sendfile sendfile64 splice".split()
)
READS: Final = frozenset("read recv readv preadv preadv2 recvfrom recvmsg recvmmsg".split())
POLLS: Final = frozenset(
    "epoll_wait epoll_pwait epoll_pwait2 epoll_wait_old poll ppoll select pselect6 _newselect".split()
)
IDLE: Final = POLLS | frozenset("futex futex_time64 nanosleep clock_nanosleep clock_nanosleep_time64".split())
"""What a thread is in that has nothing to do."""
ACCEPTS: Final = frozenset(("accept", "accept4"))
