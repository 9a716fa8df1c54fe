"""How evidence names the files that it rests on."""

import factories
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.report.flow_model import Evidence
from pcapstall.report.places import Places, short_names


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["/var/tmp/client.strace"], ["client.strace"]),
        (["a/x.pcap", "b/x.pcap"], ["a/x.pcap", "b/x.pcap"]),
        (["one/a/x.pcap", "two/a/x.pcap", "y"], ["one/a/x.pcap", "two/a/x.pcap", "y"]),
        (["x.pcap", "a/x.pcap"], ["x.pcap", "a/x.pcap"]),
        (["-", "a/b"], ["-", "b"]),
    ],
)
def test_names_are_as_short_as_they_may_be(paths: list[str], expected: list[str]) -> None:
    assert list(short_names(paths).values()) == expected


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), unique=True))
def test_no_two_files_get_one_name(paths: list[str]) -> None:
    short = short_names(paths)
    assert len(set(short.values())) == len(paths)
    assert all(path.endswith(name) for path, name in short.items())


def test_lines_of_one_strace_stand_behind_one_name() -> None:
    capture = factories.capture(file="/data/one/c.pcap")
    strace = factories.strace()._replace(file="/data/out.strace")
    report = factories.report([], captures=[capture, capture._replace(file="/data/two/c.pcap")], straces=[strace])
    evidence = Evidence("Said.", [3, 9], 1, ["/data/out.strace:7", "/data/out.strace:12"])
    assert Places(report).of_evidence(evidence) == "frames 3, 9 of two/c.pcap; out.strace:7, 12"
