"""`pcapstall verify`: the same capture as tshark reads it, for a second opinion.

Nothing of pcapstall's own decoding is used for that; what the two say is compared in report.
"""
