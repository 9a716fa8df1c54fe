"""One reading of the captures: the loop that every packet passes, and what is taken down of each flow that is over.

Compiled nearly all. Nothing is judged here, and nothing known of who reads what comes of it.
"""
