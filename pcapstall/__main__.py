"""`python -m pcapstall` is the `pcapstall` command.

Nothing else lives here.
"""

import sys

from pcapstall.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
