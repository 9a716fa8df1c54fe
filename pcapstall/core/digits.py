"""Numbers as people and files write them: the ten digits of ASCII and nothing else.

`int` reads digits of any script, blanks around them and underscores between: no number of ours is written so. What a
number means, and how large it may be, is the matter of whoever reads it.
"""


def is_decimal(text: str) -> bool:
    """Whether ``text`` is digits, one at least."""
    return text.isascii() and text.isdecimal()


def is_whole_number(text: str) -> bool:
    """Whether ``text`` is digits, with a minus before them or not."""
    return is_decimal(text.removeprefix("-"))
