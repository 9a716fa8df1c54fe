"""Fetching flows gives each of them once, in order, and leaves them as they are."""

import pytest

from pcapstall.flows.fetch import AT_ONCE, fetched
from pcapstall.flows.flow import Flow


@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE])
def test_all_in_order(count: int) -> None:
    flows = [Flow(bytes(12), bytes(12), number, number, number) for number in range(count)]
    assert [fetched(flows, at).id for at in range(count)] == list(range(count))
