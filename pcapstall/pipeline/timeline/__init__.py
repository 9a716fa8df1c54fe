"""`pcapstall timeline`, and the timelines in pictures: all that is known of one flow, in one order.

What is told of each moment is made in the match package; nothing is drawn here.
"""
