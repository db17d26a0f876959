"""split, fuse, reorder, tile and merge keep the meaning, and refuse what would not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir.errors import ScheduleError
from loopwright.ir.graph import ops
from loopwright.schedules import find
from loopwright.schedules.loops import fuse, merge, reorder, split, tile
from loopwright.schedules.marks import unroll


def names(program, block):
    return [loop.symbol.name for loop in find.block(program, block).around]


@pytest.mark.parametrize("factor", [1, 2, 3, 7, 9, 100])
@pytest.mark.parametrize("loop", ["i", "j", "k"])
def test_split_keeps_meaning(matmul, same, loop, factor):
    after = split(matmul, loop, factor)
    same(matmul, after)
    assert {f"{loop}.o", f"{loop}.i"} <= set(names(after, "matmul"))


def test_split_guards_only_imperfect_tiles(matmul):
    assert not find.block(split(matmul, "k", 5), "matmul").block.guard
    assert len(find.block(split(matmul, "k", 4), "matmul").block.guard) == 1


def test_split_of_a_split_names_the_path(matmul, same):
    after = split(split(matmul, "j", 4), "j.i", 2)
    assert names(after, "matmul") == ["i", "j.o", "j.i.o", "j.i.i", "k"]
    same(matmul, after)


def test_split_leaves_the_program_it_was_given(matmul, same):
    before = matmul.body
    split(matmul, "i", 2)
    assert matmul.body is before


@pytest.mark.parametrize("factor", [0, -1, 2.0, True, "4"])
def test_split_refuses_what_is_no_factor(matmul, refused, factor):
    refused("split_factor", split, matmul, "i", factor)


def test_unknown_and_ambiguous_loops(chain, matmul, refused):
    refused("unknown_loop", split, matmul, "z", 2)
    refused("unknown_loop", split, matmul, "matmul/z", 2)
    refused("unknown_block", split, matmul, "conv/i", 2)
    refused("ambiguous_loop", split, chain, "i", 2)
    assert names(split(chain, "sub/i", 2), "sub")[0] == "i.o"


def test_marked_loops_keep_their_shape(matmul, refused):
    marked = unroll(matmul, "j")
    refused("marked_loop", split, marked, "j", 2)
    refused("marked_loop", fuse, marked, "i", "j")


def test_fuse_keeps_meaning(matmul, same):
    after = fuse(matmul, "i", "j")
    assert names(after, "matmul") == ["i*j", "k"]
    same(matmul, after)


def test_fuse_then_split_is_identity_on_indices(matmul):
    after = split(fuse(matmul, "i", "j"), "i*j", 9)
    bindings = find.block(after, "matmul").block.bindings
    assert all(len(b.terms) == 1 and b.terms[0][1] == 1 for b in bindings)


def test_fuse_refuses(matmul, chain, refused):
    refused("fuse_nesting", fuse, matmul, "i", "k")
    refused("fuse_nesting", fuse, matmul, "j", "i")
    refused("fuse_kinds", fuse, matmul, "j", "k")


@pytest.mark.parametrize("order", ["ijk", "ikj", "jik", "jki", "kij", "kji"])
def test_reorder_keeps_meaning(matmul, same, order):
    after = reorder(matmul, *order)
    assert names(after, "matmul") == list(order)
    same(matmul, after)


def test_reorder_of_some_leaves_the_others(matmul):
    assert names(reorder(matmul, "k", "i"), "matmul") == ["k", "j", "i"]


def test_reorder_refuses(matmul, chain, kernel, refused):
    refused("reorder_twice", reorder, matmul, "i", "j", "i")
    refused("reorder_nesting", reorder, chain, "sum/i", "sub/j")


def test_exact_reductions_keep_their_order(kernel, refused, same):
    total = kernel.op(ops.Reduce("sum", (0, 1), "highest"), kernel.input(4, 5))
    program = kernel.program(total)
    refused("reorder_reduce", reorder, program, "s", "r")
    largest = kernel.op(ops.Reduce("max", (0, 1), "highest"), kernel.inputs[0])
    program = kernel.program(largest)
    same(program, reorder(program, "s", "r"))


def test_scans_stay_in_order_beside_others(kernel, same, refused):
    program = kernel.program(kernel.op(ops.Cumulative("sum", 0), kernel.input(6, 7)))
    same(program, reorder(program, "r", "i"))
    halves = split(program, "r", 3)
    refused("reorder_scan", reorder, halves, "r.i", "r.o")


def test_updates_through_indices_stay_in_order(kernel, refused):
    rows = kernel.input(4, 3, dtype="float32")
    at = kernel.input(5, dtype="int64")
    new = kernel.input(5, 3)
    program = kernel.program(kernel.op(ops.Scatter((0,), "clip", None), rows, at, new))
    block = next(p.block for p in find.blocks(program) if p.block.definition.update)
    loops = names(program, block.name)
    refused("ordered_update", reorder, program, *(f"{block.name}/{n}" for n in reversed(loops)))


def test_tile_puts_inner_loops_innermost(matmul, same):
    after = tile(matmul, "matmul", i=2, j=4)
    assert names(after, "matmul") == ["i.o", "j.o", "i.i", "j.i", "k"]
    same(matmul, after)


def test_merge_shares_rows(chain, same):
    after = merge(chain, "sum/i", "sub/i")
    assert len(after.body) == 1
    same(chain, after)


def test_merge_refuses(chain, refused):
    refused("merge_shape", merge, split(chain, "sub/i", 2), "sum/i", "sub/i.o")
    refused("merge_neighbours", merge, chain, "sub/i", "sum/i")


def test_merge_refuses_what_the_next_turn_makes(kernel, refused):
    made = kernel.apply("exp", kernel.input(6))
    back = kernel.op(ops.Slice((5,), (6,), (-1,)), made)
    program = kernel.program(made, back)
    first, second = (node.symbol for node in program.body)
    refused("carried_dependence", merge, program, first, second)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_loop_steps(kernels, same, data):
    m, n, k = data.draw(st.tuples(*[st.integers(1, 7)] * 3))
    kernel = kernels()
    program = after = kernel.program(kernel.dot(kernel.input(m, k), kernel.input(k, n)))
    for _ in range(data.draw(st.integers(1, 5))):
        loops = [loop.symbol for loop in find.blocks(after)[0].around]
        step = data.draw(st.sampled_from(["split", "fuse", "reorder"]))
        chosen = data.draw(st.sampled_from(loops))
        if step == "split":
            after = split(after, chosen, data.draw(st.integers(1, 5)))
        elif step == "reorder":
            after = reorder(after, *data.draw(st.permutations(loops)))
        elif chosen is not loops[-1]:
            try:
                after = fuse(after, chosen, loops[loops.index(chosen) + 1])
            except ScheduleError as error:
                assert error.code == "fuse_kinds"
    same(program, after)


def test_merged_loops_have_names_of_their_own(kernel, same):
    """The second nest brings a loop of the name that the first one's outer loop has."""
    made = kernel.apply("exp", kernel.input(4, 5))
    program = kernel.program(kernel.op(ops.Transpose((1, 0)), made), made)
    first, second = (node.symbol for node in program.body)
    inner = find.loop(program, second).loop.body[0].symbol
    after = merge(reorder(program, inner, second), first, inner)
    assert names(after, find.blocks(program)[1].block.name) == ["i", "i_1"]
    same(program, after)
