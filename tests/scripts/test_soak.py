"""`scripts/soak` for ten seconds: every flow that it makes is accounted for."""

import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SOAK = Path(__file__).parents[2] / "scripts" / "soak"


def test_a_short_soak() -> None:
    ended = subprocess.run(
        [sys.executable, str(SOAK), "--minutes", "0.17", "--rate", "20"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    first, *_, last = ended.stdout.splitlines()
    assert " packets in 10 s" in first
    assert last == "every flow is accounted for"


@pytest.fixture(scope="module")
def soak() -> Any:
    """The script, which has no suffix."""
    spec = spec_from_loader("soak", SourceFileLoader("soak", str(SOAK)))
    assert spec is not None
    module = module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


def test_another_interval_of_the_same_silence_is_no_stall_told_twice(soak: Any) -> None:
    def heard(*intervals: str) -> list[str]:
        lines = [
            json.dumps({"event": "stalled", "client": "a", "stalled": interval, "ns": "1700000000000000000"})
            for interval in intervals
        ]
        listening = soak.Heard()
        listening.listen(SimpleNamespace(stdout=lines))
        return listening.told["a"]

    assert heard("ch_sh", "ch_ack") == ["stalled"]
    assert heard("ch_sh", "ch_sh") == ["stalled", "stalled"]


@pytest.mark.parametrize(
    ("fate", "events", "said"),
    [
        ("healthy", [], ""),
        ("healthy", ["failed"], "1 healthy flows of which it was told that they failed"),
        ("stalls", ["stalled", "went_on"], ""),
        ("stalls", ["stalled", "went_on", "stalled", "ended"], ""),
        ("stalls", ["stalled"], "1 flows of the kind that stalls of which it was told: stalled"),
        ("stalls", ["stalled", "stalled", "went_on"], "told: stalled, stalled, went_on"),
        ("stalls", ["stalled", "went_on", "went_on"], "told: stalled, went_on, went_on"),
        ("stalls", [], "1 flows of the kind that stalls of which no stall was told"),
        ("vanishes", ["stalled", "failed"], ""),
        ("vanishes", ["stalled", "ended", "stalled", "ended"], "told: stalled, ended, stalled, ended"),
        ("resets", ["failed"], ""),
        ("resets", ["stalled", "failed"], "1 resets of which it was told: failed, stalled"),
        ("resets", [], "1 resets of which it was told: nothing"),
    ],
)
def test_what_is_wrong_of_a_flow_is_found(soak: Any, fate: str, events: list[str], said: str) -> None:
    found = soak.missing({"a": (fate, 10**10)}, {"a": events} if events else {})
    assert said in " ".join(found)
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"packets": 29}, "packets of the last line is 29, not 30"),
        ({"flows_opened": 2}, "flows_opened of the last line is 2, not 3"),
        ({"flows_open": 1}, "flows_open of the last line is 1, not 0"),
        ({"stalled": 0}, "stalled of the last line is 0, not 1"),
        ({"failed": 2}, "failed of the last line is 2, not 1"),
        ({"closed_early": 0}, "closed_early went back to 0"),
    ],
)
def test_what_is_wrong_of_counts_is_found(soak: Any, changed: dict[str, int], said: str) -> None:
    heard = soak.Heard()
    heard.told = {"a": ["stalled", "ended"], "b": ["failed"]}
    end = {"flows_opened": 3, "flows_open": 0, "stalled_now": 0, "stalled": 1, "failed": 1, "packets": 30}
    heard.stands = [{**end, "flows_open": 2, "packets": 20, "closed_early": 1}, {**end, "closed_early": 1, **changed}]
    found = soak.uncounted(heard, 3, 30, 10)
    assert said in " ".join(found)
    assert bool(found) == bool(said)


def test_more_flows_open_than_may_be(soak: Any) -> None:
    heard = soak.Heard()
    stand = {"flows_opened": 30, "flows_open": 0, "stalled_now": 0, "stalled": 0, "failed": 0, "packets": 30}
    heard.stands = [{**stand, "flows_open": 11, "closed_early": 0}, {**stand, "closed_early": 0}]
    (said,) = soak.uncounted(heard, 30, 30, 10)
    assert said.startswith("11 flows open, 0 of them stalled")
