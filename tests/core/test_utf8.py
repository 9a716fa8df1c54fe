"""Names of files are bytes; text that holds them is still written."""

import os

import pytest

from pcapstall.core.utf8 import utf8, without_surrogates


@pytest.mark.parametrize("name", [b"a.pcap", "grün.pcap".encode(), b"\xff\xfe.pcap"])
def test_every_name_can_be_written(name: bytes) -> None:
    text = os.fsdecode(name)
    assert utf8(text) == without_surrogates(text).encode()
    assert (utf8(text) == name) == (b"\xff" not in name)
