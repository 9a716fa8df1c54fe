"""What a reader sees of two captures, letter by letter: on a wide and a narrow terminal, in a pipe, in a ticket."""

import io
from collections.abc import Callable

import pytest
from two_ends_support import both, compared

from pcapstall.report.options import RenderOptions
from pcapstall.report.to_two_ends import render
from pcapstall.report.two_ends_model import TwoEnds
from pcapstall.report.untrusted import display_width

NAMES = ("client-hello-lost", "mtu-black-hole", "nat-forgot", "injected-rst")
"""Whose sentences are those of two captures alone: what one says may be put in other words."""
WIDE = (*NAMES, "late-accept", "filtered-syn", "unanswered-requests")


def told(report: TwoEnds, wanted: str, width: int | None = None) -> str:
    out = io.StringIO()
    # The folder that the captures lie in is another one on every machine.
    bare = report._replace(
        client_captures=[one._replace(file="client.pcap") for one in report.client_captures],
        server_captures=[one._replace(file="server.pcap") for one in report.server_captures],
        version="",
    )
    render(bare, out, wanted, RenderOptions(width=width, all_flows=True))
    return out.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_on_paper(name: str, golden: Callable[[str, str], None]) -> None:
    report = compared(*both(name))
    golden(f"{name}.txt", told(report, "table"))


@pytest.mark.parametrize("wanted", ["markdown", "jira", "json"])
def test_in_a_ticket(wanted: str, golden: Callable[[str, str], None]) -> None:
    golden(f"nat-forgot.{wanted}", told(compared(*both("nat-forgot")), wanted))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", WIDE)
def test_no_line_is_wider_than_the_terminal(name: str, width: int, golden: Callable[[str, str], None]) -> None:
    text = told(compared(*both(name)), "table", width)
    assert max(map(display_width, text.splitlines())) <= width
    if name == "mtu-black-hole":
        golden(f"{name}.{width}.txt", text)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("segment-lost", {"length", "there", "lost"}),
        ("ack-lost", {"length", "client_proc", "back", "lost"}),
        ("mtu-black-hole", {"length", "there", "back", "lost"}),
        ("slow-path", {"length", "rtt", "lost"}),
    ],
)
def test_where_the_time_and_the_packets_went_stays_on_a_narrow_terminal(name: str, columns: set[str]) -> None:
    lines = told(compared(*both(name)), "table", 60).splitlines()
    assert max(map(display_width, lines)) <= 60
    (titles,) = (line.split() for line in lines if line.startswith("#"))
    assert columns <= set(titles)
