"""Whether strided pieces of memory share a byte."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir.plan.overlap import extent, overlap

pieces = st.integers(0, 3).flatmap(
    lambda rank: st.tuples(
        st.integers(0, 40).map(lambda start: 4 * start),
        st.lists(st.integers(0, 4), min_size=rank, max_size=rank),
        st.lists(st.integers(-12, 12), min_size=rank, max_size=rank),
    )
)


def cells(start, shape, strides):
    places = itertools.product(*(range(n) for n in shape))
    return {start + 4 * sum(s * i for s, i in zip(strides, p, strict=True)) for p in places}


@settings(max_examples=400)
@given(pieces, pieces)
def test_overlap_is_exact_on_small_pieces(a, b):
    assert overlap(extent(*a, 4), extent(*b, 4)) == bool(cells(*a) & cells(*b))


def test_columns_of_a_matrix_lie_apart():
    column = [extent(4 * k, (1000, 1), (1000, 1), 4) for k in range(2)]
    assert not overlap(*column)
    assert overlap(column[0], column[0])
    assert overlap(column[0], extent(0, (1000, 1000), None, 4))


def test_pieces_of_different_element_size_are_compared_by_their_bounds():
    assert overlap(extent(0, (4,), (4,), 4), extent(8, (2,), None, 8))
    assert not overlap(extent(0, (4,), None, 4), extent(16, (2,), None, 8))
