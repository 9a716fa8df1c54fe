"""Names of signals, as sentences have them.

Who handles signals, and what they end, is not known here.
"""

import signal


def signal_name(number: int) -> str:
    """``SIGTERM``, or ``signal 35`` of one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
