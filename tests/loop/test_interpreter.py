"""The loop interpreter runs loops in order and refuses programs that break the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopwright.ir import dtypes
from loopwright.ir.errors import InternalError
from loopwright.ir.expr import index as ix
from loopwright.ir.expr.combiners import combiner
from loopwright.ir.expr.evaluate import CheckError
from loopwright.ir.expr.nodes import Buffer, Check, Guarded, Index, Load, Op, Scope, Symbol
from loopwright.ir.expr.values import const
from loopwright.ir.loop.interpreter import interpret
from loopwright.ir.loop.nodes import Block, For, LoopKind, LoopProgram, Node
from loopwright.ir.tensor.nodes import Axis, AxisKind, Definition, Param, Role

F = dtypes.FLOAT32
ROW, R = Symbol("i"), Symbol("r")
A, Y, S = Buffer("a", (6, 5), F), Buffer("y", (6,), F), Buffer("s", (6,), F, Scope.SCRATCH)
ROWS = Axis(ROW, 6)
SUM = Definition(
    "sum",
    (ROWS, Axis(R, 5, AxisKind.REDUCE)),
    (Y,),
    (ix.of(ROW),),
    (Load(A, (ix.of(ROW), ix.of(R))),),
    combiner("sum", F),
)
NUMBERS = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)


def loops(*names: str) -> list[Index]:
    return [ix.of(Symbol(name)) for name in names]


def nest(body: Node, *extents: tuple[Index, int], **kinds: LoopKind) -> Node:
    """Loops around a node, outermost first."""
    for index, extent in reversed(extents):
        symbol = next(iter(ix.symbols(index)))
        body = For(symbol, extent, (body,), kinds.get(symbol.name, LoopKind.SERIAL))
    return body


def run(*body: Node, shuffle: Any = None, params: Sequence[Param] | None = None) -> Any:
    params = params or (Param(A, Role.INPUT), Param(Y, Role.OUTPUT))
    return interpret(LoopProgram("kernel", tuple(params), body), [NUMBERS], shuffle)[0]


def in_order(order: Sequence[int]) -> Any:
    """Row sums with the columns taken in this order."""
    total = np.zeros(6, np.float32)
    for column in order:
        total = total + NUMBERS[:, column]
    return total


def test_a_sum_follows_the_order_of_the_loops() -> None:
    i, r = loops("i", "r")
    forwards = run(nest(Block(SUM, (i, r)), (i, 6), (r, 5)))
    assert forwards.tolist() == in_order(range(5)).tolist()
    backwards = run(nest(Block(SUM, (i, ix.subtract(ix.constant(4), r))), (i, 6), (r, 5)))
    assert backwards.tolist() == in_order(range(4, -1, -1)).tolist()
    assert backwards.tolist() != forwards.tolist()


def test_a_reduction_may_run_outside_and_be_split() -> None:
    o, i, s = loops("r.o", "i", "r.i")
    column = ix.add(ix.scale(o, 2), s)
    guard = (ix.subtract(ix.constant(4), column),)
    result = run(nest(Block(SUM, (i, column), guard), (o, 3), (i, 6), (s, 2)))
    assert result.tolist() == in_order(range(5)).tolist()


def test_a_tile_without_its_guard_leaves_the_axis() -> None:
    o, i, s = loops("r.o", "i", "r.i")
    column = ix.add(ix.scale(o, 2), s)
    with pytest.raises(InternalError, match=r"axis r of extent 5 takes the value 5") as caught:
        run(nest(Block(SUM, (i, column)), (o, 3), (i, 6), (s, 2)))
    assert "block sum" in str(caught.value)


def test_a_domain_that_admits_nothing_gives_the_identity() -> None:
    i, r = loops("i", "r")
    never = replace(SUM, domain=(ix.add(ix.of(R), -9),))
    assert run(nest(Block(never, (i, r)), (i, 6), (r, 5))).tolist() == [0.0] * 6


def test_a_missing_iteration_is_an_unwritten_element() -> None:
    i, r = loops("i", "r")
    with pytest.raises(InternalError, match=r"y\[5\] is never written"):
        run(nest(Block(SUM, (i, r)), (i, 5), (r, 5)))


def test_a_row_summed_twice_is_written_twice() -> None:
    t, i, r = loops("t", "i", "r")
    with pytest.raises(InternalError, match="written twice"):
        run(nest(Block(SUM, (i, r)), (t, 2), (i, 6), (r, 5)))


COPY = Definition("copy", (ROWS,), (Y,), (ix.of(ROW),), (Load(S, (ix.of(ROW),)),))
PART = replace(SUM, outputs=(S,))


def test_scratch_computed_where_it_is_used() -> None:
    i, r = loops("i", "r")
    inner = (nest(Block(PART, (i, r)), (r, 5)), Block(COPY, (i,)))
    result = run(For(next(iter(ix.symbols(i))), 6, inner))
    assert result.tolist() == in_order(range(5)).tolist()


def test_scratch_is_forgotten_from_turn_to_turn() -> None:
    i, r = loops("i", "r")
    before = ix.subtract(ix.constant(5), i)  # the row that another turn computes
    inner = (nest(Block(PART, (i, r)), (r, 5)), Block(COPY, (before,)))
    with pytest.raises(InternalError, match="read before it is written"):
        run(For(next(iter(ix.symbols(i))), 6, inner))


def test_a_running_reduction_is_not_read() -> None:
    i, r = loops("i", "r")
    reader = replace(COPY, axes=(ROWS, Axis(R, 5)), update=True)
    both = (Block(PART, (i, r)), Block(reader, (i, r)))
    symbol_i, symbol_r = next(iter(ix.symbols(i))), next(iter(ix.symbols(r)))
    with pytest.raises(InternalError, match="read before its reduction ends"):
        run(For(symbol_i, 6, (For(symbol_r, 5, both),)))


def test_parallel_turns_run_in_any_order() -> None:
    i, r = loops("i", "r")
    inner = (nest(Block(PART, (i, r)), (r, 5)), Block(COPY, (i,)))
    loop = For(next(iter(ix.symbols(i))), 6, inner, LoopKind.PARALLEL)
    result = run(loop, shuffle=np.random.default_rng(1))
    assert result.tolist() == in_order(range(5)).tolist()


def test_a_scan_reads_what_it_wrote() -> None:
    i, r = loops("i", "r")
    out = Buffer("out", (6, 5), F)
    here = (ix.of(ROW), ix.of(R))
    last = Load(out, (ix.of(ROW), ix.add(ix.of(R), -1)))
    value = Guarded((ix.add(ix.of(R), -1),), Op("add", (last, Load(A, here)), F), Load(A, here))
    scan = Definition("scan", (ROWS, Axis(R, 5, AxisKind.SCAN)), (out,), here, (value,))
    params = (Param(A, Role.INPUT), Param(out, Role.OUTPUT))
    result = run(nest(Block(scan, (i, r)), (i, 6), (r, 5)), params=params)
    np.testing.assert_array_equal(result, np.cumsum(NUMBERS, axis=1))
    with pytest.raises(InternalError, match="read before"):
        run(nest(Block(scan, (i, ix.subtract(ix.constant(4), r))), (i, 6), (r, 5)), params=params)


def test_a_failed_check_carries_its_code() -> None:
    i, r = loops("i", "r")
    bad = replace(SUM, values=(Check(const(False, dtypes.BOOL), SUM.values[0], 7),))
    with pytest.raises(CheckError) as caught:
        run(nest(Block(bad, (i, r)), (i, 6), (r, 5)))
    assert caught.value.code == 7


def test_arguments_are_left_alone() -> None:
    i, r = loops("i", "r")
    inout = Buffer("a", (6, 5), F)
    place = (ix.of(ROW), ix.of(R))
    value = Op("neg", (Load(inout, place),), F)
    negate = Definition("neg", (ROWS, Axis(R, 5)), (inout,), place, (value,), update=True)
    before = NUMBERS.copy()
    params = (Param(inout, Role.INOUT),)
    result = run(nest(Block(negate, (i, r)), (i, 6), (r, 5)), params=params)
    np.testing.assert_array_equal(NUMBERS, before)
    np.testing.assert_array_equal(result, -before)
