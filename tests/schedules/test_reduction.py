"""rfactor: partial results and their combination."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir.expr.nodes import Scope
from loopwright.ir.graph import ops
from loopwright.schedules import find
from loopwright.schedules.loops import reorder, split
from loopwright.schedules.marks import parallel, unroll, vectorize
from loopwright.schedules.reduction import rfactor


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 40), lanes=st.integers(1, 8), ways=st.integers(1, 4))
def test_lanes_and_ways(kernels, same, n, lanes, ways):
    kernel = kernels()
    program = kernel.program(kernel.op(ops.Reduce("sum", (1,)), kernel.input(3, n)))
    after = split(split(program, "r", lanes * ways), "r.i", lanes)
    after = rfactor(after, "r.i.o", "r.i.i")
    after = vectorize(unroll(after, "sum.part/r.i.o"), "sum.part/r.i.i")
    after = rfactor(after, find.block(after, "sum").around[-1].symbol)
    same(program, after)


@pytest.mark.parametrize("name", ["max", "min", "prod"])
def test_other_combiners(kernel, same, name):
    program = kernel.program(kernel.op(ops.Reduce(name, (0,)), kernel.input(11, dtype="int32")))
    after = rfactor(split(program, "r", 4), "r.i")
    same(program, after)


def test_argmax_keeps_the_first_position(kernel, same):
    program = kernel.program(kernel.op(ops.ArgReduce("max", 1), kernel.input(4, 23)))
    after = rfactor(split(program, "r", 5), "r.i")
    same(program, after)


def test_stretches_for_workers(kernel, same):
    program = kernel.program(kernel.op(ops.Reduce("sum", (0,)), kernel.input(50)))
    after = rfactor(split(program, "r", 8), "r.o", scope=Scope.SCRATCH)
    after = parallel(after, "sum.part/r.o")
    same(program, after)


def test_blocked_reduction_adds_up_in_place(matmul, same):
    after = split(split(matmul, "k", 4), "j", 3)
    after = reorder(after, "k.o", "i", "j.o", "k.i", "j.i")
    after = rfactor(after, "k.o", at="matmul/j.o")
    loops = [loop.symbol.name for loop in find.block(after, "matmul").around]
    assert loops[:3] == ["k.o", "i", "j.o"]
    same(matmul, after)


def test_refusals(kernel, matmul, chain, refused):
    refused("rfactor_axis", rfactor, matmul, "j")
    refused("unknown_loop", rfactor, matmul, "z")
    halves = split(matmul, "k", 5)
    refused("unfinished", rfactor, halves, "k.i", at="k.o")
    refused("unknown_loop", rfactor, halves, "k.i", at="z")
    exact = kernel.program(kernel.op(ops.Reduce("sum", (0,), "highest"), kernel.input(8)))
    refused("reorder_reduce", rfactor, exact, "r")
