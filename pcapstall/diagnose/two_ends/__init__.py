"""What two captures of the same connections say together, one taken at each end.

Which flows are the same, how the clocks stand to each other, which packets crossed, and whose time the slow interval
was. What one capture says alone is in the packages beside this one; nothing here reads files or draws.
"""
