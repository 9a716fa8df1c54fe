"""Brings flows that were silent for a while back into the processor's cache, some at a time.

A flow that is done has lain in memory for a second or more, and whoever takes it up waits for memory twenty times, for
one piece of it after the other. Here a word out of every piece of many flows is read in one go, so that memory brings
them side by side. That is only for the cache of the compiled build, and changes no result.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import Flow, HalfFlow

AT_ONCE: Final = 32
"""Flows: all that is fetched must be taken up before anything else drives it out."""


class Read:
    """What was read, for no compiler to leave the reading out, and for a test to see that it was done."""

    def __init__(self) -> None:
        self.words: i64 = 0
        """All words that were ever read, each bit of them odd or even."""


READ: Final = Read()


def fetched(flows: list[Flow], at: i64) -> Flow:
    """``flows[at]``, after which the others are to be asked for in their order."""
    if at % AT_ONCE == 0:
        fetch(flows, at)
    return flows[at]


def fetch(flows: list[Flow], start: i64) -> None:
    """Fetch `AT_ONCE` of ``flows`` from ``start`` on; `READ` depends on each of their parts."""
    end: i64 = start + AT_ONCE
    if end > len(flows):
        end = len(flows)
    read: i64 = 0
    # Out of each object a word every 64 bytes or so, whatever it is. First the flows, since they say where the rest is.
    at: i64 = start
    while at < end:
        flow = flows[at]
        read ^= flow.last_ns ^ flow.closed_ns ^ flow.first_ns ^ flow.ack_ns ^ flow.client_hello_acked_ns
        read ^= flow.server_flight_last_ns ^ flow.server_hello_end ^ flow.queued
        at += 1
    at = start
    while at < end:
        flow = flows[at]
        read ^= _read_half(flow.opener) ^ _read_half(flow.answerer)
        hello_len: i64 = len(flow.hello_message)
        read ^= hello_len
        at += 1
    READ.words ^= read


def _read_half(half: HalfFlow) -> i64:
    return half.base_seq ^ half.packets ^ half.watch_offset ^ half.fin_ref
