"""`pcapstall extract`: some flows of a capture as a small capture of their own, for a ticket.

Checks all arguments before anything is read. Which packets are taken, and how they are written, is the pipeline's.
"""

from typing import TYPE_CHECKING, Final

import click

from pcapstall.capture.source import Stop
from pcapstall.cli import destination, options, terminal
from pcapstall.cli.inputs import check_inputs
from pcapstall.cli.reading import exit_code, how_to_read, read
from pcapstall.cli.stages import stages
from pcapstall.core.counts import several
from pcapstall.core.errors import UsageError
from pcapstall.pipeline import Analysis, Options
from pcapstall.pipeline.given import parse_given
from pcapstall.report.happening import what_happened
from pcapstall.report.model import FlowReport
from pcapstall.report.selector import compile_selector
from pcapstall.report.untrusted import printable

if TYPE_CHECKING:
    from pcapstall.pipeline.anonymised import Anonymised

FORMATS: Final = ("pcap", "pcapng")


@click.command("extract")
@options.add_options(
    options.captures_argument,
    click.option(
        "--flow",
        "selectors",
        required=True,
        multiple=True,
        metavar="SELECTOR",
        help="Which flows: a row in pcapstall report, 10.0.0.1:34506, 10.0.0.1:34506-10.0.0.2:443, or a filter, which"
        " may mean many. May be repeated.",
    ),
    click.option(
        "-o",
        "--output",
        required=True,
        type=click.Path(dir_okay=False, writable=True, allow_dash=True),
        metavar="FILE",
        help="Write to FILE; - is standard output.",
    ),
    click.option(
        "-f",
        "--format",
        "wanted",
        type=click.Choice(FORMATS),
        help="What to write. [default: pcap if the name of -o ends with .pcap, else pcapng]",
    ),
    click.option(
        "--anonymize",
        is_flag=True,
        help="Give addresses, names and everything that is said other names, so that only the times are told.",
    ),
    click.option(
        "--key",
        "key_text",
        metavar="FILE|HEX",
        help="Of --anonymize: the same key gives the same names each time. [default: one that is not kept]",
    ),
    click.option(
        "--hide", "hidden", multiple=True, metavar="WORD", help="Of --anonymize: replace WORD, too. May be repeated."
    ),
    options.strace_option,
    options.log_option,
    *options.reading_options,
)
def command(
    captures: tuple[str, ...],
    selectors: tuple[str, ...],
    output: str,
    wanted: str | None,
    anonymize: bool,
    key_text: str | None,
    hidden: tuple[str, ...],
    straces: tuple[str, ...],
    logs: tuple[str, ...],
    slow: tuple[str, ...],
    at: str | None,
    tls_ports: tuple[int, ...],
    max_flows: int,
) -> int:
    """Write some flows of CAPTURE to a small capture, to be attached to a ticket or opened in Wireshark.

    CAPTURE is as in pcapstall report. Taken are the flows' packets as they are, all fragments of these, ICMP errors
    about them, and the DNS lookups that their verdicts cite. A pcapng file carries the verdict as a comment of the
    first packet, and what the cited packets show, each with its frame number in CAPTURE.

    With --anonymize no address, name or content of CAPTURE is in what is written, but everything that pcapstall
    measures: a report of it is the report of CAPTURE with other names.

    \b
    Exit status: 0 done, 2 wrong usage or no such flow, 3 an input cannot be read.
    """
    for selector in selectors:
        compile_selector(selector)
    anonymised = _anonymised(anonymize, key_text, hidden)
    if anonymised is not None and (straces or logs):
        raise UsageError("--anonymize is for captures: without --strace and --log, whose lines would not match")
    given = {name: [parse_given(text) for text in texts] for name, texts in (("strace", straces), ("log", logs))}
    how = how_to_read(slow, at, tls_ports, max_flows)
    how = how._replace(all_flows=True, straces=given["strace"], logs=given["log"])
    check_inputs(captures)
    destination.check(output, [*captures, *(file.path for files in given.values() for file in files)])
    work = _Work(selectors, output, wanted or ("pcap" if output.endswith(".pcap") else "pcapng"), how)
    work.anonymised, work.keyed = anonymised, key_text is not None
    from pcapstall.pipeline.spool import as_files

    with terminal.ctrl_c_stops() as stop, as_files(captures, stop) as names:
        stop.close()
        work.names = names
        analysis = read(tuple(names), how, work.extract)
    for error in analysis.unreadable:
        destination.complain(error)
    return exit_code((), analysis.unreadable)


