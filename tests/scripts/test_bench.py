"""The benchmark's captures and traces are what a reader expects, and its verdicts read the right way round."""

import importlib.util
import struct
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import dpkt
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module", autouse=True)
def scripts_on_path() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        yield


def load(name: str) -> ModuleType:
    loader = SourceFileLoader(name, str(SCRIPTS / name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import bench_traffic

    path = tmp_path_factory.mktemp("bench") / "small.pcap"
    mix = bench_traffic.Mix(3000, 40, live=10, retransmits=0.5, stalls=0.5, interactive=0.3)
    assert bench_traffic.write(mix, path) == 3000
    return path


def packets(path: Path) -> list[tuple[int, bytes]]:
    data = path.read_bytes()
    found = []
    at = 24
    while at < len(data):
        second, nanosecond, caplen, origlen = struct.unpack_from("<IIII", data, at)
        assert caplen == origlen
        found.append((second * 10**9 + nanosecond, data[at + 16 : at + 16 + caplen]))
        at += 16 + caplen
    return found


def ones_complement(data: bytes) -> int:
    """RFC 1071, word by word; 0 when a checksum inside ``data`` is right."""
    total = 0
    for (word,) in struct.iter_unpack(">H", data + bytes(len(data) & 1)):
        total += word
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def test_packets_are_in_order_and_their_checksums_hold(capture: Path) -> None:
    found = packets(capture)
    times = [ns for ns, _ in found]
    assert times == sorted(times)
    for _, frame in found:
        header, segment = frame[14:34], frame[34:]
        assert len(frame) == 14 + struct.unpack_from(">H", frame, 16)[0]
        assert ones_complement(header) == 0
        pseudo = header[12:20] + struct.pack(">HH", 6, len(segment))
        assert ones_complement(pseudo + segment) == 0


def streams(capture: Path) -> dict[bytes, tuple[bytes, int]]:
    """Each direction's bytes by sequence number, and how many bytes were sent again; a gap fails."""
    first: dict[bytes, int] = {}
    sent: dict[bytes, tuple[bytes, int]] = {}
    for _, frame in packets(capture):
        tcp = dpkt.ethernet.Ethernet(frame).data.data
        key = frame[26:38]
        if tcp.flags & dpkt.tcp.TH_SYN:
            assert key not in first
            first[key], sent[key] = tcp.seq + 1, (b"", 0)
            continue
        data, again = sent[key]
        offset = (tcp.seq - first[key]) & 0xFFFFFFFF
        body = bytes(tcp.data)
        if tcp.flags & dpkt.tcp.TH_FIN:
            assert offset == len(data)
        elif offset == len(data):
            sent[key] = (data + body, again)
        elif body:
            assert data[offset : offset + len(body)] == body
            sent[key] = (data, again + len(body))
    return sent


def test_streams_are_whole_records_with_a_handshake_each(capture: Path) -> None:
    sent = streams(capture)
    assert len(sent) == 80
    kinds = set()
    for data, _ in sent.values():
        records, used = dpkt.ssl.tls_multi_factory(data)
        assert used == len(data)
        first = dpkt.ssl.TLSHandshake(records[0].data)
        kinds.add(type(first.data).__name__)
    assert kinds == {"TLSClientHello", "TLSServerHello"}
    assert sum(again for _, again in sent.values()) > 0


def test_the_same_mix_makes_the_same_bytes(capture: Path, tmp_path: Path) -> None:
    import bench_traffic

    again = tmp_path / "again.pcap"
    bench_traffic.write(bench_traffic.Mix(3000, 40, live=10, retransmits=0.5, stalls=0.5, interactive=0.3), again)
    assert again.read_bytes() == capture.read_bytes()


def test_ten_packets_are_one_flow(tmp_path: Path) -> None:
    import bench_traffic

    path = tmp_path / "ten.pcap"
    assert bench_traffic.write(bench_traffic.MIXES["ten"], path) == 10
    assert len({min(frame[26:38], frame[30:34] + frame[26:30] + frame[36:38] + frame[34:36])
                for _, frame in packets(path)}) == 1  # fmt: skip


def test_a_long_trace_moves_times_and_processes() -> None:
    import bench_strace

    lines = [b"77 1700000000.5 read(3</x>, 1) = 1\n", b"[pid    88] 1700000003.25 close(3) = 0\n", b"+++ exited +++\n"]
    assert list(bench_strace.repeated(lines, 5)) == [
        *lines,
        b"10077 1700000004.5 read(3</x>, 1) = 1\n",
        b"[pid    10088] 1700000007.25 close(3) = 0\n",
    ]
    with pytest.raises(ValueError, match="no line has a stamp"):
        list(bench_strace.repeated([b"read(3) = 1\n"], 5))


def test_each_turn_has_ports_and_randoms_of_its_own() -> None:
    import bench_strace

    lines = [
        b"7 1796023441.000001 connect(3, {sa_family=AF_INET, sin_port=htons(40000), sin_addr=...}, 16) = 0\n",
        b'7 1796023441.000002 write(3, "\\26\\3\\1\\2\\0\\1\\0\\1\\374\\3\\3ab\\"c\\0001"..., 517) = 517\n',
        b"7 1796023441.000003 read(4<TCP:[10.0.0.1:40000->10.0.0.2:443]>, 0x7f, 9) = 0\n",
    ]
    *first, connect, write, read = bench_strace.repeated(lines, 6)
    assert first == lines
    assert b"htons(40101)" in connect
    assert b"10.0.0.1:40101->10.0.0.2:443]" in read
    shown = write[write.index(b"\\374\\3\\3") + 8 : write.index(b'"...')].decode("unicode_escape").encode("latin-1")
    assert shown == bench_strace.random_of(b'ab"c\0' + b"1", 1)
    assert bench_strace.printed(b'\x00\x001\n"\xff8z') == b'\\0\\0001\\n\\"\\3778z'


def test_decorated_lines_are_what_yy_prints() -> None:
    import bench_decorate

    to = b'{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("10.0.0.2")}'
    plain = [
        b'7 1.5 openat(AT_FDCWD, "/etc/hosts", O_RDONLY) = 3 <0.000005>\n',
        b'7 1.6 read(3, "127.0.0.1) = 3 x"..., 4096) = 16 <0.000005>\n',
        b"7 1.7 close(3)        = 0 <0.000005>\n",
        b"7 1.8 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3 <0.000005>\n",
        b"7 1.9 connect(3, %s, 16 <unfinished ...>\n" % to,
        b"8 2.0 epoll_create1(0)  = 4\n",
        b"7 2.1 <... connect resumed>) = 0 <0.200005>\n",
        b"8 2.2 epoll_ctl(4, EPOLL_CTL_ADD, 3, {events=EPOLLIN, data={u32=3, u64=3}}) = 0\n",
        b"8 2.3 --- SIGCHLD {si_signo=SIGCHLD} ---\n",
    ]
    assert [line.decode() for line in bench_decorate.decorated(plain)] == [
        '7 1.5 openat(AT_FDCWD</opt/lab>, "/etc/hosts", O_RDONLY) = 3</etc/hosts> <0.000005>\n',
        '7 1.6 read(3</etc/hosts>, "127.0.0.1) = 3 x"..., 4096) = 16 <0.000005>\n',
        "7 1.7 close(3</etc/hosts>)        = 0 <0.000005>\n",
        "7 1.8 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3<TCP:[60001]> <0.000005>\n",
        f"7 1.9 connect(3<TCP:[60001]>, {to.decode()}, 16 <unfinished ...>\n",
        "8 2.0 epoll_create1(0)  = 4<anon_inode:[eventpoll]>\n",
        "7 2.1 <... connect resumed>) = 0 <0.200005>\n",
        "8 2.2 epoll_ctl(4<anon_inode:[eventpoll]>, EPOLL_CTL_ADD, 3<TCP:[10.0.0.2:33002->10.0.0.2:443]>, "
        "{events=EPOLLIN, data={u32=3, u64=3}}) = 0\n",
        "8 2.3 --- SIGCHLD {si_signo=SIGCHLD} ---\n",
    ]


def test_the_capture_of_a_long_trace_has_its_connections(tmp_path: Path) -> None:
    import bench_stalls
    import bench_strace

    from pcapstall.pipeline import Options, analyse
    from pcapstall.pipeline.ends.given import GivenFile

    folder = SCRIPTS.parent / "captures" / "stalled-client-hello"
    trace, capture = tmp_path / "long.strace", tmp_path / "long.pcap"
    total = 2 * len((folder / "outbound.strace").read_bytes().splitlines())
    bench_strace.write(folder / "outbound.strace", trace, total, decorate=True)
    bench_stalls.write(folder / "capture.pcap", folder / "outbound.strace", capture, total, 22)
    report = analyse([str(capture)], Options(straces=[GivenFile(str(trace), None)])).report
    assert report.totals.flows == 22
    assert [(flow.stalled, flow.reason) for flow in report.flows] == [("ack_ch", "epoll_not_waited")] * 2
    assert report.straces[0].unread == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "at_least", "limit", "expected"),
    [
        (1.0, 4.0, True, 3, "ok   pcapstall: 4.00 times as fast as other"),
        (1.0, 2.0, True, 3, "MISS pcapstall: 2.00 times as fast as other"),
        (1.0, 4.0, False, 0.5, "ok   pcapstall: 0.25 times the time of other"),
        (3.0, 4.0, False, 0.5, "MISS pcapstall: 0.75 times the time of other"),
    ],
)
def test_a_goal_compares_the_right_way_round(
    ours: float, theirs: float, at_least: bool, limit: float, expected: str
) -> None:
    bench = load("bench")
    commands = {
        "pcapstall": bench.Command("pcapstall", [], 1, cpu=[ours], wall=[ours], peak_mb=[10]),
        "other": bench.Command("other", [], 1, cpu=[theirs], wall=[theirs], peak_mb=[10]),
    }
    line = bench.Goal("other", limit, at_least).line(commands)
    assert line is not None
    assert line.startswith(expected)


