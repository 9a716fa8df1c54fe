"""The rules of diagnosis: each looks at one case and either concludes or says why it does not apply.

A module a stage of the handshake; their order is in `table`. A rule reads facts and holds no state.
"""
