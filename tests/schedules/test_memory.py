"""cache_read, cache_write, set_scope, and the axes of definitions."""

from __future__ import annotations

import pytest

from loopwright.ir.expr.nodes import Scope
from loopwright.ir.graph import ops
from loopwright.schedules import find
from loopwright.schedules.axes import axes_from_loops, over_compute
from loopwright.schedules.loops import fuse, reorder, split
from loopwright.schedules.memory import cache_read, cache_write, set_scope


def shape(program, block):
    return find.block(program, block).block.definition.outputs[0].shape


def test_cache_read_copies(matmul, same):
    after = cache_read(matmul, "matmul", "a")
    assert shape(after, "a.scratch") == (7, 10)
    same(matmul, after)


def test_cache_read_packs_panels_padded_with_zeros(matmul, same):
    after = cache_read(matmul, "matmul", "b", order=(1, 0), blocks=((1, 4),))
    assert shape(after, "b.scratch") == (3, 10, 4)
    same(matmul, after)


def test_cache_read_of_both_blocks(matmul, same):
    after = cache_read(matmul, "matmul", "a", blocks=((1, 3), (0, 2)))
    assert shape(after, "a.scratch") == (4, 4, 3, 2)
    same(matmul, after)


def test_packed_index_is_plain_over_matching_tiles(matmul):
    after = cache_read(matmul, "matmul", "b", order=(1, 0), blocks=((1, 3),))
    after = split(after, "matmul/j", 3)
    assert not find.block(after, "matmul").block.guard


def test_cache_read_refuses(matmul, kernel, refused):
    refused("no_such_read", cache_read, matmul, "matmul", "z")
    refused("packing", cache_read, matmul, "matmul", "a", order=(0, 0))
    refused("packing", cache_read, matmul, "matmul", "a", blocks=((2, 4),))
    refused("packing", cache_read, matmul, "matmul", "a", blocks=((0, 0),))


@pytest.mark.parametrize("at", [None, "i", "j"])
def test_cache_write_at(matmul, same, at):
    after = cache_write(matmul, "matmul", Scope.SCRATCH, at)
    assert [p.block.name for p in find.blocks(after)] == ["matmul", "matmul.store"]
    same(matmul, after)


def test_cache_write_refuses(matmul, kernel, refused):
    refused("unfinished", cache_write, matmul, "matmul", Scope.REGISTER, "k")
    rows, at, new = kernel.input(4), kernel.input(5, dtype="int64"), kernel.input(5)
    program = kernel.program(kernel.op(ops.Scatter((0,), "clip", "sum"), rows, at, new))
    update = next(p.block.name for p in find.blocks(program) if p.block.definition.update)
    refused("cached_update", cache_write, program, update)


def test_set_scope(chain, same, refused):
    after = set_scope(chain, "sum", Scope.REGISTER)
    assert find.block(after, "sum").block.definition.outputs[0].scope is Scope.REGISTER
    same(chain, after)
    refused("unknown_buffer", set_scope, chain, "z", Scope.REGISTER)
    refused("scope_parameter", set_scope, chain, "sub", Scope.REGISTER)


def test_over_compute_grows_private_tiles(matmul, same, refused):
    packed = cache_read(matmul, "matmul", "b", order=(1, 0), blocks=((1, 4),))
    tiled = split(packed, "matmul/j", 4)
    refused("scope_parameter", over_compute, tiled, "matmul")
    tiled = cache_write(tiled, "matmul", Scope.SCRATCH)
    after = over_compute(tiled, "matmul")
    assert shape(after, "matmul") == (7, 12)
    assert not find.block(after, "matmul").block.guard
    assert find.block(after, "matmul.store").block.guard
    same(matmul, after)


def test_over_compute_does_not_read_outside(matmul, refused):
    tiled = cache_write(split(matmul, "j", 4), "matmul", Scope.SCRATCH)
    refused("over_read", over_compute, tiled, "matmul")


def test_axes_from_loops_makes_tiles_of_fused_loops_boxes(kernel, same, refused):
    program = kernel.program(kernel.apply("exp", kernel.input(6, 7)))
    after = axes_from_loops(fuse(program, "i", "j"), "exp")
    assert len(find.block(after, "exp").block.definition.axes) == 1
    same(program, after)
    same(program, cache_write(split(after, "i*j", 4), "exp", Scope.REGISTER, "i*j.o"))
    refused("axes_guard", axes_from_loops, split(program, "j", 4), "exp")


def test_axes_of_a_reduction_keep_their_kinds(matmul, same):
    after = axes_from_loops(reorder(split(matmul, "k", 5), "k.o", "i"), "matmul")
    same(matmul, after)
    same(matmul, cache_write(after, "matmul", Scope.SCRATCH))
