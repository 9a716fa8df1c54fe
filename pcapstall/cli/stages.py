"""How long each stage of a run takes: told when one begins, and asked at the end by `--debug`.

Two calls of a clock a stage, so that it always runs. Nothing is shown here.
"""

import time
from collections.abc import Callable
from typing import Final

from pcapstall.core.times import format_span


class Stages:
    """A clock that is told when a stage begins."""

    def __init__(self) -> None:
        self._begun: list[tuple[str, int]] = []
        self._far: Callable[[], str] | None = None

    def __call__(self, name: str) -> None:
        """The stage ``name`` begins, and the one before it is over."""
        self._begun.append((name, time.monotonic_ns()))

    def forget(self) -> None:
        """A command begins."""
        self._begun.clear()
        self._far = None

    def read_by(self, far: Callable[[], str]) -> None:
        """``far`` tells from now on how far a reading is, or came."""
        self._far = far

    def how_far(self) -> str:
        """``, read 812 MB of 5.2 GB, 15%``; empty where nothing was read."""
        far = self._far() if self._far is not None else ""
        return f", {far}" if far else ""

    def current(self) -> str:
        """The name of the stage that began last."""
        return self._begun[-1][0] if self._begun else "starting"

    def elapsed_ns(self) -> int:
        """Since the first stage began."""
        return time.monotonic_ns() - self._begun[0][1] if self._begun else 0

    def lines(self) -> list[str]:
        """``reading packets: 1.2 s``, a line for each stage; the last one lasts until now."""
        ends_ns = [ns for _, ns in self._begun[1:]] + [time.monotonic_ns()]
        return [
            f"{name}: {format_span(end_ns - begun_ns)}"
            for (name, begun_ns), end_ns in zip(self._begun, ends_ns, strict=True)
        ]


stages: Final = Stages()
"""Those of this process."""
