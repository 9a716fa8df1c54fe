"""What a process did while a flow stood still, from the strace of it: the first stage that was late, and why.

Observation in place of inference. Whose delay a stall is from packets alone is decided in `rules`.
"""
