"""`pcapstall extract`: some flows of a capture as a small capture of their own, for a ticket.

Checks all arguments before anything is read. Which packets are taken, and how they are written, is the pipeline's.
"""

import os
from typing import TYPE_CHECKING, Final

import click

from pcapstall.cli import destination, options, terminal
from pcapstall.cli.extract_target import target_of
from pcapstall.cli.extract_work import Work
from pcapstall.cli.inputs import check_inputs
from pcapstall.cli.reading import end_if_stopped, exit_code, how_to_read, read
from pcapstall.core.errors import InputError, UsageError
from pcapstall.pipeline.ends.given import given_files
from pcapstall.report.selector import compile_selector

if TYPE_CHECKING:
    from pcapstall.pipeline.extract.anonymised import Anonymised

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
        help="Which flows: a row in pcapstall report, 10.0.0.1:34506, 10.0.0.1:34506-10.0.0.2:443, or an address or a"
        " filter, which may mean many. May be repeated.",
    ),
    click.option(
        "-o",
        "--output",
        required=True,
        type=click.Path(allow_dash=True),
        metavar="FILE",
        help="Write to FILE; - is standard output. With --anonymize and straces or logs: a folder for all of them.",
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
        help="Replace addresses, names and contents: what is left are times, lengths and the protocol.",
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
    measures: a report of it is the report of CAPTURE with other names. Straces and logs get the same names, and are
    written beside the capture: -o names a folder then.

    Exit status: 0 done, 2 wrong usage or no such flow, 3 an input cannot be read.
    """
    for selector in selectors:
        compile_selector(selector)
    anonymised = _anonymised(anonymize, key_text, hidden)
    given = given_files(straces, logs)
    how = how_to_read(slow, at, tls_ports, max_flows)
    how = how._replace(all_flows=True, straces=given.straces, logs=given.logs)
    check_inputs(captures)
    target = target_of(output, wanted, anonymised is not None, given)
    target.check([*captures, key_text] if key_text is not None and os.path.exists(key_text) else captures)
    work = Work(selectors, target, how, anonymised, key_text is not None)
    from pcapstall.pipeline.extract.spool import as_files

    with terminal.ctrl_c_stops() as stop, as_files(captures, stop) as names:
        stop.close()
        work.names = names
        analysis = read(tuple(names), how, work.extract)
    unreadable = [InputError(names.get(error.path, error.path), error.reason) for error in analysis.unreadable]
    if not analysis.report.captures:
        end_if_stopped(stop, unreadable)
    for error in unreadable:
        destination.complain(error)
    return exit_code((), unreadable)


def _anonymised(wanted: bool, key_text: str | None, hidden: tuple[str, ...]) -> "Anonymised | None":
    if not wanted:
        if key_text is not None or hidden:
            raise UsageError(f"{'--key' if key_text is not None else '--hide'} belongs to --anonymize")
        return None
    for word in hidden:
        if not any(character.isalnum() for character in word):
            raise UsageError(f"--hide {word!r}: there is no word in it")
    from pcapstall.anonymise.secret import new_secret, parse_secret
    from pcapstall.pipeline.extract.anonymised import Anonymised

    return Anonymised(new_secret() if key_text is None else parse_secret(key_text), hidden)
