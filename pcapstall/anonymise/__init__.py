"""Other names for what a capture, a strace or a log says of people and places: keyed, the same name each time.

What is known to be harmless is kept, everything else is replaced; nothing is kept because it was not understood.
"""
