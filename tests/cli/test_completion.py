"""Tab: what the shells are told, and in bash (elsewhere where they are installed) what comes of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from cli_support import COMMAND, PATIENCE_S, one_line, run

from pcapstall.cli.completion import SHELLS
from pcapstall.cli.main import COMMANDS, root

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "completion.md").read_text(encoding="utf-8")


def completed(*words: str) -> list[str]:
    """What click answers to a shell for the last of ``words``, ``type,value`` each."""
    line = " ".join(["pcapstall", *words])
    shown = run(_PCAPSTALL_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words)))
    assert shown.stderr == b""
    return shown.stdout.decode().split()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_for_a_shell(shell: str) -> None:
    shown = run("--completion", shell)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"_PCAPSTALL_COMPLETE" in shown.stdout
    assert f"--completion {shell}" in PAGE


def test_a_shell_that_is_not_known() -> None:
    shown = run("--completion", "tcsh")
    assert (shown.returncode, shown.stdout) == (2, b"")
    assert one_line(shown.stderr) == "pcapstall: --completion tcsh: there are bash, zsh, fish"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("re",), {"plain,report"}),
        (("report", "--fo"), {"plain,--format"}),
        (("report", "-f", "js"), {"plain,json", "plain,jsonl"}),
        (("diff", "-f", ""), {"plain,table", "plain,markdown", "plain,jira", "plain,json"}),
        (("compare", "-f", "j"), {"plain,jira", "plain,json"}),
        (("timeline", "-f", "js"), {"plain,json", "plain,jsonl"}),
        (("report", "--at", "c"), {"plain,client"}),
        (("report", "--slow", "ch_a"), {"plain,ch_ack="}),
        (("report", "--filter", "tls_o"), {"plain,tls_outcome"}),
        (("report", "--fail-if", "ack_ch.p"), {"plain,ack_ch.p50", "plain,ack_ch.p90", "plain,ack_ch.p99"}),
        (("diff", "--fail-if", "new"), {"plain,new_stalls"}),
        (("report", "--fail-if", "new"), set()),
        (("report", "--strace", "a"), {"file,a"}),
        (("report", "cap"), {"file,cap"}),
        (("report", "-o", "cap"), {"file,cap"}),
        (("summary", "--by", "s"), {"plain,server", "plain,sni"}),
    ],
)
def test_words(words: tuple[str, ...], expected: set[str]) -> None:
    assert set(completed(*words)) == expected


def test_every_command_is_completed() -> None:
    assert set(completed("")) == {f"plain,{name}" for name in COMMANDS}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_argument_completes_files(name: str) -> None:
    command = root.get_command(click.Context(root), name)
    assert command is not None
    context = click.Context(command, info_name=name)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            assert [item.type for item in parameter.shell_complete(context, "x")] == ["file"], parameter.name


def shell_run(shell: str, script: str, place: Path) -> list[str]:
    """The lines that ``script`` prints, with `pcapstall` on the path."""
    program = place / "bin" / "pcapstall"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {COMMAND[0]} -m pcapstall "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    ended = subprocess.run(
        [shell, "-c", script], cwd=place, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        env=os.environ | {"PATH": path},
    )  # fmt: skip
    assert ended.stderr == ""
    return ended.stdout.split()


def test_in_bash(tmp_path: Path) -> None:
    """As bash calls it: the words typed so far, and the answer in COMPREPLY."""
    (tmp_path / "capture.pcap").touch()
    script = """
    eval "$(pcapstall --completion bash)"
    complete -p pcapstall | grep -o -- '-F [^ ]*' | cut -c4-
    compopt() { :; }
    for words in 'pcapstall summ' 'pcapstall report --expl' 'pcapstall report cap'; do
        COMP_WORDS=($words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
        _pcapstall_completion pcapstall
        echo "${COMPREPLY[@]:-FILES}"
    done
    """
    assert shell_run("bash", script, tmp_path) == ["_pcapstall_completion", "summary", "--explain", "FILES"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_understand_their_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    load = {
        "zsh": 'autoload -Uz compinit; compinit -u; eval "$(pcapstall --completion zsh)"; print $_comps[pcapstall]',
        "fish": "pcapstall --completion fish | source; complete -C 'pcapstall summ'",
    }[shell]
    shown = shell_run(shell, load, tmp_path)
    assert shown[0] == {"zsh": "_pcapstall_completion", "fish": "summary"}[shell]
