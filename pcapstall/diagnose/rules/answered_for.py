"""What remains of a verdict on a server for which somebody else answers here.

Laid on every conclusion by packets; a process that a strace shows is whoever it is.
"""

from typing import Final

from pcapstall.core.counts import several
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.rules.base import span
from pcapstall.diagnose.verdict import LOW, SERVER, SIDES, UNKNOWN, Fact, Verdict

BEYOND: Final = "a capture beyond the proxy that answers here for the servers"


def as_far_as_seen(case: Case, verdict: Verdict) -> Verdict:
    """``verdict``, or one that names nobody, where it names a server and a proxy answers for that."""
    if SIDES[verdict.cause] != SERVER:
        return verdict
    answerer = case.answerer
    if answerer is None:
        return verdict
    parts: dict[str, int] = {}
    for part, ns in verdict.parts.items():
        whose = UNKNOWN if SIDES.get(part) == SERVER else part
        parts[whose] = parts.get(whose, 0) + ns
    seen = Fact(
        f"SYNs of this client to {several(answerer.servers, 'server')} in {answerer.networks} networks were all "
        f"answered within {span(answerer.longest_ns)}, with TTL {answerer.ttl}: one host near it answers for them."
    )
    return verdict._replace(
        cause=UNKNOWN,
        confidence=LOW,
        sentence=f"{verdict.sentence}; but the server here is a proxy or VPN that answers for every server: it, the "
        f"real server or the network beyond it was slow",
        evidence=[*verdict.evidence, seen],
        would_settle=BEYOND,
        parts=parts,
        named_side=None,
    )
