r"""Regular expressions of a filter, searched for in time that grows with the text and not beyond: names are untrusted.

Python's `re` tries one way after the other, and `(a+)+$` has more ways through forty letters than anybody waits for.
Here all ways are followed at once (Thompson 1968): the same language, less what only trying can do, which is refused.
Single characters and places (`[a-z]`, `\b`) are still judged by `re`. What a filter is stays in `filter`.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

STATES_MAX: Final = 1000
"""`(a|b){200}` takes 600. Each character of a text is held against so many, at most."""
_REMEMBERED_MAX: Final = 100_000
"""States of the moves that are remembered, in all."""

_PIECE: Final = re.compile(
    r"""
    (?P<place>    \\[AbBZz] | [\^$] )
  | (?P<group>    \((?:\?(?::|P<\w+>))?(?!\?) )
  | (?P<refused>  \\[1-9] | \( )
  | (?P<one>      \\N\{[^}]*\} | \\x.. | \\u.{4} | \\U.{8} | \\0[0-7]{0,2} | \\. | \[\^?\]?(?:\\.|[^\]\\])*\] )
  | (?P<bar>      \| )
  | (?P<end>      \) )
  | (?P<repeat>   (?:[*+?]|\{(?P<least>\d*)(?P<comma>,?)(?P<most>\d*)(?<!\{)\})(?P<kept>\+?)\?? )
  | (?P<any>      . )
    """,
    re.VERBOSE | re.DOTALL,
)
_FLAGS: Final = re.compile(r"\(\?[aimsu]+\)")
_STRAIGHT: Final = frozenset(("place", "one", "bar", "any"))
"""Without groups and repeats there is nothing to try: `re` searches in time that grows with the text, and faster."""
_BOUNDS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}

# What a state does.
_TAKE: Final = 0
"""Takes a character, if its judge lets it."""
_STAND: Final = 1
"""Goes on, if its judge agrees to the place."""
_FORK: Final = 2
"""Goes on in two ways."""
_FOUND: Final = 3

_Judge = re.Pattern[str]
_Part = Callable[[int], int]
"""Builds the states of a part of the pattern before that which they lead to; returns the first."""
_Move = tuple[frozenset[int], tuple[_Judge, ...], str]
"""Where the search is, which places are there, and the character that follows; empty at the end."""


class PatternError(ValueError):
    """What is no regular expression, or none that can be followed without trying."""


def searcher(pattern: str) -> Callable[[str], bool]:
    """Tells whether ``pattern`` is found anywhere in a text, whatever the case of its letters. PatternError."""
    try:
        whole = re.compile(pattern, re.IGNORECASE)
        flags = _FLAGS.match(pattern)
        beginning = flags[0] if flags else ""
        pieces = list(_PIECE.finditer(pattern, len(beginning)))
        if _STRAIGHT.issuperset(piece.lastgroup or "" for piece in pieces):
            return lambda text: whole.search(text) is not None
        return _Machine(pieces, beginning).search
    except PatternError:
        raise
    except (re.error, ValueError) as error:  # ValueError: flags that contradict each other
        raise PatternError(f"not a regular expression: {error}") from None
    except (OverflowError, RecursionError):
        raise PatternError("this regular expression is too large") from None


class _Machine:
    """The states of a pattern, and the moves from one set of them to the next that were made so far."""

    def __init__(self, pieces: Sequence[re.Match[str]], flags: str) -> None:
        self._kinds: list[int] = []
        self._judges: list[_Judge | None] = []
        self._ways: list[tuple[int, ...]] = []
        """Where each state leads."""
        self._known: dict[str, _Judge] = {}
        self._flags = flags
        self._pieces = list(reversed(pieces))
        first = self._choice()(self._state(_FOUND))
        self._begin = frozenset((first,))
        kinds_and_judges = zip(self._kinds, self._judges, strict=True)
        self._places = {judge for kind, judge in kinds_and_judges if kind == _STAND and judge is not None}
        self._moves: dict[_Move, frozenset[int] | None] = {}
        self._remembered = 0

    def search(self, text: str) -> bool:
        """Whether the pattern is anywhere in ``text``."""
        places = self._places
        states = self._begin
        for at, character in enumerate((*text, "")):
            here = tuple([place for place in places if place.match(text, at)]) if places else ()
            key = states, here, character
            following = self._moves[key] if key in self._moves else self._move(*key)
            if following is None:
                return True
            states = following
        return False

    def _move(self, states: frozenset[int], here: tuple[_Judge, ...], character: str) -> frozenset[int] | None:
        """The states behind ``character``, with those of a search that begins there; None when all is found."""
        waiting, seen, taken = list(states), set(states), set(self._begin)
        found = False
        while waiting:
            state = waiting.pop()
            kind, judge = self._kinds[state], self._judges[state]
            found = found or kind == _FOUND
            if kind == _TAKE and character and judge is not None and judge.match(character):
                taken.update(self._ways[state])
            elif kind == _FORK or (kind == _STAND and judge in here):
                waiting += [way for way in self._ways[state] if way not in seen]
                seen.update(self._ways[state])
        following = None if found else frozenset(taken)
        self._remembered += len(states) + len(taken)
        if self._remembered > _REMEMBERED_MAX:
            self._moves.clear()
            self._remembered = 0
        self._moves[states, here, character] = following
        return following

    def _state(self, kind: int, judge: _Judge | None = None, *ways: int) -> int:
        if len(self._kinds) >= STATES_MAX:
            raise PatternError(f"this regular expression is too large: it has more than {STATES_MAX} steps")
        self._kinds.append(kind)
        self._judges.append(judge)
        self._ways.append(ways)
        return len(self._kinds) - 1

    def _judge(self, piece: str) -> _Judge:
        if piece not in self._known:
            self._known[piece] = re.compile(self._flags + piece, re.IGNORECASE)
        return self._known[piece]

    def _choice(self) -> _Part:
        """Read to the end of a group, or of everything."""
        branches: list[_Part] = []
        while True:
            branches.append(self._sequence())
            if not self._pieces or self._pieces.pop().lastgroup == "end":
                return self._either(branches)

    def _sequence(self) -> _Part:
        """Read up to a bar, or to the end of a group."""
        parts: list[_Part] = []
        while self._pieces and self._pieces[-1].lastgroup not in ("bar", "end"):
            piece = self._pieces.pop()
            kind = "repeat" if piece["repeat"] else piece.lastgroup
            if kind == "group":
                parts.append(self._choice())
            elif kind == "repeat":
                parts.append(self._repeated(parts.pop() if parts and not piece["kept"] else self._refuse(piece), piece))
            elif kind == "refused":
                self._refuse(piece)
            else:
                parts.append(self._single(_STAND if kind == "place" else _TAKE, piece[0]))
        return lambda then: self._all(parts, then)

    def _refuse(self, piece: re.Match[str]) -> NoReturn:
        raise PatternError(
            f"{piece[0]!r} at {piece.start() + 1} of the regular expression: groups with (?...), references to groups"
            " and possessive repeats are not known here"
        )

    def _single(self, kind: int, piece: str) -> _Part:
        judge = self._judge(piece)
        return lambda then: self._state(kind, judge, then)

    def _all(self, parts: Sequence[_Part], then: int) -> int:
        for part in reversed(parts):
            then = part(then)
        return then

    def _either(self, branches: Sequence[_Part]) -> _Part:
        if len(branches) == 1:
            return branches[0]
        return lambda then: self._state(_FORK, None, *(branch(then) for branch in branches))

    def _repeated(self, part: _Part, piece: re.Match[str]) -> _Part:
        sign = piece["repeat"]
        if sign[0] == "{":
            least = int(piece["least"] or 0)
            most = int(piece["most"]) if piece["most"] else None if piece["comma"] else least
        else:
            least, most = _BOUNDS[sign[0]]

        def build(then: int) -> int:
            first = then
            if most is None:
                first = self._state(_FORK)
                self._ways[first] = part(first), then
            else:
                for _ in range(most - least):
                    first = self._state(_FORK, None, part(first), then)
            for _ in range(least):
                before, first = first, part(first)
                if first == before:
                    break  # of nothing, however often
            return first

        return build
