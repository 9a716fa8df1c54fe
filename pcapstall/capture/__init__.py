"""Files, pipes and compression become records: one `RecordCursor` over any number of captures.

`captures.open_captures` is the way in. Nothing here looks inside a packet; what the bytes mean is `wire`'s business.
"""
