"""Random programs of operators, functions, views and writes give NumPy's results to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

Step = Callable[[Any, Any], Any]

# From two arrays of one shape (n, n) to a third: exact operations, so that order does not matter.
VALUES: dict[str, Step] = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b.T,
    "halved": lambda a, b: a * 0.5,
    "negated": lambda a, b: -a,
    "larger": lambda a, b: np.maximum(a, b),
    "clipped": lambda a, b: np.clip(a, -3, b),
    "chosen": lambda a, b: np.where(a > b, a, b[0]),
    "running": lambda a, b: np.maximum.accumulate(a, axis=1),
    "row extremes": lambda a, b: a - a.max(axis=1, keepdims=True),
    "rolled": lambda a, b: np.roll(a, 1, axis=0),
    "sorted": lambda a, b: np.sort(a, axis=0),
    "taken": lambda a, b: a[np.argsort(b[0])],
    "picked": lambda a, b: np.take_along_axis(a, np.argmin(b, 1)[:, None], 1) + b,
    "stacked": lambda a, b: np.concatenate([a[:1], b[1:]]),
    "flipped view": lambda a, b: a[::-1],
    "transposed view": lambda a, b: a.T,
    "copied": lambda a, b: a.copy(),
    "other": lambda a, b: b,
    "rounded": lambda a, b: np.floor(a) + (a > b),
    "scalar": lambda a, b: a + b[0, 1],
}


def add_to_row(a: Any, b: Any) -> None:
    a[0] += b[1]


def write_column(a: Any, b: Any) -> None:
    a[:, 1] = b[:, 0]


def mask(a: Any, b: Any) -> None:
    a[a > b] = 7


def masked_update(a: Any, b: Any) -> None:
    a[b > 0] -= 1


def scatter(a: Any, b: Any) -> None:
    a[[0, 2, 0], [1, 1, 1]] = b[0]


def count(a: Any, b: Any) -> None:
    np.add.at(a, (b[0].astype(np.int64) % 3, [0, 1, 0]), 1)


def swap(a: Any, b: Any) -> None:
    a[0], a[1] = a[1].copy(), a[0].copy()


def in_place(a: Any, b: Any) -> None:
    a *= 2
    a -= b


def through_out(a: Any, b: Any) -> None:
    np.minimum(a, b, out=a)


def diagonal(a: Any, b: Any) -> None:
    np.fill_diagonal(a, b[0])


def inner_view(a: Any, b: Any) -> None:
    middle = a.T[1:]
    middle[:, ::2] = b[1:, ::2]


def sort_rows(a: Any, b: Any) -> None:
    a.sort(axis=1)


WRITES = (
    add_to_row, write_column, mask, masked_update, scatter, count, swap, in_place, through_out,
    diagonal, inner_view, sort_rows,
)  # fmt: skip

steps = st.one_of(st.sampled_from(sorted(VALUES)), st.sampled_from(WRITES))
program = st.lists(st.tuples(steps, st.integers(0, 9), st.integers(0, 9)), max_size=10)


@given(program=program, dtype=st.sampled_from((np.float64, np.float32)))
@settings(max_examples=150, deadline=None)
def test_random_programs(program: Any, dtype: Any, run: Any) -> None:
    def body(x: Any, y: Any) -> Any:
        values = [x, y]
        for step, i, j in program:
            a, b = values[i % len(values)], values[j % len(values)]
            if isinstance(step, str):
                values.append(VALUES[step](a, b))
            else:
                step(a, b.copy())
        return values

    rng = np.random.default_rng(len(program))
    first, second = (rng.integers(-9, 9, (3, 3)).astype(dtype) for _ in range(2))
    ours, theirs = (first.copy(), second.copy()), (first.copy(), second.copy())
    got, want = run(body, *ours), body(*theirs)
    for g, w in zip([*got, *ours], [*want, *theirs], strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(g, w)
