"""The checker of loop programs finds each kind of fault, and says where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from loopwright.ir import dtypes
from loopwright.ir.errors import InternalError
from loopwright.ir.expr import index as ix
from loopwright.ir.expr.combiners import combiner
from loopwright.ir.expr.nodes import Buffer, Load, Scope, Symbol
from loopwright.ir.loop.checker import check
from loopwright.ir.loop.nodes import Block, For, LoopKind, LoopProgram, Node
from loopwright.ir.tensor.nodes import Axis, AxisKind, Definition, Param, Role

F = dtypes.FLOAT32
AXIS_I, AXIS_R = Symbol("i"), Symbol("r")
A, Y = Buffer("a", (6, 5), F), Buffer("y", (6,), F)
SUM = Definition(
    "sum",
    (Axis(AXIS_I, 6), Axis(AXIS_R, 5, AxisKind.REDUCE)),
    (Y,),
    (ix.of(AXIS_I),),
    (Load(A, (ix.of(AXIS_I), ix.of(AXIS_R))),),
    combiner("sum", F),
)
ROW, R, T = Symbol("i"), Symbol("r"), Symbol("t")
BOUND = (ix.of(ROW), ix.of(R))


def program(*body: Node) -> LoopProgram:
    return LoopProgram("kernel", (Param(A, Role.INPUT), Param(Y, Role.OUTPUT)), body)


def nest(block: Block, *loops: For) -> Node:
    node: Node = block
    for loop in reversed(loops):
        node = replace(loop, body=(node,))
    return node


def loop(symbol: Symbol, extent: int, kind: LoopKind = LoopKind.SERIAL) -> For:
    return For(symbol, extent, (), kind)


GOOD = nest(Block(SUM, BOUND), loop(ROW, 6), loop(R, 5))
BY_HALVES = ix.add(ix.scale(ix.of(R), 2), ix.of(T))


def test_good_programs_pass() -> None:
    check(program(GOOD))
    guard = (ix.subtract(ix.constant(4), BY_HALVES),)
    split = Block(SUM, (ix.of(ROW), BY_HALVES), guard)
    check(program(nest(split, loop(R, 3), loop(ROW, 6), loop(T, 2, LoopKind.UNROLL))))
    lanes = (loop(ROW, 6, LoopKind.PARALLEL), loop(R, 5, LoopKind.VECTOR))
    check(program(nest(Block(SUM, BOUND), *lanes)))


@pytest.mark.parametrize("rows", [3, 4, 5])
@pytest.mark.parametrize("columns", [3, 4, 5, 8, 12, 16])
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_fused_and_split_axes_stay_inside(rows: int, columns: int, lanes: int) -> None:
    outer, inner = Symbol("o"), Symbol("l")
    total = rows * columns
    count = -(-total // lanes)
    ranges = {outer: (0, count - 1), inner: (0, lanes - 1)}
    fused = ix.add(ix.scale(ix.of(outer), lanes), ix.of(inner))
    place = (ix.floor_divide(fused, columns, ranges), ix.modulo(fused, columns, ranges))
    guard = (ix.subtract(ix.constant(total - 1), fused),) if total % lanes else ()
    a, y = Buffer("a", (rows, columns), F), Buffer("y", (rows, columns), F)
    axes = (Axis(AXIS_I, rows), Axis(AXIS_R, columns))
    at = (ix.of(AXIS_I), ix.of(AXIS_R))
    copy = Definition("y", axes, (y,), at, (Load(a, at),))
    body = nest(Block(copy, place, guard), loop(outer, count), loop(inner, lanes, LoopKind.VECTOR))
    params = (Param(a, Role.INPUT), Param(y, Role.OUTPUT))
    check(LoopProgram("kernel", params, (body,)))


SCRATCH = Buffer("s", (6,), F, Scope.SCRATCH)
READER = replace(SUM, name="reader", outputs=(SCRATCH,), values=(Load(Y, (ix.of(AXIS_I),)),))
SCAN = replace(
    SUM, axes=(Axis(AXIS_I, 6), Axis(AXIS_R, 5, AxisKind.SCAN)), combiner=None, update=True
)
EXACT = replace(SUM, exact_order=True)
FAULTS: dict[str, Callable[[], LoopProgram]] = {
    "two blocks sum": lambda: program(GOOD, GOOD),
    "y is never written": lambda: program(),
    "y is read before it is written": lambda: program(
        nest(Block(READER, BOUND), loop(ROW, 6), loop(R, 5)), GOOD
    ),
    "differ in number": lambda: program(nest(Block(SUM, BOUND[:1]), loop(ROW, 6))),
    "r is not in scope": lambda: program(nest(Block(SUM, BOUND), loop(ROW, 6))),
    "loops around the block share a name": lambda: program(
        nest(Block(SUM, BOUND), loop(ROW, 6), loop(R, 5), loop(Symbol("i"), 1))
    ),
    "axis r of extent 5 can leave it": lambda: program(
        nest(Block(SUM, (ix.of(ROW), BY_HALVES)), loop(ROW, 6), loop(R, 3), loop(T, 2))
    ),
    "axis i of extent 6 can leave it": lambda: program(
        nest(Block(SUM, (ix.add(ix.of(ROW), -1), ix.of(R))), loop(ROW, 7), loop(R, 5))
    ),
    "a vector loop is not innermost": lambda: program(
        nest(Block(SUM, BOUND), loop(ROW, 6, LoopKind.VECTOR), loop(R, 5))
    ),
    "loop r is parallel but carries": lambda: program(
        nest(Block(SUM, BOUND), loop(ROW, 6), loop(R, 5, LoopKind.PARALLEL))
    ),
    "loop r is ordered but vectorised": lambda: program(
        nest(
            Block(replace(SUM, exact_order=True), BOUND), loop(ROW, 6), loop(R, 5, LoopKind.VECTOR)
        )
    ),
    "loop r is parallel": lambda: program(
        nest(Block(SCAN, BOUND), loop(ROW, 6), loop(R, 5, LoopKind.PARALLEL))
    ),
    "loop t is empty": lambda: program(GOOD, loop(T, 3)),
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_fault_is_found(message: str) -> None:
    with pytest.raises(InternalError) as caught:
        check(FAULTS[message]())
    assert message in str(caught.value)


def test_block_and_loops_are_named() -> None:
    with pytest.raises(InternalError, match="in block sum under i/r"):
        check(program(nest(Block(SUM, (ix.of(ROW), ix.of(R))), loop(ROW, 7), loop(R, 5))))
