"""Every line format of strace 4 to 6, quoted as strace printed it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strace_support import read_strace

from pcapstall.strace.ending import Ending
from pcapstall.strace.leader import ELAPSED, EPOCH, RELATIVE, TIME_OF_DAY
from pcapstall.strace.walk import find_close
from pcapstall.strace.wrappers import Wrapper

CLOSE = "close(3) = 0"


@pytest.mark.parametrize(
    ("line", "tid", "kind", "ns"),
    [
        ("1796007037.109831 " + CLOSE, 0, EPOCH, 1796007037109831000),
        ("326   " + CLOSE, 326, 0, -1),
        ("319   1796007110.849557 " + CLOSE, 319, EPOCH, 1796007110849557000),
        ("[pid 31078] 02:50:38.025036 " + CLOSE, 31078, TIME_OF_DAY, 10238025036000),
        ("[pid  6843] 1796007328.745023 " + CLOSE, 6843, EPOCH, 1796007328745023000),
        ("[pid 31115<fmt>] " + CLOSE, 31115, 0, -1),
        ("30860<fmt> 1796007032.305333 " + CLOSE, 30860, EPOCH, 1796007032305333000),
        ("30860<my app/0:1> 02:50:26 " + CLOSE, 30860, TIME_OF_DAY, 10226000000000),
        ("02:50:26.532521 " + CLOSE, 0, TIME_OF_DAY, 10226532521000),
        ("30725 1796007028.306938036 " + CLOSE, 30725, EPOCH, 1796007028306938036),
        ("30737 02:50:28.580 " + CLOSE, 30737, TIME_OF_DAY, 10228580000000),
        ("30748 1796007028 " + CLOSE, 30748, EPOCH, 1796007028000000000),
        ("1796007028 " + CLOSE, 0, EPOCH, 1796007028000000000),
        ("30691      0.000045 " + CLOSE, 30691, RELATIVE, 45000),
        ("     0.000045 " + CLOSE, 0, RELATIVE, 45000),
        ("02:50:27.749945 (+     0.000095) " + CLOSE, 0, TIME_OF_DAY, 10227749945000),
        ("30842 1796007031.725489 [  59] " + CLOSE, 30842, EPOCH, 1796007031725489000),
        ("30850 1796007032.017267 [00007f9639ed1ad7] " + CLOSE, 30850, EPOCH, 1796007032017267000),
        ("[  42] " + CLOSE, 0, 0, -1),
        ("[00007fb293f927c0] " + CLOSE, 0, 0, -1),
        ("[????????????????] " + CLOSE, 0, 0, -1),
        ("123 [unconfined_u:r:t:s0-s0:c0.c1023] 1796007028.5 " + CLOSE, 123, EPOCH, 1796007028500000000),
        ("35.042992 " + CLOSE, 0, ELAPSED, 35042992000),
        ("35.042992 [pid  6843] " + CLOSE, 6843, ELAPSED, 35042992000),
    ],
)
def test_leader(read, line: str, tid: int, kind: int, ns: int) -> None:
    reading = read(line + "\n")
    (only,) = reading.lines
    assert (only.kind, only.tid, only.name, only.args, only.ret) == ("call", tid, "close", "3", 0)
    assert (reading.reader.clock.kind, only.time_ns) == (kind, ns)


def test_command_names_are_kept(read) -> None:
    reading = read("30860<my app> 1796007032.3 close(3) = 0\n[pid 31115<fm:t>] close(3) = 0\n")
    assert [line.comm for line in reading.lines] == ["my app", "fm:t"]


@pytest.mark.parametrize(
    ("line", "args", "ret", "errno", "duration"),
    [
        ("close(3)                = 0 <0.000015>", "3", 0, "", 15000),
        ("listen(5, 4)    = 0", "5, 4", 0, "", -1),
        ('read(0, "g", 1) = 1 <1>', '0, "g", 1', 1, "", 1_000_000_000),
        ('read(0, "g", 1) = 1 <0.001>', '0, "g", 1', 1, "", 1_000_000),
        ('read(0, "g", 1) = 1 <0.475310901>', '0, "g", 1', 1, "", 475310901),
        ('write(1, ") = 5", 5)    = 5', '1, ") = 5", 5', 5, "", -1),
        ('write(1, " <unfinished ...>", 17) = 17', '1, " <unfinished ...>", 17', 17, "", -1),
        (r'write(1, "a\" = 5) \\", 9) = -1 EPIPE (Broken pipe)', r'1, "a\" = 5) \\", 9', -1, "EPIPE", -1),
        ("connect(6, 0x7f, 16) = -1 EINPROGRESS (Die Operation ist jetzt in Bearbeitung)", "6, 0x7f, 16", -1,
         "EINPROGRESS", -1),
        ("poll([], 0, 5) = ? ERESTART_RESTARTBLOCK (Interrupted by signal) <0.020006>", "[], 0, 5", None,
         "ERESTART_RESTARTBLOCK", 20006000),
        ("exit_group(0)           = ?", "0", None, "", -1),
        ("????( <unavailable>)= ? <unavailable>", " <unavailable>", None, "", -1),
        ("syscall_0x270f(0x1, 0x2) = -1 ENOSYS (Function not implemented)", "0x1, 0x2", -1, "ENOSYS", -1),
        ("mmap(NULL, 4096, 0x3, 0x22, -1, 0) = 0x7f9e33e69000", "NULL, 4096, 0x3, 0x22, -1, 0", 0x7F9E33E69000, "", -1),
        ("connect(3, 0x1, 16) = -1 EINPROGRESS (Operation now in progress) (DELAYED)", "3, 0x1, 16", -1,
         "EINPROGRESS", -1),
        ('execve("./fmt", ["./fmt"], 0x7ffe /* 35 ) = vars */) = 0', '"./fmt", ["./fmt"], 0x7ffe /* 35 ) = vars */', 0,
         "", -1),
        (r"close(5</tmp/a) = b\74c\76>) = 0", r"5</tmp/a) = b\74c\76>", 0, "", -1),
        ("close(5</dev/null<char 1:3>>) = 0", "5</dev/null<char 1:3>>", 0, "", -1),
        ("close(5</tmp/x>(deleted)) = 0", "5</tmp/x>(deleted)", 0, "", -1),
        ("close(6<TCP:[127.0.0.1:42->127.0.0.1:47739]>) = 0", "6<TCP:[127.0.0.1:42->127.0.0.1:47739]>", 0, "", -1),
        ('close(6<UNIX:[1->2,"/run/)x"]>) = 0', '6<UNIX:[1->2,"/run/)x"]>', 0, "", -1),
        ("capget({}, {effective=1<<CAP_CHOWN|1<<CAP_KILL}) = 0", "{}, {effective=1<<CAP_CHOWN|1<<CAP_KILL}", 0, "", -1),
        ("openat(AT_FDCWD</a>, \"b\", 0) = 3</a/b = c> <0.000096>", 'AT_FDCWD</a>, "b", 0', 3, "", 96000),
        ("restart_syscall(<... resuming interrupted read ...>) = 0 <1>", "<... resuming interrupted read ...>", 0, "",
         1_000_000_000),
        ("clone(child_stack=NULL) = 3 /* 32085 in strace's PID NS */", "child_stack=NULL", 3, "", -1),
        (r'write(1, "after\n", 6after\n) = 6', r'1, "after\n", 6after\n', 6, "", -1),
    ],
)  # fmt: skip
def test_call(read, line: str, args: str, ret: int | None, errno: str, duration: int) -> None:
    (only,) = read(line + "\n").lines
    assert (only.kind, only.args, only.ret, only.errno, only.duration_ns) == ("call", args, ret, errno, duration)


def test_halves_are_joined_per_thread(read) -> None:
    reading = read(
        "30679 1796007027.232656 read(4,  <unfinished ...>\n"
        '30681 1796007027.341659 write(4, "\\1", 8 <unfinished ...>\n'
        '30679 1796007027.341884 <... read resumed>"\\1\\0", 8) = 8 <0.109199>\n'
        "30681 1796007027.341954 <... write resumed>) = 8 <0.000153>\n"
    )
    assert reading.counts == {"unfinished": 2, "resumed": 2}
    first, second = reading.calls
    assert (first.tid, first.args, first.ret) == (30679, '4, "\\1\\0", 8', 8)
    assert (first.start_ns, first.end_ns, first.duration_ns) == (1796007027232656000, 1796007027341884000, 109199000)
    assert (second.tid, second.args, second.ret) == (30681, '4, "\\1", 8', 8)


def test_halves_of_old_straces(read) -> None:
    # strace before 5.0: a space after "resumed>", blanks at the end of lines
    reading = read("1 read(4,  <unfinished ...>\n2 close(5 <unfinished ...>\n1 <... read resumed> \"a\", 1) = 1\n"
                   "2 <... close resumed> )      = 0 \n")  # fmt: skip
    assert [(line.args, line.ret) for line in reading.calls] == [('4,  "a", 1', 1), ("5 ", 0)]


def test_a_second_half_alone(read) -> None:
    (only,) = read('7 10.5 <... read resumed>"y", 1) = 1 <0.25>\n').lines
    assert (only.kind, only.start_ns, only.end_ns, only.ret) == ("resumed", 10_250_000_000, 10_500_000_000, 1)


def test_without_t_the_halves_tell_the_duration(read) -> None:
    _, second = read("7 1796007027.5 pause( <unfinished ...>\n7 1796007029.0 <... pause resumed>) = ?\n").lines
    assert (second.start_ns, second.end_ns, second.duration_ns) == (
        1796007027500000000,
        1796007029000000000,
        1500000000,
    )


def test_brackets_closed_in_the_second_half(read) -> None:
    _, second = read("7 accept4(3, 0x7f, [128 <unfinished ...>\n7 <... accept4 resumed> => 16], 0) = 7\n").lines
    assert (second.args, second.ret) == ("3, 0x7f, [128 => 16], 0", 7)


def test_second_half_without_its_mark(read) -> None:
    # strace 6.1 -z: the mark was printed into what the filter dropped
    reading = read(
        "30882 1796007033.164841 wait4(30903,  <unfinished ...>\n"
        "[{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL}], 0, NULL) = 30903\n"
    )
    assert reading.counts == {"unfinished": 1, "resumed": 1}
    assert (reading.lines[1].args, reading.lines[1].ret) == (
        "30903, [{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL}], 0, NULL",
        30903,
    )


def test_detached_and_changed_pid(read) -> None:
    reading = read(
        "10 execve(\"/bin/x\", [\"x\"], 0x1 <pid changed to 9 ...>\n9 <... execve resumed>) = 0\n"
        "9 epoll_wait(3,  <detached ...>\n"
    )  # fmt: skip
    assert [(line.kind, line.args) for line in reading.lines[1:]] == [
        ("resumed", '"/bin/x", ["x"], 0x1'),
        ("unfinished", "3, "),
    ]
    assert reading.reader.detached_ref == 3


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("7 --- SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL} ---", "signal"),
        ("--- stopped by SIGSTOP ---", "signal"),
        ("--- SIGCHLD (Child exited) @ 0 (0) ---", "signal"),
        ("^C--- SIGINT {si_signo=SIGINT, si_code=SI_KERNEL} ---", "signal"),
        ("7 +++ exited with 0 +++", "exit"),
        ("[pid 31081] 02:50:38.233196 +++ killed by SIGKILL (core dumped) +++", "exit"),
        ("+++ superseded by execve in pid 12 +++", "exit"),
        ("strace: Process 31078 attached", "remark"),
        ("/usr/bin/strace: Process 31078 attached with 3 threads", "remark"),
        ("^Cstrace: Process 123 detached", "remark"),
        ("Process 4578 attached - interrupt to quit", "remark"),
        ("Process 7498 detached", "remark"),
        ("[ Process PID=1 runs in 32 bit mode. ]", "remark"),
        ("Script started on 2026-11-30 02:56:17+00:00 [COMMAND=\"strace\"]", "remark"),
        ("", "remark"),
        (" > libc.so.6(__connect+0x10) [0x10a7c0]", "continuation"),
        (" | 00000  16 03 01 02 00                                    .....            |", "continuation"),
        (" * 5 bytes in buffer 0", "continuation"),
        ("Hello from the tracee", "unread"),
    ],
)  # fmt: skip
def test_other_lines(read, line: str, kind: str) -> None:
    assert [only.kind for only in read(line + "\n").lines] == [kind]


def test_a_table_of_c_is_one_remark_after_the_other(read) -> None:
    text = (
        "% time     seconds  usecs/call     calls    errors syscall\n"
        "------ ----------- ----------- --------- --------- ----------------\n"
        " 33.92    0.000774         387         2           clone\n"
        "  8.02    0.000183          36         5         1 openat\n"
        "------ ----------- ----------- --------- --------- ----------------\n"
        "100.00    0.002282           9       242        15 total\n"
        "nonsense\n"
    )
    assert read(text).counts == {"remark": 6, "unread": 1}


def test_the_first_unread_line_is_kept(read) -> None:
    reader = read("close(3) = 0\nhello\nworld\n").reader
    assert (reader.first_unread_line, reader.first_unread) == (2, b"hello")


@pytest.mark.parametrize(
    ("text", "counts", "args"),
    [
        # strace's own words in the middle of its line, twice as seen in strace 6.1
        ("read(4, strace: Process 31078 attached\n <unfinished ...>\n", {"unfinished": 1, "continuation": 1}, "4, "),
        (
            "clone(flags=SIGCHLDstrace: Process 31119 attached\n, child_tidptr=0x7f) = 31119\n",
            {"call": 1, "continuation": 1},
            "flags=SIGCHLD, child_tidptr=0x7f",
        ),
        (
            "clone(flags=SIGCHLD/usr/bin/strace: Process 9 attached\n) = 9\n",
            {"call": 1, "continuation": 1},
            "flags=SIGCHLD",
        ),
        ('write(1, "after\\n", 6after\n) = 6\n', {"call": 1, "continuation": 1}, '1, "after\\n", 6after'),
        # a terminal of 40 columns
        (
            'connect(3, {sa_family=AF_INET, sin_port=\nhtons(443), sin_addr=inet_addr("1.2.3.4"\n)}, 16) = 0\n',
            {"call": 1, "continuation": 2},
            '3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("1.2.3.4")}, 16',
        ),
        ('write(1, "abc\ndef) = 5", 11) = 11\n', {"call": 1, "continuation": 1}, '1, "abcdef) = 5", 11'),
    ],
)
def test_broken_lines_are_joined(read, text: str, counts: dict[str, int], args: str) -> None:
    reading = read(text)
    assert reading.counts == counts
    assert reading.lines[0].args == args
    assert reading.lines[0].line == 1


def test_a_call_that_never_ends_is_unread_and_takes_nothing_with_it(read) -> None:
    reading = read('7 1.5 read(3, "abc\n7 1.6 close(3) = 0\n')
    assert [(line.kind, line.line) for line in reading.lines] == [("unread", 1), ("call", 2)]


def test_a_file_cut_in_a_call_ends_in_a_first_half(read) -> None:
    reading = read("7 1796007027.5 epoll_wait(3, ")
    assert [(line.kind, line.name) for line in reading.lines] == [("unfinished", "epoll_wait")]
    assert reading.lines[0].tid == 7


def test_crlf_and_interrupts(read) -> None:
    reading = read(b"close(3) = 0\r\n^Cclose(4) = 0\r\r\n")
    assert [(line.kind, line.args) for line in reading.lines] == [("call", "3"), ("call", "4")]


def test_terminal_lines_without_a_number_are_the_first_tasks(read) -> None:
    reading = read(
        "getpid() = 7\n"
        "read(4, strace: Process 9 attached\n <unfinished ...>\n"
        "[pid     9] close(3) = 0\n"
        "[pid     7] <... read resumed>\"\", 1) = 0\n"
        "[pid     9] +++ exited with 0 +++\n"
        "close(5) = 0\n"
    )  # fmt: skip
    assert [(line.tid, line.kind) for line in reading.lines[-2:]] == [(9, "exit"), (7, "call")]
    root = reading.threads.by_tid[7]
    assert [thread.tid for thread in reading.threads.all] == [7, 9]
    assert reading.threads.all[0] is root


def test_terminal_lines_when_the_first_task_is_gone(read) -> None:
    reading = read(
        "strace: Process 7 attached\nfork() = 9\nstrace: Process 9 attached\n[pid 7] close(3) = 0\n"
        "[pid 7] +++ exited with 0 +++\nclose(5) = 0\n"
    )
    assert reading.lines[-1].tid == 9


def test_a_number_that_is_used_again_is_another_thread(read) -> None:
    reading = read("7 close(3) = 0\n7 +++ exited with 0 +++\n7 close(3) = 0\n")
    assert [thread.tid for thread in reading.threads.all] == [7, 7]


def test_a_very_long_line_is_cut_and_the_next_is_whole(read, monkeypatch) -> None:
    long = b'7 write(1, "' + b"a" * (9 * 1024 * 1024) + b'", 9) = 9\n7 close(3) = 0\n'
    reading = read(long)
    assert [line.kind for line in reading.lines] == ["unread", "call"]
    assert reading.lines[1].line == 2


def test_syslog(read) -> None:
    text = "Nov 30 02:50:26 host strace[4304]: write(2, \":\", 1) = 1\nstrace[4304]: close(3) = 0\n"  # fmt: skip
    reading = read(text, wrapper=Wrapper("syslog", False))
    assert [line.name for line in reading.calls] == ["write", "close"]


def test_a_log_shippers_stamp_counts_where_strace_printed_none(read) -> None:
    text = "2026-11-30T02:50:26.123456789Z stderr F close(3) = 0\n"
    (only,) = read(text, wrapper=Wrapper("container log", False)).lines
    assert only.time_ns == 1796007026123456789
    text = "2026-11-30T02:50:26.123456789Z stderr F 1796007000.5 close(3) = 0\n"
    (only,) = read(text, wrapper=Wrapper("container log", False)).lines
    assert only.time_ns == 1796007000500000000


def test_quoted_printable(read) -> None:
    reading = read("close(3) =3D 0\nwrite(1, \"a=\nb\", 2) =3D 2\n", wrapper=Wrapper("", True))  # fmt: skip
    assert [(line.args, line.ret, line.line) for line in reading.calls] == [("3", 0, 1), ('1, "ab", 2', 2, 2)]
    assert reading.counts == {"call": 2, "continuation": 1}


PIECES = st.sampled_from(
    [
        "7 ", "[pid  8] ", "1796007027.5 ", "02:50:26.1 ", "     0.000045 ", "(+     0.000095) ", "[  42] ", "read(3, ",
        '"abc', '"', ") = 5", " <0.000039>", " <unfinished ...>", "<... read resumed>", "<detached ...>", "\n", "\r\n",
        "3<TCP:[1:2->3:4]>", "</a", "/* x", "*/", "{", "}", "[", "]", "=", "\\", "--- SIG {} ---", "+++ exited +++",
        "strace: Process 9 attached", "close(3) = 0", " > x", "????(", " ", ",", "<", ">", "-", "1<<2", "=3D", "é",
        "^C",
        "<pid changed to 9 ...>", "% time     seconds", "Script started",
    ]
)  # fmt: skip
LINES = st.lists(PIECES, max_size=60).map("".join).map(str.encode)


@given(st.one_of(LINES, st.binary(max_size=400)))
def test_any_text_is_accounted_for(data: bytes) -> None:
    reading = read_strace(data)
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    assert sum(reading.counts.values()) == lines
    assert len(reading.lines) <= lines


@given(LINES, st.integers(1, 9))
def test_chunks_make_no_difference(data: bytes, chunk_size: int) -> None:
    assert read_strace(data, chunk_size=chunk_size).lines == read_strace(data).lines


@given(LINES, st.booleans(), st.sampled_from(["", "syslog", "stamped log", "ts", "quoted mail"]))
def test_wrapped_text_is_accounted_for(data: bytes, quoted: bool, name: str) -> None:
    reading = read_strace(data, wrapper=Wrapper(name, quoted))
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    assert sum(reading.counts.values()) == lines


def test_every_line_of_the_lab_is_read(lab) -> None:
    files = [path for path in sorted(lab.glob("formats/*")) if path.suffix != ".c"]
    files += sorted(lab.glob("*/*.strace*"))
    assert len(files) > 100
    for path in files:
        reading = read_strace(path.read_bytes())
        assert "unread" not in reading.counts, f"{path.name}:{reading.reader.first_unread_line}"
        assert sum(reading.counts.values()) == path.read_bytes().count(b"\n")


def test_epoch_lab_files_agree_with_awk_like_reading(lab) -> None:
    """The fields of plain `-f -ttt -T` lines, by a regular expression that only suits those."""
    pattern = re.compile(r"(\d+) +(\d+\.\d{6}) (\w+)\(.*\) += (-?\d+|\?|0x[0-9a-f]+)\b.*?(?: <([\d.]+)>)?$")
    checked = 0
    for path in sorted(lab.glob("[b-n]*/client.strace")):
        text = path.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            match = pattern.fullmatch(line)
            if not match or "resumed" in line or "-y" in path.name:
                continue
            (only,) = read_strace(line + "\n").lines
            assert only.tid == int(match[1]), f"{path}:{number}"
            assert only.time_ns == int(match[2].replace(".", "")) * 1000
            assert only.name == match[3]
            assert only.ret == (None if match[4] == "?" else int(match[4], 0))
            assert only.duration_ns == (int(match[5].replace(".", "")) * 1000 if match[5] else -1)
            checked += 1
    assert checked > 1000


@pytest.mark.parametrize(
    ("line", "args", "result"),
    [
        ('openat(3</a/b = 3<c>, "x = 5", 0) = 6</tmp/y = 7z>', '3</a/b = 3<c>, "x = 5", 0', "6</tmp/y = 7z>"),
        ('read(3, "=") = -1 EAGAIN (Resource (temporarily) unavailable)', '3, "="', None),
        ('read(3, "a) = -1 EPERM (b)"..., 40) = 40', '3, "a) = -1 EPERM (b)"..., 40', "40"),
        ("mmap(NULL, 8) = 0x7f9e33e69000", "NULL, 8", "0x7f9e33e69000"),
        ("brk(0x1) = 0xzz", "0x1", "0xzz"),
        ('readlink("/x", "y = 3</z>", 9) = 9', '"/x", "y = 3</z>", 9', "9"),
        ("getpid() = 17", "", "17"),
        ("f() = -1 ENOSYS (x)", "", "-1 ENOSYS (x)"),
    ],
)
def test_endings_are_read_alike_from_behind_and_from_the_front(line: str, args: str, result: str | None) -> None:
    """What `_from_behind` takes for an ending is the one that walking over the arguments finds."""
    buf = line.encode()
    ending = Ending()
    assert ending.read_ending(buf, buf.index(b"(") + 1, len(buf))
    assert buf[buf.index(b"(") + 1 : ending.args_end].decode() == args
    if result is not None:
        assert buf[ending.result_start : ending.result_end].decode() == result
    close = find_close(buf, buf.index(b"(") + 1, len(buf))
    assert close == ending.args_end


def test_a_line_of_another_second_or_thread_is_read_anew(read) -> None:
    """The beginning of the line before is only a shortcut."""
    text = "".join(
        f"{pid} {second}.{fraction} close(3) = 0\n"
        for pid in (7, 8, 77, 7)
        for second in (1796007028, 1796007029)
        for fraction in ("000001", "9", "123456789")
    )
    reading = read(text + "7 1796007029.5 [  3] close(3) = 0\n7 1796007029.6 close(3) = 0\n1796007029.7 close(3) = 0\n")
    expected = [
        (pid, second * 10**9 + int(fraction.ljust(9, "0")))
        for pid in (7, 8, 77, 7)
        for second in (1796007028, 1796007029)
        for fraction in ("000001", "9", "123456789")
    ]
    expected += [(7, 1796007029_500000000), (7, 1796007029_600000000), (0, 1796007029_700000000)]
    assert [(line.tid, line.time_ns) for line in reading.lines] == expected
