import pytest

from pcapstall.core.errors import UsageError
from pcapstall.core.times import MS, SECOND
from pcapstall.report.thresholds import parse_thresholds, threshold_ns


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"default": SECOND, "ch_ack": 500 * MS}),
        (["200ms"], {"default": 200 * MS, "ch_ack": 500 * MS}),
        (["5s"], {"default": 5 * SECOND, "ch_ack": 5 * SECOND}),
        (["ch_ack=200ms"], {"default": SECOND, "ch_ack": 200 * MS}),
        (
            ["ch_sh = 2 s", "ack_ch=3s"],
            {"default": SECOND, "ack_ch": 3 * SECOND, "ch_ack": 500 * MS, "ch_sh": 2 * SECOND},
        ),
        (["1s", "2s", "ch_ack=1ms", "ch_ack=2ms"], {"default": 2 * SECOND, "ch_ack": 2 * MS}),
    ],
)
def test_thresholds(options, expected):
    parsed = parse_thresholds(options)
    assert list(parsed.items()) == list(expected.items())


def test_the_longest_threshold_fits_64_bits_with_a_round_trip():
    assert parse_thresholds(["876000h"])["default"] + 366 * 24 * 3600 * SECOND < 2**63


def test_an_interval_without_its_own_has_the_default():
    thresholds = parse_thresholds(["2s", "ch_sh=1ms"])
    assert threshold_ns(thresholds, "ch_sh") == MS
    assert threshold_ns(thresholds, "syn_synack") == 2 * SECOND


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("ch_fin=1s", "lifetime.*syn_synack, synack_ack, ack_ch"),
        ("ack-ch=1s", "no interval.*ack_ch"),
        ("fast", "'fast' is not a duration"),
        ("500", "'500' is not a duration"),
        ("0s", "more than zero"),
        ("9999999h", "at most 876000 h"),
        ("ch_ack=876001h", "at most 876000 h"),
        ("ch_ack=-1ms", "more than zero"),
        ("=1s", "no interval"),
    ],
)
def test_what_is_wrong_is_said(option, said):
    with pytest.raises(UsageError, match=said):
        parse_thresholds([option])
