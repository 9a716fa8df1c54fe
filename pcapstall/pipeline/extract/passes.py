"""`pcapstall extract`: the records of the wanted flows, read from their captures twice more and written as a capture.

The first reading finds the records, since a fragment is known to be wanted only when the last one has come; the second
one writes them. Formats are in the extract package, words for the terminal in the command.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import pcapstall
from pcapstall.capture.blocks import OPT_COMMENT, Options
from pcapstall.capture.captures import open_captures
from pcapstall.capture.info import CaptureInfo
from pcapstall.capture.reader import FileCursor
from pcapstall.capture.source import Stop
from pcapstall.core.counts import sum_known
from pcapstall.core.endpoints import format_endpoints
from pcapstall.core.frames import file_of, frame_of, frame_ref
from pcapstall.core.garbage import without_garbage
from pcapstall.core.utf8 import utf8
from pcapstall.diagnose.knowledge import client_key
from pcapstall.extract.copying import Copying
from pcapstall.extract.pcap_file import PcapFile
from pcapstall.extract.pcapng_file import Described, Option, PcapngFile
from pcapstall.extract.picking import Picker
from pcapstall.extract.records import FrameSet, Records
from pcapstall.pipeline.analysis import Analysis
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.happening import what_happened
from pcapstall.report.selector import Ends, Selectors, asks_for_verdicts

if TYPE_CHECKING:
    from pcapstall.pipeline.extract.anonymised import Anonymised

PCAP: Final = "pcap"
PCAPNG: Final = "pcapng"
FORMATS: Final = (PCAP, PCAPNG)

_MICROSECONDS: Final = frozenset(("pcap-us", "pcap-modified", "pcap-nokia"))
_EPB_FLAGS: Final = 2
_Source = tuple[int, int, int]
"""Where a record is from: file, interface of it, link type."""


class Picked(NamedTuple):
    """What is to be written."""

    frames: FrameSet
    infos: list[CaptureInfo]
    """Of the captures, in the order of their file index."""
    firsts: dict[int, int]
    """The first frame of each flow, by row."""


class Written(NamedTuple):
    """What was written."""

    packets: int
    interfaces: int
    """How many the packets are of."""
    refs: "array[int]"
    """Which frames of the captures they are, in their order."""


def choose(analysis: Analysis, selectors: Sequence[str]) -> list[FlowReport]:
    """The flows that any of ``selectors`` means, in the order of their rows; UsageError for one that means none.

    Rows are made of all flows only where a selector is a filter: it takes longer than to read the capture.
    """
    findings = analysis.findings
    wanted = Selectors(selectors)
    if any(map(asks_for_verdicts, selectors)):
        with without_garbage():
            chosen = [row for row in analysis.report.flows if wanted.mean(row)]
    else:
        flows = findings.flows()
        meant = (flow for flow in flows if wanted.mean(Ends(int(flow.id), *format_endpoints(client_key(flow)))))
        chosen = [findings.row_of(flow, analysis.report.t0_ns) for flow in meant]
    wanted.check()
    return chosen


def pick(
    analysis: Analysis,
    chosen: Sequence[FlowReport],
    captures: Sequence[str],
    stop: Stop | None = None,
    anonymised: "Anonymised | None" = None,
) -> Picked:
    """The records of ``chosen`` and those that their verdicts cite; ``anonymised`` learns what they hold."""
    ids = {row.id for row in chosen}
    flows = [flow for flow in analysis.findings.flows() if flow.id in ids]
    picker = Picker(flows, (ref for row in chosen for ref, _ in _cited(row)), anonymised)
    cursor = open_captures(list(captures), stop)
    try:
        picker.run(cursor)
        if anonymised is not None:
            anonymised.settle()
        return Picked(picker.frames, cursor.infos(), {int(flow.id): int(flow.first_ref) for flow in flows})
    finally:
        cursor.close()


def _cited(row: FlowReport) -> Iterable[tuple[int, str]]:
    """The frames that the verdict on a flow cites, each with what they show."""
    for fact in row.evidence:
        if fact.file is not None:
            for frame in fact.frames:
                yield int(frame_ref(fact.file, frame)), fact.text


def comments_of(
    rows: Sequence[FlowReport],
    firsts: Mapping[int, int],
    names: Sequence[str],
    origin: Callable[[int], int] = lambda ref: ref,
) -> dict[int, list[str]]:
    """What is said of frames, by reference: of each flow's first one the verdict, of those cited what they show.

    ``firsts`` are the first frames by row, ``names`` the captures' by file index: they and the frame numbers lead back
    to where the frames are from. ``origin`` leads there from a frame that ``rows`` cite.
    """
    found: dict[int, list[str]] = {}
    for row in rows:
        said = row.verdict or (what_happened(row) if row.failed else row.tls_outcome or row.tcp_outcome)
        lines = found.setdefault(origin(firsts[row.id]), [])
        lines.append(f"flow {row.id}, {row.client} -> {row.server}: {said}")
        for cited, text in _cited(row):
            lines = found.setdefault(origin(cited), [])
            if text not in lines:
                lines.append(text)
    return {ref: [f"frame {int(frame_of(ref))} of {names[int(file_of(ref))]}", *lines] for ref, lines in found.items()}


def write(
    out: BinaryIO,
    wanted: str,
    picked: Picked,
    captures: Sequence[str],
    comments: Mapping[int, Sequence[str]],
    about: Sequence[str],
    stop: Stop | None = None,
    anonymised: "Anonymised | None" = None,
) -> Written:
    """Write what was picked as ``wanted``, one of `FORMATS`; ``about`` is said of the whole file.

    ``anonymised`` rewrites it. UsageError when the format cannot hold it.
    """
    cursor = open_captures(list(captures), stop)
    if anonymised is not None:
        anonymised.begin()
    try:
        found = Records(cursor, picked.frames)
        if wanted == PCAP:
            return _write_pcap(out, picked, _wanted(found, anonymised))
        return _write_pcapng(out, picked, found, comments, about, anonymised)
    finally:
        cursor.close()


def _wanted(found: Records | Copying, anonymised: "Anonymised | None") -> Iterator[tuple[FileCursor, bytes]]:
    """Each wanted record with the bytes that are to be written of it."""
    while (record := found.next()) is not None:
        data: bytes | None = data_of(record)
        if anonymised is not None and data is not None:
            assert isinstance(found, Records)
            data = anonymised.rewrite(found.number, data, record.linktype)
        if data is not None:
            yield record, data


def _write_pcap(out: BinaryIO, picked: Picked, found: Iterable[tuple[FileCursor, bytes]]) -> Written:
    file = PcapFile(out, not _MICROSECONDS.issuperset(info.format for info in picked.infos))
    refs, sources = array("q"), set[_Source]()
    for record, data in found:
        file.write(record.ts_ns, data, record.origlen, record.linktype)
        sources.add((record.file_index, record.interface, record.linktype))
        refs.append(record.ref)
    file.end()
    return Written(len(refs), len({_described(source, picked.infos) for source in sources}), refs)


def _write_pcapng(
    out: BinaryIO,
    picked: Picked,
    found: Records,
    comments: Mapping[int, Sequence[str]],
    about: Sequence[str],
    anonymised: "Anonymised | None",
) -> Written:
    file = PcapngFile(out, f"pcapstall {pcapstall.__version__}", about)
    copying = Copying(found, out, FrameSet(comments))
    numbers: dict[_Source, int] = {}
    counts: dict[int, set[tuple[int, int]]] = {}
    for record, data in _wanted(copying if anonymised is None else found, anonymised):
        ref = record.ref
        source = (record.file_index, record.interface, record.linktype)
        number = numbers.get(source)
        if number is None:
            described = _described(source, picked.infos)
            number = file.interface(described if anonymised is None else anonymised.interface(described))
            numbers[source] = number
            copying.know(record, number)
            counts.setdefault(number, set()).add(source[:2])
        options = _own_options(record, anonymised is None) if record.options_ref == ref else []
        if ref in comments:
            options.append((OPT_COMMENT, utf8("\n".join(comments[ref]))))
        file.write(number, record.ts_ns, data, record.origlen, options)
        copying.refs.append(ref)
    for number, ts_ns in copying.last_ns.items():
        file.reached(number, ts_ns)
    for number, sources in counts.items():
        told = [picked.infos[index].interfaces[interface] for index, interface in sources]
        file.statistics(number, sum_known(info.received for info in told), sum_known(info.dropped for info in told))
    return Written(len(copying.refs), len(counts), copying.refs)


def data_of(record: FileCursor) -> bytes:
    """The bytes of a record that were captured."""
    return record.buf[record.start : record.start + record.caplen]


def _own_options(record: FileCursor, with_comments: bool) -> list[Option]:
    """What a record of a pcapng file says of itself and is still true elsewhere: its direction, and comments."""
    found = Options(record.buf, record.options_at, record.options_end, record.big_endian)
    kept: list[Option] = []
    for code, value in found.pairs:
        if code == OPT_COMMENT and with_comments:
            kept.append((code, value))
        elif code == _EPB_FLAGS and len(value) == 4:
            # Bits 5 to 8 are the length of a frame check sequence, which is not read.
            flags = int.from_bytes(value, "big" if record.big_endian else "little") & ~0x1E0
            kept.append((code, flags.to_bytes(4, "little")))
    return kept


def _described(source: _Source, infos: Sequence[CaptureInfo]) -> Described:
    index, number, linktype = source
    told = infos[index].interfaces
    if number >= len(told):
        return Described(linktype, number)
    info = told[number]
    return Described(linktype, number, info.name, info.description, info.filter, info.snaplen, info.comments)
