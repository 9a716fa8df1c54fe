"""A client or a server as packets and as a strace, by one clock that a test may shift."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from wire_support import MS, PSH, SECOND, START_NS, Road, client_hello, follow

from pcapstall.pipeline.ends.given import GivenFile
from pcapstall.pipeline.ends.straces import Straces
from pcapstall.pipeline.findings import Findings
from pcapstall.report.end_model import StraceReport
from pcapstall.report.flow_model import FlowReport
from pcapstall.wire.segment import ACK

HELLO = client_hello()
SERVER_HELLO = bytes.fromhex("160303002c020000280303") + b"\x11" * 32 + bytes.fromhex("001301000000")
PUSH = ACK | PSH


def shown(data: bytes, size: int = 32) -> str:
    """A buffer as strace prints it."""
    text = "".join(f"\\x{byte:02x}" for byte in data[:size])
    return f'"{text}"' + ("..." if len(data) > size else "")


def line(seconds: float, rest: str, tid: int = 7) -> str:
    """A line of `strace -f -ttt -T`; ``seconds`` after the first packet."""
    ns = START_NS + round(seconds * SECOND)
    return f"{tid} {ns // SECOND}.{ns % SECOND // 1000:06d} {rest}\n"


def strace(calls: Iterable[tuple[float, str]], tid: int = 7) -> str:
    """Lines of one thread."""
    return "".join(line(seconds, rest, tid) for seconds, rest in calls)


def silent_client(seconds: float = 3.0) -> Road:
    """A client that sends its ClientHello so long after the handshake; the round trip takes 10 ms."""
    road = Road()
    acked = road.handshake()
    sent = acked + round(seconds * SECOND)
    road.c(sent, PUSH, HELLO, ack=0)
    road.s(sent + 6 * MS, ACK, ack=len(HELLO))
    road.s(sent + 7 * MS, PUSH, SERVER_HELLO, ack=len(HELLO))
    return road


def slow_server(seconds: float = 3.0) -> Road:
    """A server that answers a ClientHello so late, and whose kernel has it at once."""
    road = Road()
    acked = road.handshake()
    road.c(acked + MS, PUSH, HELLO, ack=0)
    road.s(acked + 6 * MS + MS // 10, ACK, ack=len(HELLO))
    road.s(acked + 6 * MS + round(seconds * SECOND), PUSH, SERVER_HELLO, ack=len(HELLO))
    return road


def told(road: Road, text: str, at: str) -> tuple[FlowReport, StraceReport]:
    """The row of the only flow and what is told of the strace, captured ``at`` client, middle or server."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        path.write_text(text)
        straces = Straces([GivenFile(str(path))])
        collector = follow(road.captured(at))
        for flow in collector.kept:
            collector.outlines.add(flow)
        findings = Findings(collector, at if at != "middle" else "", frozenset(), True, straces)
        findings.settle()
        (row,) = findings.rows(START_NS)
        (report,) = straces.reports()
        straces.close()
        assert not straces.unreadable
        return row, report
