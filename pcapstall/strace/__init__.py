"""What straces say: lines become calls, calls become the lives of descriptors, sockets, epoll sets and threads.

Nothing here knows a capture or a flow. The formats are those of strace 4 to 6; where a rule comes from one version's
output, the comment quotes the line.
"""
