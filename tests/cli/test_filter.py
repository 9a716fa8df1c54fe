"""`--filter` as a user meets it: a regular expression that `re` would try for ever ends at once, with an answer."""

import pytest
from cli_support import LOST, run


@pytest.mark.parametrize("pattern", ["(([a-z ]|[a-z])+)+#$", "(.*.*)*#"])
def test_a_hostile_pattern_finds_nothing_in_a_verdict(pattern: str) -> None:
    done = run("report", LOST, "-f", "jsonl", "--filter", f"verdict ~ '{pattern}'")
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (0, 1, b"")  # the line of the capture


def test_what_cannot_be_followed_is_wrong_usage() -> None:
    done = run("report", LOST, "--filter", r"sni ~ '(a)\1'")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"groups with (?...), references to groups and possessive repeats are not known here" in done.stderr
    assert b"^^^^^^^" in done.stderr
