"""Names that JSON schema 1 gives to events, intervals and their parts, each list in the order in which a report has it.

Whoever completes or checks what a user types needs no more of the report. What they mean is in docs/measurements.md.
"""

from typing import Final

from pcapstall.diagnose.thresholds import NAMES, STALL_NAMES

EVENTS: Final = (
    "syn",
    "syn_ack",
    "ack",
    "client_hello_first",
    "client_hello_last",
    "client_hello_acked",
    "hello_retry",
    "client_hello2_first",
    "client_hello2_last",
    "server_hello_first",
    "server_hello_last",
    "server_flight_last",
    "client_finished",
    "client_app_data",
    "server_app_data",
    "client_alert",
    "server_alert",
    "client_fin",
    "server_fin",
    "client_rst",
    "server_rst",
)
"""The events of a flow, in the order of a handshake."""

INTERVALS: Final = NAMES
"""The intervals of a flow, in the order of a handshake; the last three are lifetimes."""

STALL_INTERVALS: Final = STALL_NAMES
"""Those that can be called stalled."""

PARTS: Final = (
    "network",
    "client_process",
    "server_process",
    "client_kernel",
    "server_kernel",
    "await_server",
    "unknown",
)
"""What an interval is split into."""
