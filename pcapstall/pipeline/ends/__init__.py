"""Straces and logs of either end: which files are given, and what they say of the flows.

Nothing here knows how the flows came to be known.
"""
