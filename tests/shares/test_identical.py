"""Several processes say what one says, byte for byte.

Slow, since every capture of the tree is read six times: that is what the promise is.
"""

import gzip
from pathlib import Path

import pytest
from shares_support import CAPTURES, FILES, label, make_traffic, report, told

from pcapstall.pipeline import Options, analyse, follow
from pcapstall.pipeline.ends.given import parse_given
from pcapstall.pipeline.follow import AS_MANY_AS_PAY
from pcapstall.pipeline.shares import forked, workers

STALLED = CAPTURES / "stalled-client-hello"


@pytest.mark.parametrize("path", FILES, ids=label)
def test_the_report_of_a_capture(path: Path) -> None:
    assert told(report(path, jobs=2)) == told(report(path, jobs=1))


@pytest.mark.parametrize("path", FILES, ids=label)
def test_every_flow_of_a_capture(path: Path) -> None:
    alone = told(report(path, jobs=1, all_flows=True))
    for jobs in (3, 5):
        assert told(report(path, jobs=jobs, all_flows=True)) == alone


@pytest.mark.parametrize("jobs", [2, 3, 5])
def test_many_flows(traffic: Path, jobs: int) -> None:
    several = report(traffic, jobs=jobs)
    assert not several.alone
    assert told(several) == told(report(traffic))


def test_every_one_of_many_flows(traffic: Path) -> None:
    assert told(report(traffic, jobs=2, all_flows=True)) == told(report(traffic, all_flows=True))


def test_a_ring_of_files(tmp_path: Path, traffic: Path) -> None:
    """Cut in the middle of flows, named in no order, more than are kept open at once."""
    data = traffic.read_bytes()
    cuts = [24]
    at = 24
    while at < len(data):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        if at >= cuts[-1] + len(data) // 6:
            cuts.append(at)
    paths = []
    for number, (begin, end) in enumerate(zip(cuts, [*cuts[1:], len(data)], strict=True)):
        paths.append(tmp_path / f"ring{number}.pcap")
        paths[-1].write_bytes(data[:24] + data[begin:end])
    paths = paths[::2] + paths[1::2]
    assert len(paths) > 4
    several = report(*paths, jobs=3)
    assert not several.alone
    assert told(several) == told(report(*paths))


def test_a_damaged_end_and_a_file_that_is_none(tmp_path: Path, traffic: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(traffic.read_bytes()[:-700])
    none = tmp_path / "none.pcap"
    none.write_text("no capture")
    several = report(cut, none, tmp_path / "absent.pcap", jobs=2)
    assert len(several.unreadable) == 2
    assert told(several) == told(report(cut, none, tmp_path / "absent.pcap"))


def test_a_bound_that_is_reached(traffic: Path) -> None:
    """What has to go then depends on all flows, so that one process does it over."""
    several = report(traffic, jobs=2, max_flows=100)
    assert several.alone == "more flows may have been followed at once than --max-flows allows"
    assert told(several) == told(report(traffic, max_flows=100))
    assert any("closed early" in warning for warning in several.report.warnings)


@pytest.mark.parametrize(
    ("count", "copies", "alone"),
    [(3000, (0, 1, 3, 7), ""), (10_000, (0,), "very many flows were followed at once for few packets")],
)
def test_half_open_flows_are_given_up_at_the_same_moments(
    tmp_path: Path, count: int, copies: tuple[int, ...], alone: str
) -> None:
    """Half an hour of SYNs without an answer. How soon they are looked for depends on how many flows there are."""
    path = make_traffic(tmp_path / "few.pcap", 2000, 100)
    data = path.read_bytes()
    records = [data[:24]]
    at = 24
    second = int.from_bytes(data[24:28], "little")
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        if data[at + 16 + 47] == 2:  # the flags of a SYN: only those are kept, from other ports and with repetitions
            for again in range(count // 100):
                for later in copies:
                    stamp = (second + 180_000 // count * again + later).to_bytes(4, "little")
                    port = (20_000 + again).to_bytes(2, "big")
                    records.append(stamp + data[at + 4 : at + 16 + 34] + port + data[at + 16 + 36 : end])
        at = end
    path.write_bytes(records[0] + b"".join(sorted(records[1:], key=lambda record: record[:4])))
    several = report(path, jobs=2)
    assert several.alone == alone
    assert several.report.totals.flows == count
    assert told(several) == told(report(path))


class TestWhatOneProcessDoes:
    def test_compressed(self, tmp_path: Path, traffic: Path) -> None:
        packed = tmp_path / "traffic.pcap.gz"
        packed.write_bytes(gzip.compress(traffic.read_bytes(), 1))
        assert report(packed, jobs=2).alone == "what is compressed is read by one process"

    def test_straces(self) -> None:
        straces = [parse_given(str(STALLED / "outbound.strace"))]
        analysis = analyse([str(STALLED / "capture.pcap")], Options(jobs=2, straces=straces))
        assert analysis.alone == "straces and logs are matched with all flows by one process"

    def test_a_small_capture_unless_asked_for_more(self, traffic: Path, started: list[int]) -> None:
        assert not report(traffic, jobs=AS_MANY_AS_PAY).alone
        assert not started

    @pytest.mark.parametrize(("of_packets", "expected"), [(0.5, 1), (2, 0)])
    def test_few_packets(
        self, traffic: Path, monkeypatch: pytest.MonkeyPatch, started: list[int], of_packets: float, expected: int
    ) -> None:
        """It is their number that counts, as it is told by the bytes of the files and of the first packets."""
        packets = sum(info.packets for info in report(traffic).report.captures)
        monkeypatch.setattr(follow, "PAYS_PACKETS", int(packets * of_packets))
        monkeypatch.setattr(follow, "RECORD_MIN_LEN", 1)
        monkeypatch.setattr(forked, "cores", lambda: 2)
        assert not report(traffic, jobs=AS_MANY_AS_PAY).alone
        assert len(started) == expected


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The index of each worker that is started."""
    indices: list[int] = []
    start = workers.Workers._start

    def noted(self: workers.Workers, index: int) -> None:
        indices.append(index)
        start(self, index)

    monkeypatch.setattr(workers.Workers, "_start", noted)
    return indices
