"""What tshark says of a capture: which packets it is asked for, how often, and with which preferences.

One reading gives what nearly every flow needs; a second one, of single frames, what the first could not know it had to
ask for; a third tells tshark which ports speak TLS. What the packets mean is in `streams`.
"""

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from pcapstall.core.compressed import compression_of
from pcapstall.core.errors import InputError
from pcapstall.pipeline.tshark.capture import Question, TsharkRun
from pcapstall.pipeline.tshark.messages import Fragments
from pcapstall.pipeline.tshark.packets import FIELDS, PROTOCOLS, TsharkSegment, packet_ns, read_packet
from pcapstall.pipeline.tshark.program import Tshark, TsharkError
from pcapstall.pipeline.tshark.streams import Streams
from pcapstall.report.comparison_model import SeenFlow

DISPLAY_FILTER: Final = " || ".join(
    (
        "frame.number == 1",
        "tcp.time_relative == 0",  # the first packet of each stream
        "tcp.flags.syn == 1",
        "tcp.flags.fin == 1",
        "tcp.flags.reset == 1",
        "(tcp.ack == 1 && tcp.len == 0)",  # the ACK of the handshake
        "(tcp.seq == 1 && (tcp.len > 0 || tcp.analysis.ack_lost_segment))",  # the same, with more in it
        "tls.handshake",
        "tls.alert_message",
        "((icmp || icmpv6) && tcp.stream)",
    )
)
PREFERENCES: Final = {
    "ip.defragment": "TRUE",
    "tcp.analyze_sequence_numbers": "TRUE",
    "tcp.calculate_timestamps": "TRUE",
    "tcp.desegment_tcp_streams": "TRUE",
    "tcp.reassemble_out_of_order": "TRUE",
    "tcp.relative_sequence_numbers": "TRUE",
    "tls.desegment_ssl_records": "TRUE",
}
"""Set whatever the user's own configuration of Wireshark says: the filter and the reading rest on them."""
DECODE_AS: Final = ("udp.port==8472,vxlan",)
"""Linux's port for VXLAN is not the assigned one."""

SILENCE_S: Final = 30.0
"""How long tshark may print nothing, and besides a second for every so many bytes of the file."""
BYTES_A_SECOND: Final = 2_000_000
RECORD_MIN_LEN: Final = 4
"""No capture format has shorter records of packets."""
DEFLATE_MAX: Final = 1032
"""So many times as much fits into a compressed file."""
_AT_ONCE: Final = 2000
"""Frames, and streams, in one filter: it is looked through for every packet."""


class SecondOpinion:
    """Asks tshark about files."""

    def __init__(
        self, keylog: str | None = None, decode_as: Sequence[str] = (), silence_s: float | None = None
    ) -> None:
        self.keylog = keylog
        self._tshark = Tshark()
        self._silence_s = silence_s
        self._decode_as = (*DECODE_AS, *decode_as)
        self._preferences = dict(PREFERENCES)
        if keylog is not None:
            self._preferences["tls.keylog_file"] = keylog
        self.warning = ""
        """What tshark complained of in the latest file."""
        self.first_ns: int | None = None
        """The stamp of its first packet; None when it has none."""

    @property
    def version(self) -> str:
        """tshark's."""
        return self._tshark.version

    def flows(self, path: str, tls_ports: Collection[int] = ()) -> list[SeenFlow]:
        """The flows of ``path``, on ``tls_ports`` read as TLS whatever else tshark would take them for.

        TsharkError when tshark cannot say.
        """
        decode_as = [*self._decode_as, *(f"tcp.port=={port},tls" for port in sorted(tls_ports))]
        question = Question(DISPLAY_FILTER, PROTOCOLS, FIELDS, self._preferences, decode_as)
        streams, fragments = Streams(), Fragments()
        self.first_ns = None

        def take(packet: Any) -> None:
            if self.first_ns is None:
                self.first_ns = packet_ns(packet)
            streams.add(read_packet(packet, fragments))

        def take_late(packet: Any) -> None:
            found = read_packet(packet, Fragments())
            if isinstance(found, TsharkSegment):
                streams.add_late(found)

        self.warning = self._ask(path, question, take)
        for display_filter in _late_filters(streams):
            self._ask(path, question._replace(display_filter=display_filter), take_late)
        return streams.flows()

    def _ask(self, path: str, question: Question, take: Callable[[Any], None]) -> str:
        silence_s, size = self._silence_s, _size(path)
        if silence_s is None:
            silence_s = SILENCE_S + size / BYTES_A_SECOND
        run = TsharkRun(self._tshark, path, question, silence_s)
        frames_max = _frames_max(path, size)
        latest = 0

        def take_or_say(packet: Any) -> None:
            nonlocal latest
            try:
                before, latest = latest, int(packet.number)
                if not before < latest <= frames_max:
                    raise TsharkError(f"{path}: tshark {self.version} shows packets that are not in the file")
                take(packet)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise TsharkError(
                    f"{path}: tshark {self.version} shows a packet in an unknown way ({error!r})"
                ) from error

        run.feed(take_or_say)
        return run.warning


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError as error:
        raise InputError(path, error.strerror or "cannot be read") from error


def _frames_max(path: str, size: int) -> int:
    """No more packets than this can be in the file of ``size`` bytes: what is kept of them has a bound."""
    if not size:
        return 0  # what the kernel makes up as it is read may have nothing to say
    try:
        with open(path, "rb") as file:
            compressed = compression_of(file.read(16)) is not None
    except OSError as error:
        raise InputError(path, error.strerror or "cannot be read") from error
    return size // RECORD_MIN_LEN * (DEFLATE_MAX if compressed else 1)


def _late_filters(streams: Streams) -> list[str]:
    """Filters for what the first reading did not hand over: parts of messages, and ACKs of another number."""
    frames, numbers = streams.unknown_frames(), streams.unacknowledged()
    filters = [f"frame.number in {{{_list(part)}}}" for part in _parts(frames)]
    filters += [
        f"tcp.stream in {{{_list(part)}}} && tcp.flags.ack == 1 && tcp.flags.syn == 0 && tcp.flags.reset == 0"
        for part in _parts(numbers)
    ]
    return filters


def _parts(numbers: Sequence[int]) -> list[Sequence[int]]:
    return [numbers[at : at + _AT_ONCE] for at in range(0, len(numbers), _AT_ONCE)]


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
