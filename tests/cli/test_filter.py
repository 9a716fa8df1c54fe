"""`--filter` as a user meets it: a regular expression that `re` would try for ever ends the command, with a reason."""

import pytest
from cli_support import LOST, run


@pytest.mark.parametrize("options", [(), ("--jobs", "2"), ("-f", "jsonl")])
@pytest.mark.parametrize("pattern", ["(([a-z ]|[a-z])+)+#$", "(.*.*)*#"])
def test_a_pattern_without_end_is_wrong_usage(pattern: str, options: tuple[str, ...]) -> None:
    done = run("report", LOST, *options, "--filter", f"verdict ~ '{pattern}'")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"takes more than 2 s over one name: write it without a repeat within a repeat" in done.stderr
    assert b"Traceback" not in done.stderr


def test_look_around_and_references_are_python_s() -> None:
    done = run("report", LOST, "-f", "jsonl", "--filter", r"verdict ~ '(?i)(.)\1(?=.)'")
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (0, 2, b"")
