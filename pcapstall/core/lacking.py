"""What the system has no more of, where an error says that and nothing else: memory, descriptors of files.

No file is to blame for it, nor pcapstall. What is done then is not known here.
"""

import errno
from typing import Final

NO_MEMORY: Final = "out of memory"
_RUN_OUT: Final = {
    errno.ENOMEM: NO_MEMORY,
    errno.EMFILE: "too many files are open: raise the limit (ulimit -n)",
    errno.ENFILE: "too many files are open on this host",
}
_UNMAPPED: Final = ("failed to map segment from shared object", "annot allocate memory")
"""How the loader (glibc, dl_map_segments) says that there is no room for a library; with another reason behind the
first it is something else, a file system from which nothing may run."""
_UNSAID: Final = ("error return without exception set", "returned NULL without setting an exception")
"""What CPython says where compiled code or a library found no room and did not say so (Objects/call.c, errors.c)."""


def lack_of(error: BaseException) -> str:
    """What ran out, as a sentence begins; empty where ``error`` is about something else."""
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, OSError):
        return _RUN_OUT.get(error.errno or 0, "")
    if isinstance(error, ImportError) and str(error).endswith(_UNMAPPED):
        return NO_MEMORY
    if isinstance(error, SystemError) and str(error).endswith(_UNSAID) and memory_limit() is not None:
        return NO_MEMORY
    return ""


def memory_limit() -> tuple[str, int] | None:
    """The option of ulimit that bounds memory, and how many bytes it allows; None where nobody has set one."""
    import resource

    for option, which in (("-v", resource.RLIMIT_AS), ("-d", resource.RLIMIT_DATA)):
        most, _ = resource.getrlimit(which)
        if most != resource.RLIM_INFINITY:
            return option, most
    return None
