"""Which files a name on the command line stands for.

Nothing here opens one, or knows what is in it.
"""

import glob
import os


def files_named(path: str) -> list[str]:
    """The file ``path`` where there is one, else those of the pattern that it is, sorted; empty when there are none."""
    return [path] if os.path.lexists(path) else sorted(glob.glob(path))
