"""`pcapstall.analyze`: what docs/api.md shows runs and prints just that; arguments, errors, and the public names."""

import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import click
import pytest

import pcapstall
from pcapstall.cli.main import root
from pcapstall.core.errors import InputError, PcapstallError, UsageError
from pcapstall.pipeline import api
from pcapstall.report.model import Report

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LOST = ROOT / "captures" / "client-hello-lost" / "capture.pcap"
RING = sorted((ROOT / "captures" / "ring").glob("rotated-*.pcap"))


def test_the_page_shows_what_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    shown = io.StringIO()
    for kind, text in BLOCK.findall(PAGE):
        if kind:
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                exec(text, names)
        else:
            assert shown.getvalue() == text
    assert shown.getvalue().startswith("**1 of 11 flows stalled")


def test_the_public_names() -> None:
    assert pcapstall.__all__ == ("__version__", "analyze")
    assert inspect.signature(pcapstall.analyze).parameters.keys() == inspect.signature(api.analyze).parameters.keys()
    for name in inspect.signature(pcapstall.analyze).parameters:
        assert f"`{name}`" in PAGE
        assert f"``{name}``" in str(pcapstall.analyze.__doc__)


def test_it_is_the_report_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    from pcapstall.cli.main import main
    from pcapstall.report import to_json
    from pcapstall.report.options import RenderOptions

    assert main(["report", str(LOST), "-f", "json"]) == 0
    out = io.StringIO()
    to_json.render(pcapstall.analyze(LOST), out, RenderOptions())
    assert out.getvalue() == capsys.readouterr().out


def test_arguments() -> None:
    report = pcapstall.analyze([str(LOST)], slow=["ch_ack=100ms"], filter_text="stalled", at="client", tls_ports=[8443])
    assert isinstance(report, Report)
    assert [flow.id for flow in report.flows] == [3, 4]
    assert report.totals.flows == 2
    assert len(list(pcapstall.analyze(RING).flows)) == 13
    assert pcapstall.analyze(RING, max_flows=1).warnings
    log = ROOT / "captures" / "stalled-client-hello" / "inbound.log"
    assert [log.label for log in pcapstall.analyze(LOST, logs=[f"in={log}"]).logs] == ["in"]
    assert len(list(pcapstall.analyze(str(RING[0]).replace("072731", "*")).flows)) == 13
    assert type(report) is Report


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"captures": "nosuch.pcap"}, InputError),
        ({"captures": [LOST, "nosuch.pcap"]}, InputError),
        ({"captures": LOST, "straces": ["nosuch.strace"]}, InputError),
        ({"captures": LOST, "slow": ["x"]}, UsageError),
        ({"captures": LOST, "at": "home"}, UsageError),
        ({"captures": LOST, "filter_text": "nosuch > 1"}, UsageError),
    ],
)
def test_errors_are_raised(arguments: dict[str, Any], kind: type[PcapstallError]) -> None:
    with pytest.raises(kind):
        pcapstall.analyze(**arguments)


def test_every_option_of_report_that_changes_what_is_found_has_an_argument() -> None:
    command = root.get_command(click.Context(root), "report")
    assert command is not None
    shown = {"wanted", "output", "all_flows", "row", "fail_if", "debug", "summary_line", "jobs", "engine", "scheduler"}
    finding = {str(parameter.name) for parameter in command.params} - shown
    assert finding == set(inspect.signature(pcapstall.analyze).parameters)