@pytest.mark.parametrize(
    ("busy", "expected"),
    [
        (False, "ok   pcapstall: 1.60 times as fast as one by the first process's CPU, 1.80 by wall; goal at least"),
        (True, "MISS pcapstall: 1.60 times as fast as one by the first process's CPU, 1.80 by wall, which says little"),
    ],
)
def test_two_processes_are_measured_by_wall_time_where_they_have_both_cores(busy: bool, expected: str) -> None:
    bench = load("bench")
    commands = {
        "pcapstall": bench.Command("pcapstall", [], 1, cpu=[9.0], own=[5.0], wall=[5.0], peak_mb=[10]),
        "one": bench.Command("one", [], 1, cpu=[8.0], own=[8.0], wall=[9.0], peak_mb=[10]),
    }
    line = bench.Goal("one", 1.7, by_wall=True).line(commands, busy)
    assert line is not None
    assert line.startswith(expected)


def test_a_goal_is_that_of_the_command_it_names_and_of_none_that_was_not_run() -> None:
    bench = load("bench")
    commands = {
        "pcapstall": bench.Command("pcapstall", [], 1, cpu=[1.0], wall=[1.0], peak_mb=[10]),
        "one": bench.Command("one", [], 1, cpu=[2.0], wall=[2.0], peak_mb=[10]),
        "other": bench.Command("other", [], 1, cpu=[8.0], wall=[8.0], peak_mb=[10]),
    }
    assert bench.Goal("other", 5, whose="one").line(commands).startswith("MISS one: 4.00 times as fast as other")
    assert bench.Goal("other", 5, whose="two").line(commands) is None


def test_a_measured_command_is_a_process_with_its_memory() -> None:
    bench = load("bench")
    command = bench.Command("python", [sys.executable, "-c", "x = b'1' * 80_000_000"], 1)
    command.run()
    assert command.peak_mb[0] > 80
    assert command.wall[0] > 0
    assert command.own[0] > 0
    with pytest.raises(SystemExit, match="failed"):
        bench.Command("python", [sys.executable, "-c", "raise SystemExit(3)"], 1).run()


@pytest.mark.parametrize("part", ["big", "growth", "strace", "ten"])
def test_a_missed_goal_of_any_part_ends_a_check_with_1(
    part: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = load("bench")
    monkeypatch.setattr(bench, "FOLDER", tmp_path)
    for options, reached, status in (([], False, 0), (["--check"], False, 1), (["--check"], True, 0)):
        monkeypatch.setattr(bench, "measure", lambda *_, reached=reached: reached)
        monkeypatch.setattr(bench, "grow", lambda *_, reached=reached: reached)
        monkeypatch.setattr(sys, "argv", ["bench", part, "--pcapstall", "true", *options])
        assert bench.main() == status
    assert "ends with" not in bench.__doc__, "how it ends is measured, not known before"
