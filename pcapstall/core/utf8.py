"""Text as UTF-8 whatever it holds: names of files on Linux are bytes, and Python has those as lone surrogates.

What has no UTF-8 is written as an escape (``\\udcff``). How text is shown on a terminal is not known here.
"""


def utf8(text: str) -> bytes:
    """``text`` in UTF-8."""
    return text.encode("utf-8", "backslashreplace")


def without_surrogates(text: str) -> str:
    """``text`` as it can be encoded anywhere."""
    return text if text.isascii() else utf8(text).decode()
