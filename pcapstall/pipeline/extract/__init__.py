"""`pcapstall extract`: the packets of some flows as a capture of their own, anonymised where that is wanted.

Formats of files are in the extract package, other names for what is written in the anonymise package.
"""
