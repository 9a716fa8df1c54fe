"""The command line: arguments, exit codes, progress, where the output goes; nothing else.

Each command is a module of its own, imported when it is called. What a command computes lies below, in the pipeline.
"""
