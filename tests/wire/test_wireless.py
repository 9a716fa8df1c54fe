"""802.11 frames and the headers of monitor mode."""

import struct

import pytest
from packet_support import Decoded, decode, ethernet, found, ipv4, malformed, other, tcp

from pcapstall.wire.decode import Decoder

LLC = b"\xaa\xaa\x03\0\0\0\x08\0" + ipv4(tcp())
MACS = b"".join(bytes((2, 0, 0, 0, 0, n)) for n in (1, 2, 3))
FOURTH = bytes((2, 0, 0, 0, 0, 4))


def data(control: int = 0x08, flags: int = 0x01, middle: bytes = b"", sequence: int = 0x10, body: bytes = LLC) -> bytes:
    return bytes((control, flags, 0, 0)) + MACS + struct.pack("<H", sequence) + middle + body


SUBFRAME = MACS[:12] + struct.pack(">H", len(LLC)) + LLC

FRAMES: list[tuple[str, bytes, Decoded]] = [
    ("data", data(), found()),
    ("from the distribution system", data(flags=0x02), found()),
    ("retry, power management, more data", data(flags=0x39), found()),
    ("four addresses", data(flags=0x03, middle=FOURTH), found()),
    ("data with an acknowledgment", data(control=0x18), found()),
    ("quality of service", data(control=0x88, middle=b"\0\0"), found()),
    ("quality of service, four addresses", data(control=0x88, flags=0x03, middle=FOURTH + b"\0\0"), found()),
    ("quality of service, HT control", data(control=0x88, flags=0x81, middle=b"\0\0" + bytes(4)), found()),
    ("an aggregate's first packet", data(control=0x88, middle=b"\x80\0", body=SUBFRAME + bytes(2) + SUBFRAME), found()),
    ("null", data(control=0x48), other()),
    ("null with quality of service", data(control=0xC8, middle=b"\0\0"), other()),
    ("protected", data(flags=0x41), other()),
    ("first of several fragments", data(flags=0x05), other()),
    ("later fragment", data(sequence=0x11), other()),
    ("management", data(control=0x80), other()),
    ("acknowledgment", bytes((0xD4, 0)) + bytes(2) + MACS[:6], other()),
    ("version 1", data(control=0x09), other()),
    ("cut in the header", data()[:20], malformed("802.11 header cut")),
    ("cut in the QoS field", data(control=0x88, middle=b"\0\0")[:25], malformed("802.11 header cut")),
    ("empty", b"", malformed("802.11 header cut")),
]


@pytest.mark.parametrize(("name", "frame", "want"), FRAMES, ids=lambda value: value if isinstance(value, str) else "")
def test_frames(name: str, frame: bytes, want: Decoded) -> None:
    assert decode(frame, 105) == want, name
    assert decode(struct.pack("<BBHI", 0, 0, 8, 0) + frame, 127) == want, name


def radiotap(present: list[int], fields: bytes) -> bytes:
    words = b"".join(struct.pack("<I", word) for word in present)
    return struct.pack("<BBH", 0, 0, 4 + len(words) + len(fields)) + words + fields


@pytest.mark.parametrize(
    "header",
    [
        radiotap([0x2], b"\x20"),
        radiotap([0x3], bytes(8) + b"\x20"),
        radiotap([0x8000_0002, 0], b"\x20"),
        radiotap([0x8000_0003, 0x8000_0000, 0], bytes(8) + b"\x20"),
        radiotap([0x8000_0003, 0], bytes(4) + bytes(8) + b"\x20"),
    ],
)
def test_radiotap_tells_of_padding(header: bytes) -> None:
    frame = data(control=0x88, middle=b"\0\0" + b"\0\0")  # 26 bytes of header, padded to 28
    assert decode(header + frame, 127) == found()
    assert decode(header.replace(b"\x20", b"\x10") + frame, 127) == other()


@pytest.mark.parametrize("linktype", [119, 163])
def test_prism_and_avs(linktype: int) -> None:
    avs = struct.pack(">II", 0x80211002, 64) + bytes(56)
    assert decode(avs + data(), linktype) == found()
    for order in "<>":
        prism = struct.pack(order + "II", 0x44, 144) + bytes(136)
        assert decode(prism + data(), linktype) == found()


@pytest.mark.parametrize("linktype", [119, 127, 163])
def test_headers_of_impossible_length(linktype: int) -> None:
    for header in (b"", bytes(7), bytes(8), struct.pack("<BBHI", 0, 0, 7, 0), b"\xff" * 8):
        assert decode(header + data()[:20] * (len(header) > 7), linktype) == malformed("802.11 header cut")


def test_these_link_types_are_known() -> None:
    decoder = Decoder()
    for linktype in (105, 119, 127, 163):
        decode(ethernet(b""), linktype, decoder=decoder)
    assert decoder.unknown_linktypes == {}
