"""Text that nobody meant to be read: escapes that are none, words of thousands of letters, lines that repeat a mark."""

import json
import time

import pytest

from pcapstall.anonymise.called import secrets
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


@pytest.mark.parametrize(
    "repeated",
    ["password", "a.password", "password ", 'password="', "secret_key_", "--a", "--pass ", "\\", '\\"', "\\u0022", '"',
     "Cookie:", 'Cookie: "', "'Cookie: ", "token: [", "a://", "cookie='\"x\";", "Cookie: \\", "&quot;"],
)  # fmt: skip
def test_secrets_are_looked_for_in_time_that_grows_with_the_length_only(repeated: str) -> None:
    began = time.process_time()
    assert sum(ends - begins for begins, ends in secrets((repeated * 1_000_000)[:1_000_000])) <= 1_000_000
    assert time.process_time() - began < GENEROUS_S


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("DB_PASSWORD=hunter2 peer=10.0.0.7:443", ["hunter2"]),
        ('{"token":"a, b","peer":"10.0.0.7:443"}', ["a, b"]),
        ('{"msg":"got Cookie: a=b; c=d\\n","peer":"10.0.0.7:443"}', ["a=b; c=d\\n"]),
        ("curl -H 'Cookie: a=b; c=d' https://a.example", ["a=b; c=d"]),
        ("Authorization: Bearer a, b", ["a, b"]),
        ("cookie=a=b; sid=c peer=10.0.0.7", ["a=b; sid=c"]),
        ("https://a.example/?token=b&c=d done", []),
        ("mysql -p hunter2 bypass=on compass: north --password --verbose", []),
        ("SSL routines::unexpected eof, no password given, token expired at 10.0.0.7:443", []),
        ('password="" user="bob" peer=10.0.0.7', ["bob"]),
    ],
)
def test_a_secret_ends_where_its_string_or_line_does(line: str, values: list[str]) -> None:
    assert [line[begins:ends] for begins, ends in secrets(line)] == values


def test_a_line_of_json_is_one_afterwards() -> None:
    _, _, log = texts()
    said = {"password": 'a "b" \\ \n\u00eb', "msg": json.dumps({"token": 'c "d"', "peer": "e"}), "port": 443}
    made = json.loads(log.line(json.dumps(said).encode()))
    assert made.keys() == said.keys()
    assert json.loads(made["msg"])["peer"] == "e"
    assert made["port"] == 443


def test_a_path_that_was_cut_is_mapped() -> None:
    _, strace, _ = texts()
    assert b"zanzibar" not in strace.line(b"1 1.5 read(3</srv/zanzibar")


STRAY = """customer zanzibar password blue7
- customer zanzibar password blue7
failed: get_customer(zanzibar, blue7)
get_customer(zanzibar, blue7)
%zanzibar blue7
 * zanzibar blue7
user zanzibar attached blue7
time --- zanzibar blue7
zanzibar <... blue7
strace: zanzibar blue7
12 1796023442.4 write(2, zanzibar blue7
12 1796023442.4 write(2, "ab"..., 5blue7 zanzibar
12 1796023442.4 openat(AT_FDCWD, "/a", O_RDONLY) = 3</a\\x3e/zanzibar.blue7> <0.1>
12 +++ exited with 0 +++ zanzibar
12<acme>zanzibar> 1796023442.1 close(3) = 0 <0.1>""".split("\n")
OWN = """12 1796023442.108038 close(3) = 0 <0.000021>
[pid    12] 10:00:00.123456 <... read resumed>NULL, 8) = -1 EAGAIN (Resource temporarily unavailable)
12 10:00:00 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=13, si_uid=0, si_status=0} ---
12 +++ exited with 0 +++
[pid 12] +++ killed by SIGSEGV (core dumped) +++
strace: Process 13 attached
 <unfinished ...>
) = 5
 * 5 bytes in buffer 0
[{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL}], 0, NULL) = 30923""".split("\n")


@pytest.mark.parametrize("line", STRAY)
def test_lines_of_the_traced_program_are_replaced_word_by_word(line: str) -> None:
    _, strace, _ = texts()
    made = strace.line(line.encode())
    assert b"zanzibar" not in made
    assert b"blue7" not in made
    assert b"/a>" not in made


@pytest.mark.parametrize("line", OWN)
def test_lines_of_strace_itself_stay(line: str) -> None:
    _, strace, _ = texts()
    assert strace.line(line.encode()).decode() == line
