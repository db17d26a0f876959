"""Reads and writes by every kind of index give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from loopwright.ir.errors import BoundsError, DTypeError, NotFiniteError, ShapeError, TraceError

SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


def numbered(shape: tuple[int, ...]) -> Any:
    return np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)


@st.composite
def basic(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    shape = draw(SHAPES)
    return shape, draw(hnp.basic_indices(shape, allow_newaxis=True))


@st.composite
def advanced(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    """Integer arrays, masks, numbers, slices and new axes, mixed."""
    shape = draw(SHAPES)
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3))
    index: list[Any] = []
    for n in shape:
        kind = draw(st.sampled_from(("array", "array", "slice", "int", "new", "mask")))
        if kind == "array":
            elements = st.integers(-n, n - 1)
            index.append(draw(hnp.arrays(np.int64, common, elements=elements)))
        elif kind == "int":
            index.append(draw(st.integers(-n, n - 1)))
        elif kind == "mask" and n in common[-1:]:
            index.append(np.ones(n, bool))
        else:
            index += [None] * (kind == "new")
            index.append(draw(st.slices(n)))
    return shape, tuple(index)


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(got, want)
    assert type(got) is type(want) and got.dtype == want.dtype


@given(case=basic())
@settings(max_examples=60, deadline=None)
def test_basic_read(case: Any, run: Any) -> None:
    shape, index = case
    same(run(lambda x: x[index], numbered(shape)), numbered(shape)[index])


@given(case=advanced())
@settings(max_examples=80, deadline=None)
def test_advanced_read(case: Any, run: Any) -> None:
    shape, index = case
    same(run(lambda x: x[index], numbered(shape)), numbered(shape)[index])


@given(case=advanced())
@settings(max_examples=60, deadline=None)
def test_advanced_read_with_indices_as_arguments(case: Any, run: Any) -> None:
    shape, index = case
    arrays = [i for i in index if isinstance(i, np.ndarray) and i.dtype != bool]

    def read(x: Any, *given: Any) -> Any:
        left = iter(given)
        picks = tuple(
            next(left) if isinstance(i, np.ndarray) and i.dtype != bool else i for i in index
        )
        return x[picks]

    want = numbered(shape)[index]
    np.testing.assert_array_equal(run(read, numbered(shape), *arrays), want)


@given(case=st.one_of(basic(), advanced()), scale=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_write(case: Any, scale: int, run: Any) -> None:
    shape, index = case

    def write(x: Any) -> None:
        x[index] = x[index] * -scale

    ours, theirs = numbered(shape), numbered(shape)
    write(theirs)
    run(write, ours)
    np.testing.assert_array_equal(ours, theirs)


@given(case=st.one_of(basic(), advanced()))
@settings(max_examples=60, deadline=None)
def test_write_of_a_number_and_in_place_addition(case: Any, run: Any) -> None:
    shape, index = case

    def write(x: Any) -> Any:
        y = x.copy()
        y[index] = 7
        x[index] += 0.5
        return y

    ours, theirs = numbered(shape), numbered(shape)
    want = write(theirs)
    same(run(write, ours), want)
    np.testing.assert_array_equal(ours, theirs)


@given(case=advanced())
@settings(max_examples=60, deadline=None)
def test_add_at_counts_repetitions(case: Any, run: Any) -> None:
    shape, index = case

    def write(x: Any) -> None:
        np.add.at(x, index, 1.5)
        np.subtract.at(x, index, 0.5)

    if not any(isinstance(i, np.ndarray) for i in index):
        return
    ours, theirs = numbered(shape), numbered(shape)
    write(theirs)
    run(write, ours)
    np.testing.assert_array_equal(ours, theirs)


def test_index_by_a_traced_number_is_a_view(run: Any) -> None:
    def write(x: Any, i: Any) -> Any:
        row = x[i[0]]
        row[1] = 9.0
        x[i[1], 0] = row[1] + 1
        return x[i[1]], x[i[2], i[1]]

    ours, theirs = numbered((4, 3)), numbered((4, 3))
    i = np.array([2, -1, 0])
    got, want = run(write, ours, i), write(theirs, i)
    np.testing.assert_array_equal(ours, theirs)
    for g, w in zip(got, want, strict=True):
        same(g, w)


def test_masks_of_traced_values_select(run: Any) -> None:
    def write(x: Any, y: Any) -> Any:
        x[x > 4] = 0
        y[y < 3] += 10
        y[:, x[0] > 1] = -1
        x[(x > 1) & (x < 4)] *= 2
        y[x == 0] = x[x == 0]
        return x.sum(), y

    ours = numbered((3, 4)), numbered((3, 4))
    theirs = numbered((3, 4)), numbered((3, 4))
    got, want = run(write, *ours), write(*theirs)
    same(got[0], want[0])
    for g, w in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(g, w)


def test_reductions_of_a_masked_selection(run: Any) -> None:
    def statistics(x: Any) -> Any:
        chosen = x[x > 0]
        scaled = np.sqrt(chosen) * 2 + 1
        return chosen.sum(), np.mean(scaled), chosen.std(), np.count_nonzero(x[x > 0] > 1)

    x = np.random.default_rng(0).normal(size=(5, 7))
    for g, w in zip(run(statistics, x), statistics(x), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-14)


def test_masked_mean_along_rows(run: Any) -> None:
    def centre(x: Any, labels: Any) -> Any:
        return x[labels == 1].mean(axis=0), x[labels == 0].sum(axis=0)

    x, labels = np.random.default_rng(1).normal(size=(9, 3)), np.arange(9) % 2
    for g, w in zip(run(centre, x, labels), centre(x, labels), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-14)


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (lambda x: x[3], BoundsError),
        (lambda x: x[0, 0, 0], BoundsError),
        (lambda x: x[[0, 5]], BoundsError),
        (lambda x: x[..., ...], BoundsError),
        (lambda x: x[np.ones((2, 2), bool)], BoundsError),
        (lambda x: x[1.5], DTypeError),
        (lambda x: x["a"], DTypeError),
        (lambda x: x[x[0]], DTypeError),
        (lambda x: x[x > 1], TraceError),
        (lambda x: len(x[x > 1]), TraceError),
        (lambda x: x[: x[0, 0]], TraceError),
        (lambda x: x[[0, 1], [0, 1, 2]], BoundsError),
    ],
)
def test_bad_reads_are_refused(read: Any, error: type[Exception], run: Any) -> None:
    with pytest.raises(error) as caught:
        run(read, numbered((3, 4)))
    assert "test_indexing.py" in str(caught.value)


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda x: x.__setitem__(0, np.zeros(3)), ShapeError),
        (lambda x: x.__setitem__(5, 0), BoundsError),
        (lambda x: x[0, 0].__setitem__(0, 1), TraceError),
        (lambda x: x.__setitem__(x > 1, np.ones(4)), TraceError),
        (lambda x: x.__setitem__(x > 1, x[x < 1]), TraceError),
    ],
)
def test_bad_writes_are_refused(write: Any, error: type[Exception], run: Any) -> None:
    with pytest.raises(error):
        run(write, numbered((3, 4)))


@pytest.mark.parametrize("value", [np.nan, np.inf, float("nan")])
def test_integers_take_no_nan(value: float, run: Any) -> None:
    def write(x: Any) -> None:
        x[0] = value

    with pytest.raises(NotFiniteError, match="cannot be stored"):
        run(write, np.zeros(3, int))


def test_a_selection_is_taken_when_it_is_read(run: Any) -> None:
    def f(x: Any) -> Any:
        mask = x > 4
        chosen = x[mask]
        x[...] = 0
        mask[...] = True
        return chosen.sum()

    assert run(f, numbered((3, 4))) == f(numbered((3, 4)))
