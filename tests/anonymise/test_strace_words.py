"""The words of strace's own that a diagnosis reads stay: those of straces at hand, and those that strace prints."""

import re
import shutil
from pathlib import Path

import pytest

from pcapstall.anonymise.strace_words import is_straces

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')
DECORATED = re.compile(r"(?<=\d)<[^<>]*>")
CONSTANT = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\bE?POLL[A-Z]+\b|\bE[A-Z0-9]{3,}\b(?= \()|\bSIG[A-Z0-9]+\b")
FAMILIES = """
    AF_ AT_ CLD_ CLOCK_ CLONE_ CLOSE_RANGE_ EFD_ EPOLL EPOLL_ FD_ FUTEX_ F_ GRND_ IORING_ IPPROTO_ IPV6_ IP_ ITIMER_
    LOCK_ MADV_ MAP_ MSG_ O_ PF_ POLL PROT_ PR_ RLIMIT_ RWF_ SA_ SCM_ SEEK_ SFD_ SHUT_ SIG SIG_ SI_ SOCK_ SOL_ SO_
    SPLICE_ TCP_ TFD_ TIMER_ WAIT_
    """.split()
ERRORS = "EAGAIN ECONNREFUSED ECONNRESET EDEADLK EINPROGRESS EOPNOTSUPP EPIPE ETIMEDOUT ERESTARTSYS".split()


def unknown(text: str) -> set[str]:
    bare = DECORATED.sub("", STRING.sub("", text))
    return {word for word in CONSTANT.findall(bare) if not is_straces(word) and not re.fullmatch(r"SIGRT_\d+", word)}


def lost(files: list[Path]) -> dict[str, set[str]]:
    found = {}
    for path in files:
        lines = path.read_text("latin-1").split("\n")
        missing = unknown("\n".join(line for line in lines if not line.startswith("Script ")))
        if missing:
            found[path.name] = missing
    return found


def test_every_constant_of_the_captures_straces_stays() -> None:
    files = sorted(CAPTURES.glob("*/*.strace"))
    assert len(files) > 5
    assert lost(files) == {}


def test_every_constant_of_the_labs_straces_stays(lab: Path) -> None:
    files = sorted(lab.glob("*/*.strace"))
    assert len(files) > 30
    assert lost(files) == {}


@pytest.mark.parametrize("event", "IN OUT PRI ERR HUP NVAL RDHUP RDNORM RDBAND WRNORM WRBAND MSG".split())
def test_every_event_stays(event: str) -> None:
    assert is_straces(f"POLL{event}")
    assert is_straces(f"EPOLL{event}")


@pytest.mark.parametrize("word", ["EPOLLET", "EPOLLONESHOT", "EPOLLEXCLUSIVE", "EPOLLWAKEUP", *ERRORS])
def test_a_constant_that_a_diagnosis_reads_stays(word: str) -> None:
    assert is_straces(word)
    assert not is_straces(f"{word}ACME")


def test_what_the_installed_strace_prints_of_these_calls_stays() -> None:
    program = shutil.which("strace")
    if program is None:
        pytest.skip("strace is not installed")
    words = {word.decode() for word in re.findall(rb"(?<=\0)[A-Z][A-Z0-9_]{3,}(?=\0)", Path(program).read_bytes())}
    families = {word for word in words if word.startswith(tuple(family for family in FAMILIES if family[-1] == "_"))}
    families |= {word for word in words if re.fullmatch(r"E?POLL[A-Z]+|SIG[A-Z0-9]+", word)}
    assert len(families) > 500
    assert sorted(word for word in families if not is_straces(word)) == []
