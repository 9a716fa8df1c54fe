"""The queue is a deque to all who use it."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from pcapstall.flows.queue import TAKEN_MAX, Queue


@given(st.lists(st.tuples(st.integers(0, 2 * TAKEN_MAX), st.integers(0, 2 * TAKEN_MAX)), max_size=6))
def test_a_queue_is_a_deque(steps: list[tuple[int, int]]) -> None:
    queue: Queue[int] = Queue()
    model: deque[int] = deque()
    number = 0
    for added, taken in steps:
        for _ in range(added):
            number += 1
            queue.append(number)
            model.append(number)
        for _ in range(min(taken, len(model))):
            assert queue.first() == model[0]
            assert queue.popleft() == model.popleft()
        assert len(queue) == len(model)


def test_what_is_put_back_is_first_again() -> None:
    queue: Queue[int] = Queue()
    for number in range(3 * TAKEN_MAX):
        queue.append(number)
    queue.put_back([queue.popleft() for _ in range(2 * TAKEN_MAX)])
    assert [queue.popleft() for _ in range(len(queue))] == list(range(3 * TAKEN_MAX))


def test_what_was_taken_takes_no_room() -> None:
    queue: Queue[bytes] = Queue()
    for number in range(100 * TAKEN_MAX):
        queue.append(b"%d" % number)
        if number >= 10:
            queue.popleft()
    assert len(queue) == 10
    assert len(queue._waiting) <= 2 * TAKEN_MAX + 20
