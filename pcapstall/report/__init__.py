"""What was found, as a value (`model`) and as text in many forms (`render`): table, Markdown, Jira, JSON, CSV, HTML.

Filters, `--fail-if` conditions and percentiles work on the same model. Nothing here measures, judges or opens an input.
"""
