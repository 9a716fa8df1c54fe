"""The table of connections seen at both ends: which columns there are, in which order, and which go first.

Laid out in `grid`, drawn by the renderers.
"""

from collections.abc import Sequence
from typing import Final

from pcapstall.core.times import MS
from pcapstall.report.grid import ABSENT, BAD, WARN, Grid, GridColumn, milliseconds, plain
from pcapstall.report.two_ends_model import PARTS, PairReport

_PART_COLUMNS: Final = {
    "client_process": ("client_proc", "the client's process"),
    "client_kernel": ("client_host", "the client's kernel"),
    "network_to_server": ("there", "lost, or longer than the fastest packet, to the server"),
    "server_kernel": ("server_host", "the server's kernel"),
    "server_process": ("server_proc", "the server's process"),
    "network_to_client": ("back", "lost, or longer than the fastest packet, to the client"),
    "network": ("rtt", "the fastest round trip"),
    "await_server": ("await_server", "the client waited for the server"),
    "unknown": ("unknown", ""),
}
"""Column and meaning of each part."""
_CLIENT: Final = 21
_CLIENT_NARROW: Final = 13
"""What a client's name has at least, and where a column that matters had to go: its port is left, and the row."""
_WAYS: Final = ("network_to_server", "network_to_client")
_BLAMED: Final = 2
_WAY: Final = 3
_PART: Final = 5
"""How long a part keeps its column: what is blamed, the ways between the captures, and the rest."""


def pair_grid(pairs: Sequence[PairReport]) -> Grid:
    """The table of ``pairs``, in their order, without the columns that say nothing."""
    grid = _grid(pairs, _CLIENT)
    grid.narrow = lambda: _grid(pairs, _CLIENT_NARROW)
    return grid


def _grid(pairs: Sequence[PairReport], client_width: int) -> Grid:
    columns = [
        GridColumn("#", right=True),
        GridColumn("client", shrinks_to=client_width, code=True),
        GridColumn("server", keep=7, shrinks_to=21, code=True),
        GridColumn("stalled", keep=2),
        GridColumn("cause", keep=4),
        GridColumn("confidence", keep=8),
        GridColumn("length", "the slow interval, which the parts add up to", right=True, keep=1),
    ]
    cells = [
        [str(pair.id) for pair in pairs],
        [plain(pair.client) for pair in pairs],
        [plain(pair.server) for pair in pairs],
        [pair.stalled or ABSENT for pair in pairs],
        [pair.cause or ABSENT for pair in pairs],
        [pair.confidence or ABSENT for pair in pairs],
        _milliseconds([pair.stalled_ns for pair in pairs], [pair.is_open for pair in pairs]),
    ]
    big = {pair.cause for pair in pairs}
    for part in PARTS:
        name, legend = _PART_COLUMNS[part]
        keep = _BLAMED if part in big else _WAY if part in _WAYS else _PART
        columns.append(GridColumn(name, legend, right=True, keep=keep))
        cells.append(_milliseconds([pair.parts_ns.get(part) for pair in pairs], [False] * len(pairs)))
    for name, legend, texts in (
        ("lost", "segments lost to the server + to the client", [_lost(pair) for pair in pairs]),
        ("outcome", "", [outcome_of_pair(pair) for pair in pairs]),
        ("reason", "", [pair.reason or ABSENT for pair in pairs]),
        ("sni", "", [plain(pair.sni) if pair.sni else ABSENT for pair in pairs]),
    ):
        columns.append(GridColumn(name, legend, keep=_KEEP[name], shrinks_to=16 if name == "sni" else 0))
        cells.append(texts)
    marks: dict[tuple[int, str], str] = {}
    for row, pair in enumerate(pairs):
        if pair.stalled:
            marks[row, "length"] = BAD
        if pair.failed:
            marks[row, "outcome"] = WARN
    return Grid(columns, [list(row) for row in zip(*cells, strict=True)], marks).without_empty()


_KEEP: Final = {"lost": 3, "outcome": 10, "reason": 9, "sni": 11}


def _milliseconds(lengths: Sequence[int | None], opened: Sequence[bool]) -> list[str]:
    # A tenth of a millisecond will do beside a slow interval; what is less is none of its parts.
    shown = [ns if ns is None or ns >= MS // 20 else None for ns in lengths]
    return [milliseconds(ns, 1, is_open) for ns, is_open in zip(shown, opened, strict=True)]


def _lost(pair: PairReport) -> str:
    if pair.to_server is None or pair.to_client is None:
        return ABSENT
    lost = pair.to_server.lost + pair.to_server.unwatched, pair.to_client.lost + pair.to_client.unwatched
    return f"{lost[0]}+{lost[1]}" if any(lost) else ABSENT


def outcome_of_pair(pair: PairReport) -> str:
    """How it ended, at both ends where they differ."""
    if pair.client_outcome == pair.server_outcome:
        return pair.client_outcome
    return f"{pair.client_outcome} + {pair.server_outcome}"
