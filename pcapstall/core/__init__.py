"""Times, errors, sequence arithmetic, names of frames and endpoints, compressed files: what every layer needs.

Nothing here imports another package of pcapstall, and nothing here knows a capture, a trace or a protocol.
"""
