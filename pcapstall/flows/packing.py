"""Finished flows and what hangs on them, for another process: what `pickle` does not know of compiled classes.

Once this is imported, `pickle` packs flows, tallies and the like. Only state that stays after a flow was handed on is
known here.
"""

import copyreg
from collections.abc import Callable, Iterable
from typing import Any

from pcapstall.flows.flow import NOBODY, Flow, HalfFlow
from pcapstall.flows.holes import Hole
from pcapstall.flows.kept import Alert, IcmpError
from pcapstall.flows.note_packing import pack_notes, unpack_notes
from pcapstall.flows.rarities import NONE, NONE_OF_HALF, HalfRarities, Rarities
from pcapstall.wire.tls_client_hello import ClientHello
from pcapstall.wire.tls_hello import ServerHello
from pcapstall.wire.tls_shape import NO_SHAPE, HelloShape

Reduced = tuple[Callable[..., object], tuple[object, ...], dict[str, Any]]


def make_packable(kind: type, *arguments: object) -> None:
    """Let pickle pack instances of ``kind``: made with ``arguments``, and then every attribute is set."""

    def reduce(instance: object) -> Reduced:
        return _made, (kind, *arguments), _state(instance)

    copyreg.pickle(kind, reduce)


def _made(kind: type, *arguments: object) -> object:
    return kind(*arguments)


def _state(instance: object) -> dict[str, Any]:
    state: Any = instance.__getstate__()
    return dict(state)


def _nobody() -> Flow:
    return NOBODY


def _reduce_flow(flow: Flow) -> tuple[object, ...]:
    """The notes apart: a chain of them would be as many calls deep as it is long."""
    if flow is NOBODY:
        return _nobody, ()
    state = _state(flow)
    middle = flow.middle_note
    state.update(first_note=None, last_note=None)
    where = next((at for at, note in enumerate(flow.notes()) if note is middle), -1) if middle is not None else -1
    return _made, (Flow, b"", 0, 0, 0), (state, pack_notes(flow), where), None, None, _set_flow


def _set_flow(flow: Flow, packed: tuple[dict[str, Any], bytes, int]) -> None:
    state, notes, where = packed
    _set(flow, state)
    unpack_notes(flow, notes, where)


def _set(instance: object, state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(instance, name, value)


def _the_only_rarities() -> Rarities:
    return NONE


def _the_only_half_rarities() -> HalfRarities:
    return NONE_OF_HALF


def _no_shape() -> HelloShape:
    return NO_SHAPE


def _reduce_rarities(rarities: Rarities) -> tuple[object, ...]:
    if rarities is NONE:
        return _the_only_rarities, ()
    return _made, (Rarities,), {**_state(rarities), "middle_note": None}


def _reduce_half_rarities(rarities: HalfRarities) -> tuple[object, ...]:
    if rarities is NONE_OF_HALF:
        return _the_only_half_rarities, ()
    return _made, (HalfRarities,), _state(rarities)


def _reduce_shape(shape: HelloShape) -> tuple[object, ...]:
    if shape is NO_SHAPE:
        return _no_shape, ()
    return _made, (HelloShape, b"", False), _state(shape)


def _register() -> None:
    make_packable(HalfFlow, NOBODY)
    make_packable(Hole, 0, 0)
    make_packable(Alert, False, 0, 0, False, 0, 0)
    make_packable(IcmpError, False, 0, 0, 0, False, 0, 0)
    make_packable(ClientHello)
    make_packable(ServerHello)
    special: Iterable[tuple[type, Callable[[Any], tuple[object, ...]]]] = (
        (Flow, _reduce_flow),
        (Rarities, _reduce_rarities),
        (HalfRarities, _reduce_half_rarities),
        (HelloShape, _reduce_shape),
    )
    for kind, reduce in special:
        copyreg.pickle(kind, reduce)  # type: ignore[arg-type]


_register()
