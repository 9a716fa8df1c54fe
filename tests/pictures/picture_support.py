"""Pictures of captures of the tree, and what SVG holds when it is read as XML."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.pipeline.ends.given import parse_given
from pcapstall.pipeline.timeline.timeline import timeline_of
from pcapstall.report.pictures.svg import Picture
from pcapstall.report.selector import the_only_one
from pcapstall.report.timeline import Timeline

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
STALLED = CAPTURES / "stalled-client-hello"


def analysed(*captures: Path, **fields: object) -> Analysis:
    return analyse([str(path) for path in captures], Options(**fields))  # type: ignore[arg-type]


def timeline(capture: Path, selector: str, texts: bool = False) -> Timeline:
    """The timeline of one flow; ``texts``: with the straces and logs beside the capture."""
    made: list[Timeline] = []

    def make(analysis: Analysis) -> None:
        made.append(timeline_of(analysis, the_only_one(analysis.report.flows, selector), [str(capture)], False))

    given = {
        kind: [parse_given(f"{path.stem}={path}") for path in sorted(capture.parent.glob(f"*.{kind}"), reverse=True)]
        for kind in (("strace", "log") if texts else ())
    }
    options = Options(all_flows=True, straces=given.get("strace", ()), logs=given.get("log", ()))
    analyse([str(capture)], options, before_closing=make)
    return made[0]


def read(picture: Picture, flat: bool = False) -> ElementTree.Element:
    """The document, which must be XML."""
    return ElementTree.fromstring(picture.document(flat))


def texts(root: ElementTree.Element) -> list[str]:
    """All lines of text."""
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def titles(root: ElementTree.Element) -> Iterator[str]:
    """What is shown where the pointer rests."""
    for node in root.iter("{http://www.w3.org/2000/svg}title"):
        yield node.text or ""
