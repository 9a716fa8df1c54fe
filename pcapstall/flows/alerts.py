"""Notes the alerts of a flow in the order in which they came, those in the clear and those that are only inferred.

A record of an alert's length turns out to be one when nothing but the close follows it, long after it came.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import HalfFlow
from pcapstall.flows.kept import Alert

ALERTS_MAX: Final = 16
"""Alerts kept of one flow."""


def note_alert(half: HalfFlow, level: i64, description: i64, inferred: bool, ns: i64, ref: i64) -> None:
    """``half`` sent an alert; level and description are -1 where it is encrypted."""
    flow = half.flow
    if half.alert_ref == 0:
        half.rare().alert_ns = ns
        half.rare().alert_ref = ref
    alerts = flow.alerts
    if alerts is None:
        alerts = []
        flow.rare().alerts = alerts
    if len(alerts) >= ALERTS_MAX:
        return
    at: i64 = len(alerts)
    while at > 0 and alerts[at - 1].ref > ref:
        at -= 1
    alerts.insert(at, Alert(half is flow.client(), level, description, inferred, ns, ref))


def confirm_alert(half: HalfFlow) -> None:
    """A last record of an alert's length, and then the close: it was one."""
    if half.alert_candidate and (half.fin_ref != 0 or half.rst_ref != 0):
        half.alert_candidate = False
        note_alert(half, -1, -1, True, half.candidate_ns, half.candidate_ref)
