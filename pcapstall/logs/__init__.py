"""Log files: their lines, the stamps found in them, and the endpoints that they name.

Beside straces and captures in the ladder: what a line has to do with a flow, and how its clock stands, is `match`'s
matter. Lines are shown, never judged.
"""
