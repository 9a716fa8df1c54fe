"""How far the captures can be believed: what they lack, what is passed over, and whether two show the same packets.

It becomes words and warnings of the report, never an event of the network.
"""
