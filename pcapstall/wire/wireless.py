"""IEEE 802.11 data frames, and the headers that monitor mode puts before them: radiotap, Prism, AVS.

Only unencrypted, unfragmented data frames hold something to read; the rest is `NOT_TCP`. Written out here because
dpkt 1.9.8 leaves the HT control field in the payload, does not open A-MSDUs, and its radiotap raises IndexError on a
short header (tried on hand-made and random frames).
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_le, u32_be, u32_le
from pcapstall.wire.protocols import LLC, NOT_TCP, WIRELESS_CUT

LINKTYPE_IEEE802_11: Final = 105
LINKTYPE_IEEE802_11_PRISM: Final = 119
LINKTYPE_IEEE802_11_RADIOTAP: Final = 127
LINKTYPE_IEEE802_11_AVS: Final = 163

_AVS_MAGIC: Final = 0x8021_1000
"""The first word of an AVS header without its version, the low four bits."""

# The second byte of a frame's control field (IEEE 802.11-2020 section 9.2.4.1).
_TO_DS: Final = 0x01
_FROM_DS: Final = 0x02
_MORE_FRAGMENTS: Final = 0x04
_PROTECTED: Final = 0x40
_HT_CONTROL: Final = 0x80

# Radiotap (www.radiotap.org): bits of a presence word, and of the flags field.
_HAS_TSFT: Final = 0x1
_HAS_FLAGS: Final = 0x2
_HAS_MORE_WORDS: Final = 0x8000_0000
_DATA_PAD: Final = 0x20


def is_wireless(linktype: i64) -> bool:
    """Whether `open_wireless` reads this link type."""
    return (
        linktype == LINKTYPE_IEEE802_11
        or linktype == LINKTYPE_IEEE802_11_RADIOTAP
        or linktype == LINKTYPE_IEEE802_11_PRISM
        or linktype == LINKTYPE_IEEE802_11_AVS
    )


def open_wireless(buf: bytes, at: i64, end: i64, linktype: i64) -> tuple[i64, i64]:
    """What the frame of one of the 802.11 link types holds (LLC or nothing of interest), and where."""
    padded: bool = False
    if linktype != LINKTYPE_IEEE802_11:
        if at + 8 > end:
            return WIRELESS_CUT, end
        length: i64 = monitor_header_len(buf, at, linktype)
        if linktype == LINKTYPE_IEEE802_11_RADIOTAP:
            padded = _radiotap_pads(buf, at, end)
        if length < 8 or at + length > end:
            return WIRELESS_CUT, end
        at += length
    return _data_frame(buf, at, end, padded)


def monitor_header_len(buf: bytes, at: i64, linktype: i64) -> i64:
    """What radiotap, Prism or AVS at ``at``, of which 8 bytes are there, says that its length is."""
    if linktype == LINKTYPE_IEEE802_11_RADIOTAP:
        return u16_le(buf, at + 2)
    length: i64 = u32_le(buf, at + 4)
    if length > 0xFFFF or u32_be(buf, at) & 0xFFFF_FFF0 == _AVS_MAGIC:
        return u32_be(buf, at + 4)  # AVS; Prism is in the byte order of the host
    return length


def _radiotap_pads(buf: bytes, at: i64, end: i64) -> bool:
    """Whether the flags field says that the 802.11 header is padded to a multiple of 4."""
    present: i64 = u32_le(buf, at + 4)
    field: i64 = at + 8
    if present & _HAS_FLAGS == 0:
        return False
    word: i64 = present
    while word & _HAS_MORE_WORDS:
        if field + 4 > end:
            return False
        word = u32_le(buf, field)
        field += 4
    if present & _HAS_TSFT:
        field = at + ((field - at + 7) & ~7) + 8
    return field < end and i64(buf[field]) & _DATA_PAD != 0


def _data_frame(buf: bytes, at: i64, end: i64, padded: bool) -> tuple[i64, i64]:
    """IEEE 802.11-2020 section 9.3.2.1."""
    if at + 2 > end:
        return WIRELESS_CUT, end
    control: i64 = i64(buf[at])
    flags: i64 = i64(buf[at + 1])
    # Version 0, type 2 (data), and not a subtype without data (null frames).
    if control & 0x0F != 0x08 or control & 0x40 or flags & (_MORE_FRAGMENTS | _PROTECTED):
        return NOT_TCP, at
    header_len: i64 = 24
    if at + header_len > end:
        return WIRELESS_CUT, end
    if i64(buf[at + 22]) & 0x0F != 0:
        return NOT_TCP, at  # a fragment other than the first
    if flags & _TO_DS and flags & _FROM_DS:
        header_len += 6
    aggregate: bool = False
    if control & 0x80:
        if at + header_len + 2 > end:
            return WIRELESS_CUT, end
        aggregate = i64(buf[at + header_len]) & 0x80 != 0
        header_len += 2
        if flags & _HT_CONTROL:
            header_len += 4
    if padded:
        header_len = (header_len + 3) & ~3
    at += header_len
    if aggregate:
        at += 14  # destination, source, length: of an A-MSDU's packets the first one is read
    if at > end:
        return WIRELESS_CUT, end
    return LLC, at
