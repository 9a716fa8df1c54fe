"""What each thread did, under a story: the table in every format, folded where many did the same, and the stages."""

import io
import json
import re
from collections.abc import Sequence

import pytest
from factories import HOSTILE, flow, report, silent_client, strace

from pcapstall.core.times import SECOND
from pcapstall.report.end_model import ThreadCallsReport, ThreadReport
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.from_json import read_report
from pcapstall.report.model import Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.places import Places
from pcapstall.report.render import render
from pcapstall.report.stories import tell
from pcapstall.report.untrusted import display_width

STAGES = {"registered": 0, "waited_on": 9_999_000_000, "written": 700_000, "left": 300_000}


def calls(call: str, n: int, total_ns: int, *lines: int) -> ThreadCallsReport:
    return ThreadCallsReport(call, n, total_ns, total_ns // n, [f"client.strace:{line}" for line in lines])


def thread(tid: int, *kinds: ThreadCallsReport, label: str | None = None, name: str | None = None) -> ThreadReport:
    longest = max(kinds, key=lambda kind: kind.longest_ns, default=None)
    lines = kinds[0].strace if kinds else ["client.strace:1", "client.strace:2"]
    longest_ns = longest.longest_ns if longest else 0
    off_ns = max(10 * SECOND - sum(kind.total_ns for kind in kinds), 0)
    return ThreadReport(100, tid, name, label, list(kinds), 3, longest and longest.call, longest_ns, off_ns, lines)


BLOCKED = thread(107, calls("futex", 1, 10 * SECOND, 5, 50), label="had to act")
WAKER = thread(108, calls("epoll_wait on set 6", 11, 9 * SECOND, 6, 48), label="woke it", name="worker")


def poller(tid: int) -> ThreadReport:
    return thread(tid, calls(f"epoll_wait on set {tid}", 20, 9_900_000_000, tid, tid + 1))


def stalled(threads: Sequence[ThreadReport], more: int = 0) -> FlowReport:
    made = silent_client()._replace(activity="blocked_in_syscall", threads=list(threads), more_threads=more)
    return made._replace(stages_ns=STAGES)


def told(threads: Sequence[ThreadReport], wanted: str = "table", more: int = 0, **options: int) -> str:
    out = io.StringIO()
    render(report([stalled(threads, more)], straces=[strace()]), out, wanted, RenderOptions(**options))
    return out.getvalue()


def rows(text: str) -> list[str]:
    """The lines of the table under the story, without head and rule."""
    lines = text.partition("What the threads of ")[2].splitlines()
    return [line.strip() for line in lines[3 : next(at for at, line in enumerate(lines) if "Times in ms" in line)]]


def test_the_thread_that_had_to_act_is_first_and_every_number_has_its_place() -> None:
    text = told([BLOCKED, WAKER, poller(109)], width=100)
    assert "What the threads of process 100 did in these " in text
    assert [" ".join(line.split()) for line in rows(text)] == [
        "107 had to act futex 1 10000.0 10000.0 3 0.0 5, 50",
        "108 worker woke it epoll_wait on set 6 11 9000.0 818.2 3 1000.0 6, 48",
        "109 epoll_wait on set 109 20 9900.0 495.0 3 100.0 109, 110",
    ]
    assert "lines: of client.strace" in " ".join(text.split())


def test_other_kinds_of_calls_have_rows_where_they_matter() -> None:
    busy = thread(107, calls("poll", 5, 6 * SECOND, 5, 9), calls("read", 3, 4 * SECOND, 6), calls("brk", 1, SECOND, 7))
    found = rows(told([busy, WAKER], width=100))
    assert [line.split()[0] for line in found] == ["107", "read", "108"]
    assert " 4 " in found[0], "one brk besides the other three"


def test_a_thread_in_no_call_has_a_row() -> None:
    (first, _) = rows(told([thread(107), WAKER], width=100))
    assert re.fullmatch(r"107 +no call +3 +10000\.0 +1, 2", first)


def test_many_alike_are_folded_and_counted() -> None:
    many = [
        BLOCKED,
        WAKER,
        *(poller(tid) for tid in range(200, 220)),
        thread(300, calls("nanosleep", 9, 9 * SECOND, 3)),
    ]
    found = rows(told(many, width=100, more=5))
    assert [line.split()[0] for line in found] == ["107", "108", "200", "and", "300", "and"]
    assert (found[3], found[5]) == ("and 19 more alike", "and 5 more")
    assert len(rows(told(many[:8], width=100))) == 8


def test_more_kinds_of_threads_than_there_is_room_for_are_counted() -> None:
    letters = [thread(tid, calls("x" * (tid - 99), 2, 9 * SECOND, tid)) for tid in range(100, 120)]
    found = rows(told([BLOCKED, *letters], width=100))
    assert len(found) == 9
    assert found[-1] == "and 13 more"


def test_one_thread_of_which_the_verdict_says_it_all_has_no_table() -> None:
    assert "What the threads" not in told([BLOCKED])
    assert tell(stalled([BLOCKED])._replace(activity="unknown"), Places(report([]))).threads is not None
    assert "What the threads" not in told([])


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_it_fits(width: int) -> None:
    long = thread(107, calls("recvfrom on socket to [2001:db8::1234:5678]:65535", 1, 9 * SECOND, 5), name="a-long-name")
    text = told([long, *(poller(tid) for tid in range(9))], width=width)
    assert max(map(display_width, text.splitlines())) <= width
    assert max(map(display_width, rows(told([long, WAKER])))) <= 100, "in a pipe it is as wide as a ticket takes"


@pytest.mark.parametrize("wanted", ["markdown", "jira", "html"])
def test_in_markup_the_thread_that_had_to_act_is_marked_and_nothing_acts(wanted: str) -> None:
    nasty = thread(7, calls(HOSTILE, 1, SECOND, 5), name=HOSTILE)
    text = told([BLOCKED, nasty], wanted)
    assert {"markdown": "| **107**", "jira": "|*107*|", "html": '<td class="bad">107</td>'}[wanted] in text
    if wanted == "html":
        assert text.count("<script") == 1, "its own"
    else:
        last = next(line for line in text.splitlines() if line.startswith(("| 7 ", "|7 ")))
        assert len(re.findall(r"(?<!\\)\|", last)) == 10
        assert "\x1b" not in last


def test_the_stages_add_up_and_are_told_in_one_line() -> None:
    text = told([BLOCKED])
    assert "ack_ch = until a thread waited for it 10.0 s + until written 700 us + until it left 300 us" in text
    assert "asked for" not in text, "it took no time"
    open_one = stalled([BLOCKED])._replace(intervals_ns={}, open_ns={"ack_ch": 10 * SECOND})
    assert "until it left more than 300 us" in tell(open_one, Places(report([]))).stages


def test_json_has_threads_and_stages_only_with_straces() -> None:
    def keys(made: Report) -> set[str]:
        out = io.StringIO()
        render(made, out, "json", RenderOptions())
        (found,) = json.loads(out.getvalue())["flows"]
        return set(found)

    with_straces, without = keys(report([stalled([])])), keys(report([flow()]))
    assert with_straces - without == {"threads", "more_threads", "stages_ns"}


def test_json_is_read_back() -> None:
    made = stalled([BLOCKED, WAKER, thread(0)], 4)
    out = io.StringIO()
    render(report([made]), out, "json", RenderOptions())
    (again,) = read_report("x.json", out.getvalue().encode()).flows
    assert again == made
