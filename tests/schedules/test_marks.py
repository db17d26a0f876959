"""Marks are given only where lanes, copies or workers may do the work."""

from __future__ import annotations

import pytest

from loopwright.ir.errors import ScheduleError
from loopwright.ir.graph import ops
from loopwright.ir.loop.nodes import LoopKind
from loopwright.schedules import find
from loopwright.schedules.loops import merge, reorder, split
from loopwright.schedules.marks import parallel, partition, unroll, vectorize


@pytest.mark.parametrize("mark", [vectorize, unroll, parallel, partition])
def test_marks_keep_meaning(matmul, same, mark):
    loop = "i" if mark is parallel else "j"
    order = ("i", "k", "j")
    after = mark(reorder(matmul, *order), loop)
    same(matmul, after)


def test_parallel_keeps_the_permission_to_cut(matmul):
    after = parallel(partition(matmul, "i"), "i")
    loop = find.loop(after, "i").loop
    assert loop.kind is LoopKind.PARALLEL and loop.partition


def test_reduce_loops_are_not_shared(matmul, refused):
    refused("parallel_order", parallel, reorder(matmul, "k", "i", "j"), "k")


def test_only_outermost_loops_are_shared(matmul, refused):
    refused("parallel_nested", parallel, matmul, "j")


def test_lanes_are_innermost(matmul, refused, same):
    refused("vector_inner", vectorize, matmul, "j")
    same(matmul, vectorize(unroll(matmul, "k"), "j"))
    refused("vector_extent", vectorize, split(reorder(matmul, "i", "k", "j"), "j", 2000), "j.i")


def test_reduce_lanes_only_where_regrouping_is_allowed(kernel, matmul, refused, same):
    same(matmul, vectorize(matmul, "k"))
    for dtype in ("float32", "int32"):
        numbers = kernel.input(4, 8, dtype=dtype)
        exact = kernel.program(kernel.op(ops.Reduce("sum", (1,), "highest"), numbers))
        refused("vector_order", vectorize, exact, find.blocks(exact)[-1].around[-1].symbol)


def test_scans_are_neither_lanes_nor_shared(kernel, refused):
    program = kernel.program(kernel.op(ops.Cumulative("sum", 0), kernel.input(6)))
    refused("vector_order", vectorize, program, "r")
    refused("parallel_order", parallel, program, "r")


@pytest.mark.parametrize("mark", [vectorize, parallel])
def test_scatter_is_neither_lanes_nor_shared(kernel, mark):
    at = kernel.input(5, dtype="int64")
    program = kernel.program(
        kernel.op(ops.Scatter((0,), "clip", "sum"), kernel.input(4), at, kernel.input(5))
    )
    block = find.blocks(program)[-1]
    assert block.block.definition.update
    with pytest.raises(ScheduleError) as caught:
        mark(program, block.around[-1].symbol)
    assert caught.value.code in ("vector_order", "parallel_order", "ordered_update")


def test_one_mark_a_loop(matmul, refused):
    refused("marked_loop", unroll, unroll(matmul, "i"), "i")
    refused("marked_loop", partition, vectorize(matmul, "k"), "k")


def test_unrolling_has_a_limit(kernel, refused):
    program = kernel.program(kernel.apply("exp", kernel.input(5000)))
    refused("unroll_extent", unroll, program, "i")
    square = kernel.program(kernel.apply("exp", kernel.input(100, 100)))
    refused("unroll_extent", unroll, unroll(square, "exp/j"), "exp/i")


def test_blocks_that_do_not_move_with_the_loop_are_not_shared(chain, refused, same):
    """A row sum inside the loop of columns: each turn would write the same element."""
    rows = merge(chain, "sum/i", "sub/i")
    same(chain, parallel(rows, "sum/i"))
