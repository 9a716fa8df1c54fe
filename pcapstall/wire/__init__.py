"""What the bytes of a captured record mean: link layers, tunnels, IP and TCP headers; TLS records and hellos.

`decode.Decoder` turns a record into the innermost TCP segment (`segment.Segment`) or says why there is none; the TLS
modules read a stream's bytes. Connections, retransmissions and times between events are the business of flows.
"""
