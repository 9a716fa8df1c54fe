"""What would settle a verdict is said once, in one phrase."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.diagnose.case import NO_LOSS, STEADY_CLOCK
from pcapstall.diagnose.rules.base import AT_CLIENT, AT_SERVER
from pcapstall.diagnose.wishes import wish_for

TO_ITS_END = "a capture that goes on until the connection ends"
LOG = "the client's log"


@pytest.mark.parametrize(
    ("wishes", "phrase"),
    [
        ([], ""),
        (["", LOG, LOG], LOG),
        ([AT_SERVER, TO_ITS_END], f"{AT_SERVER} that goes on until the connection ends"),
        ([NO_LOSS, STEADY_CLOCK, STEADY_CLOCK], "a capture that lacks no packets and whose clock did not step"),
        (
            [AT_SERVER, TO_ITS_END, NO_LOSS, STEADY_CLOCK],
            f"{AT_SERVER} that goes on until the connection ends, that lacks no packets and whose clock did not step",
        ),
        ([STEADY_CLOCK, AT_CLIENT], f"{AT_CLIENT} whose clock did not step"),
        ([AT_CLIENT, AT_SERVER, NO_LOSS], f"{AT_CLIENT} and {AT_SERVER} and {NO_LOSS}"),
        (
            [f"{AT_CLIENT} that lacks no packets", f"{AT_CLIENT} whose clock did not step", f"{AT_SERVER} itself"],
            f"{AT_CLIENT} that lacks no packets and whose clock did not step and {AT_SERVER} itself",
        ),
        ([LOG, "a capture of this connection alone"], f"{LOG} and a capture of this connection alone"),
        (
            ["nothing: two stages were late", "a strace and a capture with one clock"],
            "a strace and a capture with one clock",
        ),
        (["nothing: two stages were late"], "nothing: two stages were late"),
        (["nothing: two stages were late", "nothing: it is too long"], "nothing: two stages were late"),
        (
            ["a strace that shows the bytes (-s 64): the clocks do not agree", "a strace that begins before it"],
            "a strace that shows the bytes (-s 64): the clocks do not agree and a strace that begins before it",
        ),
        (
            ["a strace that begins before the connection", "a strace that goes on until the end of the stall"],
            "a strace that begins before the connection and that goes on until the end of the stall",
        ),
    ],
)
def test_wishes_as_one_phrase(wishes: list[str], phrase: str) -> None:
    assert wish_for(wishes) == phrase


@given(st.lists(st.sampled_from([AT_CLIENT, AT_SERVER, TO_ITS_END, NO_LOSS, STEADY_CLOCK, LOG])))
def test_nothing_that_is_wished_is_lost_or_said_twice(wishes: list[str]) -> None:
    phrase = wish_for(wishes)
    for wish in wishes:
        assert phrase.count(wish.removeprefix("a capture ")) == 1
