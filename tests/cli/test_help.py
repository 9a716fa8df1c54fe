"""Every command and every option explains itself, and the version says what it is."""

import re

import click
import pytest
from cli_support import REFUSED, run

import pcapstall
from pcapstall import _build
from pcapstall.cli.main import COMMANDS, main, root

CONTEXT = click.Context(root)


def commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = [("pcapstall", root)]
    for name in root.list_commands(CONTEXT):
        command = root.get_command(CONTEXT, name)
        assert command is not None
        found.append((name, command))
    return found


def parameters() -> list[tuple[str, click.Parameter]]:
    return [(f"{name} {parameter.name}", parameter) for name, command in commands() for parameter in command.params]


@pytest.mark.parametrize(("name", "command"), commands())
def test_a_command_says_what_it_does(name: str, command: click.Command) -> None:
    assert command.help
    first = command.help.strip().splitlines()[0]
    assert first.endswith(".")
    assert len(first) <= 100


@pytest.mark.parametrize(("name", "parameter"), parameters())
def test_an_option_says_what_it_does(name: str, parameter: click.Parameter) -> None:
    if isinstance(parameter, click.Argument):
        command = dict(commands())[name.split()[0]]
        assert parameter.metavar is not None
        assert parameter.metavar.rstrip(".") in (command.help or ""), "the text tells what the argument is"
        return
    assert isinstance(parameter, click.Option)
    assert parameter.help
    assert parameter.help[-1] in ".]"


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_is_shown(name: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), flag]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.startswith(f"Usage: pcapstall {name or '[OPTIONS] COMMAND'}")
    command = dict(commands())[name or "pcapstall"]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert [spelling for spelling in parameter.opts if spelling not in shown.out] == []


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_no_line_of_help_is_wider_than_the_terminal(
    name: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([*name.split(), "--help"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > width] == []


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_says_in_words_what_numbers_may_be(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert [formula for formula in ("x<", "<=x", "x>", ">=x", "None") if formula in shown] == []


def test_the_program_lists_its_commands_in_the_order_of_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = re.findall(r"^  (\w+)  ", capsys.readouterr().out.partition("Commands:\n")[2], re.MULTILINE)
    assert listed == list(COMMANDS)


def test_the_program_says_of_each_command_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert [name for name, command in commands()[1:] if (command.help or "").splitlines()[0] not in shown] == []


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"pcapstall {pcapstall.__version__}, {_build.kind()}, Python 3.")
    assert shown.err == ""


def test_help_and_version_as_processes() -> None:
    assert run("--help").stdout.startswith(b"Usage: pcapstall ")
    version = run("--version")
    assert (version.returncode, version.stderr) == (0, b"")
    assert version.stdout.startswith(f"pcapstall {pcapstall.__version__}, ".encode())


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "Usage: pcapstall"),
        (["nosuch"], "there is no command nosuch; there are report, timeline, summary"),
        (["reprot", "a b.pcap"], "there is no command reprot; did you mean: pcapstall report 'a b.pcap'\n"),
        ([REFUSED, "--all"], f"{REFUSED} is no command; to have its report: pcapstall report {REFUSED} --all\n"),
        (["gone.pcap"], "gone.pcap is no command; to have its report: pcapstall report gone.pcap\n"),
        (["-"], "- is no command; to have its report: pcapstall report -\n"),
        (["-f", "json", REFUSED], "options of a command stand after its name: pcapstall report -f ..."),
        (["--nosuch"], "--nosuch"),
        (["report"], "Missing argument 'CAPTURE...'. pcapstall report --help tells what there is.\n"),
        (["report", "--formt", "json", REFUSED], "--format"),
        (["report", REFUSED, "--slow"], "requires an argument. pcapstall "),
        (["report", REFUSED, "--tls", "x"], "'x' is not a port: a number from 1 to 65535."),
        (["report", REFUSED, "--tls", "\u0664\u0664\u0663"], "is not a port: a number from 1 to 65535."),
        (["report", REFUSED, "--explain", "\u0661"], "'\u0661' is not a whole number."),
        (["report", REFUSED, "--explain", "10.40.39.45"], "'10.40.39.45' is not a whole number."),
        (["report", REFUSED, "--max-flows", "1_0"], "'1_0' is not a whole number."),
        (["report", REFUSED, "--jobs", " 1"], "' 1' is not a whole number."),
        (["report", REFUSED, "--jobs", "-1"], "-1 is too small: 1 at least."),
        (["report", REFUSED, "--jobs", "257"], "257 is too large: 256 at most."),
        (["report", REFUSED, "--max-flows", "0"], "0 is too small: 1 at least."),
        (["report", REFUSED, "--slow", "\u0661s"], "--slow \u0661s: '\u0661s' is not a duration: write "),
        (["report", REFUSED, "--fail-if", "ack_ch.p99 > \u0661s"], "is compared with a duration: 500ms or 1s"),
        (["report", REFUSED, "--tls", "0"], "'0' is not a port: a number from 1 to 65535."),
        (["report", REFUSED, "--fail-if", "stalled>"], "a number is missing after '>'"),
        (["report", REFUSED, "--fail-if", "ack_ch.p99 >"], "a duration is missing after '>'"),
    ],
)
def test_wrong_usage(arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert hint in shown.err
    assert "Traceback" not in shown.err
    if arguments and "--fail-if" not in arguments:
        assert len(shown.err.splitlines()) == 1


def test_max_flows_is_an_option_of_all_that_follow_flows() -> None:
    for name in COMMANDS.keys() - {"verify"}:
        command = root.get_command(click.Context(root), name)
        assert command is not None
        assert "max_flows" in {parameter.name for parameter in command.params}, name
