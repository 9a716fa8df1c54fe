"""The table of rules, and what `--explain` tells of it."""

import ast
from pathlib import Path

import pytest
from test_verdicts import connect, lost_hello, silent_client, slow_server
from wire_support import MS, SECOND, Road, follow

from pcapstall.diagnose import rules
from pcapstall.diagnose.rules.base import FAILURE
from pcapstall.diagnose.rules.table import RULES
from pcapstall.diagnose.thresholds import STALL_NAMES
from pcapstall.pipeline.findings import Findings


def findings(road: Road, at: str = "client") -> Findings:
    made = Findings(follow(road.captured(at)), "", frozenset(), show_all=True)
    made.settle()
    return made


def test_every_stage_has_rules_and_every_rule_stages() -> None:
    assert {stage for rule in RULES for stage in rule.stages} == {*STALL_NAMES, FAILURE}
    assert all(rule.stages for rule in RULES)


def test_every_rule_says_what_it_is() -> None:
    """In its source: a compiled function has no docstring."""
    functions = [
        node
        for path in Path(rules.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    assert {rule.judge.__name__ for rule in RULES} <= {one.name for one in functions if ast.get_docstring(one)}


def test_a_name_stands_once_in_each_stage() -> None:
    for stage in (*STALL_NAMES, FAILURE):
        names = [rule.name for rule in RULES if stage in rule.stages]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("road", [silent_client(), slow_server(), lost_hello(), connect(2 * SECOND, 3 * MS)])
@pytest.mark.parametrize("at", ["client", "server"])
def test_the_first_rule_that_holds_makes_the_verdict(road: Road, at: str) -> None:
    found = findings(road, at)
    (row,) = found.rows(0)
    tried, stages = found.explain(row.id)
    assert stages is None
    assert [one.rule for one in tried] == [rule.name for rule in RULES if row.stalled in rule.stages]
    assert next(one.why for one in tried if one.held) == row.verdict
    assert all(one.why for one in tried)


def test_explain_says_why_not() -> None:
    tried = {one.rule: one.why for one in findings(silent_client(counts_ids=False), "server").explain(1)[0]}
    assert tried["silent"] == "the capture was not taken at the client"
    assert tried["silent_by_ids"] == "IP IDs do not prove that nothing was sent"
    assert tried["lost_before_capture"] == "the IP IDs show no gap"


def test_a_healthy_flow_has_no_rules_and_an_unknown_row_is_an_error() -> None:
    road = Road()
    road.handshake()
    found = findings(road)
    assert found.explain(1) == ([], None)
    with pytest.raises(KeyError):
        found.explain(2)
