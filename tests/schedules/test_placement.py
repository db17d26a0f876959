"""compute_at and reverse_compute_at: regions, halos, tiles that do not divide."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir.expr.nodes import Scope
from loopwright.ir.graph import ops
from loopwright.schedules import find
from loopwright.schedules.loops import reorder, split
from loopwright.schedules.marks import vectorize
from loopwright.schedules.memory import cache_read, cache_write
from loopwright.schedules.placement import compute_at, reverse_compute_at


def blur(kernel, rows=9, columns=11):
    """out[i, j] = row sums of three of exp(a): the exp is read at three places."""
    made = kernel.apply("exp", kernel.input(rows, columns))
    parts = [kernel.op(ops.Slice((k, 0), (rows - 2, columns), (1, 1)), made) for k in range(3)]
    return kernel.program(kernel.apply("add", kernel.apply("add", *parts[:2]), parts[2]))


def extents(program, block):
    return [loop.extent for loop in find.block(program, block).around]


@pytest.mark.parametrize("factor", [1, 2, 3, 7, 8])
def test_compute_at_takes_the_halo(kernel, same, factor):
    program = blur(kernel)
    tiled = split(program, "add/i", factor)
    after = compute_at(tiled, "exp", "add/i.o")
    assert extents(after, "exp")[1] == min(factor + 2, 9)
    same(program, after)


def test_compute_at_inside_two_tiles(kernel, same):
    program = blur(kernel)
    tiled = reorder(split(split(program, "add/i", 3), "add/j", 4), "i.o", "j.o", "i.i", "j.i")
    after = compute_at(tiled, "exp", "add/j.o")
    assert extents(after, "exp")[2:] == [5, 4]
    same(program, after)


def test_compute_at_moves_a_reduction(chain, same):
    after = compute_at(chain, "sum", "sub/i")
    assert len(after.body) == 1 and extents(after, "sum") == [5, 1, 12]
    same(chain, after)


def test_compute_at_refuses(chain, kernel, matmul, refused):
    refused("reader_outside", compute_at, chain, "sub", "sum/i")
    refused("inside_vector", compute_at, vectorize(chain, "sub/j"), "sum", "sub/j")
    made = kernel.apply("exp", kernel.input(6))
    program = kernel.program(made, kernel.op(ops.Reduce("sum", (0,)), made))
    refused("moved_output", compute_at, program, "exp", "r")


def test_two_readers_must_both_be_inside(kernel, refused):
    made = kernel.apply("exp", kernel.input(6, 5))
    total = kernel.op(ops.Reduce("sum", (1,)), made)
    program = kernel.program(kernel.apply("div", made, kernel.spread(total, (6, 5), 0)))
    refused("reader_outside", compute_at, program, "exp", "div/i")


@pytest.mark.parametrize("factor", [1, 2, 4, 5])
def test_reverse_compute_at_tiles(kernel, same, factor):
    product = kernel.dot(kernel.input(8, 6), kernel.input(6, 10))
    program = kernel.program(kernel.apply("exp", product))
    tiled = reorder(split(program, "matmul/j", factor), "matmul/j.o", "matmul/i")
    after = reverse_compute_at(tiled, "exp", "matmul/j.o")
    assert len(after.body) == 1 and extents(after, "exp")[0] == -(-10 // factor)
    same(program, after)


def test_reverse_compute_at_refuses(kernel, refused):
    product = kernel.dot(kernel.input(8, 6), kernel.input(6, 10))
    program = kernel.program(kernel.apply("exp", product))
    inside = reorder(program, "matmul/k", "matmul/i", "matmul/j")
    refused("unfinished", reverse_compute_at, inside, "exp", "matmul/i")
    refused("no_producer", reverse_compute_at, program, "exp", "exp/i")
    turned = kernel.program(kernel.op(ops.Transpose((1, 0)), kernel.apply("exp", product)))
    halves = kernel.program(
        kernel.apply("exp", kernel.op(ops.Slice((0, 0), (8, 5), (1, 2)), product))
    )
    refused("not_tiled", reverse_compute_at, halves, "exp", "matmul/j")
    assert turned.body


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_cached_tiles_of_any_size(kernels, same, data):
    """A product with both operands packed and placed, and its tile in registers."""
    m, n, k = data.draw(st.tuples(*[st.integers(1, 9)] * 3))
    rows, columns = data.draw(st.tuples(*[st.integers(1, 5)] * 2))
    kernel = kernels()
    program = kernel.program(kernel.dot(kernel.input(m, k), kernel.input(k, n)))
    after = cache_read(program, "matmul", "a", blocks=((0, rows),))
    after = cache_read(after, "matmul", "b", order=(1, 0), blocks=((1, columns),))
    after = split(split(after, "matmul/i", rows), "matmul/j", columns)
    after = reorder(after, "matmul/i.o", "matmul/j.o", "matmul/k", "matmul/i.i", "matmul/j.i")
    after = cache_write(after, "matmul", Scope.REGISTER, "matmul/j.o")
    after = compute_at(after, "a.scratch", "matmul/i.o")
    if data.draw(st.booleans()):
        after = compute_at(after, "b.scratch", "matmul/j.o")
    same(program, after)
