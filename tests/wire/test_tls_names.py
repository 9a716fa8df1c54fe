"""Names of numbers: spellings of the registries, numbers for what has no name, and text made safe."""

import dpkt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.wire.tls_ciphers import cipher_name
from pcapstall.wire.tls_names import (
    ALERT_DESCRIPTIONS,
    HANDSHAKE_NAMES,
    alert_name,
    is_grease,
    is_tls13,
    printable,
    version_name,
)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (0x0002, "SSL 2.0"),
        (0x0300, "SSL 3.0"),
        (0x0301, "TLS 1.0"),
        (0x0303, "TLS 1.2"),
        (0x0304, "TLS 1.3"),
        (0x7F13, "TLS 1.3 draft 19"),
        (0x7F1C, "TLS 1.3 draft 28"),
        (0x0305, "0x0305"),
        (0xFEFD, "0xFEFD"),
    ],
)
def test_versions(version: int, name: str) -> None:
    assert version_name(version) == name


def test_which_versions_are_tls_1_3() -> None:
    assert [version for version in (0x0303, 0x0304, 0x7F12, 0x7F1C, 0x0305, 0x8000) if is_tls13(version)] == [
        0x0304,
        0x7F12,
        0x7F1C,
    ]


def test_alerts() -> None:
    assert [alert_name(number) for number in (0, 40, 48, 70, 112, 120)] == [
        "close_notify",
        "handshake_failure",
        "unknown_ca",
        "protocol_version",
        "unrecognized_name",
        "no_application_protocol",
    ]
    assert alert_name(199) == "alert_199"


def test_names_are_in_the_registries_spelling() -> None:
    for name in [*ALERT_DESCRIPTIONS.values(), *HANDSHAKE_NAMES.values()]:
        assert name.replace("_", "").isalpha()
        assert name == name.lower()


def test_ciphers() -> None:
    assert [cipher_name(number) for number in (0x0000, 0x1301, 0xC02F, 0xCCA9, 0x00FF, 0x5600, 0x1305, 0xC0AA)] == [
        "TLS_NULL_WITH_NULL_NULL",
        "TLS_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_EMPTY_RENEGOTIATION_INFO_SCSV",
        "TLS_FALLBACK_SCSV",
        "TLS_AES_128_CCM_8_SHA256",
        # RFC 6655 has the words in this order.
        "TLS_PSK_DHE_WITH_AES_128_CCM_8",
    ]
    assert [cipher_name(number) for number in (0x1A1A, 0x001C, 0xC0B6, 0xCC13)] == [
        "0x1A1A",
        "0x001C",
        "0xC0B6",
        "0xCC13",
    ]


def test_ciphers_agree_with_another_table() -> None:
    # dpkt's differs in a few: shorter names for signalling values, and three mistakes.
    theirs = {number: suite.name for number, suite in dpkt.ssl_ciphersuites.BY_CODE.items()}
    skipped = {0x00FF, 0x5600, 0xC070, 0xC071, 0xC0AA, 0xC0AB}
    named = {number: name for number, name in theirs.items() if name.startswith("TLS_") and number not in skipped}
    assert len(named) > 300
    assert {number: cipher_name(number) for number in named} == named


def test_grease() -> None:
    assert [number for number in range(0x10000) if is_grease(number)] == [0x0A0A + 0x1010 * i for i in range(16)]


@given(st.binary(max_size=40))
def test_printable_text_is_printable_and_can_be_undone(raw: bytes) -> None:
    text = printable(raw)
    assert text.isascii()
    assert text.isprintable()
    assert text.encode().decode("unicode_escape").encode("latin-1") == raw
