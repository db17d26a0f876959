"""Chains of views of one base, written at any point, behave as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir.errors import ReadOnlyError, TraceError
from loopwright.ir.graph.ops import Slice, UpdateSlice
from loopwright.tracer.staging import ArraySpec, trace

Step = Callable[[Any], Any]

# Every step gives a view in NumPy, of any array of at least one element.
STEPS: dict[str, Step] = {
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1] if x.ndim else x,
    "every other": lambda x: x[..., ::2] if x.ndim else x,
    "without ends": lambda x: x[1:-1] if x.ndim and x.shape[0] > 2 else x,
    "first": lambda x: x[0] if x.ndim > 1 else x,
    "last column": lambda x: x[..., -1:] if x.ndim else x,
    "new axis": lambda x: x[None] if x.ndim < 5 else x,
    "expanded": lambda x: np.expand_dims(x, -1) if x.ndim < 5 else x,
    "squeezed": lambda x: np.squeeze(x),
    "swapped": lambda x: np.swapaxes(x, 0, -1) if x.ndim else x,
    "flipped": lambda x: np.flip(x),
    "itself": lambda x: x[...],
    "column": lambda x: x[:, 1] if x.ndim > 1 and x.shape[1] > 1 else x,
}


@given(
    chain=st.lists(st.sampled_from(sorted(STEPS)), max_size=6),
    writes=st.lists(st.integers(0, 6), max_size=3),
)
@settings(max_examples=150, deadline=None)
def test_a_write_to_any_view_shows_in_all(chain: list[str], writes: list[int], run: Any) -> None:
    def program(x: Any) -> Any:
        views = [x]
        for name in chain:
            views.append(STEPS[name](views[-1]))
        for number, at in enumerate(writes):
            view = views[at % len(views)]
            view *= 2
            if view.ndim:
                view[0] = -number
            else:
                view[...] = -number
        return [v.copy() for v in views]

    ours, theirs = (np.arange(36.0).reshape(3, 4, 3) for _ in range(2))
    got, want = run(program, ours), program(theirs)
    np.testing.assert_array_equal(ours, theirs)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)


SHAPES = ((36,), (4, 9), (9, 4), (2, 3, 6), (6, 6), (12, 3), (3, 4, 3), (1, 36), (3, 3, 4))


@given(
    chain=st.lists(
        st.one_of(st.sampled_from(sorted(STEPS)), st.sampled_from(SHAPES)), min_size=1, max_size=5
    )
)
@settings(max_examples=150, deadline=None)
def test_reshape_shares_memory_where_numpys_does(chain: list[Any], run: Any) -> None:
    def program(x: Any) -> Any:
        y = x
        for step in chain:
            if isinstance(step, str):
                y = STEPS[step](y)
            elif y.size == 36:
                y = y.reshape(step)
        flat = y.ravel()
        flat[0] = 100
        y += 1
        return y.copy(), flat.copy()

    ours, theirs = (np.arange(36.0).reshape(3, 4, 3) for _ in range(2))
    got, want = run(program, ours), program(theirs)
    np.testing.assert_array_equal(ours, theirs)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)


def test_swaps_and_scalars_are_copies(run: Any) -> None:
    def swap(x: Any) -> Any:
        x[0], x[1] = x[1].copy(), x[0].copy()
        a, b = x[2, 0], x[2, 1]
        x[2, 0], x[2, 1] = b, a
        a += 1
        return a

    ours, theirs = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 2)
    assert run(swap, ours) == swap(theirs)
    np.testing.assert_array_equal(ours, theirs)


def test_one_array_passed_twice_is_one_array() -> None:
    def add(a: Any, b: Any) -> Any:
        a[0] = 5
        return b[0]

    spec = ArraySpec((2,), np.dtype(float))
    staged = trace(add, (spec, spec), {}, same={1: 0})
    assert [k for k, _ in staged.written] == [0]
    assert staged.graph.inputs[1] not in {a for e in staged.graph.equations for a in e.inputs}


def test_row_writes_update_slices_of_one_base() -> None:
    def fill(x: Any) -> None:
        for k in range(50):
            x[k][2:4] = k

    equations = trace(fill, (ArraySpec((50, 8), np.dtype(np.float32)),), {}).graph.equations
    updates = [e for e in equations if isinstance(e.op, UpdateSlice)]
    assert len(updates) == 50
    assert all(e.inputs[1].type.shape == (1, 2) for e in updates)
    assert not any(isinstance(e.op, Slice) for e in equations)


def test_bits_seen_as_another_type_are_a_view(run: Any) -> None:
    def flip_sign(x: Any) -> Any:
        bits = x.view(np.uint32)
        bits ^= np.uint32(1 << 31)
        return x * 2

    x = np.array([1.5, -2.0, 0.0], np.float32)
    np.testing.assert_array_equal(run(flip_sign, x.copy()), flip_sign(x.copy()))


def test_fill_diagonal_and_flat(run: Any) -> None:
    def program(x: Any) -> Any:
        np.fill_diagonal(x, 7)
        x.flat[1] = -1
        x.T.flat[2] = -2
        return np.diagonal(x).copy(), np.diag(x, 1), np.trace(x)

    ours, theirs = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)
    for g, w in zip(run(program, ours), program(theirs), strict=True):
        np.testing.assert_array_equal(g, w)
    np.testing.assert_array_equal(ours, theirs)


def test_an_undecidable_alias_is_refused_only_where_it_matters(run: Any) -> None:
    spec = ArraySpec((3, 4), np.dtype(float))

    def harmless(x: Any) -> Any:
        y = x.T * 2
        z = y.reshape(12)
        z[0] = 1
        return z

    def doubtful(x: Any) -> Any:
        y = x.T * 2  # NumPy lays it out as x.T is, and so copies it below
        z = y.reshape(12)
        z[0] = 1
        return y + 1

    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(run(harmless, x), harmless(x))
    with pytest.raises(TraceError, match="may share its memory"):
        trace(doubtful, (spec,), {})


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        lambda: np.arange(24.0).reshape(3, 8)[:, ::2],
        lambda: np.arange(12.0).reshape(3, 4)[::-1],
        lambda: np.arange(12.0).reshape(3, 4)[:, ::-1],
        lambda: np.arange(12.0).reshape(3, 4)[::-1, ::-1],
    ],
)
def test_layout_of_an_argument_decides_what_reshape_shares(make: Any, run: Any) -> None:
    def program(x: Any) -> Any:
        flat, column, raveled = x.reshape(-1), x.T.reshape(-1), np.ravel(x)
        flat[1] = 50
        column[2] = 60
        raveled[3] = 70
        return flat, column, raveled, np.ascontiguousarray(x) + 1

    ours, theirs = make(), make()
    for got, want in zip(run(program, ours), program(theirs), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.broadcast_to(x, (2, 3, 4)).__setitem__(0, 1),
        lambda x: np.diagonal(x).__setitem__(0, 1),
    ],
)
def test_read_only_views(write: Any, run: Any) -> None:
    with pytest.raises(ValueError, match="read-only"):
        run(write, np.zeros((3, 4)))


def test_a_read_only_argument_cannot_be_written(run: Any) -> None:
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(ReadOnlyError, match=r"test_views\.py"):
        run(lambda a: a.__setitem__(0, 1), x)
    assert run(lambda a: a + 1, x).tolist() == [1, 1, 1]
