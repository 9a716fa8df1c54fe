"""`--explain`: which rules were tried for one flow, in their order, and why each held or did not.

Drawn as text, Markdown, Jira markup or JSON. Rules are run elsewhere; what they say is shown as it is.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TextIO

from pcapstall.core.errors import UsageError
from pcapstall.core.times import format_span
from pcapstall.diagnose.engine import Tried
from pcapstall.report import stories, to_jira, to_markdown, to_table
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.model import SCHEMA, Report
from pcapstall.report.names import STALL_INTERVALS
from pcapstall.report.options import RenderOptions
from pcapstall.report.places import Places
from pcapstall.report.render import parse_format
from pcapstall.report.selector import no_such_row
from pcapstall.report.thresholds import threshold_ns
from pcapstall.report.untrusted import printable

_NO: Final = "no"
_HELD: Final = "held"


class Explanation(NamedTuple):
    """One flow, and the rules for it."""

    report: Report
    flow: FlowReport
    rules: Sequence[Tried]
    """All of its stage, in order, as `diagnose.engine.explain` has them."""
    stages: Sequence[Tried] | None = None
    """What was asked of the process by its strace; None without straces."""

    @property
    def tried(self) -> Sequence[Tried]:
        """The rules up to the one that made the verdict. Those behind it take for granted that it did not hold."""
        first = next((at for at, rule in enumerate(self.rules) if rule.held), len(self.rules))
        return self.rules[: first + 1]

    @property
    def not_tried(self) -> str:
        """The rules behind those in one sentence; empty when there are none."""
        names = dict.fromkeys(rule.rule for rule in self.rules[len(self.tried) :])
        return f"Not tried any more: {', '.join(names)}." if names else ""

    @property
    def introduction(self) -> str:
        """What the list of rules is, or why there is none."""
        flow = self.flow
        if not self.rules:
            return f"No rule was tried: the flow neither stalled nor failed{self._slowest()}."
        about = f"a stall in {flow.stalled}" if flow.stalled else "a failure without a stall"
        said = f"Rules for {about}, in their order"
        if not self.tried[-1].held:
            return f"{said}; none holds, so the cause is unknown."
        return f"{said}; the first that holds makes the verdict."

    @property
    def stages_title(self) -> str:
        """What the list of stages is; empty when there is none."""
        if not self.stages:
            return ""
        if not self.stages_tried:
            return f"No stage of a process makes the verdict: {self.stages[0].why}."
        whose = f"of the {self.flow.side}'s process" if self.flow.side in ("client", "server") else "of the process"
        return f"Stages {whose} by the strace, in their order; of those that were late the longest makes the verdict."

    @property
    def stages_tried(self) -> Sequence[Tried]:
        """Those that are listed; none where the title says it all."""
        return self.stages if self.stages and (len(self.stages) > 1 or self.stages[0].held) else ()

    @property
    def by_strace(self) -> str:
        """The verdict where a strace has changed it; empty when it is that of the rules."""
        verdict = self.flow.verdict
        changed = self.report.straces and verdict and self.tried and verdict != self.tried[-1].why
        return f"With what the strace shows the verdict is: {verdict}." if changed else ""

    def _slowest(self) -> str:
        lengths = {name: ns for name in STALL_INTERVALS if (ns := self.flow.intervals_ns.get(name))}
        if not lengths:
            return ""
        name, ns = max(lengths.items(), key=lambda length: length[1])
        least = format_span(threshold_ns(self.report.thresholds_ns, name))
        return f". Its longest step was {name}, {format_span(ns)}; a stall begins at {least}"


def explanation_of(
    report: Report, row: int, rules: Callable[[int], tuple[Sequence[Tried], Sequence[Tried] | None]]
) -> Explanation:
    """Of the flow with the id ``row``; UsageError names the rows when there is none. ``rules`` has those of a row."""
    last = 0
    for flow in report.flows:
        if flow.id == row:
            return Explanation(report, flow, *rules(row))
        last = max(last, flow.id)
    raise no_such_row("--explain", str(row), last)


def check_format(wanted: str) -> None:
    """UsageError unless `-f` is one in which rules can be shown."""
    name, style = parse_format(wanted)
    if name not in _FORMATS or style:
        raise UsageError(f"-f {wanted}: --explain is written as {', '.join(_FORMATS)}")


def render_explanation(explanation: Explanation, out: TextIO, wanted: str, options: RenderOptions) -> None:
    """Write ``explanation`` in the format ``wanted``, as `-f` takes it and `check_format` has seen it."""
    for line in _FORMATS[wanted](explanation, options):
        out.write(line + "\n")


def _text(explanation: Explanation, options: RenderOptions) -> Iterator[str]:
    story = stories.tell(explanation.flow, Places(explanation.report))
    width = options.width or to_table.LEGEND_WIDTH
    title = f"{story.title}: {story.endpoints}" + (f" ({story.about})" if story.about else "")
    for line in to_table.wrap(printable(title), width, "  "):
        yield to_table.paint(line, to_table.BOLD, options)
    for text in (story.finding, _place(explanation)):
        yield from (f"  {line}" for line in to_table.wrap(printable(text), width - 2, "  "))
    yield ""
    yield from to_table.wrap(printable(explanation.introduction), width)
    if explanation.tried:
        yield ""
        yield from _tried_lines(explanation.tried, width, options)
        yield from (f"  {line}" for line in to_table.wrap(explanation.not_tried, width - 2, "  "))
    if explanation.stages:
        yield ""
        yield from to_table.wrap(explanation.stages_title, width)
        if explanation.stages_tried:
            yield ""
            yield from _tried_lines(explanation.stages_tried, width, options)
    yield from (f"  {line}" for line in to_table.wrap(printable(explanation.by_strace), width - 2, "  "))
    if story.stages:
        yield ""
        yield from (f"  {line}" for line in to_table.wrap(printable(story.stages), width - 2, "  "))
    if story.threads is not None:
        yield from to_table.thread_lines(story.threads_title, story.threads, options._replace(width=width))
    if story.evidence or story.would_settle:
        yield ""
        yield "What the verdict rests on:"
        for text, where in story.evidence:
            bullet = printable(f"- {text}" + (f" [{where}]" if where else ""))
            yield from (f"  {line}" for line in to_table.wrap(bullet, width - 2, "  "))
        if story.would_settle:
            settle = printable(f"would settle: {story.would_settle}")
            yield from (f"  {line}" for line in to_table.wrap(settle, width - 2, "  "))


def _tried_lines(rules: Sequence[Tried], width: int, options: RenderOptions) -> Iterator[str]:
    number_wide = len(str(len(rules)))
    name_wide = max(len(tried.rule) for tried in rules)
    indent = " " * (number_wide + name_wide + 12)
    for at, tried in enumerate(rules, 1):
        why = to_table.wrap(printable(tried.why), max(width - len(indent), 20))
        head = f"  {at:{number_wide}}  {tried.rule:{name_wide}}  {_answer(tried):4}  "
        for line in (head + "".join(why[:1]), *(indent + rest for rest in why[1:])):
            yield to_table.paint(line, to_table.BOLD if tried.held else to_table.DIM, options)


def _answer(tried: Tried) -> str:
    return _HELD if tried.held else _NO


def _place(explanation: Explanation) -> str:
    """Where the flow was captured, on which most rules depend."""
    flow = explanation.flow
    sure = f", {flow.capture_point_confidence} confidence" if flow.capture_point_confidence else ""
    return f"capture point {flow.capture_point}{sure}"


def _markdown(explanation: Explanation, _options: RenderOptions) -> Iterator[str]:
    yield from _markup(explanation, "### ", to_markdown.escape, to_markdown.code, "**{}**", "1. ", "- ")


def _jira(explanation: Explanation, _options: RenderOptions) -> Iterator[str]:
    yield from _markup(explanation, "h3. ", to_jira.escape, to_jira.escape, "*{}*", "# ", "* ")


_Escape = Callable[[str], str]


def _markup(
    explanation: Explanation, head: str, escape: _Escape, code: _Escape, strong: str, numbered: str, bullet: str
) -> Iterator[str]:
    def item(tried: Tried) -> str:
        shown = strong.format(_HELD) if tried.held else _NO
        return f"{numbered}{code(tried.rule)} {shown}: {escape(tried.why)}"

    story = stories.tell(explanation.flow, Places(explanation.report))
    yield f"{head}{story.title}: {code(story.endpoints)}" + (f" ({code(story.about)})" if story.about else "")
    for text in (f"{story.finding}; {_place(explanation)}", explanation.introduction):
        yield ""
        yield escape(text)
    if explanation.tried:
        yield ""
        yield from map(item, explanation.tried)
        if explanation.not_tried:
            yield ""
            yield escape(explanation.not_tried)
    if explanation.stages:
        yield ""
        yield escape(explanation.stages_title)
        yield ""
        yield from map(item, explanation.stages_tried)
    for text in filter(None, (explanation.by_strace, story.stages)):
        yield ""
        yield escape(text)
    if story.evidence:
        yield ""
        for text, where in story.evidence:
            yield f"{bullet}{escape(text)}" + (f" ({code(where)})" if where else "")
    if story.would_settle:
        yield ""
        yield f"Would settle: {escape(story.would_settle)}"


def _json(explanation: Explanation, _options: RenderOptions) -> Iterator[str]:
    flow = explanation.flow
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "version": explanation.report.version,
        "id": flow.id,
        "client": flow.client,
        "server": flow.server,
        "stalled": flow.stalled,
        "failed": flow.failed,
        "cause": flow.cause,
        "reason": flow.reason,
        "confidence": flow.confidence,
        "verdict": flow.verdict,
        "tried": [{"rule": tried.rule, "held": tried.held, "why": tried.why} for tried in explanation.tried],
        "not_tried": [rule.rule for rule in explanation.rules[len(explanation.tried) :]],
    }
    if explanation.stages is not None:
        found["stages"] = [{"stage": tried.rule, "held": tried.held, "why": tried.why} for tried in explanation.stages]
    yield json.dumps(found, indent=1)


_FORMATS: Final[dict[str, Callable[[Explanation, RenderOptions], Iterator[str]]]] = {
    "table": _text,
    "markdown": _markdown,
    "jira": _jira,
    "json": _json,
}
