"""Which files a name on the command line stands for, and what is said of one that changes while it is read.

Nothing here opens one, or knows what is in it. What reads a pattern is imported only for one: start-up is most of a
small capture's time.
"""

import os


def files_named(path: str) -> list[str]:
    """The file ``path`` where there is one, else those of the pattern that it is, sorted; empty when there are none."""
    if os.path.lexists(path):
        return [path]
    import glob

    return sorted(glob.glob(path))


def cut_meanwhile(read_len: int, size: int) -> str:
    """What is to be said of a file that ends after ``read_len`` bytes, though there were ``size`` when it was opened;
    empty where all of them are there."""
    if read_len >= size:
        return ""
    return f"cut to {read_len} bytes while it was read, of {size} (copy first what is written anew or rotated)"


def is_pattern(path: str) -> bool:
    """Whether ``path`` has a character that stands for others."""
    import glob

    return glob.has_magic(path)
