"""The life of one end's socket as moments: made, connected or accepted, registered, told of, read, written, closed.

From a window that `strace.recorder` filled in over the flow's life. What the other threads did is in `thread_moments`.
"""

from collections.abc import Sequence
from typing import Final

from pcapstall.core.times import format_span
from pcapstall.match.end_trace import LONG_NS, EndTrace, lines_of, with_length
from pcapstall.match.moments import Moment, fold
from pcapstall.match.wait_moments import wait_moments
from pcapstall.strace.call_names import READS, WRITES
from pcapstall.strace.waits import CTL_ADD, CTL_DEL, mask_text
from pcapstall.strace.window import Control, Note

_ALWAYS: Final = frozenset("connect shutdown close".split())
_BLOCKED: Final = ("EAGAIN", "EWOULDBLOCK")


def call_moments(trace: EndTrace) -> list[Moment]:
    """The moments of the socket's life."""
    made = _made(trace)
    made += [_control(trace, control) for control in trace.life.controls]
    made += wait_moments(trace)
    made += _transfers(trace)
    made += [_other(trace, note) for note in trace.calls() if note.name not in READS | WRITES]
    if any(moment.event.startswith("close") for moment in made):
        for moment in made:
            moment.key = moment.key and not moment.event.startswith("epoll_ctl removes")
    return made


def _made(trace: EndTrace) -> list[Moment]:
    """socket or accept."""
    call = trace.match.socket.created
    if call is None or call.start_ns < 0:
        return []
    accepted = trace.match.socket.listener is not None
    ns = int(call.end_ns if accepted and call.end_ns >= 0 else call.start_ns)
    remark = ""
    if accepted and call.end_ns - call.start_ns > LONG_NS:
        remark = f"waited {format_span(int(call.end_ns - call.start_ns))} for it"
    moment = trace.moment(ns, call.thread, f"{call.name()} = {trace.fd}", *lines_of(call), remark=remark)
    moment.key = accepted
    return [moment]


def _control(trace: EndTrace, control: Control) -> Moment:
    note = control.note
    if control.operation == CTL_DEL:
        event, remark = f"epoll_ctl removes {trace.fd} from set {note.fd}", ""
    else:
        verb = "adds" if control.operation == CTL_ADD else "changes"
        link = "to" if control.operation == CTL_ADD else "in"
        event = f"epoll_ctl {verb} {trace.fd} {link} epoll set {note.fd}"
        remark = mask_text(int(control.mask)) if control.mask >= 0 else ""
    return trace.moment(int(note.start_ns), note.thread, event, *lines_of(note), remark=remark)


def _transfers(trace: EndTrace) -> list[Moment]:
    """Reads and writes: the first of each, the ClientHello's and long ones told, the others folded."""
    made: list[Moment] = []
    rest: list[tuple[Moment, Note]] = []
    told = {True: 0, False: 0}
    for note in trace.calls():
        if note.name not in READS | WRITES:
            continue
        moment = _transfer(trace, note)
        moves = note.returned and note.ret > 0
        writes = note.name in WRITES
        if not moves:
            moment.key = note.errno not in _BLOCKED and not note.open
            made.append(moment)
            continue
        told[writes] += 1
        if told[writes] == 1 or _has_hello(trace, note) or note.end_ns - note.start_ns >= LONG_NS:
            made.append(moment)
        else:
            rest.append((moment, note))
    if len(rest) == 1:
        made.append(rest[0][0])
    elif rest:
        made.append(_folded(rest))
        for moment, _ in rest:
            moment.key = False
        made += [moment for moment, _ in rest]
    return made


def _folded(rest: Sequence[tuple[Moment, Note]]) -> Moment:
    moved = {True: 0, False: 0}
    for _, note in rest:
        moved[note.name in WRITES] += int(note.ret)
    bytes_moved = ", ".join(
        text
        for text in (moved[True] and f"{moved[True]} bytes written", moved[False] and f"{moved[False]} read")
        if text
    )
    return fold([moment for moment, _ in rest], f"reads and writes x {len(rest)}", bytes_moved)


def _has_hello(trace: EndTrace, note: Note) -> bool:
    hello = trace.match.hello
    return hello is not None and note.line == hello.call.line


def _transfer(trace: EndTrace, note: Note) -> Moment:
    writes = note.name in WRITES
    if note.open:
        event = f"{note.name} does not return"
    elif note.errno:
        event = f"{note.name}: {note.errno}"
    elif note.ret == 0 and not writes:
        event = f"{note.name}: end of stream"
    else:
        event = f"{note.name}, {int(note.ret)} bytes"
    remark = "the ClientHello" if _has_hello(trace, note) else ""
    # Bytes are on their way after a write began; they were there when a read returned.
    ns = int(note.start_ns) if writes or note.open or note.end_ns < 0 else int(note.end_ns)
    return trace.moment(ns, note.thread, event, *lines_of(note), remark=with_length(remark, note))


def _other(trace: EndTrace, note: Note) -> Moment:
    """connect, shutdown, close; getsockopt, fcntl and the like are told only among all."""
    event = note.name
    if note.errno:
        event += f": {note.errno}"
    elif note.name in _ALWAYS:
        event += f" {trace.fd}"
    if note.name == "connect" and note.file is not None:
        event = f"connect {trace.fd}" + (f": {note.errno}" if note.errno else "")
    key = note.name in _ALWAYS
    remark = ""
    if note.name == "getsockopt" and b"SO_ERROR" in note.args:
        key, event, remark = True, "getsockopt SO_ERROR", _so_error(trace)
    moment = trace.moment(int(note.start_ns), note.thread, event, *lines_of(note), remark=with_length(remark, note))
    moment.key = key
    return moment


def _so_error(trace: EndTrace) -> str:
    error = int(trace.match.socket.so_error)
    return "0: connected" if error == 0 else f"error {error}" if error > 0 else ""
