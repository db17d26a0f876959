"""Combiners are associative, keep their identity, and choose the first of equals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir import dtypes
from loopwright.ir.expr.combiners import arg_combiner, combiner
from loopwright.ir.expr.evaluate import Points, evaluate
from loopwright.ir.expr.nodes import Combiner

FLOATS = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]


def combine(by: Combiner, a: Any, b: Any) -> list[Any]:
    slots = dict(zip((*by.left, *by.right), map(np.asarray, (*a, *b)), strict=True))

    def nothing(*_: Any) -> Any:
        raise AssertionError("a combiner reads no array")

    return evaluate(by.results, Points({}), nothing, slots)


def same(a: Any, b: Any) -> bool:
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(a, b))  # noqa: B905


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "and", "or"])
def test_the_identity_changes_nothing(name: str, dtype: Any) -> None:
    if name in ("and", "or") and dtypes.is_float(dtype):
        return
    by = combiner(name, dtype)
    start = [c.value for c in by.identity]
    samples = [0, 1, 3, 100] + ([-1, -128] if dtype.kind not in "ub" else [])
    for sample in samples:
        value = np.array(sample).astype(dtype)
        assert combine(by, start, [value])[0] == value
        assert combine(by, [value], start)[0] == value


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_keep_nan_on_either_side(name: str) -> None:
    by = combiner(name, dtypes.FLOAT32)
    nan, one = np.float32(np.nan), np.float32(1)
    assert np.isnan(combine(by, [nan], [one])[0]) and np.isnan(combine(by, [one], [nan])[0])


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["max", "min"]),
    st.lists(st.sampled_from(FLOATS), min_size=1, max_size=6),
    st.data(),
)
def test_positions_do_not_depend_on_order_or_grouping(
    name: str, numbers: list[float], data: st.DataObject
) -> None:
    by = arg_combiner(name, dtypes.FLOAT64)
    pairs = [[np.float64(v), np.int64(k)] for k, v in enumerate(numbers)]
    pairs = data.draw(st.permutations([*pairs, [c.value for c in by.identity]]))
    while len(pairs) > 1:
        k = data.draw(st.integers(0, len(pairs) - 2))
        pairs[k : k + 2] = [combine(by, pairs[k], pairs[k + 1])]
    wanted = (np.argmax if name == "max" else np.argmin)(numbers)
    assert pairs[0][1] == wanted
    assert same([pairs[0][0]], [np.float64(numbers[wanted])])


def test_booleans_have_positions_too() -> None:
    by = arg_combiner("max", dtypes.BOOL)
    first, second = [np.True_, np.int64(2)], [np.True_, np.int64(1)]
    assert combine(by, first, second)[1] == 1
    assert combine(by, [np.False_, np.int64(0)], second)[1] == 1
