"""The lab that makes pcapstall's own captures: network namespaces, a router in user space, recorders, programs.

Everything here runs real programs on a real kernel and records what happened; nothing here reads a capture for
pcapstall, and nothing in pcapstall imports it.
"""
