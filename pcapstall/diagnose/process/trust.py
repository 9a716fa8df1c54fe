"""How much a claim about a process can be trusted: what the strace lacks, and what would show it.

Each limit is a confidence and a wish. A claim is never surer than the least of its limits.
"""

from typing import Final

from pcapstall.diagnose.process.scene import Scene
from pcapstall.diagnose.verdict import LOW, MEDIUM
from pcapstall.match.matching import BY_CONNECT, BY_RANDOM
from pcapstall.strace.leader import EPOCH
from pcapstall.strace.model import Process
from pcapstall.strace.syscalls import EPOLL_WAIT

Limits = list[tuple[str, str]]

POLL_CALLS: Final = "a strace with poll and epoll calls in its filter"
ALL_THREADS: Final = "strace -f, from the start of the process or attached with all its threads"
_SKEW_NS: Final = 1_000_000_000


def limits(scene: Scene) -> Limits:
    """What holds for any claim."""
    found: Limits = []
    coverage = scene.index.coverage
    offset = scene.offset
    if offset is None:
        found.append((MEDIUM, "a strace with the connection's own connect, reads or writes, which show its clock"))
    elif offset.error_ns is None or offset.error_ns * 10 > scene.length_ns:
        found.append((MEDIUM, "a strace and a capture with one clock"))
    elif scene.match.way != BY_RANDOM and scene.index.clock_kind == EPOCH and abs(offset.ns) > _SKEW_NS:
        found.append((MEDIUM, "a strace that shows the bytes (-s 64): the clocks do not agree"))
    if uses_uring(scene):
        found.append((MEDIUM, "a trace of io_uring, which strace does not show (perf trace, bpftrace)"))
    if scene.match.translated:
        found.append((MEDIUM, "a strace that shows the bytes (-s 64): its addresses are not those on the wire"))
    if scene.match.way == BY_CONNECT:
        found.append((MEDIUM, "strace -yy, which shows the socket's addresses"))
    if not coverage.has_durations:
        found.append((MEDIUM, "strace -T, which shows how long each call took"))
    if scene.index.first_ns > scene.begin_ns + scene.pad_ns:
        found.append((MEDIUM, "a strace that begins before the connection"))
    if not scene.case.is_open and 0 <= scene.index.last_ns < scene.end_ns - scene.pad_ns:
        found.append((MEDIUM, "a strace that goes on until the end of the stall"))
    if coverage.trouble or _left_early(scene) or coverage.steps_back or not coverage.ordered:
        found.append((MEDIUM, "a strace without holes and clock steps"))
    if coverage.lost_halves:
        found.append((MEDIUM, "a strace without lost lines: of some calls only one half is in it"))
    if any(process.unfollowed for process in processes(scene)):
        found.append((MEDIUM, ALL_THREADS))
    return found


def set_limits(scene: Scene) -> Limits:
    """What holds when a claim is that nobody waited on a set."""
    found: Limits = []
    if not any(syscall.code == EPOLL_WAIT for syscall in scene.index.syscalls):
        found.append((LOW, POLL_CALLS))
    if not all(_all_threads(process) for process in processes(scene)):
        found.append((MEDIUM, ALL_THREADS))
    if any(_silent(scene, process) for process in processes(scene)) or scene.index.coverage.restarts:
        found.append((MEDIUM, "a strace that shows the calls that threads were in as it was attached"))
    return found


def processes(scene: Scene) -> list[Process]:
    """Those that had the socket."""
    return [process for process in scene.index.processes if process.number in scene.window.processes]


def _left_early(scene: Scene) -> bool:
    """Whether the tracer let go before the stall was over; afterwards is how most traces of an attached process end."""
    return scene.index.coverage.detached_line > 0 and scene.index.last_ns < scene.end_ns - scene.pad_ns


def uses_uring(scene: Scene) -> bool:
    """Whether io_uring may have done the work unseen."""
    return any(process.uring_line for process in processes(scene))


def _all_threads(process: Process) -> bool:
    """Whether the trace shows that all threads of a process are in it."""
    if process.started or process.attached_threads > 0:
        return True
    # Threads made since are followed (-f), and -f attaches to all that there are.
    return any(thread.clone_line for thread in process.threads)


def _silent(scene: Scene, process: Process) -> bool:
    """Whether some thread, there from before, has its first line after the stall began."""
    return (
        any(
            not thread.clone_line and thread.first_ns > scene.begin_ns + scene.pad_ns
            for thread in process.threads
            if thread.first_line
        )
        and not process.started
    )
