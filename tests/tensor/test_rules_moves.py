"""Operations that only move elements become index maps, and mean what the graph says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.ir import dtypes
from loopwright.ir.expr.evaluate import CheckError
from loopwright.ir.graph import ops

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
shapes = st.lists(st.integers(0, 4), max_size=4)
some = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def numbers(shape: Any, dtype: Any = np.float32, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).normal(size=tuple(shape)) * 20
    return np.asarray(values).astype(dtype)


def splits(draw: st.DataObject, size: int) -> list[int]:
    """A shape of that size."""
    result = []
    while size > 1 and draw.draw(st.booleans()):
        factor = draw.draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
        result.append(factor)
        size //= factor
    return [*result, size]


@quick
@given(st.data(), shapes)
def test_reshapes_of_any_shape(groups: Any, agree: Any, data: Any, shape: list[int]) -> None:
    g = groups()
    x = g.input(shape)
    size = int(np.prod(shape))
    target = splits(data, size) if size else [0, 3]
    once = g.op(ops.Reshape(tuple(target)), x)
    again = splits(data, size) if size else [2, 0]
    agree(g.group(g.op(ops.Reshape(tuple(again)), once)), [numbers(shape)])


@quick
@given(st.data(), shapes)
def test_transpose_slice_broadcast_of_each_other(
    groups: Any, agree: Any, data: Any, shape: list[int]
) -> None:
    g = groups()
    x = g.input(shape)
    order = data.draw(st.permutations(range(len(shape))))
    moved = g.op(ops.Transpose(tuple(order)), x)
    starts, sizes, steps = [], [], []
    for extent in moved.type.shape:
        step = data.draw(st.sampled_from([-2, -1, 1, 2, 3]))
        start = data.draw(st.integers(0, max(extent - 1, 0)))
        room = (extent - 1 - start) // step if step > 0 else start // -step
        sizes.append(data.draw(st.integers(0, room + 1)) if extent else 0)
        starts.append(start)
        steps.append(step)
    cut = g.op(ops.Slice(tuple(starts), tuple(sizes), tuple(steps)), moved)
    wide = tuple(n if n != 1 else data.draw(st.integers(0, 3)) for n in cut.type.shape)
    shown = g.op(ops.Broadcast((2, *wide), tuple(range(1, 1 + len(wide)))), cut)
    agree(g.group(shown, cut), [numbers(shape)])


@quick
@given(st.data(), shapes)
def test_pad_and_concatenate(groups: Any, agree: Any, data: Any, shape: list[int]) -> None:
    g = groups()
    x, fill = g.input(shape), g.input(())

    def widths(n: int) -> tuple[int, ...]:
        return tuple(data.draw(st.integers(0, n)) for _ in shape)

    padded = g.op(ops.Pad(widths(3), widths(3), widths(2)), x, fill)
    arrays = [numbers(shape), numbers((), seed=1)]
    if not shape:
        agree(g.group(padded), arrays)
        return
    axis = data.draw(st.integers(0, len(shape) - 1))
    other = list(padded.type.shape)
    other[axis] = data.draw(st.integers(0, 3))
    y = g.input(other)
    joined = g.op(ops.Concatenate(axis), padded, y, padded)
    agree(g.group(joined), [*arrays, numbers(other, seed=2)])


@quick
@given(st.data(), some, shapes, st.sampled_from(["raise", "clip", "wrap", "fill"]))
def test_gather_in_every_mode(
    groups: Any, agree: Any, data: Any, shape: list[int], batch: list[int], mode: Any
) -> None:
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(sorted))
    dtype = data.draw(st.sampled_from([d for d in dtypes.INTEGERS]))
    g = groups()
    x = g.input(shape)
    arrays = [numbers(shape)]
    operands = []
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    for axis in axes:
        reach = 0 if mode == "raise" else 5
        low = -shape[axis] - reach if dtypes.is_signed(dtype) else 0
        index = rng.integers(low, shape[axis] + reach, batch).astype(dtype)
        operands.append(g.input(batch, dtype))
        arrays.append(index)
    if mode == "fill":
        operands.append(np.float32(7))
    picked = g.op(ops.Gather(tuple(axes), mode), x, *operands)
    agree(g.group(g.op(ops.Elementwise("neg"), picked)), arrays)


@pytest.mark.parametrize("bad", [3, -4, 100])
def test_gather_outside_ends_with_the_number_of_the_equation(
    groups: Any, agree: Any, bad: int
) -> None:
    g = groups()
    x, i = g.input((3,)), g.input((2,), "int64")
    twice = g.op(ops.Elementwise("add"), x, x)
    group = g.group(g.op(ops.Gather((0,), "raise"), twice, i))
    arrays = [numbers((3,)), np.array([0, bad])]
    for run in (lower_and_run_tensor, lower_and_run_loops):
        with pytest.raises(CheckError) as caught:
            run(group, arrays)
        assert caught.value.code == 2


def lower_and_run_tensor(group: Any, arrays: Any) -> Any:
    from loopwright.ir.lowering.tensors import lower_group
    from loopwright.ir.tensor.interpreter import interpret

    return interpret(lower_group(group), arrays)


def lower_and_run_loops(group: Any, arrays: Any) -> Any:
    from loopwright.ir.loop.interpreter import interpret
    from loopwright.ir.lowering.loops import build
    from loopwright.ir.lowering.tensors import lower_group

    return interpret(build(lower_group(group)), arrays)


def test_huge_unsigned_positions_stay_outside(groups: Any) -> None:
    g = groups()
    x, i = g.input((3,)), g.input((1,), "uint64")
    group = g.group(g.op(ops.Gather((0,), "raise"), x, i))
    with pytest.raises(CheckError):
        lower_and_run_tensor(group, [numbers((3,)), np.array([2**64 - 1], np.uint64)])


def test_positions_that_are_affine_are_read_directly(groups: Any, agree: Any) -> None:
    from loopwright.ir.expr.index import dynamics
    from loopwright.ir.expr.values import loads

    g = groups()
    x = g.input((4, 5))
    place = g.op(ops.Iota((4,), dtypes.INT64, 0))
    shifted = g.op(ops.Elementwise("add"), place, np.int64(1))
    taken = g.op(ops.Gather((0, 1), "raise"), x, place, shifted)
    program = agree(g.group(taken), [numbers((4, 5))])
    (load,) = loads(program.definitions[0].values)
    assert not any(dynamics(i) for i in load.index)


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_iota_cast_bitcast_select_of_every_type(groups: Any, agree: Any, dtype: Any) -> None:
    g = groups()
    x, condition = g.input((3, 4), dtype), g.input((3, 4), "bool")
    counted = g.op(ops.Iota((3, 4), dtypes.INT32, 1))
    number = g.op(ops.Cast(dtype), counted)
    chosen = g.op(ops.Select(), condition, x, number)
    back = g.op(ops.Cast(dtypes.FLOAT32), chosen)
    outputs = [chosen, back]
    if dtype.itemsize > 1:
        outputs.append(g.op(ops.Bitcast(np.dtype(f"uint{8 * dtype.itemsize}")), chosen))
    arrays = [numbers((3, 4), dtype), numbers((3, 4), seed=3) > 0]
    agree(g.group(*outputs), arrays)
