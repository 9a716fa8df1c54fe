"""Sockets of straces and flows of captures: which is which, and how the two clocks stand to each other.

Knows both worlds and judges neither: what a match means for a stall is `diagnose`'s matter.
"""
