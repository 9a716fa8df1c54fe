"""What the events of a flow mean: intervals, outcomes, where the capture was taken, whose delay it was.

Everything here reads finished flows and changes none. How a finding is laid out for a reader is the report's matter.
"""
