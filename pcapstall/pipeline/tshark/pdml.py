"""What tshark prints, as pyshark reads it: packet by packet, with an end to the waiting and to what is kept of one.

How tshark is started and ended is in `capture`.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, Final

from pyshark.tshark.output_parser.tshark_xml import TsharkXmlParser

_PDML_START: Final = b"<?xml"
_PDML_END: Final = b"</pdml>"
_PACKET_MAX: Final = 16 << 20
"""More than this without the end of a packet is no output of tshark."""
_GENERAL: Final = ("num", "len", "caplen", "timestamp")
"""What pyshark itself reads of a packet."""


class SilenceError(Exception):
    """tshark printed nothing for too long."""


class JunkError(Exception):
    """What came is no PDML."""


class Pdml(TsharkXmlParser):  # type: ignore[misc]
    """pyshark's reader of PDML with an end to its patience."""

    def __init__(self, silence_s: float, fields: Sequence[str]) -> None:
        super().__init__()
        self._silence_s = silence_s
        self._begun = False
        self.cancelled = False
        """Nothing is read any more: what was being waited for when that was said may have been over already."""
        self.ended = False
        """Whether the output ended where PDML does."""
        # A ClientHello has 200 lines of PDML, most of them leaves: `    <field name="tls.ciphersuite" .../>`.
        wanted = b"|".join(re.escape(name).encode() for name in (*_GENERAL, *fields))
        self._unwanted = re.compile(rb'^ *<field name="(?!(?:' + wanted + rb')")[^\n]*/>\n', re.MULTILINE)

    async def get_packets_from_stream(self, stream: Any, existing_data: bytes, got_first_packet: bool = True) -> Any:
        """The next packet, or None, and what was read and belongs to none yet."""
        if self.cancelled:
            raise asyncio.CancelledError
        try:
            async with asyncio.timeout(self._silence_s):
                packet, data = await super().get_packets_from_stream(stream, existing_data, got_first_packet)
        except TimeoutError:
            raise SilenceError from None
        except EOFError:
            self.ended = _PDML_END in existing_data
            raise
        if not self._begun and len(data) >= len(_PDML_START):
            self._begun = True
            if not data.startswith(_PDML_START):
                raise JunkError
        if packet is None and len(data) > _PACKET_MAX:
            raise JunkError
        return packet, data

    def _parse_single_packet(self, packet: bytes) -> Any:
        return super()._parse_single_packet(self._unwanted.sub(b"", packet))
