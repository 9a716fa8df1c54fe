"""Pictures of flows: one flow's waterfall, the whole capture, distributions by server; as SVG, and as text.

Pure functions over the report's and the timeline's values. No page, no file and no command is known here.
"""
