"""Which of the flows that go on have stalled, and what became of them: each looked at when its time may be up.

A flow waits here from its first segment until its handshake is done. It is measured when its next threshold may have
passed, and one that stalled when it goes on; a healthy flow once or twice in all. What is told of it, and in which
words, is not known here. Nothing is kept of a flow that is over.
"""

from collections import deque
from heapq import heapify, heappop, heappush
from typing import Final

from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.knowledge import Knowledge
from pcapstall.diagnose.outcome import RACED, Outcome
from pcapstall.diagnose.pending import Pending
from pcapstall.diagnose.thresholds import NAMES, NONE, SYN_SYNACK, Thresholds
from pcapstall.flows.begun import begun_hello
from pcapstall.flows.bounds import LINGER_NS, is_half_open
from pcapstall.flows.flow import HANDED_ON, LIVE, NEVER, Flow
from pcapstall.flows.queue import Queue
from pcapstall.flows.table import FlowSink
from pcapstall.pipeline.scan.collect import can_stall, watched_until
from pcapstall.pipeline.watch.story import ENDED, FAILED, STALLED, WENT_ON, Story, Teller, is_closed, point_out

LOOKED_AT_MAX: Final = 4096
"""Flows in one go of which it is asked whether anything has come."""


class WatchedFlows(FlowSink):
    """The table's sink, and the queue of those that are not done."""

    def __init__(self, thresholds: Thresholds, knowledge: Knowledge, teller: Teller) -> None:
        self.opened: Queue[Flow] = Queue()
        """For the table to put new flows in."""
        self.thresholds = thresholds
        self.knowledge = knowledge
        self.gaps: list[int] = []
        """The last stamps before gaps in what was watched (`Scan.watched_until`)."""
        self.now_ns = 0
        self.flows_opened = 0
        self.flows_ended = 0
        self.flows_stalled = 0
        """Those of which a stall was told."""
        self.flows_failed = 0
        self.stories: dict[int, Story] = {}
        """By the flows' ids."""
        self.stalled_now: dict[int, Story] = {}
        """Those with an open stall; the ones that were told first come first."""
        self._least_ns = int(thresholds.least())
        self._teller = teller
        self._due: list[tuple[int, int]] = []
        """A heap of times and flows' ids."""
        self._asked: deque[int] = deque()
        self._intervals = Intervals()
        self._outcome = Outcome()
        self._pending = Pending(thresholds)

    @property
    def due_ns(self) -> int:
        """When the next flow's time may be up; `NEVER` when nobody waits."""
        return self._due[0][0] if self._due else NEVER

    def look(self, now_ns: int) -> None:
        """Look at every flow whose time is up at ``now_ns``."""
        due = self._due
        while due and due[0][0] <= now_ns:
            due_ns, flow_id = heappop(due)
            story = self.stories.get(flow_id)
            if story is not None and story.due_ns == due_ns:
                self.now_ns = due_ns
                self._look_at(story)
        self.now_ns = now_ns

    def sweep(self, now_ns: int) -> None:
        """Take in the new flows, and look at those that waited for a segment when one has come."""
        self.now_ns = now_ns
        opened = self.opened
        while len(opened) > 0:
            flow = opened.popleft()
            self.flows_opened += 1
            if flow.state != HANDED_ON:
                story = self.stories[flow.id] = Story(flow)
                self._look_later(story, flow.first_ns + self._least_ns + 1)
        for _ in range(min(len(self._asked), LOOKED_AT_MAX)):
            story_of = self.stories.get(self._asked.popleft())
            if story_of is None or not story_of.is_asked:
                continue
            story_of.is_asked = False
            if story_of.flow.last_ref == story_of.seen_ref:
                self._ask(story_of)
            else:
                self._look_at(story_of)
        if len(self._due) > 2 * len(self.stories) + LOOKED_AT_MAX:
            # Flows that were over before their time was up.
            self._due = [(story.due_ns, flow_id) for flow_id, story in self.stories.items() if story.due_ns]
            heapify(self._due)
        self.look(now_ns)

    def meet_all(self) -> None:
        """Let the others learn from every flow that has connected by now."""
        intervals = Intervals()
        for story in self.stories.values():
            if not story.met and story.flow.ack_ref:
                intervals.measure(story.flow, self.now_ns)
                self._meet(story, intervals)

    def forgets(self, flow: Flow) -> bool:
        """It is done: tell what came of it."""
        self._end(flow)
        return True

    def take(self, flow: Flow) -> bool:
        """It is done, or is not followed any more."""
        self._end(flow)
        return False

    def _look_later(self, story: Story, due_ns: int) -> None:
        story.due_ns = due_ns
        heappush(self._due, (due_ns, story.flow.id))

    def _ask(self, story: Story) -> None:
        if not story.is_asked:
            story.is_asked = True
            self._asked.append(story.flow.id)

    def _measure(self, flow: Flow) -> bool:
        """Measure ``flow``; whether what is open in it gets longer as time passes, which ends at a gap."""
        until_ns = watched_until(self.gaps, flow, self.now_ns)
        begun = begun_hello(flow) if flow.state == LIVE and flow.partial_hello_ref == 0 else None
        if begun is not None:
            flow.rare().partial_hello_ns, flow.rare().partial_hello_ref = begun.ns, begun.ref
        self._intervals.measure(flow, until_ns)
        self._outcome.judge(flow, self._intervals)
        if begun is not None:
            flow.rare().partial_hello_ns = flow.rare().partial_hello_ref = 0
        return until_ns >= self.now_ns

    def _meet(self, story: Story, intervals: Intervals) -> None:
        """Let the others learn from a flow that ``intervals`` has measured."""
        if story.flow.client_hello_first_ref:
            self.knowledge.hear_tls(story.flow)
        if not story.met:
            story.met = True
            self.knowledge.meet(story.flow, intervals)

    def _look_at(self, story: Story) -> None:
        """A flow's time may be up, or it went on after it had stalled."""
        flow = story.flow
        story.seen_ref = flow.last_ref
        story.due_ns = 0
        if flow.state != LIVE or not _has_begun(flow):
            # The table tells soon what is over. Of what began before the capture no handshake is to be expected.
            self._ask(story)
            return
        gets_longer = self._measure(flow)
        if flow.ack_ref:
            self._meet(story, self._intervals)
        intervals, outcome, pending = self._intervals, self._outcome, self._pending
        rtt_ns = self.knowledge.pair_of(flow).rtt_ns()
        self._note_end(story)
        is_long = pending.look(intervals, rtt_ns) and can_stall(outcome)
        left_ns = int(pending.left_ns) if gets_longer else NEVER
        if is_long and not story.told >> pending.which & 1 and not self._is_raced(flow, pending.which):
            self._tell_stall(story, int(pending.which))
        elif can_stall(outcome) and intervals.judge(self.thresholds, rtt_ns) and not intervals.stalled_is_open:
            self._tell_late(story)
        if outcome.failed and outcome.close_ns != NEVER and not story.failed:
            if self.now_ns - outcome.close_ns >= LINGER_NS:
                self._tell_failure(story)
            else:
                left_ns = min(left_ns, int(outcome.close_ns) + LINGER_NS - self.now_ns)
        if flow.settled and not intervals.has_open:
            self._leave(story)
            return
        # An unanswered SYN has waited until the next one: only a segment makes it longer, and there may be many.
        if left_ns != NEVER and not is_half_open(flow):
            # Measured to its last segment at least, which is ahead where the clock was set, or one stamp is wrong.
            self._look_later(story, max(self.now_ns, flow.last_ns) + left_ns)
        if not story.due_ns or story.open != NONE or story.failed or flow.last_ns > self.now_ns:
            self._ask(story)

    def _leave(self, story: Story) -> None:
        """The handshake is done. What was told is remembered until the flow is over."""
        if not story.told and not story.failed:
            self._meet(story, self._intervals)
            del self.stories[story.flow.id]

    def _note_end(self, story: Story) -> None:
        """Whether the stall that was told last is over."""
        if story.open == NONE:
            return
        point_out(self._intervals, story.open)
        if not is_closed(self._intervals):
            return
        self._close(story)
        self._tell(WENT_ON, self.now_ns, story)

    def _tell_stall(self, story: Story, which: int) -> None:
        story.told |= 1 << which
        story.open = which
        self.stalled_now[story.flow.id] = story
        point_out(self._intervals, which)
        story.since_ns = self.now_ns - int(self._intervals.stalled_ns)
        self._tell(STALLED, self.now_ns, story)

    def _tell_late(self, story: Story) -> None:
        """What has stalled is over already, and nobody looked meanwhile."""
        which = int(self._intervals.stalled)
        if not story.told >> which & 1:
            story.told |= 1 << which
            self._tell(WENT_ON, self.now_ns, story)

    def _tell_failure(self, story: Story) -> None:
        story.failed = True
        point_out(self._intervals, story.open)
        self._tell(FAILED, self._end_ns(), story)

    def _end(self, flow: Flow) -> None:
        """A flow is over: what was not told yet of how it ended is told now."""
        self.flows_ended += 1
        story = self.stories.pop(flow.id, None)
        if story is None:
            story = Story(flow)
            story.met = True
        self.stalled_now.pop(flow.id, None)
        self._measure(flow)
        self._meet(story, self._intervals)
        self.knowledge.note_life(flow)
        intervals, outcome = self._intervals, self._outcome
        if not flow.ack_ref and (outcome.failed or story.told) and self._teller.lost_race(flow, self.meet_all):
            outcome.lost_race()
        is_failure = outcome.failed and not story.failed
        if story.open != NONE:
            point_out(intervals, story.open)
            if is_failure or not story.failed or is_closed(intervals):
                self._tell_end(story, is_failure)
                is_failure = False
        rtt_ns = self.knowledge.pair_of(flow).rtt_ns()
        stalled = can_stall(outcome) and outcome.tcp != RACED and intervals.judge(self.thresholds, rtt_ns)
        if not stalled:
            intervals.calm()
        if is_failure or (stalled and not story.told >> intervals.stalled & 1):
            self._tell_end(story, is_failure)

    def _tell_end(self, story: Story, is_failure: bool) -> None:
        if is_failure:
            self._tell(FAILED, self._end_ns(), story)
        else:
            self._tell(WENT_ON if is_closed(self._intervals) else ENDED, self.now_ns, story)

    def _close(self, story: Story) -> None:
        story.open = NONE
        self.stalled_now.pop(story.flow.id, None)

    def _tell(self, kind: str, ns: int, story: Story) -> None:
        gone = NAMES[story.open] if story.open != NONE and self._intervals.stalled == NONE else None
        if not self._teller.tell(kind, ns, story.flow, self._intervals, self._outcome, gone):
            return
        self.flows_failed += kind == FAILED
        if self._intervals.stalled != NONE and not story.is_counted:
            story.is_counted = True
            self.flows_stalled += 1

    def _end_ns(self) -> int:
        """When the flow was closed, as far as that was seen."""
        return self.now_ns if self._outcome.close_ns == NEVER else int(self._outcome.close_ns)

    def _is_raced(self, flow: Flow, which: int) -> bool:
        return which == SYN_SYNACK and self._teller.lost_race(flow, self.meet_all)


def _has_begun(flow: Flow) -> bool:
    """Whether any beginning of a handshake was seen."""
    return bool(
        flow.syn_ref
        or flow.syn_ack_ref
        or flow.client_hello_first_ref
        or flow.server_hello_first_ref
        or flow.client().head
    )
