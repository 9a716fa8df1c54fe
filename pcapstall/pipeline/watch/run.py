"""Reads a capture, most often a pipe without an end, and tells of each stall while it lasts.

Time is the capture's; while a pipe is silent it is guessed from this machine's (`clock`), by the reader itself
between two records, so that nobody else ever touches a flow. What is kept is bounded by the flow table.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from pcapstall.capture.captures import Captures, open_captures
from pcapstall.capture.ring import BATCH_NS
from pcapstall.capture.source import Stop
from pcapstall.core.counts import sum_known
from pcapstall.core.endpoints import format_endpoints
from pcapstall.core.errors import InputError
from pcapstall.core.times import MS
from pcapstall.diagnose.knowledge import Knowledge, client_key
from pcapstall.diagnose.thresholds import make_thresholds
from pcapstall.flows.flow import AHEAD_NS
from pcapstall.flows.table import FlowTable
from pcapstall.pipeline.options import Options
from pcapstall.pipeline.scan.loop import FileCounts, Listener, Scan
from pcapstall.pipeline.trust.captures import CLOCK_STEPS, capture_report, doubts
from pcapstall.pipeline.watch.clock import CaptureClock
from pcapstall.pipeline.watch.flows import WatchedFlows
from pcapstall.pipeline.watch.verdicts import KNOWN_MAX, WatchVerdicts
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.model import CaptureReport
from pcapstall.report.watching import Standing, Told
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import UdpDatagram

SWEEP_NS: Final = 100 * MS
"""How often, at least, flows that stalled are asked whether they go on, in the capture's time."""

COLLECT_S: Final = 10.0
"""How often all garbage is collected. That also empties CPython's store of freed tuples, which else fills for half an
hour (2,000 of each length up to 20), and looks like memory that grows."""

Tell = Callable[[Told | Standing], None]


class Watched(NamedTuple):
    """What came of it."""

    standing: Standing
    captures: list[CaptureReport]
    unreadable: Sequence[InputError]


def watch(
    captures: Sequence[str],
    options: Options,
    tell: Tell,
    *,
    keep: Callable[[FlowReport], bool] | None = None,
    every_ns: int = 0,
    stop: Stop | None = None,
) -> Watched:
    """Tell what happens to the flows of ``captures``, then how things stood at the end, unless none could be read.

    ``keep`` says which rows are told, ``every_ns`` how often it is told how things stand (0: at the end only).
    ``stop`` thrown, or Ctrl-C, ends it. Files that cannot be read are in `Watched.unreadable`.
    """
    stop = stop if stop is not None else Stop()
    watcher = _Watcher(options, tell, keep, every_ns)
    stop.when_silent = watcher.silent
    stop.silent_s = watcher.sweep_ns / 1e9
    try:
        watcher.cursor = cursor = open_captures(list(captures), stop)
        try:
            with _rarely_collected():
                watcher.run(cursor)
            return Watched(watcher.stand("end"), watcher.captures(), cursor.failed)
        finally:
            cursor.close()
    finally:
        stop.when_silent = None


