"""Which files a name on the command line stands for.

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


def is_pattern(path: str) -> bool:
    """Whether ``path`` has a character that stands for others."""
    import glob

    return glob.has_magic(path)
