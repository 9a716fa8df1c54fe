"""The rules in the order in which they are tried: the first that holds for the stage concludes.

What the packets show themselves comes first, then what was lost, then what is proven to be a side's own time, at last
what cannot be told.
"""

from typing import Final

from pcapstall.diagnose.rules import (
    before_hello,
    delivery,
    failures,
    flight,
    handshake,
    last_ack,
    on_the_way,
    plaintext,
    slow_path,
    waiting,
    windows,
)
from pcapstall.diagnose.rules.base import ANSWER_WAIT, FAILURE, HELLO_WAIT, Rule
from pcapstall.diagnose.thresholds import STALL_NAMES

_ROUND_TRIPS: Final = ("syn_synack", "synack_ack", "ch_ack", "ch_sh", "hrr_ch2", "ch2_sh", "sh_cfin")
_TURNS: Final = (*HELLO_WAIT, *ANSWER_WAIT, "sh_cfin")

BY_CAPTURE: Final[tuple[Rule, ...]] = (
    Rule("clock_step", STALL_NAMES, windows.clock_step),
    Rule("missed_by_capture", STALL_NAMES, windows.missed_by_capture),
)
"""Those that lay a stall on the capture itself. They come before all others, which believe it."""

RULES: Final[tuple[Rule, ...]] = (
    *BY_CAPTURE,
    Rule("high_rtt", _ROUND_TRIPS, slow_path.high_rtt),
    # the TCP handshake
    Rule("syn_ack_loss", ("syn_synack",), handshake.syn_ack_loss),
    Rule("syn_dropped_by_host", ("syn_synack",), handshake.syn_dropped_by_host),
    Rule("syn_loss", ("syn_synack",), handshake.syn_loss),
    Rule("late_syn_ack", ("syn_synack",), handshake.late_syn_ack),
    Rule("syn_ack_unheard", ("synack_ack",), last_ack.syn_ack_unheard),
    Rule("ack_missed", ("synack_ack",), last_ack.ack_missed),
    Rule("ack_loss", ("synack_ack",), last_ack.ack_loss),
    Rule("slow_ack", ("synack_ack",), last_ack.slow_ack),
    Rule("late_ack", ("synack_ack",), last_ack.late_ack),
    Rule("answered_otherwise", ANSWER_WAIT, plaintext.answered_otherwise),
    # one side's turn
    Rule("zero_window", _TURNS, windows.zero_window),
    Rule("nagle_delayed_ack", ("ch_span",), windows.nagle),
    Rule("unacknowledged_request", ("ack_ch",), before_hello.unacknowledged_request),
    Rule("await_server", ("ack_ch",), before_hello.await_server),
    Rule("both_silent", ("ack_ch",), plaintext.both_silent),
    Rule("unknown_request", ("ack_ch",), plaintext.unknown_request),
    Rule("mtu_black_hole_before", (*_TURNS, "ch_ack"), on_the_way.black_hole_before),
    Rule("hole", (*_TURNS, "ch_ack"), on_the_way.hole),
    Rule("flight_lost", ("sh_cfin",), flight.flight_lost),
    Rule("lost_before_capture", _TURNS, on_the_way.lost_before_capture),
    Rule("held_up", _TURNS, on_the_way.held_up),
    Rule("silent", _TURNS, waiting.silent),
    Rule("silent_by_ids", _TURNS, waiting.silent_by_ids),
    Rule("filled_by_other_work", HELLO_WAIT, waiting.filled_by_other_work),
    Rule("undecided", _TURNS, waiting.undecided),
    # a hello under way
    Rule("accept_queue_full", ("ch_ack",), delivery.accept_queue_full),
    Rule("mtu_black_hole", ("ch_ack", "ch_sh"), delivery.black_hole),
    Rule("acks_lost", ("ch_ack", "ch_sh"), delivery.acks_lost),
    Rule("client_hello_loss", ("ch_ack", "ch_sh"), delivery.hello_loss),
    Rule("held_by_host", ("ch_ack",), delivery.held_by_host),
    Rule("not_acknowledged", ("ch_ack", "ch_sh"), delivery.not_acknowledged),
    # failures without a stall
    Rule("answered_otherwise", (FAILURE,), plaintext.answered_otherwise),
    Rule("foreign_rst", (FAILURE,), failures.foreign_rst),
    Rule("refused", (FAILURE,), failures.refused),
    Rule("prohibited", (FAILURE,), failures.prohibited),
    Rule("filtered", (FAILURE,), failures.filtered),
    Rule("alert", (FAILURE,), failures.alert),
    Rule("reset", (FAILURE,), failures.reset),
    Rule("closed", (FAILURE,), failures.closed),
)

RULES_OF: Final = {stage: tuple(rule for rule in RULES if stage in rule.stages) for stage in (*STALL_NAMES, FAILURE)}
"""Those that are tried for each stage."""
