"""Make, check and describe: runs scenarios by name and writes the README beside each capture and the list of all.

It knows nothing of any one scenario.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.namespaces import ENVIRONMENT
from lab.scenario import SCENARIOS, STAGE, Check, Lab, Scenario
from lab.scenarios import FAMILIES

_KEPT = {"expected.json"}
_FOREIGN = re.compile(rb"/(root|home|work|tmp)/[\w.-]+")
"""Paths of the machine that must not get into a capture folder."""


def main(argv: Sequence[str], *, captures: Path) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="make_captures", description="Make the captures of captures/ anew.")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*SCENARIOS, []])
    parser.add_argument("--all", action="store_true", help="make every capture")
    parser.add_argument("--list", action="store_true", help="list the names")
    parser.add_argument("--check", action="store_true", help="make nothing: only check what is there")
    parser.add_argument("--readme", action="store_true", help="make nothing: check, and write the READMEs anew")
    options = parser.parse_args(argv)
    if options.list:
        for one in SCENARIOS.values():
            print(f"{one.name:28} {one.title}")
        return 0
    names = list(SCENARIOS) if options.all else options.names
    if not names:
        parser.error("name a capture, or --all")
    failed = []
    for name in names:
        folder = captures / name
        print(f"{name}: {SCENARIOS[name].title}", flush=True)
        if not (options.check or options.readme):
            _make(SCENARIOS[name], folder)
        if not _check(SCENARIOS[name], folder, describe=not options.check):
            failed.append(name)
    if not options.check:
        _write_list(captures)
    for name in failed:
        print(f"{name}: does not show what it should")
    return 1 if failed else 0


def _make(scenario: Scenario, folder: Path) -> None:
    run = Lab(scenario.name)
    try:
        scenario.make(run)
    finally:
        run.close()
    _replace(folder, run.out)
    shutil.rmtree(STAGE)


def _check(scenario: Scenario, folder: Path, *, describe: bool) -> bool:
    results = [(check, *check.holds(folder)) for check in scenario.checks]
    for check, holds, found in results:
        print(f"  {'ok ' if holds else 'NOT'} {found:3d}  {shlex.join(check.command())}", flush=True)
    foreign = _foreign_paths(folder)
    for text in foreign:
        print(f"  NOT clean: {text}")
    if describe:
        (folder / "README.md").write_text(_readme(scenario, [(check, found) for check, _, found in results]))
    return all(holds for _, holds, _ in results) and not foreign


def _replace(folder: Path, made: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.name not in _KEPT:
            old.unlink()
    for new in sorted(made.iterdir()):
        shutil.move(new, folder / new.name)
        (folder / new.name).chmod(0o644)
        print(f"  {new.name} {(folder / new.name).stat().st_size}")


def _foreign_paths(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.iterdir()):
        if path.name not in _KEPT:
            found += [f"{path.name}: {hit.group().decode()}" for hit in _FOREIGN.finditer(path.read_bytes())]
    return found


def _readme(scenario: Scenario, results: Sequence[tuple[Check, int]]) -> str:
    checks = "\n".join(f"- {found}: `{shlex.join(check.command())}`" for check, found in results)
    return (
        f"# {scenario.name}\n\n{scenario.happened}\n\n"
        f"Made by `scripts/make_captures {scenario.name}`.\n\n"
        f"Expected: {scenario.expected}\n\n"
        f"Frames that tshark shows (checked when made):\n{checks}\n"
    )


def _write_list(captures: Path) -> None:
    lines = [
        "# Captures",
        "",
        "Real programs on a real kernel, in network namespaces, each folder made by `scripts/make_captures NAME` and",
        "checked with tshark; its README tells what happened and what pcapstall should say. Delay and loss come from",
        "a router in user space between the namespaces; no packet was edited afterwards.",
    ]
    for family in FAMILIES:
        lines += ["", f"## {(family.__doc__ or '').strip().rstrip('.')}", ""]
        lines += ["| folder | shows | packets | bytes |", "|---|---|--:|--:|"]
        lines += [
            _row(scenario, captures / scenario.name)
            for scenario in SCENARIOS.values()
            if scenario.make.__module__ == family.__name__ and (captures / scenario.name).is_dir()
        ]
    (captures / "README.md").write_text("\n".join(lines) + "\n")


def _row(scenario: Scenario, folder: Path) -> str:
    files = sorted(folder.iterdir())
    packets = " + ".join(str(_packets(path)) for path in files if ".pcap" in path.name)
    size = sum(path.stat().st_size for path in files if path.name not in _KEPT)
    return f"| [{scenario.name}]({scenario.name}/README.md) | {scenario.title} | {packets} | {size} |"


def _packets(path: Path) -> int:
    printed = subprocess.run(
        ["capinfos", "-c", "-M", "-T", "-r", str(path)], check=False, capture_output=True, text=True, env=ENVIRONMENT
    ).stdout
    return int(printed.split()[-1])
