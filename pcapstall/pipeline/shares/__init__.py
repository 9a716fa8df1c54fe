"""Work in shares: the flows of captures, or rows of a report, by several processes of this host or on a cluster.

What comes of it is what one process would have made. When that pays is decided by whoever asks for it.
"""
