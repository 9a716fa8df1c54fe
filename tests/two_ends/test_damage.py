"""Damaged captures: cut, thinned out, of one direction, with a clock that was set.

Nobody is blamed for certain for what only a capture did.
"""

import random
from pathlib import Path

import pytest
from two_ends_support import Record, both, check_parts, compared, read, write

from pcapstall.core.errors import UsageError

NAMES = (
    "client-hello-lost", "server-hello-lost", "syn-lost", "syn-ack-lost", "late-accept", "slow-server", "detour",
    "mtu-black-hole", "stalled-client-hello", "host-firewall", "slow-finish", "http-connect",
)  # fmt: skip
"""Folders whose slow connections have one reason each, so that another one is a wrong one."""
STEPS_NS = (10**6, 10**8, 10**9, 5 * 10**9)


def damaged(records: list[Record], how: str, draw: random.Random) -> list[Record]:
    """Some of the records, or with other stamps."""
    count = len(records)
    if how == "dropped":
        gone = {draw.randrange(count) for _ in range(draw.choice((1, 2, 4)))}
        return [record for at, record in enumerate(records) if at not in gone]
    if how == "begun late":
        return records[draw.randrange(count // 2) :]
    if how == "ended early":
        return records[: draw.randrange(count // 2, count)]
    if how == "thinned out":
        return [record for record in records if draw.random() < 0.9]
    if how == "one direction":
        wanted = draw.random() < 0.5
        return [r for r in records if not r.packet.is_tcp or (r.packet.ports[0] > r.packet.ports[1]) == wanted]
    if how == "clock set":
        step_ns = draw.choice((-1, 1)) * draw.choice(STEPS_NS)
        for record in records[draw.randrange(count) :]:
            record.ns += step_ns
    return records


WAYS = ("whole", "dropped", "begun late", "ended early", "thinned out", "one direction", "clock set")


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_capture_blames_nobody_else_for_certain(name: str, tmp_path: Path) -> None:
    expected = {pair.client: pair.side for pair in compared(*both(name)).pairs}
    draw = random.Random(name)
    for number in range(20):
        ways = [draw.choice(WAYS) for _ in range(2)]
        paths = [
            write(tmp_path / f"{end}.pcap", damaged(read(path), way, draw))
            for end, path, way in zip(("client", "server"), both(name), ways, strict=True)
        ]
        try:
            report = compared(*paths)
        except UsageError:
            continue  # nothing is left in common
        check_parts(report)
        for pair in report.pairs:
            if pair.confidence == "high" and pair.client in expected and pair.side is not None:
                assert pair.side == expected[pair.client], f"{number}: {ways}: {pair.verdict}"
            assert (pair.would_settle is None) == (pair.confidence == "high"), f"{number}: {ways}: {pair.verdict}"
