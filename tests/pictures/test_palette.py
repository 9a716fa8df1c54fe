"""Colours are told apart by everybody, by day and by night, and never alone."""

import re
from itertools import combinations

import pytest

from pcapstall.report.names import PARTS
from pcapstall.report.pictures import palette
from pcapstall.report.pictures.palette import KINDS, SERIES


def _linear(color: str) -> list[float]:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(color: str) -> float:
    red, green, blue = _linear(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, "contrast ratio"."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("scheme", "page"), [("light", "#ffffff"), ("dark", "#14171a")])
def test_every_mark_stands_out(scheme: str, page: str) -> None:
    for kind in KINDS.values():
        assert contrast(getattr(kind, scheme), page) >= (2.9 if kind.name == "fine" else 4.4), kind.name
    for light, dark, _ in SERIES:
        assert contrast(light if scheme == "light" else dark, page) >= 4.4


def test_no_two_kinds_have_shape_word_or_letter_in_common() -> None:
    for one, other in combinations(KINDS.values(), 2):
        assert {one.shape, one.words, one.letter}.isdisjoint((other.shape, other.words, other.letter))
    assert len({dashes for *_, dashes in SERIES}) == len(SERIES)


def test_every_part_and_cause_has_a_kind() -> None:
    assert set(PARTS) <= set(KINDS)
    assert palette.kind_of(None) == palette.kind_of("something new") == KINDS["unknown"]
    assert {"client_process", "server_process", "network", "capture", "unknown"} <= set(KINDS)


def test_both_schemes_have_every_color() -> None:
    text = palette.style()
    light, dark, printed = re.findall(r":root \{(.*?)\}", text)
    names = set(re.findall(r"(--ps-[\w-]+):", light))
    assert set(re.findall(r"(--ps-[\w-]+):", dark)) == names == set(re.findall(r"(--ps-[\w-]+):", printed))
    assert set(re.findall(r"var\((--ps-[\w-]+)\)", text)) <= names


def test_the_flat_style_has_no_variable() -> None:
    assert "var(" not in palette.flat_style()
    assert "--" not in palette.flat_style()