def _anonymised(wanted: bool, key_text: str | None, hidden: tuple[str, ...]) -> "Anonymised | None":
    if not wanted:
        if key_text is not None or hidden:
            raise UsageError(f"{'--key' if key_text is not None else '--hide'} belongs to --anonymize")
        return None
    from pcapstall.anonymise.secret import new_secret, parse_secret
    from pcapstall.pipeline.anonymised import Anonymised

    return Anonymised(new_secret() if key_text is None else parse_secret(key_text), hidden)


class _Work:
    """What is to be done once the captures were read."""

    def __init__(self, selectors: tuple[str, ...], output: str, wanted: str, how: Options) -> None:
        self._selectors = selectors
        self._output = output
        self._wanted = wanted
        self._how = how
        self.names: dict[str, str] = {}
        """What the captures were given as, by the names that they are read by."""
        self.anonymised: Anonymised | None = None
        self.keyed = False
        """Whether the key was given."""

    def extract(self, analysis: Analysis, stop: Stop) -> None:
        """Pick and write."""
        from pcapstall.pipeline import extract

        if not analysis.captures:
            return
        chosen = extract.choose(analysis.flows, self._selectors)
        stages("picking packets")
        anonymised = self.anonymised
        picked = extract.pick(analysis, chosen, list(self.names), stop, anonymised)
        if stop.count:
            raise KeyboardInterrupt
        names = [self.names.get(capture.file, capture.file) for capture in analysis.captures]
        if anonymised is not None:
            names = [f"capture {number}" for number in range(1, len(names) + 1)] if len(names) > 1 else ["the capture"]
        comments = extract.comments_of(chosen, picked, names)
        about = [f"{several(len(chosen), 'flow')} of {', '.join(names)}"]
        if anonymised is not None:
            comments = anonymised.comments(comments)
            about = [f"{about[0]}, anonymised"]
        stages("writing")
        with destination.opened_for_bytes(self._output) as out:
            written = extract.write(out, self._wanted, picked, list(self.names), comments, about, stop, anonymised)
            if stop.count:
                raise KeyboardInterrupt
        total = sum(capture.packets for capture in analysis.captures)
        lines = [f"{self._output}: {several(len(chosen), 'flow')}, {written.packets} of {several(total, 'packet')}"]
        lines += [_told(row) for row in chosen[:_TOLD]]
        if anonymised is not None:
            others = [anonymised.renamed(row) for row in chosen[:_TOLD]]
            lines += [f"Flow {row.id} is {row.client} -> {row.server} there." for row in others]
        if len(chosen) > _TOLD:
            lines.append(f"and {len(chosen) - _TOLD} more")
        if written.interfaces > 1 and self._wanted == "pcap":
            lines.append(f"A pcap file has one interface, and these packets are of {written.interfaces}: use .pcapng.")
        if anonymised is not None:
            lines += _told_of(anonymised, self.keyed)
            chosen = [anonymised.renamed(row) for row in chosen]
        self._say(lines + self._check(chosen))

    def _check(self, chosen: list[FlowReport]) -> list[str]:
        """What the extract alone says otherwise; where it went to standard output nobody can look again."""
        from pcapstall.pipeline import analyse
        from pcapstall.pipeline.extract_check import differences

        if self._output == destination.STDOUT:
            return []
        stages("reading the extract")
        made: list[str] = []
        analyse([self._output], self._how, before_closing=lambda alone: made.extend(differences(chosen, alone.flows)))
        return made

    def _say(self, lines: list[str]) -> None:
        if self._output == destination.STDOUT:
            destination.say("\n".join(lines))
            return
        with destination.opened(None) as out:
            for line in lines:
                out.write(f"{printable(line)}\n")


_TOLD: Final = 20
"""Flows that are told of one by one."""


def _told_of(anonymised: "Anonymised", keyed: bool) -> list[str]:
    lines = []
    if anonymised.dropped:
        lines.append(f"{several(anonymised.dropped, 'packet')} left out: nothing is known of what they may tell.")
    if not keyed:
        lines.append("The names were made with a key that is gone now: --key gives the same ones each time.")
    return lines


def _told(row: FlowReport) -> str:
    if row.stalled is None and not row.failed:
        return f"Flow {row.id}: {row.client} -> {row.server}, {row.tls_outcome or row.tcp_outcome}."
    said = what_happened(row)
    return f"Flow {row.id}: {said}."
