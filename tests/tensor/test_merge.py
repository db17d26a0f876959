"""Elementwise definitions merge where they share elements and nothing stands between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from loopwright.ir.graph import ops
from loopwright.ir.graph.nodes import Var


def numbers(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def op(g: Any, name: str, *operands: Any) -> Var:
    return g.op(ops.Elementwise(name), *operands)


def outputs(program: Any) -> list[list[str]]:
    return [[b.name for b in d.outputs] for d in program.definitions]


def test_a_costly_value_of_two_results_is_computed_once(groups: Any, agree: Any) -> None:
    g = groups()
    raised = op(g, "exp", g.input((3, 4)))
    two = op(g, "add", raised, np.float32(1)), op(g, "mul", raised, np.float32(2))
    program = agree(g.group(*two), [numbers(3, 4)], loose=True)
    assert outputs(program) == [["add", "mul"]]


def test_a_value_read_elsewhere_is_kept(groups: Any, agree: Any) -> None:
    g = groups()
    raised = op(g, "exp", g.input((3, 4)))
    total = g.op(ops.Reduce("sum", (1,)), raised)
    result = op(g, "add", raised, np.float32(1))
    program = agree(g.group(total, result), [numbers(3, 4)], loose=True)
    assert outputs(program) == [["exp", "add"], ["sum"]]


def test_a_reduction_between_keeps_definitions_apart(groups: Any, agree: Any) -> None:
    g = groups()
    raised = op(g, "exp", g.input((3, 4)))
    total = g.op(ops.Broadcast((3, 4), (0,)), g.op(ops.Reduce("sum", (1,)), raised))
    program = agree(g.group(op(g, "div", raised, total)), [numbers(3, 4)], loose=True)
    assert outputs(program) == [["exp"], ["sum"], ["div"]]


def test_an_earlier_definition_moves_down(groups: Any, agree: Any) -> None:
    g = groups()
    x = g.input((3, 4))
    doubled = op(g, "add", x, x)
    total = g.op(ops.Broadcast((3, 4), (0,)), g.op(ops.Reduce("sum", (1,)), x))
    shifted = op(g, "sub", x, total)
    program = agree(g.group(doubled, shifted), [numbers(3, 4)], loose=True)
    assert outputs(program) == [["sum"], ["add", "sub"]]


def test_another_points_result_is_not_yet_there(groups: Any, agree: Any) -> None:
    g = groups()
    first = op(g, "neg", g.input((5,)))
    back = g.op(ops.Slice((4,), (5,), (-1,)), first)
    program = agree(g.group(first, op(g, "exp", back)), [numbers(5)], loose=True)
    assert len(program.definitions) == 2


@pytest.mark.parametrize("shapes", [[(3,), (4,)], [(4,), (4,)]])
def test_nothing_shared_is_not_merged(
    groups: Any, agree: Any, shapes: Sequence[tuple[int, ...]]
) -> None:
    g = groups()
    results = [op(g, "neg", g.input(shape)) for shape in shapes]
    program = agree(g.group(*results), [numbers(*shape) for shape in shapes])
    assert len(program.definitions) == 2


def test_what_follows_a_product_stays_apart(groups: Any, agree: Any) -> None:
    g = groups()
    a, b = g.input((3, 4)), g.input((4, 5))
    dot = ops.DotGeneral(((1,), (0,)), ((), ()), np.dtype("float32"))
    shifted = op(g, "add", g.op(dot, a, b), np.float32(1))
    positive = op(g, "maximum", shifted, np.float32(0))
    program = agree(g.group(shifted, positive), [numbers(3, 4), numbers(4, 5)], loose=True)
    assert outputs(program) == [["matmul"], ["add"], ["maximum"]]


def test_results_in_donated_memory_stay_apart(groups: Any, agree: Any) -> None:
    g = groups()
    x = g.input((4,))
    new, other = op(g, "add", x, x), op(g, "neg", x)
    program = agree(g.group(other, new, donated=[(0, 1)]), [numbers(4)])
    assert len(program.definitions) == 2


def test_many_results_are_several_definitions(groups: Any, agree: Any) -> None:
    g = groups()
    x = g.input((4,))
    results = [op(g, "add", x, np.float32(k)) for k in range(20)]
    program = agree(g.group(*results), [numbers(4)])
    assert [len(d.outputs) for d in program.definitions] == [8, 8, 4]
