"""Times, errors, sequence arithmetic, names of frames and endpoints: what every layer speaks of.

Nothing here imports another package of pcapstall, and nothing here knows a file format or a protocol.
"""
