"""Products and convolutions mean what the graph says, with mixed operand types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.ir import dtypes
from loopwright.ir.expr.nodes import Load, Op
from loopwright.ir.graph import ops

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
types = st.sampled_from(dtypes.ALL)


def numbers(shape: Any, dtype: Any, seed: int) -> Any:
    values = np.random.default_rng(seed).integers(-3, 4, tuple(shape))
    return np.asarray(values % 2 == 1 if dtype == dtypes.BOOL else values.astype(dtype))


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    a, b = draw(types), draw(types)
    wide = dtypes.promote(dtypes.promote(a, b), dtypes.INT8)
    return a, b, draw(st.sampled_from([wide, dtypes.promote(wide, dtypes.FLOAT32)]))


@quick
@given(st.data(), mixtures(), st.integers(0, 999))
def test_dot_general(groups: Any, agree: Any, data: Any, mixed: Any, seed: int) -> None:
    extents = st.integers(0, 4)
    batch = data.draw(st.lists(extents, max_size=2))
    summed = data.draw(st.lists(extents, max_size=2))
    free = [data.draw(st.lists(extents, max_size=2)) for _ in range(2)]
    shapes, batches, contracted = [], [], []
    for k in range(2):
        parts = [("b", n) for n in range(len(batch))] + [("s", n) for n in range(len(summed))]
        parts += [("f", n) for n in range(len(free[k]))]
        parts = data.draw(st.permutations(parts))
        extent = {"b": batch, "s": summed, "f": free[k]}
        shapes.append([extent[kind][n] for kind, n in parts])
        batches.append(tuple(parts.index(("b", n)) for n in range(len(batch))))
        contracted.append(tuple(parts.index(("s", n)) for n in range(len(summed))))
    g = groups()
    a, b = g.input(shapes[0], mixed[0]), g.input(shapes[1], mixed[1])
    op = ops.DotGeneral(
        (contracted[0], contracted[1]), (batches[0], batches[1]), mixed[2], "highest"
    )
    arrays = [numbers(shapes[0], mixed[0], seed), numbers(shapes[1], mixed[1], seed + 1)]
    agree(g.group(g.op(op, a, b)), arrays)


@quick
@given(st.data(), mixtures(), st.integers(0, 999))
def test_conv(groups: Any, agree: Any, data: Any, mixed: Any, seed: int) -> None:
    rank, n_groups = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    depth, per_group = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    x_shape, w_shape = [data.draw(st.integers(0, 2)), n_groups * depth], [n_groups * per_group]
    w_shape.append(depth)
    strides, pads, dilation, input_dilation = [], [], [], []
    for _ in range(rank):
        kernel, d = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
        low, high = data.draw(st.integers(-1, 2)), data.draw(st.integers(-1, 2))
        need = max(1, (kernel - 1) * d + 1 - low - high)
        x_shape.append(data.draw(st.integers(need, need + 3)))
        w_shape.append(kernel)
        strides.append(data.draw(st.integers(1, 2)))
        pads.append((low, high))
        dilation.append(d)
        input_dilation.append(data.draw(st.integers(1, 3)))
    g = groups()
    x, w = g.input(x_shape, mixed[0]), g.input(w_shape, mixed[1])
    op = ops.Conv(
        tuple(strides), tuple(pads), tuple(dilation), tuple(input_dilation), n_groups, mixed[2],
        "highest",
    )  # fmt: skip
    agree(
        g.group(g.op(op, x, w)),
        [numbers(x_shape, mixed[0], seed), numbers(w_shape, mixed[1], seed + 1)],
    )


@quick
@given(st.data(), st.booleans(), st.integers(0, 999))
def test_conv_blocked(groups: Any, agree: Any, data: Any, depthwise: bool, seed: int) -> None:
    small = st.integers(1, 3)
    c, blocks, out, out_blocks = (data.draw(small) for _ in range(4))
    kernel = [data.draw(small), data.draw(small)]
    pads = tuple((data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in range(2))
    dilation = (data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2)))
    size = [
        max(1, (k - 1) * d + 1 - low - high) + data.draw(st.integers(0, 3))
        for k, d, (low, high) in zip(kernel, dilation, pads, strict=True)
    ]
    x_shape = [data.draw(small), blocks, *size, c]
    w_shape = [blocks, *kernel, c] if depthwise else [out_blocks, blocks, *kernel, c, out]
    g = groups()
    x, w = g.input(x_shape), g.input(w_shape)
    strides = (data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2)))
    op = ops.ConvBlocked(strides, pads, dilation, depthwise, dtypes.FLOAT32, "highest")
    agree(
        g.group(g.op(op, x, w)),
        [numbers(x_shape, dtypes.FLOAT32, seed), numbers(w_shape, dtypes.FLOAT32, seed + 1)],
    )


def test_padding_takes_no_part_in_a_convolution(groups: Any, agree: Any) -> None:
    g = groups()
    x, w = g.input((1, 1, 3)), g.input((1, 1, 3))
    op = ops.Conv((1,), ((1, 1),), (1,), (1,), 1, dtypes.FLOAT32)
    weights = np.array([[[np.inf, 1, np.nan]]], np.float32)
    program = agree(g.group(g.op(op, x, w)), [np.ones((1, 1, 3), np.float32), weights])
    assert len(program.definitions[0].domain) == 2


@pytest.mark.parametrize("computed", [False, True])
def test_a_product_reads_plain_arrays(groups: Any, agree: Any, computed: bool) -> None:
    g = groups()
    a, b = g.input((3, 4)), g.input((3, 4))
    left = g.op(ops.Elementwise("neg"), a) if computed else a
    turned = g.op(ops.Transpose((1, 0)), b)
    op = ops.DotGeneral(((1,), (0,)), ((), ()), dtypes.FLOAT32)
    product = g.op(op, left, turned)
    result = g.op(ops.Elementwise("maximum"), product, np.float32(0))
    arrays = [numbers((3, 4), dtypes.FLOAT32, 1), numbers((3, 4), dtypes.FLOAT32, 2)]
    program = agree(g.group(result), arrays)
    names = [d.name for d in program.definitions]
    assert names == (["neg"] if computed else []) + ["matmul", "maximum"]
    value = program.definitions[-2].values[0]
    assert isinstance(value, Op) and all(isinstance(x, Load) for x in value.args)
    assert [a.symbol.name for a in program.definitions[-2].axes] == ["i", "j", "k"]


def test_a_depthwise_convolution_is_indexed_by_its_group(groups: Any, agree: Any) -> None:
    g = groups()
    x, w = g.input((1, 3, 4, 4)), g.input((3, 1, 2, 2))
    op = ops.Conv((1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1), 3, dtypes.FLOAT32)
    arrays = [numbers((1, 3, 4, 4), dtypes.FLOAT32, 1), numbers((3, 1, 2, 2), dtypes.FLOAT32, 2)]
    (definition,) = agree(g.group(g.op(op, x, w)), arrays).definitions
    assert [a.symbol.name for a in definition.axes] == ["n", "g", "o", "h", "w", "c", "r", "s"]
    channel = definition.index[1]
    assert channel.const == 0 and [(a.name, c) for a, c in channel.terms] == [("g", 1)]
