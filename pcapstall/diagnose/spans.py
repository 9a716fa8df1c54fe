"""Where the intervals begin and end, and which of a flow's hold a step of the capture's clock that made one stall.

Moments only: that the clock was set is found by the rule of that name. Who counts lengths and who shows them both ask
here.
"""

from typing import Final

from pcapstall.diagnose.lengths import ABSENT

START_EVENTS: Final = {
    "syn_synack": "syn",
    "synack_ack": "syn_ack",
    "ack_ch": "ack",
    "ch_span": "client_hello_first",
    "ch_ack": "client_hello_last",
    "ch_sh": "client_hello_last",
    "hrr_ch2": "hello_retry",
    "ch2_sh": "client_hello2_last",
    "sh_cfin": "server_hello_first",
    "ch_fin": "client_hello_last",
    "ch_close": "client_hello_last",
    "ack_close": "ack",
}
"""The event that each interval begins with."""
END_EVENTS: Final[dict[str, tuple[str, ...]]] = {
    "syn_synack": ("syn_ack",),
    "synack_ack": ("ack",),
    "ack_ch": ("client_hello_first",),
    "ch_span": ("client_hello_last",),
    "ch_ack": ("client_hello_acked",),
    "ch_sh": ("hello_retry", "server_hello_first"),
    "hrr_ch2": ("client_hello2_first",),
    "ch2_sh": ("server_hello_first",),
    "sh_cfin": ("client_finished",),
}
"""The event that each interval which can stall ends with; of two that may end it the first that was seen does."""


def holds_step(start_ns: int, length_ns: int, stall_start_ns: int, stall_ns: int) -> bool:
    """Whether an interval holds the step within another one of the flow, which stalled by it; a start that was not
    seen is `ABSENT`.

    The step is half of the stall or more (`clock_steps`) and no stamp lies within it: what shares half of the stall
    has all of the step, and what has the step shares half of the stall.
    """
    if start_ns == ABSENT or stall_start_ns == ABSENT:
        # A hello of which the beginning is not here: nothing else that can stall is as long.
        return length_ns >= stall_ns
    shared_ns = min(start_ns + length_ns, stall_start_ns + stall_ns) - max(start_ns, stall_start_ns)
    return 2 * shared_ns >= stall_ns
