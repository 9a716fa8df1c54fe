"""A picture as PNG, drawn by resvg, which is an extra: SVG and HTML need nothing.

Where a program or a font is missing it says so: a picture without its words would be worse than none.
"""

from types import ModuleType
from typing import Final

from pcapstall.core.errors import UsageError
from pcapstall.core.lacking import lack_of
from pcapstall.report.pictures.svg import Picture, text

ZOOM: Final = 2.0
"""Pixels for each unit of a picture, so that it is sharp where it is shown as large as an SVG would be."""
_ROOM_MIN: Final = 8 << 20
"""Bytes that resvg takes for fonts and a small picture."""
_PIXEL_LEN: Final = 4
_LAYERS: Final = 3
"""Pictures of the whole size that are there at once: the one drawn, a layer of it, and the file."""
_FAMILY: Final = "DejaVu Sans"


def png_of(picture: Picture) -> bytes:
    """The picture by day; UsageError tells what to install."""
    resvg = _resvg()
    for said in ("", "x"):
        sample = Picture(20, 20, "", [text(2, 16, said)])
        if not said:
            blank = _drawn(resvg, sample)
        elif _drawn(resvg, sample) == blank:
            raise UsageError("there is no font to write PNG with: apt-get install fonts-dejavu-core; SVG needs none")
    return _drawn(resvg, picture)


def _drawn(resvg: ModuleType, picture: Picture) -> bytes:
    # Where it finds no room it ends the process, with words for its authors; here that is a MemoryError.
    bytes(_ROOM_MIN + _LAYERS * _PIXEL_LEN * int(picture.width * ZOOM) * int(picture.height * ZOOM))
    document = picture.document(flat=True)
    return bytes(resvg.svg_to_bytes(svg_string=document, zoom=ZOOM, sans_serif_family=_FAMILY))


def _resvg() -> ModuleType:
    try:
        import resvg_py  # an extra
    except ImportError as error:
        if lack_of(error):
            raise
        from pcapstall.core.extras import install_words

        raise UsageError(
            f"PNG needs the Python package resvg-py: {install_words('png')}; or draw .svg, which browsers show"
        ) from error
    found: ModuleType = resvg_py
    return found
