"""`pcapstall watch`: a capture that goes on, and each stall in it told while it lasts.

What is told becomes text elsewhere.
"""
