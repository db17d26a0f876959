"""compute_inline and reverse_compute_inline."""

from __future__ import annotations

import numpy as np

from loopwright.ir.expr.nodes import Scope
from loopwright.ir.graph import ops
from loopwright.schedules import find
from loopwright.schedules.inline import compute_inline, reverse_compute_inline
from loopwright.schedules.loops import reorder, split
from loopwright.schedules.memory import cache_read, cache_write


def blocks(program):
    return [p.block.name for p in find.blocks(program)]


def test_inlining_a_copy_undoes_it(matmul, same):
    packed = cache_read(matmul, "matmul", "b", order=(1, 0), blocks=((1, 4),))
    after = compute_inline(packed, "b.scratch")
    assert blocks(after) == ["matmul"]
    same(matmul, after)


def test_inline_refuses(matmul, chain, refused):
    refused("inline_kind", compute_inline, chain, "sum")
    refused("inline_output", compute_inline, chain, "sub")
    refused("inline_kind", compute_inline, matmul, "matmul")


def test_epilogue_rides_on_the_tile(kernel, same):
    product = kernel.dot(kernel.input(7, 6), kernel.input(6, 9))
    bias = kernel.spread(kernel.input(9), (7, 9), 1)
    program = kernel.program(
        kernel.apply("maximum", kernel.apply("add", product, bias), np.float32(0))
    )
    tiled = reorder(split(program, "matmul/j", 4), "matmul/j.o", "matmul/i")
    cached = cache_write(tiled, "matmul", Scope.REGISTER, "matmul/i")
    after = reverse_compute_inline(cached, "maximum")
    assert blocks(after) == ["matmul", "maximum"]
    same(program, after)


def test_epilogue_follows_through_reshape_and_transpose(kernel, same):
    product = kernel.dot(kernel.input(6, 4), kernel.input(4, 10))
    shaped = kernel.op(ops.Reshape((3, 2, 10)), product)
    turned = kernel.op(ops.Transpose((2, 0, 1)), shaped)
    for result in (kernel.apply("exp", shaped), kernel.apply("exp", turned)):
        program = kernel.program(result)
        cached = cache_write(program, "matmul", Scope.SCRATCH, "matmul/i")
        same(program, reverse_compute_inline(cached, blocks(program)[-1]))


def test_reverse_inline_refuses(kernel, chain, refused):
    product = kernel.dot(kernel.input(7, 6), kernel.input(6, 9))
    part = kernel.apply("exp", kernel.op(ops.Slice((0, 0), (7, 4), (1, 2)), product))
    program = cache_write(kernel.program(part), "matmul", Scope.SCRATCH)
    refused("inline_producer", reverse_compute_inline, program, "exp")
    twice = kernel.program(kernel.apply("exp", product), kernel.apply("abs", product))
    cached = cache_write(twice, "matmul", Scope.SCRATCH)
    refused("inline_readers", reverse_compute_inline, cached, "exp")
    refused("inline_producer", reverse_compute_inline, chain, "sub")
