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
from pcapstall.flows.notebook import NoteBook, unpacked
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
    if flow is NOBODY:
        return _nobody, ()
    return _made, (Flow, b"", 0, 0, 0), _state(flow)


def _reduce_book(book: NoteBook) -> tuple[object, ...]:
    return unpacked, book.packed()


def _the_only_rarities() -> Rarities:
    return NONE


def _the_only_half_rarities() -> HalfRarities:
    return NONE_OF_HALF


def _no_shape() -> HelloShape:
    return NO_SHAPE


def _reduce_rarities(rarities: Rarities) -> tuple[object, ...]:
    if rarities is NONE:
        return _the_only_rarities, ()
    return _made, (Rarities,), _state(rarities)


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
        (NoteBook, _reduce_book),
        (Rarities, _reduce_rarities),
        (HalfRarities, _reduce_half_rarities),
        (HelloShape, _reduce_shape),
    )
    for kind, reduce in special:
        copyreg.pickle(kind, reduce)  # type: ignore[arg-type]


_register()
