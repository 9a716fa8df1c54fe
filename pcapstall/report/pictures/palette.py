"""What colours and shapes mean, in every picture: the cause of a stall, the part of an interval.

The colours are told apart by the colour-blind (after Okabe and Ito), by day and by night, and none is the only sign:
each cause has a shape and a word of its own. What is drawn with them is not known here.
"""

import re
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """How a cause, a part or an outcome is drawn."""

    name: str
    """As in `FlowReport.cause`; it is also the class of what is drawn."""
    words: str
    light: str
    dark: str
    shape: str
    """An outline round (0, 0) within 5 units, as the ``d`` of an SVG path."""
    letter: str
    """The same in a terminal."""


_CIRCLE: Final = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"

KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("client_process", "client process", "#c14a00", "#ff9a57", "M0-5.5L5.2 4.2H-5.2z", "C"),
        Kind("server_process", "server process", "#0069a8", "#5bb8f0", "M-4.4-4.4H4.4V4.4H-4.4z", "S"),
        Kind("network", "network", "#a3307f", "#f08fce", "M0-6L6 0L0 6L-6 0z", "N"),
        Kind("client_kernel", "client's kernel", "#8a6100", "#edb93d", "M0 5.5L5.2-4.2H-5.2z", "c"),
        Kind("server_kernel", "server's kernel", "#00795a", "#43cfa4", "M-3-5H3L5.6 0L3 5H-3L-5.6 0z", "s"),
        Kind("await_server", "server's turn", "#3d5a80", "#9db7dd", "M-5-2.5H5V2.5H-5z", "w"),
        Kind("capture", "the capture itself", "#6b4f3a", "#c9a68b", "M-2-5H2V-2H5V2H2V5H-2V2H-5V-2H-2z", "~"),
        Kind("unknown", "unknown", "#555d68", "#aab3be", _CIRCLE + "M-2 0a2 2 0 1 1 4 0a2 2 0 1 1-4 0z", "?"),
        Kind("failed", "failed, no stall", "#3a3f45", "#d7dce2", "M-5-3.6L-3.6-5L0-1.4L3.6-5L5-3.6L1.4 0"
             "L5 3.6L3.6 5L0 1.4L-3.6 5L-5 3.6L-1.4 0z", "x"),
        Kind("fine", "no stall", "#8d97a3", "#77818d", "M-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0z", "."),
    )
}  # fmt: skip
"""In the order in which a legend has them."""

SERIES: Final = (
    ("#0069a8", "#5bb8f0", ""),
    ("#c14a00", "#ff9a57", "7 3"),
    ("#00795a", "#43cfa4", "2 3"),
    ("#a3307f", "#f08fce", "9 3 2 3"),
    ("#8a6100", "#edb93d", "4 2"),
    ("#555d68", "#aab3be", "1 2"),
)
"""Lines of one panel: the colour by day, by night, and the dashes that tell them apart without it."""

_PLAIN: Final = (
    ("text", "#1c2024", "#e4e7eb"),
    ("dim", "#59636e", "#a0aab4"),
    ("page", "#ffffff", "#14171a"),
    ("line", "#cdd3da", "#3a4149"),
    ("lane", "#7c8794", "#8b95a1"),
    ("band", "#f1f3f6", "#1e2328"),
)
_VARIABLE: Final = re.compile(r"var\(--ps-([\w-]+)\)")

_RULES: Final = """
.ps text { font: 12px system-ui, "DejaVu Sans", Arial, sans-serif; fill: var(--ps-text); }
.ps .dim { fill: var(--ps-dim); font-size: 11px; font-weight: 400; }
.ps .strong { font-weight: 600; }
.ps .title { font-size: 14px; font-weight: 600; }
.ps .end { text-anchor: end; }
.ps .mid { text-anchor: middle; }
.ps .page { fill: var(--ps-page); }
.ps .band { fill: var(--ps-band); }
.ps .halo { stroke: var(--ps-page); stroke-width: 4px; paint-order: stroke; stroke-linejoin: round; }
.ps .grid { stroke: var(--ps-line); stroke-width: 1; fill: none; }
.ps .lane { stroke: var(--ps-lane); stroke-width: 2; fill: none; }
.ps .gap { stroke: var(--ps-lane); stroke-width: 1.5; fill: none; stroke-dasharray: 2 5; }
.ps .zigzag { stroke: var(--ps-text); stroke-width: 1.3; fill: none; }
.ps .arrow { stroke: var(--ps-text); stroke-width: 1.3; fill: none; }
.ps .again { stroke-dasharray: 5 4; }
.ps .cross { stroke: var(--ps-network); stroke-width: 2.4; fill: none; }
.ps .head { fill: var(--ps-text); stroke: none; }
.ps .dot { fill: var(--ps-text); stroke: var(--ps-page); stroke-width: 1.5; }
.ps .log { fill: var(--ps-page); stroke: var(--ps-text); stroke-width: 1.3; }
.ps .span { fill: var(--ps-lane); opacity: .55; }
.ps .m:hover text, .ps .m:focus text { text-decoration: underline; }
.ps .m:hover .arrow, .ps .m:focus .arrow { stroke-width: 2.5; }
.ps .whisker { stroke-width: 1.2; opacity: .6; fill: none; }
.ps .mark { stroke: var(--ps-page); stroke-width: .8; }
.ps .step { fill: none; stroke-width: 1.8; }
"""


def style() -> str:
    """The style sheet of all pictures: variables for both schemes, then the rules."""
    return (
        f":root {{ color-scheme: light dark; {_variables(0)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {_variables(1)} }} }}\n"
        f"@media print {{ :root {{ {_variables(0)} }} }}{_RULES}{_by_kind()}"
    )


def flat_style() -> str:
    """The same by day without a variable, for programs that know none."""
    values = {name: light for name, light, _ in _all()}
    return _VARIABLE.sub(lambda found: values[found[1]], _RULES + _by_kind())


def _all() -> list[tuple[str, str, str]]:
    named = [(kind.name, kind.light, kind.dark) for kind in KINDS.values()]
    return [*_PLAIN, *named, *((f"s{at}", light, dark) for at, (light, dark, _) in enumerate(SERIES))]


def _variables(scheme: int) -> str:
    return " ".join(f"--ps-{name}: {colors[scheme]};" for name, *colors in _all())


def _by_kind() -> str:
    rules = [
        f".ps .k-{name} {{ fill: var(--ps-{name}); }} .ps .l-{name} {{ stroke: var(--ps-{name}); }}" for name in KINDS
    ]
    for at, (_, _, dashes) in enumerate(SERIES):
        dashed = f" stroke-dasharray: {dashes};" if dashes else ""
        rules.append(f".ps .s{at} {{ stroke: var(--ps-s{at});{dashed} }} .ps text.s{at} {{ stroke: none; }}")
    return "\n".join(rules) + "\n"


def kind_of(cause: str | None) -> Kind:
    """How a cause is drawn; one that nobody knows yet is unknown."""
    return KINDS.get(cause or "unknown", KINDS["unknown"])
