"""What is said when memory or descriptors run out: how far it had come, what is there of the output, what helps.

Loaded only then, when there is hardly room for it. Which errors mean that is told in `core.lacking`.
"""

import gc
from typing import Final

from pcapstall.cli import destination
from pcapstall.cli.stages import stages
from pcapstall.core.lacking import NO_MEMORY, memory_limit

_FEWER: Final = (
    "follow fewer flows at once (--max-flows N), or show fewer: report without --all, --filter and -f json, jsonl or"
    " csv keeps only what stalled or failed; or cut the capture first: tcpdump -r CAPTURE -w PART 'host 10.0.0.1'"
)
_TEXTS: Final = "give fewer straces and logs at once"
_HINTS: Final = {
    "writing": "-f jsonl and csv of report are written flow by flow and take least; or show fewer flows with --filter",
    "drawing": "an .svg takes less than a .png; or draw a part of the capture",
    "watching": "--max-flows N bounds the flows that are followed",
    "starting": "pcapstall needs 60 MB at least",
    "opening the captures": _TEXTS,
    "finding the stalls": f"{_FEWER}; or {_TEXTS}",
}
"""What takes less, by the stage; for the others `_FEWER`."""
_READ_BY_THEN: Final = ("finding the stalls", "drawing", "writing")


def told(lack: str) -> str:
    """The line that ends a command for want of ``lack``, of `core.lacking.lack_of`."""
    gc.collect()  # what is left of the flows may hold itself
    end = f"; {destination.what_there_is()}"
    if lack != NO_MEMORY:
        return lack + end
    stage = stages.current()
    far = "" if stage in _READ_BY_THEN else stages.how_far()
    limit = memory_limit()
    bound = f" (ulimit {limit[0]} allows {limit[1] // 1000**2} MB)" if limit is not None else ""
    return f"{lack}{bound} while {stage}{far}: {_HINTS.get(stage, _FEWER)}{end}"
