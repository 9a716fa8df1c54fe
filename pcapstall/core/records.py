"""Named tuples whose classes are made quickly: there are forty of them before the first packet is read.

`typing.NamedTuple` compiles a constructor for each class and looks at each annotation: most of the time of a report
class, and most classes are those of what a report seldom has. Here the constructor is made with the first value.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 14):  # where annotations are no longer in a class body's namespace
    from typing import NamedTuple as NamedTuple
else:
    from collections import _tuplegetter
    from collections.abc import Iterable
    from typing import Any, Self

    class _Class(type):
        """Makes the annotated names of a class body the fields of a tuple."""

        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> "_Class":
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace[field] for field in fields if field in namespace}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one with a default")
            for at, field in enumerate(fields):
                namespace[field] = _tuplegetter(at, field)
            namespace |= {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
            return super().__new__(cls, name, bases, namespace)

    class NamedTuple(tuple, metaclass=_Class):
        """As `typing.NamedTuple` is used: a base of classes whose body names the fields."""

        def __new__(cls, /, *values: Any, **named: Any) -> Self:
            """The first value of a class: from now on it has a constructor of its own."""
            names = ", ".join(cls._fields)
            make = eval(f"lambda _cls, {names}: _new(_cls, ({names},))", {"_new": tuple.__new__})
            make.__defaults__ = tuple(cls._field_defaults.values()) or None
            make.__name__, make.__qualname__ = "__new__", f"{cls.__name__}.__new__"
            cls.__new__ = staticmethod(make)
            return make(cls, *values, **named)

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Self:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes: Any) -> Self:
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            told = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{self.__class__.__name__}({told})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)
