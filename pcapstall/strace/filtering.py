"""Whether a tracer was told to leave calls out (-e trace=): from the kinds of calls that never come.

A thread that makes no traced call may then be in one that is not traced.
"""

from typing import Final

from pcapstall.strace import syscalls as sc
from pcapstall.strace.index import Coverage

_FILTERED: Final = 5
"""So many families of calls without a call, and the tracer was told to leave calls out."""
_EVERYDAY: Final = (sc.TRANSFER, sc.DESCRIPTORS, sc.FILES, sc.PROCESS, sc.FUTEXES, sc.SLEEPING)


def leaves_calls_out(coverage: Coverage) -> bool:
    """Whether the tracer seems to have been told to leave calls out."""
    absent = coverage.families_absent()
    if sc.FUTEXES in absent and sc.SLEEPING in absent:
        # What a thread does in the dark may be just these.
        return True
    return sum(family in absent for family in _EVERYDAY) >= _FILTERED