class _Watcher(Listener):
    """The scan's listener: looks at flows when their time may be up."""

    def __init__(self, options: Options, tell: Tell, keep: Callable[[FlowReport], bool] | None, every_ns: int) -> None:
        super().__init__()
        self.cursor: Captures | None = None
        thresholds = make_thresholds(options.thresholds_ns)
        knowledge = Knowledge()
        self._verdicts = WatchVerdicts(
            knowledge, options.at, options.tls_ports, self.captures, min(options.max_flows, KNOWN_MAX),
            self._pass_on, keep,
        )  # fmt: skip
        self._flows = WatchedFlows(thresholds, knowledge, self._verdicts)
        self._table = FlowTable(self._flows, thresholds.least(), max_flows=options.max_flows)
        self._table.opened = self._flows.opened
        self._decoder = Decoder()
        self._verdicts.unread = self._decoder.unread
        self._scan = Scan(self._table, self._decoder, self)
        self._flows.gaps = self._scan.watched_until
        self._clock = CaptureClock()
        self._tell = tell
        self._clock_set = False
        self._every_ns = every_ns
        self._next_standing_ns = 0
        self.sweep_ns = max(min(SWEEP_NS, int(thresholds.least()) // 4), MS)
        self._swept_ns = 0
        self._now_ns = 0
        self._ahead_ns = 0
        """The stamp of a record that was far ahead of the one before; 0 when it was not."""
        self._behind_ns = 0
        """What may still come that is so much older than what has come."""
        self.due_ns = 0
        self._collected_s = time.monotonic()
        self._at_hand = 0
        """Packets that were read, and are followed only after what is told now."""

    def run(self, cursor: Captures) -> None:
        """Read to the end, or until it is stopped."""
        try:
            self._scan.run(cursor)
        except KeyboardInterrupt as interrupt:
            cursor.stop(str(interrupt))
        latest_ns = max(self._scan.latest_ns, self._now_ns)
        if latest_ns:
            self._advance(latest_ns, sweep=True)
        self._table.finish()
        if cursor.infos() or not cursor.failed:
            self._tell(self.stand("end"))

    def dns(self, datagram: UdpDatagram, ns: int, ref: int) -> None:
        """A DNS message."""
        self._verdicts.dns.take(datagram, ns, ref)

    def look(self, now_ns: int) -> None:
        """A record of ``now_ns`` comes."""
        self._clock.seen(now_ns)
        now_ns -= self._behind_ns
        if self._ahead_ns:
            now_ns = min(now_ns, self._ahead_ns)
            self._ahead_ns = 0
        elif self._now_ns and now_ns - self._now_ns > AHEAD_NS:
            # One stamp may be wrong: time passes when the next record says so, too.
            self._ahead_ns = now_ns
            self.due_ns = 0
            return
        self._at_hand = 1
        try:
            self._advance(max(now_ns, self._now_ns))
        finally:
            self._at_hand = 0

    def progress(self, now_ns: int) -> None:
        """Many records were read; their clock may have been set back."""
        if now_ns < self._now_ns - AHEAD_NS:
            self._set_back(now_ns)

    def silent(self) -> None:
        """Nothing comes: called between two records."""
        last_ns = int(self._decoder.segment.ts_ns)
        if last_ns and last_ns < self._now_ns - AHEAD_NS and not self._ahead_ns:
            self._set_back(last_ns)
        now_ns = self._clock.now_ns()
        if now_ns is not None and now_ns - self._behind_ns > self._now_ns:
            self._advance(now_ns - self._behind_ns)

    def captures(self) -> list[CaptureReport]:
        """What was read so far of each."""
        infos = self.cursor.infos() if self.cursor is not None else []
        counts = self._scan.files
        return [capture_report(info, counts.get(index, FileCounts()), 0) for index, info in enumerate(infos)]

    def _pass_on(self, told: Told) -> None:
        self._clock_set = self._clock_set or told.flow.reason == "clock_step"
        self._tell(told)

    def stand(self, event: str) -> Standing:
        """How things stand."""
        flows, limits = self._flows, self._table.limits
        infos = self.cursor.infos() if self.cursor is not None else []
        return Standing(
            event=event,
            ns=self._now_ns or None,
            flows_opened=flows.flows_opened,
            flows_open=flows.flows_opened - flows.flows_ended,
            stalled_now=len(flows.stalled_now),
            longest_now=self._longest(),
            stalled=flows.flows_stalled,
            failed=flows.flows_failed,
            packets=sum(info.packets for info in infos) - self._at_hand,
            dropped=sum_known(info.dropped for info in infos),
            closed_early=limits.closed_early,
            left_unread=limits.left_unread,
            clock_set=self._clock_set or any(CLOCK_STEPS in doubts(info, 0) for info in infos),
        )

    def _longest(self) -> tuple[str, str, int] | None:
        """The flow that has been stalled for longest, and for how long."""
        story = min(self._flows.stalled_now.values(), key=lambda story: story.since_ns, default=None)
        if story is None:
            return None
        client, server = format_endpoints(client_key(story.flow))
        return client, server, self._now_ns - story.since_ns

    def _set_back(self, now_ns: int) -> None:
        """The capture's clock was set back."""
        self._now_ns = self._swept_ns = now_ns
        self._next_standing_ns = 0
        self._clock.reset()
        self.due_ns = 0

    def _advance(self, now_ns: int, sweep: bool = False) -> None:
        """It is ``now_ns`` by the capture's clock."""
        self._now_ns = now_ns
        self._verdicts.pass_time(now_ns)
        self._flows.look(now_ns)
        is_summary_due = bool(self._every_ns) and now_ns >= self._next_standing_ns
        if sweep or is_summary_due or not 0 <= now_ns - self._swept_ns < self.sweep_ns:
            self._swept_ns = now_ns
            self._table.expire(now_ns)
            self._flows.sweep(now_ns)
            if time.monotonic() - self._collected_s >= COLLECT_S:
                gc.collect()
                self._collected_s = time.monotonic()
            if not self._behind_ns and self.cursor is not None and self.cursor.have_several_interfaces():
                # dumpcap writes what it has of one interface, then what it has of the next.
                self._behind_ns = BATCH_NS
        if is_summary_due:
            if self._next_standing_ns:
                self._tell(self.stand("summary"))
            self._next_standing_ns = now_ns - now_ns % self._every_ns + self._every_ns
        self.due_ns = min(self._swept_ns + self.sweep_ns, self._flows.due_ns) + self._behind_ns


@contextmanager
def _rarely_collected() -> Iterator[None]:
    """Look for garbage seldom: a flow and its halves make cycles, which the table breaks itself."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
