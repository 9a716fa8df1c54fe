"""pcapstall explains TLS stalls: which step of a connection was late, and whose time it was.

The packages are a ladder (docs/decisions/0002-ladder.md), each imports only what stands below it. Importing this one
loads nothing: `pcapstall.pipeline` is the way in from Python, `pcapstall.cli` the command line.
"""

__version__ = "0.1.0"
