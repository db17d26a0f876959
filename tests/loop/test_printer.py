"""The text of a scheduled loop program, held as a golden."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.ir import dtypes
from loopwright.ir.expr import index as ix
from loopwright.ir.expr.combiners import combiner
from loopwright.ir.expr.nodes import Buffer, Load, Op, Scope, Symbol
from loopwright.ir.loop.nodes import Block, For, LoopKind, LoopProgram
from loopwright.ir.loop.printer import print_program
from loopwright.ir.tensor.nodes import Axis, AxisKind, Definition, Param, Role

F = dtypes.FLOAT32


def matmul() -> LoopProgram:
    i, j, k = Symbol("i"), Symbol("j"), Symbol("k")
    a, b, y = (
        Buffer("a", (30, 64), F),
        Buffer("b", (64, 32), F, strides=(1, 64)),
        Buffer("maximum", (30, 32), F),
    )
    tile = Buffer("matmul", (30, 32), F, Scope.REGISTER)
    axes = (Axis(i, 30), Axis(j, 32))
    at = (ix.of(i), ix.of(j))
    product = Op("mul", (Load(a, (at[0], ix.of(k))), Load(b, (ix.of(k), at[1]))), F)
    sums = Definition(
        "matmul", (*axes, Axis(k, 64, AxisKind.REDUCE)), (tile,), at, (product,),
        combiner("sum", F),
    )  # fmt: skip
    kept = Definition("maximum", axes, (y,), at, (Load(tile, at),))
    io, ii, jl, ks = Symbol("i.o"), Symbol("i.i"), Symbol("j.i"), Symbol("k")
    row = ix.add(ix.scale(ix.of(io), 14), ix.of(ii))
    guard = (ix.subtract(ix.constant(29), row),)

    def tiled(block: Block) -> For:
        return For(ii, 14, (For(jl, 32, (block,), LoopKind.VECTOR),), LoopKind.UNROLL)

    inner = For(ks, 64, (tiled(Block(sums, (row, ix.of(jl), ix.of(ks)), guard)),))
    copy = tiled(Block(kept, (row, ix.of(jl)), guard))
    loop = For(io, 3, (inner, copy), LoopKind.PARALLEL, partition=True)
    params = (Param(a, Role.INPUT), Param(b, Role.INPUT), Param(y, Role.OUTPUT))
    return LoopProgram("matmul", params, (loop,))


def test_a_register_tile(golden: Callable[[str], None]) -> None:
    golden(print_program(matmul()))
