"""Updates and scatters: out of place, in the memory of a donated input, and in chains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.ir import dtypes
from loopwright.ir.expr.evaluate import CheckError
from loopwright.ir.graph import ops
from loopwright.ir.lowering.tensors import lower_group
from loopwright.ir.tensor.interpreter import interpret
from loopwright.ir.tensor.nodes import Role

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
some = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def numbers(shape: Any, dtype: Any = dtypes.FLOAT32, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).integers(-5, 6, tuple(shape))
    return np.asarray(values % 2 == 1 if dtype == dtypes.BOOL else values.astype(dtype))


@quick
@given(st.data(), some, st.booleans())
def test_update_slice(groups: Any, agree: Any, data: Any, shape: list[int], donated: bool) -> None:
    starts, steps, sizes = [], [], []
    for extent in shape:
        step = data.draw(st.sampled_from([-2, -1, 1, 2]))
        start = data.draw(st.integers(0, extent - 1))
        room = (extent - 1 - start) // step if step > 0 else start // -step
        sizes.append(data.draw(st.integers(0, room + 1)))
        starts.append(start)
        steps.append(step)
    g = groups()
    x, y = g.input(shape), g.input(sizes)
    new = g.op(ops.UpdateSlice(tuple(starts), tuple(steps)), x, y)
    program = agree(
        g.group(new, donated=[(0, 0)] if donated else ()), [numbers(shape), numbers(sizes)]
    )
    copied, written = not donated, 0 not in sizes
    assert [d.update for d in program.definitions] == [False] * copied + [True] * written


@quick
@given(
    st.data(), some, st.lists(st.integers(0, 3), max_size=2), st.sampled_from(dtypes.ALL),
    st.sampled_from(["raise", "clip", "wrap", "fill"]),
    st.sampled_from([None, "sum", "prod", "max", "min"]), st.booleans(),
)  # fmt: skip
def test_scatter(
    groups: Any, agree: Any, data: Any, shape: list[int], batch: list[int], dtype: Any, mode: Any,
    combine: Any, donated: bool,
) -> None:  # fmt: skip
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(sorted))
    if combine is not None and dtype == dtypes.BOOL:
        dtype = dtypes.UINT8
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    g = groups()
    x = g.input(shape, dtype)
    arrays, operands = [numbers(shape, dtype)], []
    reach = 0 if mode == "raise" else 3
    for axis in axes:
        operands.append(g.input(batch, "int32"))
        low, high = -shape[axis] - reach, shape[axis] + reach
        arrays.append(np.asarray(rng.integers(low, high, batch)).astype(np.int32))
    updates = [*batch, *(n for k, n in enumerate(shape) if k not in axes)]
    operands.append(g.input(updates, dtype))
    arrays.append(numbers(updates, dtype, 5))
    new = g.op(ops.Scatter(tuple(axes), mode, combine), x, *operands)
    agree(g.group(new, donated=[(0, 0)] if donated else ()), arrays)


def test_a_scatter_outside_fails_with_its_number(groups: Any) -> None:
    for shape in [(3,), (0,)]:
        g = groups()
        x, i, y = g.input(shape), g.input((2,), "int64"), g.input((2,))
        group = g.group(g.op(ops.Scatter((0,), "raise", None), x, i, y))
        with pytest.raises(CheckError) as caught:
            interpret(lower_group(group), [numbers(shape), np.array([0, 3]), numbers((2,))])
        assert caught.value.code == 1


def test_a_chain_of_updates_works_in_one_array(groups: Any, agree: Any) -> None:
    g = groups()
    x = g.input((4, 3))
    row = g.input((1, 3))
    new = x
    for k in range(4):
        new = g.op(ops.UpdateSlice((k, 0), (1, 1)), new, row)
    arrays = [numbers((4, 3)), numbers((1, 3), seed=1)]
    free = agree(g.group(new), arrays)
    assert [p.role for p in free.params] == [Role.INPUT, Role.INPUT, Role.OUTPUT]
    assert [d.update for d in free.definitions] == [False, True, True, True, True]
    donated = agree(g.group(new, donated=[(0, 0)]), arrays)
    assert [p.role for p in donated.params] == [Role.INOUT, Role.INPUT]
    assert [d.update for d in donated.definitions] == [True] * 4
    assert {d.outputs[0] for d in donated.definitions} == {donated.params[0].buffer}


@pytest.mark.parametrize("shift", [0, 1, -1])
def test_an_update_from_its_own_array_reads_old_values(groups: Any, agree: Any, shift: int) -> None:
    g = groups()
    x = g.input((6,))
    part = g.op(ops.Slice((1 + shift,), (4,), (1,)), x)
    twice = g.op(ops.Elementwise("add"), part, part)
    new = g.op(ops.UpdateSlice((1,), (1,)), x, twice)
    program = agree(g.group(new, donated=[(0, 0)]), [numbers((6,))])
    assert len(program.definitions) == (1 if shift == 0 else 2)


def test_a_reversal_in_place(groups: Any, agree: Any) -> None:
    g = groups()
    x = g.input((5,))
    new = g.op(ops.UpdateSlice((4,), (-1,)), x, x)
    agree(g.group(new, donated=[(0, 0)]), [numbers((5,))])


@pytest.mark.parametrize("combine", [None, "sum"])
def test_a_scatter_into_its_own_positions(groups: Any, agree: Any, combine: Any) -> None:
    g = groups()
    x = g.input((4,), "int64")
    new = g.op(ops.Scatter((0,), "raise", combine), x, x, x)
    agree(g.group(new, donated=[(0, 0)]), [np.array([3, 2, 2, 0])])


def test_old_values_read_after_an_update_in_place(groups: Any, agree: Any) -> None:
    g = groups()
    x, y = g.input((5,)), g.input((2,))
    new = g.op(ops.UpdateSlice((1,), (1,)), x, y)
    late = g.op(ops.Elementwise("neg"), x)
    both = g.op(ops.Elementwise("add"), new, x)
    arrays = [numbers((5,)), numbers((2,), seed=1)]
    agree(g.group(new, late, both, donated=[(0, 0)]), arrays)


def test_old_values_read_before_an_update_in_place_need_no_copy(groups: Any, agree: Any) -> None:
    g = groups()
    x, y = g.input((5,)), g.input((2,))
    early = g.op(ops.Elementwise("neg"), x)
    new = g.op(ops.UpdateSlice((1,), (1,)), x, y)
    program = agree(g.group(early, new, donated=[(0, 1)]), [numbers((5,)), numbers((2,), seed=1)])
    assert len(program.definitions) == 2


@pytest.mark.parametrize("name", ["elementwise", "reversed", "cumulative", "changed first"])
def test_other_results_in_the_memory_of_an_input(groups: Any, agree: Any, name: str) -> None:
    g = groups()
    x, y = g.input((5,)), g.input((2,))
    match name:
        case "elementwise":
            new = g.op(ops.Elementwise("add"), x, x)
        case "reversed":
            new = g.op(ops.Elementwise("add"), x, g.op(ops.Slice((4,), (5,), (-1,)), x))
        case "cumulative":
            new = g.op(ops.Cumulative("sum", 0), g.op(ops.Slice((4,), (5,), (-1,)), x))
        case _:
            turned = g.op(ops.Slice((4,), (5,), (-1,)), x)
            new = g.op(ops.UpdateSlice((1,), (1,)), turned, y)
    program = agree(g.group(new, donated=[(0, 0)]), [numbers((5,)), numbers((2,), seed=1)])
    assert [p.role for p in program.params] == [Role.INOUT, Role.INPUT]


def test_one_result_twice_and_an_input_as_result(groups: Any, agree: Any) -> None:
    g = groups()
    x = g.input((3,))
    y = g.op(ops.Elementwise("neg"), x)
    agree(g.group(y, y, x), [numbers((3,))])
