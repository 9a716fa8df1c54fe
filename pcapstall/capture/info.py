"""What is known about a capture once it was read: its format, its clock, its losses, what was wrong with it.

Plain data for the report that nobody changes. Nothing here reads a file.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pcapstall.capture.blocks import PacketComment


class CaptureWarning(NamedTuple):
    """Something in a capture that is not as it should be; reading went on or ended, but nothing was raised."""

    file: str
    frame: int
    """The record concerned, the first is 1; 0 when it is not about a record."""
    offset: int
    """Where in the (decompressed) file; -1 when it is not about a place."""
    what: str
    needed: int = -1
    """Bytes (or the value) needed; -1 when there is nothing to compare."""
    got: int = -1
    records: int = 1
    """How many records it is true of; ``frame`` and ``offset`` are of the first."""

    def __str__(self) -> str:
        place = "".join(
            (f": frame {self.frame}" if self.frame else "", f", offset {self.offset}" if self.offset >= 0 else "")
        )
        if place.startswith(","):
            place = ":" + place[1:]
        numbers = f": needed {self.needed}, got {self.got}" if self.needed >= 0 else ""
        times = f" ({self.records} records, this is the first)" if self.records > 1 else ""
        return f"{self.file}{place}: {self.what}{numbers}{times}"


class InterfaceInfo(NamedTuple):
    """One interface that a capture describes."""

    number: int
    """Counted over all sections of the file; `RecordCursor.interface`."""
    linktype: str
    name: str = ""
    """if_name; empty when the file does not say."""
    description: str = ""
    filter: str = ""
    """The capture filter in force, as text."""
    snaplen: int = 0
    """0 is no limit."""
    dropped: int | None = None
    """Packets lost by the interface and the operating system; None when the file does not say."""
    received: int | None = None
    """Packets that the interface saw, isb_ifrecv; None when the file does not say."""
    comments: tuple[str, ...] = ()


class ClockSteps(NamedTuple):
    """How often the clock of a capture was seen to jump from one record to the next."""

    backward: int = 0
    backward_max_ns: int = 0
    """The largest backward step, as a positive number."""
    forward: int = 0
    """Jumps of more than a day."""
    forward_max_ns: int = 0


class CaptureInfo(NamedTuple):
    """A summary of one capture, as far as it was read."""

    path: str
    format: str
    """pcap-us, pcap-ns, pcap-modified, pcap-nokia or pcapng."""
    compression: str | None
    """gzip, zstd, lz4, xz, bzip2 or None."""
    byte_order: str
    """``little`` or ``big``; of the first section of a pcapng file."""
    packets: int
    """Records with a packet. Frame numbers run higher where a pcapng file has custom blocks, as in Wireshark."""
    first_ns: int | None
    """The earliest time stamp of all records (not the first record's); None without one."""
    last_ns: int | None
    """The latest time stamp of all records."""
    clock: ClockSteps
    linktypes: tuple[str, ...]
    """Names without LINKTYPE_, each once, in order of first appearance in the file."""
    interfaces: tuple[InterfaceInfo, ...]
    dropped: int | None
    """Packets lost by interfaces and operating system, summed; None when the file does not say."""
    snaplen_cut: int
    """Records with fewer bytes captured than were on the wire."""
    unstamped: int
    """Records without a time of their own (Simple Packet Block); they have that of the record before."""
    absurd_stamps: int
    """Records stamped before 1970 (the stamp is negative) or after 2116 (the stamp is cut to that)."""
    application: str = ""
    """What wrote the file, shb_userappl."""
    os: str = ""
    comments: tuple[str, ...] = ()
    """Of the sections."""
    packet_comments: "tuple[PacketComment, ...]" = ()
    processes: tuple[str, ...] = ()
    """``name (pid)`` from the process blocks that Apple's tcpdump writes."""
    warnings: tuple[CaptureWarning, ...] = ()
