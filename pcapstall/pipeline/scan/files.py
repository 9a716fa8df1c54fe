"""What is known of the captures' files when they have been read.

It goes from one process to another with a share of the flows. What is said of it in a report is the trust package's.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pcapstall.capture.captures import Captures
from pcapstall.capture.info import CaptureInfo
from pcapstall.core.errors import InputError
from pcapstall.pipeline.scan.loop import FileCounts, Scan
from pcapstall.wire.unread import UnreadPackets


class Files(NamedTuple):
    """What is known of the files when they have been read."""

    infos: Sequence[CaptureInfo]
    failed: Sequence[InputError]
    """Those that cannot be read."""
    stopped: bool
    bytes_read: int
    total_bytes: int | None
    counts: Mapping[int, FileCounts]
    """By the index of the file."""
    unread: UnreadPackets


def files_of(captures: Captures, scan: Scan) -> Files:
    """What is known of ``captures``, which ``scan`` has read."""
    return Files(
        captures.infos(),
        list(captures.failed),
        captures.stopped,
        captures.bytes_read,
        captures.total_bytes,
        scan.files,
        scan.unread,
    )
