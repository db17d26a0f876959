"""Reductions, running reductions, pooling and sorting mean what the graph says, on every type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.ir import dtypes
from loopwright.ir.graph import ops
from loopwright.ir.tensor.nodes import AxisKind

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
shapes = st.lists(st.integers(0, 5), min_size=1, max_size=4)
types = st.sampled_from(dtypes.ALL)
numeric = st.sampled_from([d for d in dtypes.ALL if d != dtypes.BOOL])
seeds = st.integers(0, 1000)


def numbers(shape: Any, dtype: Any, seed: int, special: bool = True) -> Any:
    """Small numbers with repetitions; among floats NaN, infinities and signed zeros."""
    rng = np.random.default_rng(seed)
    values = np.asarray(rng.integers(-4, 5, tuple(shape)))
    if not dtypes.is_float(dtype):
        return np.asarray(values % 2 == 1 if dtype == dtypes.BOOL else values.astype(dtype))
    result = np.asarray(values.astype(dtype))
    if special and result.size and rng.random() < 0.5:
        flat = result.reshape(-1)
        for value in (np.nan, np.inf, -np.inf, -0.0):
            flat[rng.integers(0, result.size)] = value
    return result


@quick
@given(st.data(), shapes, types, seeds, st.sampled_from(ops.REDUCTIONS))
def test_reduce(
    groups: Any, agree: Any, data: Any, shape: list[int], dtype: Any, seed: int, name: str
) -> None:
    if name in ("and", "or") and dtypes.is_float(dtype):
        dtype = dtypes.BOOL
    if name in ("sum", "prod") and dtype == dtypes.BOOL:
        dtype = dtypes.INT8
    if name in ("max", "min"):
        shape = [max(n, 1) for n in shape]
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)).map(sorted))
    g = groups()
    x = g.input(shape, dtype)
    total = g.op(ops.Reduce(name, tuple(axes), "highest"), x)
    agree(g.group(total), [numbers(shape, dtype, seed)])


@quick
@given(st.data(), shapes, types, seeds, st.sampled_from(["max", "min"]))
def test_arg_reduce_finds_the_first(
    groups: Any, agree: Any, data: Any, shape: list[int], dtype: Any, seed: int, name: str
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    shape[axis] = max(shape[axis], 1)
    g = groups()
    x = g.input(shape, dtype)
    agree(g.group(g.op(ops.ArgReduce(name, axis), x)), [numbers(shape, dtype, seed)])


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("name", ["max", "min"])
def test_arg_reduce_of_long_rows(groups: Any, agree: Any, name: str, dtype: Any) -> None:
    g = groups()
    x = g.input((40, 70), dtype)
    rows = np.stack([numbers((70,), dtype, seed) for seed in range(40)])
    program = agree(g.group(g.op(ops.ArgReduce(name, 1), x)), [rows])
    assert [len(d.outputs) for d in program.definitions] == [1, 1, 1]


def test_a_costly_operand_of_a_long_row_is_stored(groups: Any, agree: Any) -> None:
    g = groups()
    raised = g.op(ops.Elementwise("exp"), g.input((2, 70)))
    group = g.group(g.op(ops.ArgReduce("min", 1), raised))
    program = agree(group, [numbers((2, 70), dtypes.FLOAT32, 3, False)])
    assert program.definitions[0].name == "exp"


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("name", ["max", "min"])
def test_arg_reduce_of_equal_extremes_is_the_first(
    groups: Any, agree: Any, name: str, dtype: Any
) -> None:
    from loopwright.ir.expr.combiners import limits

    low, high = limits(dtype)
    worst = (low if name == "max" else high).value
    g = groups()
    x = g.input((1, 4), dtype)
    found = g.op(ops.ArgReduce(name, 1), x)
    agree(g.group(found), [np.full((1, 4), worst, dtype)])


@quick
@given(
    st.data(), shapes, numeric, seeds, st.sampled_from(["sum", "prod", "max", "min"]), st.booleans()
)
def test_cumulative(
    groups: Any, agree: Any, data: Any, shape: list[int], dtype: Any, seed: int, name: str,
    reverse: bool,
) -> None:  # fmt: skip
    axis = data.draw(st.integers(0, len(shape) - 1))
    g = groups()
    x = g.input(shape, dtype)
    agree(g.group(g.op(ops.Cumulative(name, axis, reverse), x)), [numbers(shape, dtype, seed)])


@quick
@given(st.data(), numeric, seeds, st.sampled_from(["max", "min", "sum"]))
def test_pool(groups: Any, agree: Any, data: Any, dtype: Any, seed: int, name: str) -> None:
    rank = data.draw(st.integers(1, 4))
    shape, window, strides, pads, dilation = [], [], [], [], []
    for _ in range(rank):
        w, d = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
        low, high = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
        shape.append(data.draw(st.integers(max(1, (w - 1) * d + 1 - low - high), 5)))
        window.append(w)
        strides.append(data.draw(st.integers(1, 3)))
        pads.append((low, high))
        dilation.append(d)
    g = groups()
    x = g.input(shape, dtype)
    op = ops.Pool(name, tuple(window), tuple(strides), tuple(pads), tuple(dilation))
    agree(g.group(g.op(op, x)), [numbers(shape, dtype, seed)])


@quick
@given(st.data(), shapes, types, seeds, st.booleans())
def test_sort_is_stable_with_nan_last(
    groups: Any, agree: Any, data: Any, shape: list[int], dtype: Any, seed: int, positions: bool
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    g = groups()
    x = g.input(shape, dtype)
    agree(g.group(g.op(ops.Sort(axis, positions), x)), [numbers(shape, dtype, seed)])


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("extent", [2, 31, 32, 33, 64, 65, 100, 300])
def test_long_sorts_merge_runs(groups: Any, agree: Any, extent: int, positions: bool) -> None:
    for dtype in (dtypes.FLOAT32, dtypes.INT64, dtypes.BOOL):
        g = groups()
        x = g.input((extent, 2), dtype)
        program = agree(
            g.group(g.op(ops.Sort(0, positions), x)), [numbers((extent, 2), dtype, extent)]
        )
        merges = max(0, (extent - 1).bit_length() - 5)
        assert len(program.definitions) == 2 + merges


def test_softmax_stores_its_exponentials_once(groups: Any, agree: Any) -> None:
    g = groups()
    x = g.input((3, 7))
    top = g.op(ops.Broadcast((3, 7), (0,)), g.op(ops.Reduce("max", (1,)), x))
    raised = g.op(ops.Elementwise("exp"), g.op(ops.Elementwise("sub"), x, top))
    total = g.op(ops.Broadcast((3, 7), (0,)), g.op(ops.Reduce("sum", (1,)), raised))
    result = g.op(ops.Elementwise("div"), raised, total)
    program = agree(g.group(result), [numbers((3, 7), np.dtype("f"), 1, False)], loose=True)
    assert [d.name for d in program.definitions] == ["max", "exp", "sum", "div"]
    assert [p.buffer.name for p in program.params] == ["a", "div"]


def test_precision_highest_asks_for_exact_order(groups: Any, agree: Any) -> None:
    for precision in ("default", "highest"):
        g = groups()
        total = g.op(ops.Reduce("sum", (0,), precision), g.input((5,)))
        program = agree(g.group(total), [np.arange(5, dtype=np.float32)])
        assert program.definitions[0].exact_order == (precision == "highest")


def test_halves_are_summed_in_float32(groups: Any, agree: Any) -> None:
    g = groups()
    total = g.op(ops.Reduce("sum", (0,)), g.input((5000,), "float16"))
    program = agree(g.group(total), [np.ones(5000, np.float16)])
    assert [d.outputs[0].dtype for d in program.definitions] == [dtypes.FLOAT32, dtypes.FLOAT16]


def test_a_reduction_over_nothing_is_the_identity(groups: Any, agree: Any) -> None:
    g = groups()
    program = agree(
        g.group(g.op(ops.Reduce("prod", (1,)), g.input((3, 0)))), [np.zeros((3, 0), np.float32)]
    )
    assert all(a.kind is AxisKind.SPATIAL for a in program.definitions[0].axes)
