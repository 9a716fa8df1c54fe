"""Parts of captures as captures of their own: which records belong to a flow, and how they are written to a file.

Nothing here judges a flow or knows what is said of it; the pipeline tells which flows are wanted.
"""
