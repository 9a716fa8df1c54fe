"""Text that nobody meant to be read: escapes that are none, words of thousands of letters, lines that repeat a mark."""

import time

import pytest

from pcapstall.anonymise.free_text import FreeText
from pcapstall.anonymise.log_text import LogText
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.secret import Secret
from pcapstall.anonymise.strace_strings import decoded
from pcapstall.anonymise.strace_text import StraceText
from pcapstall.anonymise.text import protocol_text

GENEROUS_S = 20
"""For what takes under two seconds; it took minutes where time grew with the square of the length."""
LINE_LEN = 200_000


def texts(*hidden: str) -> tuple[Mapping, StraceText, LogText]:
    mapping = Mapping(Secret(b"a key of a test, long"))
    free = FreeText(mapping, hidden)
    log = LogText(mapping, free)
    return mapping, StraceText(mapping, free, log.known_line), log


@pytest.mark.parametrize(
    "string", [rb'"a\x"', rb'"a\9"', rb'"C:\xampp\9"', rb'"a\x', rb'"a\x4', rb'"a\8\777"', b'"a\\']
)
def test_what_is_no_escape_is_taken_as_it_is(string: bytes) -> None:
    _, strace, _ = texts()
    assert b"xampp" not in strace.line(b"1 1796023442.1 write(1, " + string + b", 3) = 3 <0.1>")
    assert b"xampp" not in strace.line(b"1 1796023442.1 write(1, " + string)
    assert decoded(rb"a\9\x\x4") == b"a9xx4"


def test_a_word_of_thousands_of_letters_is_a_word() -> None:
    mapping, strace, _ = texts()
    long, other = "zanzibar" * 5000, "zanzibar" * 4999 + "zanzibas"
    assert len(mapping.word(long)) == len(long)
    assert "zanzibar" not in mapping.word(long)
    assert mapping.word(long) != mapping.word(other)
    assert mapping.word(long.upper()) == mapping.word(long).upper()
    assert b"zanzibar" not in strace.line(b'1 1.5 write(1, "%s", 3) = 3' % long.encode())


@pytest.mark.parametrize("repeated", ["-", "a-", "_", "a", "a.", "a@", "</", '"a",', "%", "00:", "inet_addr("])
def test_time_grows_with_the_length_only(repeated: str) -> None:
    mapping, strace, log = texts()
    text = (repeated * LINE_LEN)[: LINE_LEN if repeated != "00:" else LINE_LEN // 4].encode() + b"zz"
    began = time.process_time()
    log.line(text)
    for before in (b"", b'1 1.5 write(1, "', b'1 1.5 open("', b"1 1.5 open("):
        strace.line(before + text)
    protocol_text(text, mapping)
    assert time.process_time() - began < GENEROUS_S


def test_a_path_that_was_cut_is_mapped() -> None:
    _, strace, _ = texts()
    assert b"zanzibar" not in strace.line(b"1 1.5 read(3</srv/zanzibar")
