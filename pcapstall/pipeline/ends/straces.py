"""Straces in a report: read, matched with the flows, asked about the stalls, and told of.

After the captures are read each strace is read twice: once to match its sockets, once for what happened in the
intervals that stalled. What it means is judged in `diagnose.process`.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Final

from pcapstall.capture.interrupting import ending
from pcapstall.capture.source import Stop
from pcapstall.core.errors import InputError
from pcapstall.core.garbage import without_garbage
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.judge import ANY_STAGE, judge, look, responsible
from pcapstall.diagnose.process.scene import ANSWER_STAGES, Scene
from pcapstall.diagnose.verdict import SERVER_PROCESS, Fact, Verdict
from pcapstall.flows.flow import Flow
from pcapstall.match.listeners import never_accepted
from pcapstall.match.log_lines import KnownAs
from pcapstall.match.matching import Match, Matching, match_strace
from pcapstall.match.offset import Offset
from pcapstall.match.outline import Outlines
from pcapstall.pipeline.ends.given import GivenFile, files_of_strace, not_read
from pcapstall.pipeline.ends.strace_report import ORDER_ONLY, strace_report, thread_report
from pcapstall.report.end_model import StraceReport
from pcapstall.report.flow_model import FlowReport
from pcapstall.strace.family import Strace, open_straces
from pcapstall.strace.recorder import record
from pcapstall.strace.window import Window
from pcapstall.strace.written import find_written

SCENES_MAX: Final = 2_000
"""So many stalls are looked at in straces, the longest of a report first."""


class Straces:
    """All straces of a report."""

    def __init__(self, files: Sequence[GivenFile]) -> None:
        self.unreadable: list[InputError] = []
        self.ended = False
        """Whether the end was asked for while they were read."""
        self.stopped: list[str] = []
        """What is missing for that, a sentence each."""
        self._labels: dict[str, str | None] = {}
        paths: list[str] = []
        for file in files:
            for path in files_of_strace(file.path):
                if path not in paths:
                    paths.append(path)
                self._labels.setdefault(path, file.label)
                self._labels.setdefault(file.path, file.label)
        self._straces: list[Strace] = self._open(paths)
        self._matchings: list[Matching] = []
        """Of those that could be read."""
        self._ends: dict[tuple[int, bool], tuple[Match, Matching]] = {}
        """By flow id and whether it is the client's end."""
        self._planned: list[tuple[int, Scene]] = []
        self._scenes: dict[int, Scene] = {}
        """By flow id; by the negative of it that of an end which may have owed bytes that the client waited for."""
        self._timeless: dict[int, Fact] = {}
        """What to say of a flow whose strace has no times, by flow id."""

    def close(self) -> None:
        """Drop what was spooled."""
        for strace in self._straces:
            strace.close()

    def match(self, flows: Outlines, stop: Stop) -> None:
        """Read the straces and find which sockets are which flows; ``stop`` thrown ends that with the ones read."""
        failed: list[Strace] = []

        def match_all() -> None:
            for strace in self._straces:
                try:
                    self._matchings.append(match_strace(strace, flows))
                except InputError as error:
                    self.unreadable.append(error)
                    failed.append(strace)

        with without_garbage():
            ending(stop, match_all)
        known = [matching.index.strace for matching in self._matchings] + failed
        left = [strace.name for strace in self._straces if strace not in known]
        if left:
            self._end(left)
        for matching in self._matchings:
            for match in matching.matches:
                self._ends.setdefault((int(match.end.flow.id), match.end.is_client), (match, matching))

    def _end(self, names: Sequence[str]) -> None:
        """Nothing is read any more, and nothing that was begun is used."""
        self.ended = True
        self._planned = []
        self.stopped += not_read(names)

    def plan(self, case: Case) -> None:
        """Note that a stalled flow wants to be looked at."""
        client, server = self.end_of(case.flow, True), self.end_of(case.flow, False)
        match = responsible(case, self._match(case, True), self._match(case, False))
        chosen = client if client and match is client[0] else server
        if match is None:
            chosen = self._unaccepted(case)
        owes = case.stalled == "sh_cfin" or (case.stalled == "ack_ch" and case.flow.preamble)
        if owes and server is not None and not server[0].end.sends_hello:
            # Whose turn it was most of the time, the rules will say.
            answering = look(case, *server)
            if answering is not None:
                self._planned.append((-int(case.flow.id), answering))
        if chosen is None:
            return
        scene = look(case, *chosen)
        if scene is not None:
            self._planned.append((int(case.flow.id), scene))
        elif not chosen[1].index.coverage.has_times:
            fact = Fact(f"{chosen[1].index.strace.name} {ORDER_ONLY}.")
            self._timeless[int(case.flow.id)] = fact

    def _unaccepted(self, case: Case) -> tuple[Match, Matching] | None:
        """The listener at which a connection waited that no socket of any strace is."""
        if case.stalled not in ANSWER_STAGES or not case.is_open or self.end_of(case.flow, False) is not None:
            return None
        if case.flow.tls_client_is_opener != case.flow.opener_is_client:
            return None
        found = (never_accepted(case.flow, matching) for matching in self._matchings)
        return next((item for item in found if item is not None), None)

    def record(
        self, stop: Stop, flows: Container[int] | None = None, besides: Sequence[tuple[Matching, Window]] = ()
    ) -> None:
        """Look at all planned stalls, or at those of ``flows`` by their ids, and fill in the windows ``besides``.

        That takes one pass over each strace. ``stop`` thrown ends it, and no stall is judged by what was seen.
        """
        wanted = [item for item in self._planned if flows is None or abs(item[0]) in flows]
        planned = sorted(wanted, key=lambda item: -item[1].length_ns)[:SCENES_MAX]
        asked: list[Matching] = []

        def ask_all() -> None:
            for matching in self._matchings:
                windows = [scene.window for _, scene in planned if scene.index is matching.index]
                windows += [window for of, window in besides if of is matching]
                if windows:
                    record(matching.index.strace, windows)
                asked.append(matching)

        with without_garbage():
            ending(stop, ask_all)
        if len(asked) < len(self._matchings):
            self.stopped.append("reading was stopped while straces were asked about stalls: only packets are judged")
            self._end(())
            return
        self._scenes |= dict(planned)
        self._planned = []

    def judge(self, case: Case, verdict: Verdict | None) -> Verdict | None:
        """The verdict on a flow in the light of what was recorded."""
        scene = self._scene_of(case, verdict)
        timeless = self._timeless.get(int(case.flow.id))
        if verdict is not None and timeless is not None:
            return verdict._replace(evidence=[*verdict.evidence, timeless])
        if verdict is None or scene is None or case.stalled is None:
            return verdict
        scene.case = case
        return judge(case, verdict, scene)

    def _scene_of(self, case: Case, verdict: Verdict | None) -> Scene | None:
        """Of the end whose time it was: where both have a scene, the verdict that packets gave tells which."""
        answering = self._scenes.get(-int(case.flow.id))
        if answering is not None and verdict is not None and verdict.cause == SERVER_PROCESS:
            return answering
        return self._scenes.get(int(case.flow.id))

    def explain(self, case: Case, verdict: Verdict | None) -> list[Tried]:
        """Which stages of the process were looked at for a flow, and why each was the late one or not."""
        judged = self.judge(case, verdict)
        if judged is None:
            return []
        if judged.traced is not None:
            return list(judged.traced.tried)
        ends = [end for end in (self.end_of(case.flow, True), self.end_of(case.flow, False)) if end is not None]
        if not ends:
            why = "no socket of a strace was found to be this flow"
        elif int(case.flow.id) in self._timeless:
            why = "the strace of the process has no times"
        elif responsible(case, self._match(case, True), self._match(case, False)) is None:
            why = "the end whose turn it was is in no strace"
        else:
            why = "the clocks of strace and capture contradict each other"
        return [Tried(ANY_STAGE, False, why)]

    def _match(self, case: Case, is_client: bool) -> Match | None:
        end = self.end_of(case.flow, is_client)
        return end[0] if end is not None else None

    def complete(self, flow: Flow, row: FlowReport, verdict: Verdict | None) -> FlowReport:
        """The row with what only straces know of."""
        found = self.end_of(flow, True) or self.end_of(flow, False)
        way = found[0].way if found else None
        row = row._replace(threads=[], stages_ns={})
        if verdict is None or verdict.traced is None:
            return row._replace(match=way) if way else row
        lines = {fact.text: list(fact.lines) for fact in verdict.evidence if fact.lines}
        evidence = [
            item._replace(strace=lines[item.text]) if not item.frames and item.text in lines else item
            for item in row.evidence
        ]
        return row._replace(
            activity=verdict.traced.activity,
            match=verdict.traced.match or way,
            evidence=evidence,
            threads=[thread_report(thread) for thread in verdict.traced.threads],
            more_threads=verdict.traced.more_threads,
            stages_ns=dict(verdict.traced.stages),
        )

    def reports(self) -> list[StraceReport]:
        """One for each strace."""
        return [
            strace_report(matching.index.strace.name, self.label_of(matching), matching) for matching in self._matchings
        ]

    def labelled(self, label: str | None) -> tuple[str, Offset] | None:
        """The strace that the user calls ``label``, and its clock; None when there is none."""
        for matching in self._matchings:
            if label is not None and self.label_of(matching) == label and matching.offset is not None:
                return matching.index.strace.name, matching.offset
        return None

    def written(self, keys: Mapping[bytes, object]) -> dict[bytes, tuple[int, Offset, str]]:
        """When each of these texts was written, by the clock of the strace that shows it, that clock and strace."""
        found: dict[bytes, tuple[int, Offset, str]] = {}
        for matching in self._matchings:
            strace, offset = matching.index.strace, matching.offset
            if offset is None or not offset.consistent or not matching.index.coverage.has_times:
                continue
            for key, call in find_written(strace, keys).items():
                found.setdefault(key, (call.start_ns, offset, strace.name))
        return found

    def known_as(self) -> list[KnownAs]:
        """What the processes call the ends of flows that have another address on the wire: their logs do, too."""
        found: list[KnownAs] = []
        for matching in self._matchings:
            for match in matching.matches:
                end, socket = match.end, match.socket
                for known, wire, is_client in (
                    (socket.local, end.local, end.is_client),
                    (socket.peer, end.peer, not end.is_client),
                ):
                    if known is not None and known != wire and known[1] and any(known[0]):
                        found.append((int(end.flow.id), is_client, known))
        return found

    def label_of(self, matching: Matching) -> str | None:
        """What the user calls the strace that ``matching`` is of."""
        strace = matching.index.strace
        label = self._labels.get(strace.name)
        if label is None:
            label = next((self._labels.get(member.source.path) for member in strace.members), None)
        return label

    def end_of(self, flow: Flow, is_client: bool) -> tuple[Match, Matching] | None:
        """The socket that is this end of ``flow``; None when none is known."""
        return self._ends.get((int(flow.id), is_client))

    def _open(self, paths: list[str]) -> list[Strace]:
        left = list(paths)
        while left:
            try:
                return open_straces(left)
            except InputError as error:
                self.unreadable.append(error)
                if error.path not in left:
                    return []
                left.remove(error.path)
        return []
