"""The text of tensor programs and of plain loops, held as goldens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopwright.ir.graph import ops
from loopwright.ir.graph.nodes import Group
from loopwright.ir.loop.printer import print_program as print_loops
from loopwright.ir.lowering.loops import build
from loopwright.ir.lowering.tensors import lower_group
from loopwright.ir.tensor.printer import print_program as print_tensors

F = np.dtype("float32")


def softmax(g: Any) -> Group:
    x = g.input((3, 7))
    top = g.op(ops.Broadcast((3, 7), (0,)), g.op(ops.Reduce("max", (1,)), x))
    raised = g.op(ops.Elementwise("exp"), g.op(ops.Elementwise("sub"), x, top))
    total = g.op(ops.Broadcast((3, 7), (0,)), g.op(ops.Reduce("sum", (1,)), raised))
    return g.group(g.op(ops.Elementwise("div"), raised, total))


def convolution(g: Any) -> Group:
    x, w, b = g.input((1, 4, 9, 9)), g.input((6, 2, 3, 3)), g.input((6,))
    op = ops.Conv((2, 2), ((1, 1), (0, 1)), (1, 1), (1, 1), 2, F, "highest")
    y = g.op(op, x, w)
    shifted = g.op(ops.Elementwise("add"), y, g.op(ops.Broadcast(y.type.shape, (1,)), b))
    return g.group(g.op(ops.Elementwise("mul"), shifted, g.op(ops.Elementwise("sigmoid"), shifted)))


def positions(g: Any) -> Group:
    x, i = g.input((4, 6)), g.input((5,), "int32")
    taken = g.op(ops.Gather((1,), "raise"), x, i)
    turned = g.op(ops.Reshape((2, 10)), g.op(ops.Transpose((1, 0)), taken))
    padded = g.op(ops.Pad((0, 1), (1, 0), (0, 2)), turned, np.float32(-1))
    return g.group(padded, g.op(ops.Cumulative("sum", 1, True), turned))


def updates(g: Any) -> Group:
    x, i, y = g.input((8,), "int64"), g.input((3,), "int64"), g.input((3,), "int64")
    new = g.op(ops.UpdateSlice((6,), (-2,)), x, y)
    summed = g.op(ops.Scatter((0,), "fill", "sum"), new, i, y)
    best = g.op(ops.ArgReduce("max", 0), summed)
    return g.group(summed, best, donated=[(0, 0)])


GROUPS: list[Callable[[Any], Group]] = [softmax, convolution, positions, updates]


@pytest.mark.parametrize("make", GROUPS, ids=lambda make: make.__name__)
def test_text(groups: Any, golden: Callable[[str], None], make: Callable[[Any], Group]) -> None:
    tensors = lower_group(make(groups()))
    golden(print_tensors(tensors) + "\n\n" + print_loops(build(tensors)))


def test_shared_values_are_printed_once(groups: Any) -> None:
    g = groups()
    x = g.input((3,))
    for _ in range(60):
        x = g.op(ops.Elementwise("add"), x, x)
    text = print_tensors(lower_group(g.group(x)))
    assert len(text) < 4000
