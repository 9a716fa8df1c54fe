"""The words and numbers about a capture."""

import pytest
from capture_support import pcap, pcap_header, read, shb

from pcapstall.capture.info import CaptureInfo, CaptureWarning
from pcapstall.capture.linktypes import NAMES, linktype_name


@pytest.mark.parametrize(
    ("warning", "text"),
    [
        (
            CaptureWarning("f", 3, 100, "cut in a record", 60, 7),
            "f: frame 3, offset 100: cut in a record: needed 60, got 7",
        ),
        (CaptureWarning("f", 0, 24, "odd"), "f: offset 24: odd"),
        (CaptureWarning("f", 3, -1, "odd"), "f: frame 3: odd"),
        (CaptureWarning("f", 0, -1, "odd"), "f: odd"),
        (CaptureWarning("f", 3, -1, "odd", records=2), "f: frame 3: odd (2 records, this is the first)"),
    ],
)
def test_a_warning_is_one_line(warning: CaptureWarning, text: str) -> None:
    assert str(warning) == text


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "NULL"),
        (1, "EN10MB"),
        (12, "RAW"),
        (101, "RAW"),
        (108, "LOOP"),
        (113, "LINUX_SLL"),
        (127, "IEEE802_11_RADIO"),
        (228, "IPV4"),
        (239, "NFLOG"),
        (276, "LINUX_SLL2"),
        (4711, "LINKTYPE_4711"),
    ],
)
def test_link_types_have_names(number: int, name: str) -> None:
    assert linktype_name(number) == name


def test_only_raw_has_several_numbers() -> None:
    names = [name for name in NAMES.values() if name != "RAW"]
    assert len(names) == len(set(names))


def test_the_summary_is_there_at_any_time() -> None:
    _, cursor = read(pcap_header())
    assert cursor.info().packets == 0
    info = read(pcap(1, 2))[1].info()
    assert (info.path, info.compression, info.packets, info.first_ns, info.last_ns) == (
        "scripted",
        None,
        2,
        10**9,
        2 * 10**9,
    )
    assert (info.dropped, info.snaplen_cut, info.comments, info.packet_comments) == (None, 0, (), ())
    assert [(i.number, i.linktype) for i in info.interfaces] == [(0, "EN10MB")]
    assert read(shb())[1].info().interfaces == ()


def test_the_summary_is_plain_data() -> None:
    info = read(pcap(1))[1].info()
    assert info.clock._asdict() == {
        "backward": 0,
        "backward_max_ns": 0,
        "forward": 0,
        "forward_max_ns": 0,
    }
    with pytest.raises(AttributeError):
        info.packets = 3  # type: ignore[misc]
    assert isinstance(info, CaptureInfo)
