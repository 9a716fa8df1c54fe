"""How many there are of something, as a sentence has it: the one place that knows when a noun takes its s.

Nothing here counts, and nothing here knows what is counted.
"""


def several(count: int, noun: str) -> str:
    """``1 segment``, ``3 segments``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
