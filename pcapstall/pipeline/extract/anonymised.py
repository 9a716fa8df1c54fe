"""An anonymisation of one extract: learns the streams while packets are picked, then rewrites what is written.

The mappings are those of the anonymise package. No file is opened here.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Table

from pcapstall.anonymise.free_text import FreeText, is_common_interface
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.packets import Packets
from pcapstall.anonymise.protocols import protocol_name
from pcapstall.anonymise.secret import Secret
from pcapstall.anonymise.streams import Connection, Streams
from pcapstall.extract.pcapng_file import Described
from pcapstall.extract.picking import SegmentListener
from pcapstall.flows.flow import Flow
from pcapstall.report.flow_model import FlowReport
from pcapstall.wire.segment import Segment


class Anonymised(SegmentListener):
    """Rewrites the records of an extract."""

    def __init__(self, secret: Secret, hidden: Iterable[str] = ()) -> None:
        self.mapping = Mapping(secret)
        self.text = FreeText(self.mapping, hidden)
        self.dropped = 0
        """Records that were left out, since their link type has no other names here."""
        self._streams = Streams(self.mapping)
        self._packets = Packets(self.mapping, self._streams)
        self._connections: dict[int, Connection] = {}

    def segment(self, flow: Flow, segment: Segment, number: int) -> None:
        """Learn a segment's payload."""
        connection = self._connections.get(flow.id)
        if connection is None:
            bases = int(flow.opener.base_seq), int(flow.answerer.base_seq)
            connection = self._connections[flow.id] = self._streams.open(flow.key, flow.answer_key, bases)
        at = int(segment.payload_offset)
        data = segment.buf[at : at + int(segment.captured_len)]
        self._streams.learn(connection, number, segment.key, int(segment.seq), int(segment.flags), data)

    def datagram(self, key: bytes, number: int, data: bytes) -> None:
        """Keep a packet that came in fragments."""
        self._packets.datagrams.setdefault(key, []).append((number, data))

    def settle(self) -> None:
        """Everything was learnt."""
        self._streams.settle()

    def begin(self) -> None:
        """The records are rewritten from the first one on, perhaps once more."""
        self.dropped = 0
        self._streams.rewind()

    def rewrite(self, number: int, data: bytes, linktype: int) -> bytes | None:
        """The bytes of record ``number`` under other names; None when it is to be left out."""
        made = self._packets.frame(number, data, linktype)
        if made is None:
            self.dropped += 1
        return made

    def interface(self, described: Described) -> Described:
        """An interface without what its host says of itself."""
        name = described.name
        if not is_common_interface(name):
            name = self.mapping.words(name)
        return described._replace(name=name, description="", filter="", comments=())

    def comments(self, found: Table[int, Sequence[str]]) -> dict[int, list[str]]:
        """What is said of frames; the capture has no name."""
        return {ref: [self.text.line(text) for text in texts] for ref, texts in found.items()}

    def renamed(self, row: FlowReport) -> FlowReport:
        """A row under the names that it has in a report of what was written."""
        sni = row.sni if row.sni is None else self.mapping.words(row.sni)
        alpn = [protocol_name(name.encode(), self.mapping).decode() for name in row.alpn]
        client, server = self.text.line(row.client), self.text.line(row.server)
        return row._replace(client=client, server=server, sni=sni, alpn=alpn)
