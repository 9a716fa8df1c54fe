"""Durations and stamps as text."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.times import (
    MS,
    SECOND,
    US,
    YEAR,
    format_clock,
    format_ms,
    format_span,
    format_step,
    format_utc,
    parse_duration,
)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "2 us"),
        (999_400, "999 us"),
        (999_600, "1.0 ms"),
        (9_940_000, "9.9 ms"),
        (9_960_000, "10 ms"),
        (999_400_000, "999 ms"),
        (999_600_000, "1.0 s"),
        (52_091_243_000, "52.1 s"),
        (99_960_000_000, "100 s"),
        (119 * SECOND, "119 s"),
        (119_600_000_000, "2 min 0 s"),
        (250 * SECOND, "4 min 10 s"),
        (3_600 * SECOND, "1 h 0 min"),
        (-42_100_000_000, "-42.1 s"),
        (48 * 3_600 * SECOND - SECOND, "47 h 59 min"),
        (48 * 3_600 * SECOND, "2 d 0 h"),
        ((5449 * 60 + 50) * 60 * SECOND, "227 d 2 h"),
        (730 * 86_400 * SECOND, "2 y 0 d"),
        (1 << 62, "146 y 86 d"),
    ],
)
def test_format_span(ns: int, text: str) -> None:
    assert format_span(ns) == text


@given(st.integers(-(10**18), 10**18))
def test_a_span_is_close_to_what_it_says(ns: int) -> None:
    """Read back, a span is within one part in twenty (or 30 s of hours and minutes)."""
    words = format_span(ns).lstrip("-").split()
    scale = {
        "ns": 1,
        "us": US,
        "ms": MS,
        "s": SECOND,
        "min": 60 * SECOND,
        "h": 3600 * SECOND,
        "d": 86_400 * SECOND,
        "y": 365 * 86_400 * SECOND,
    }
    value = sum(int(float(number) * scale[unit]) for number, unit in zip(words[::2], words[1::2], strict=True))
    assert abs(value - abs(ns)) <= max(abs(ns) // 20, 500, 60 * SECOND if "h" in words else 0)


@pytest.mark.parametrize(
    ("text", "ns"),
    [("500ms", 500 * MS), ("1.5 s", 1_500 * MS), ("2m", 120 * SECOND), ("200us", 200 * US), ("-1s", -SECOND)],
)
def test_parse_duration(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize("text", ["", "5", "5 parsecs", "s", "1,5s", "\u0661s", "1.\u0665s", "1_0s", "--1s"])
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("ns", "text"), [(1_234_567, "1.235"), (-1_500, "-0.002"), (-400, "0.000"), (52_091_243_000, "52091.243")]
)
def test_format_ms(ns: int, text: str) -> None:
    assert format_ms(ns) == text


@pytest.mark.parametrize(
    ("most_ns", "least_ns", "text"),
    [(5 * YEAR, 5 * YEAR - 90 * SECOND, "about 5 y 0 d"), (20 * SECOND, 17 * SECOND, "17.0 s or more")],
)
def test_by_how_much_a_clock_was_set(most_ns: int, least_ns: int, text: str) -> None:
    assert format_step(most_ns, least_ns) == text


@given(st.integers(-(10**18), 10**19))
def test_the_time_of_day_is_that_of_the_whole_stamp(ns: int) -> None:
    assert format_clock(ns) == f"{format_utc(ns).split()[1][:12]} UTC"


def test_format_utc() -> None:
    assert format_utc(1_621_445_342_123_456_789) == "2021-05-19 17:29:02.123456 UTC"
    assert format_utc(10**27).startswith("epoch ")


@given(st.integers(-63 * 10**18, 254 * 10**18) | st.sampled_from([-62_135_596_800 * SECOND, 253_402_300_800 * SECOND]))
def test_format_utc_is_what_the_calendar_says(ns: int) -> None:
    for stamp in (ns - 1, ns):
        try:
            day = datetime.fromtimestamp(stamp // SECOND, UTC)
        except (OverflowError, ValueError):
            assert format_utc(stamp) == f"epoch {stamp // SECOND}.{stamp % SECOND:09d}"
        else:
            assert format_utc(stamp) == f"{day:%Y-%m-%d %H:%M:%S}.{stamp % SECOND // 1000:06d} UTC"
