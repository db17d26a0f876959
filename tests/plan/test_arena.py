"""Placing lives in the arena."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loopwright.ir.lowering.arena import ALIGNMENT, place

lives = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 10), st.integers(0, 500)).map(
        lambda t: (t[0], t[0] + t[1], t[2])
    ),
    max_size=40,
)


@given(lives)
def test_lives_that_meet_do_not_share_bytes(lives):
    offsets, end = place(lives)
    for k, (first, last, size) in enumerate(lives):
        assert offsets[k] % ALIGNMENT == 0
        assert offsets[k] + size <= end
        for other, (begin, stop, extent) in enumerate(lives[:k]):
            if first <= stop and begin <= last and size and extent:
                a, b = offsets[k], offsets[other]
                assert a + size <= b or b + extent <= a


def test_memory_is_reused_and_holes_are_merged():
    offsets, end = place([(0, 1, 64), (0, 1, 64), (2, 3, 128), (3, 4, 64)])
    assert offsets == [0, 64, 0, 128]
    assert end == 192


def test_nothing_needs_no_arena():
    assert place([]) == ([], 0)
    assert place([(0, 5, 0)]) == ([0], 0)
