"""Random groups: moves, updates, scans and reductions of a few arrays, some in donated memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.ir import dtypes
from loopwright.ir.graph import ops

N = 5
KINDS = (
    "neg", "add", "reverse", "shift", "update", "own", "scatter", "scatter sum", "gather",
    "cumsum", "sum", "sort", "select",
)  # fmt: skip


def grow(g: Any, kind: str, a: Any, b: Any, index: Any, k: int) -> Any:
    """One more variable of N numbers."""
    match kind:
        case "neg":
            return g.op(ops.Elementwise("neg"), a)
        case "add":
            return g.op(ops.Elementwise("add"), a, b)
        case "reverse":
            return g.op(ops.Slice((N - 1,), (N,), (-1,)), a)
        case "shift":
            part = g.op(ops.Slice((1,), (N - 1,), (1,)), a)
            return g.op(ops.Pad((k % 2,), (1 - k % 2,), (0,)), part, np.float64(k))
        case "update":
            part = g.op(ops.Slice((k % 2,), (2,), (1,)), b)
            return g.op(ops.UpdateSlice((k % 3 + 1,), (1,)), a, part)
        case "own":
            part = g.op(ops.Slice((k % 4,), (2,), (1,)), a)
            return g.op(ops.UpdateSlice((2,), (1,)), a, g.op(ops.Elementwise("neg"), part))
        case "scatter":
            return g.op(ops.Scatter((0,), "clip", None), a, index, b)
        case "scatter sum":
            return g.op(ops.Scatter((0,), "wrap", "sum"), a, index, b)
        case "gather":
            return g.op(ops.Gather((0,), "clip"), a, index)
        case "cumsum":
            return g.op(ops.Cumulative("sum", 0, bool(k % 2)), a)
        case "sum":
            return g.op(ops.Broadcast((N,), ()), g.op(ops.Reduce("sum", (0,), "highest"), a))
        case "sort":
            return g.op(ops.Sort(0), a)
        case _:
            return g.op(ops.Select(), g.op(ops.Elementwise("lt"), a, b), a, b)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_every_level_agrees(groups: Any, agree: Any, data: Any) -> None:
    g = groups()
    made = [g.input((N,), "float64") for _ in range(2)]
    index = g.input((N,), "int64")
    for k in range(data.draw(st.integers(1, 8))):
        kind = data.draw(st.sampled_from(KINDS))
        a, b = data.draw(st.sampled_from(made)), data.draw(st.sampled_from(made))
        made.append(grow(g, kind, a, b, index, k))
    results = made[2:]
    outputs = data.draw(st.lists(st.sampled_from(results), min_size=1, unique_by=id))
    count = data.draw(st.integers(0, min(2, len(outputs))))
    inputs = data.draw(st.permutations([0, 1]))
    places = data.draw(st.permutations(range(len(outputs))))
    donated = list(zip(inputs[:count], places[:count], strict=True))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    arrays = [rng.integers(-9, 9, N).astype(np.float64) for _ in range(2)]
    arrays.append(rng.integers(-2, N + 2, N))
    agree(g.group(*outputs, donated=donated), arrays)


def test_groups_of_two_dimensions(groups: Any, agree: Any) -> None:
    g = groups()
    x = g.input((4, 6), dtypes.FLOAT64)
    rows = g.op(ops.Reduce("sum", (1,), "highest"), x)
    spread = g.op(ops.Broadcast((4, 6), (0,)), rows)
    centred = g.op(ops.Elementwise("sub"), x, spread)
    product = g.op(ops.DotGeneral(((1,), (1,)), ((), ()), dtypes.FLOAT64, "highest"), centred, x)
    flat = g.op(ops.Reshape((2, 8)), product)
    agree(g.group(flat, rows), [np.arange(24.0).reshape(4, 6)])
