"""Python's collector of cyclic garbage: off while many objects are made that all stay.

Whoever reads captures or straces switches it off for that time. Nothing else is here.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage() -> Iterator[None]:
    """Look for no garbage meanwhile, nor afterwards among what was made: it would take a sixth of the whole time.

    No cycle is made that nobody breaks. What was made goes to the oldest objects, which are seldom looked at.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # else somebody has reasons of their own
            gc.freeze()
            gc.unfreeze()
        if collecting:
            gc.enable()
