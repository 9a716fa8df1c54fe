"""Segments become flows: two half-flows a connection, their TCP and TLS events, and nothing else.

A segment enters by `table.FlowTable.add` and a finished flow leaves by the table's sink. What the times between the
events are, and whose they are, is for the layers above.
"""
