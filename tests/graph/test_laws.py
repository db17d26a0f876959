"""Each exact law: what it makes of an equation, and that special values agree bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from graph_builder import Build
from random_graphs import fill

from loopwright.ir import dtypes as dt
from loopwright.ir.graph import ops
from loopwright.ir.graph.checker import check
from loopwright.ir.graph.interpreter import interpret
from loopwright.ir.graph.nodes import ArrayType, Var
from loopwright.ir.graph.passes.algebra import simplify
from loopwright.ir.graph.passes.clean import clean
from loopwright.ir.graph.printer import print_op

F, N, U, B = (np.dtype(n) for n in ("float32", "int32", "uint8", "bool"))
H, BF, D = dt.FLOAT16, dt.BFLOAT16, dt.FLOAT64


def do(name: str) -> ops.Elementwise:
    return ops.Elementwise(name)


def unary(*names: str) -> Callable[[Build, Sequence[Var]], Any]:
    def make(b: Build, x: Sequence[Var]) -> Any:
        value = x[0]
        for name in names:
            value = b.do(name, value)
        return value

    return make


def with_literal(name: str, value: float) -> Callable[[Build, Sequence[Var]], Any]:
    return lambda b, x: b.do(name, x[0], value)


def with_left_literal(name: str, value: float) -> Callable[[Build, Sequence[Var]], Any]:
    return lambda b, x: b.do(name, b.literal(value, x[0].type.dtype), x[0])


def spread(name: str, value: float) -> Callable[[Build, Sequence[Var]], Any]:
    """The literal as a full array."""
    return lambda b, x: b.do(name, x[0], b.full(value, x[0].type))


def chain(*steps: Any) -> Callable[[Build, Sequence[Var]], Any]:
    def make(b: Build, x: Sequence[Var]) -> Any:
        value: Any = x[0]
        for step in steps:
            value = b.op(step, value)
        return value

    return make


# law, dtypes of the operands, program, operations that are left
LAWS: list[tuple[str, tuple[np.dtype, ...], Callable[..., Any], list[str]]] = [
    ("x * 1", (F,), with_literal("mul", 1), []),
    ("x * 1, half", (H,), with_literal("mul", 1), []),
    ("1 * x", (F,), with_left_literal("mul", 1), []),
    ("x * ones", (F,), spread("mul", 1), []),
    ("x * 0 stays", (F,), with_literal("mul", 0), ["mul"]),
    ("x * 0, int", (N,), with_literal("mul", 0), ["broadcast[shape=(4,5), axes=()]"]),
    ("x * -1", (F,), with_literal("mul", -1), ["neg"]),
    ("x * -1, int", (N,), with_literal("mul", -1), ["neg"]),
    ("x * 255, uint8", (U,), with_literal("mul", 255), ["mul"]),
    ("x + 0 stays", (F,), with_literal("add", 0.0), ["add"]),
    ("x + -0", (F,), with_literal("add", -0.0), []),
    ("-0 + x", (D,), with_left_literal("add", -0.0), []),
    ("x + 0, int", (N,), with_literal("add", 0), []),
    ("x - 0", (F,), with_literal("sub", 0.0), []),
    ("x - -0 stays", (F,), with_literal("sub", -0.0), ["sub"]),
    ("x - x stays", (F,), lambda b, x: b.do("sub", x[0], x[0]), ["sub"]),
    ("x - x, int", (N,), lambda b, x: b.do("sub", x[0], x[0]), ["broadcast[shape=(4,5), axes=()]"]),
    ("x / 1", (F,), with_literal("div", 1), []),
    ("x / 4", (F,), with_literal("div", 4), ["mul"]),
    ("x / 3 stays", (F,), with_literal("div", 3), ["div"]),
    ("x / 2**-140 stays", (F,), with_literal("div", 2.0**-140), ["div"]),
    ("x / 4, half", (H,), with_literal("div", 4), ["mul"]),
    ("x / 4, bfloat16", (BF,), with_literal("div", 4), ["mul"]),
    ("x / 0 stays", (F,), with_literal("div", 0), ["div"]),
    ("x // 8", (N,), with_literal("floor_div", 8), ["shift_right"]),
    ("x // 8, uint8", (U,), with_literal("floor_div", 128), ["shift_right"]),
    ("x // 0 stays", (N,), with_literal("floor_div", 0), ["floor_div"]),
    ("x // 8 stays, float", (F,), with_literal("floor_div", 8), ["floor_div"]),
    ("x % 8", (N,), with_literal("mod", 8), ["and"]),
    ("x % 1", (N,), with_literal("mod", 1), ["broadcast[shape=(4,5), axes=()]"]),
    ("fmod(x, 8) stays", (N,), with_literal("fmod", 8), ["fmod"]),
    ("x ** 2", (F,), with_literal("pow", 2), ["square"]),
    ("x ** 2, half", (H,), with_literal("pow", 2), ["square"]),
    ("x ** 2, bfloat16", (BF,), with_literal("pow", 2), ["square"]),
    ("x ** 2, int", (N,), with_literal("pow", 2), ["square"]),
    ("x ** 3, int", (N,), with_literal("pow", 3), ["square", "mul"]),
    ("x ** 4, uint8", (U,), with_literal("pow", 4), ["square", "square"]),
    ("x ** 3 stays", (F,), with_literal("pow", 3), ["pow"]),
    ("x ** 0.5 stays", (F,), with_literal("pow", 0.5), ["pow"]),
    ("x ** 1", (F,), with_literal("pow", 1), []),
    ("x ** 0", (F,), with_literal("pow", 0), ["broadcast[shape=(4,5), axes=()]"]),
    ("neg neg", (F,), unary("neg", "neg"), []),
    ("not not", (B,), unary("not", "not"), []),
    ("abs abs", (F,), unary("abs", "abs"), ["abs"]),
    ("abs neg", (N,), unary("neg", "abs"), ["abs"]),
    ("abs neg, uint8", (U,), unary("neg", "abs"), ["neg"]),
    ("abs, uint8", (U,), unary("abs"), []),
    ("square neg", (F,), unary("neg", "square"), ["square"]),
    ("square abs", (F,), unary("abs", "square"), ["square"]),
    ("sign sign", (F,), unary("sign", "sign"), ["sign"]),
    ("floor round", (F,), unary("round", "floor"), ["round"]),
    ("floor, int", (N,), unary("floor"), []),
    ("isnan, int", (N,), unary("isnan"), ["broadcast[shape=(4,5), axes=()]"]),
    ("isfinite, bool", (B,), unary("isfinite"), ["broadcast[shape=(4,5), axes=()]"]),
    ("x + neg y", (F, F), lambda b, x: b.do("add", x[0], b.do("neg", x[1])), ["sub"]),
    ("neg x + y", (F, F), lambda b, x: b.do("add", b.do("neg", x[0]), x[1]), ["sub"]),
    ("x - neg y", (U, U), lambda b, x: b.do("sub", x[0], b.do("neg", x[1])), ["add"]),
    ("maximum(x, x)", (F,), lambda b, x: b.do("maximum", x[0], x[0]), []),
    ("x == x stays", (F,), lambda b, x: b.do("eq", x[0], x[0]), ["eq"]),
    ("x <= x, int", (N,), lambda b, x: b.do("le", x[0], x[0]), ["broadcast[shape=(4,5), axes=()]"]),
    ("x == True", (B,), with_literal("eq", True), []),
    ("x != True", (B,), with_literal("ne", True), ["not"]),
    ("not (x == y)", (F, F), lambda b, x: b.do("not", b.do("eq", *x)), ["ne"]),
    ("not (x < y) stays", (F, F), lambda b, x: b.do("not", b.do("lt", *x)), ["lt", "not"]),
    ("not (x < y), int", (N, N), lambda b, x: b.do("not", b.do("lt", *x)), ["ge"]),
    ("x & -1", (N,), with_literal("and", -1), []),
    ("x & 0", (N,), with_literal("and", 0), ["broadcast[shape=(4,5), axes=()]"]),
    ("x | True", (B,), with_literal("or", True), ["broadcast[shape=(4,5), axes=()]"]),
    ("x ^ x", (N,), lambda b, x: b.do("xor", x[0], x[0]), ["broadcast[shape=(4,5), axes=()]"]),
    ("x << 0", (N,), with_literal("shift_left", 0), []),
    ("select(True)", (F, F), lambda b, x: b.op(ops.Select(), b.literal(True, B), *x), []),
    ("select(c, a, a)", (B, F), lambda b, x: b.op(ops.Select(), x[0], x[1], x[1]), []),
    (
        "select(not c)",
        (B, F, F),
        lambda b, x: b.op(ops.Select(), b.do("not", x[0]), x[1], x[2]),
        ["select"],
    ),
    (
        "select(c, False, True)",
        (B,),
        lambda b, x: b.op(ops.Select(), x[0], b.literal(False, B), b.literal(True, B)),
        ["not"],
    ),
    ("cast to its type", (F,), chain(ops.Cast(F)), []),
    ("half, single, half", (H,), chain(ops.Cast(F), ops.Cast(H)), []),
    ("single, half, single stays", (F,), chain(ops.Cast(H), ops.Cast(F)), ["cast", "cast"]),
    ("int, double, int8 stays", (N,), chain(ops.Cast(D), ops.Cast(dt.INT8)), ["cast", "cast"]),
    ("int, int64, int8", (N,), chain(ops.Cast(dt.INT64), ops.Cast(dt.INT8)), ["cast"]),
    ("int, int8, int16 stays", (N,), chain(ops.Cast(dt.INT8), ops.Cast(dt.INT16)), ["cast"] * 2),
    ("int, uint32, int", (N,), chain(ops.Cast(dt.UINT32), ops.Cast(N)), []),
    ("int, float, int stays", (N,), chain(ops.Cast(F), ops.Cast(N)), ["cast", "cast"]),
    ("bool, float, int", (B,), chain(ops.Cast(F), ops.Cast(N)), ["cast"]),
    ("bitcasts", (F,), chain(ops.Bitcast(N), ops.Bitcast(F)), []),
    ("reshape of reshape", (F,), chain(ops.Reshape((20,)), ops.Reshape((2, 10))), ["reshape"]),
    ("reshape back", (F,), chain(ops.Reshape((20,)), ops.Reshape((4, 5))), []),
    ("transpose twice", (F,), chain(ops.Transpose((1, 0)), ops.Transpose((1, 0))), []),
    ("broadcast to its shape", (F,), chain(ops.Broadcast((4, 5), (0, 1))), []),
    (
        "broadcast of broadcast",
        (F,),
        chain(ops.Broadcast((4, 1, 5), (0, 2)), ops.Broadcast((2, 4, 3, 5), (1, 2, 3))),
        ["broadcast"],
    ),
    ("whole slice", (F,), chain(ops.Slice((0, 0), (4, 5), (1, 1))), []),
    ("reversed stays", (F,), chain(ops.Slice((3, 0), (4, 5), (-1, 1))), ["slice"]),
    (
        "slice of slice",
        (F,),
        chain(ops.Slice((3, 1), (4, 3), (-1, 1)), ops.Slice((2, 2), (2, 2), (-2, -2))),
        ["slice"],
    ),
    ("no padding", (F,), lambda b, x: b.op(ops.Pad((0, 0), (0, 0), (0, 0)), x[0], 0.0), []),
    ("concatenate one", (F,), chain(ops.Concatenate(0)), []),
    ("sum over nothing", (F,), chain(ops.Reduce("sum", ())), ["add"]),
    ("sum over nothing, int", (N,), chain(ops.Reduce("sum", ())), []),
    ("product over nothing", (F,), chain(ops.Reduce("prod", ())), []),
    (
        "sum of one",
        (F,),
        chain(ops.Reshape((4, 1, 5)), ops.Reduce("sum", (1,))),
        ["add"],
    ),
    ("sort of one", (F,), chain(ops.Reshape((20, 1)), ops.Sort(1, True)), ["broadcast"]),
]  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law[0])
def test_law(law):
    _, dtypes, program, left = law
    b = Build()
    inputs = [b.input((4, 5), d) for d in dtypes]
    graph = b.graph(program(b, inputs))
    short = clean(simplify(graph))
    check(short)
    found = [print_op(e.op) for e in short.equations]
    assert len(found) == len(left), found
    for text, want in zip(found, left, strict=True):
        assert (text if "[" in want else text.split("[")[0]) == want
    rng = np.random.default_rng(0)
    for _ in range(20):
        arrays = [fill(rng, ArrayType((4, 5), d)) for d in dtypes]
        (before,), (after,) = interpret(graph, arrays), interpret(short, arrays)
        assert before.dtype == after.dtype
        if before.dtype == BF:  # of which NumPy's tests do not know the NaN
            before, after = before.astype(F), after.astype(F)
        np.testing.assert_array_equal(before, after)
        if before.dtype.kind == "f":
            nan = np.isnan(before)
            np.testing.assert_array_equal(np.signbit(before) | nan, np.signbit(after) | nan)


def slice_after_updates(start: int) -> list[str]:
    b = Build()
    x, u, v = b.input((8, 3), F), b.input((2, 3), F), b.input((2, 3), F)
    first = b.op(ops.UpdateSlice((0, 0), (1, 1)), x, u)
    second = b.op(ops.UpdateSlice((4, 0), (1, 1)), first, v)
    read = b.op(ops.Slice((start, 0), (2, 3), (1, 1)), second)
    return [print_op(e.op).split("[")[0] for e in clean(simplify(b.graph(read))).equations]


def test_slice_of_what_was_written_is_what_was_written():
    assert slice_after_updates(4) == []
    assert slice_after_updates(0) == []


def test_slice_of_an_older_part_keeps_the_newest_array():
    # reading the older array would keep it alive beside the newer, and nothing were in place
    assert slice_after_updates(2) == ["update_slice", "update_slice", "slice"]
    assert slice_after_updates(3) == ["update_slice", "update_slice", "slice"]


def test_overwritten_update_goes_only_if_nobody_reads_it():
    b = Build()
    x, u, v = b.input((8,), F), b.input((2,), F), b.input((2,), F)
    place = ops.UpdateSlice((3,), (1,))
    first = b.op(place, x, u)
    second = b.op(place, first, v)
    assert len(clean(simplify(b.graph(second))).equations) == 1
    assert len(clean(simplify(b.graph(second, first))).equations) == 2


def test_a_slice_inside_one_part_reads_only_that_part():
    b = Build()
    x, y = b.input((3,), F), b.input((4,), F)
    joined = b.op(ops.Concatenate(0), x, y)
    read = b.op(ops.Slice((6,), (3,), (-1,)), joined)
    graph = b.graph(read)
    short = clean(simplify(graph))
    assert [type(e.op) for e in short.equations] == [ops.Slice]
    arrays = [np.arange(3, dtype="f4"), np.arange(4, dtype="f4")]
    np.testing.assert_array_equal(interpret(short, arrays)[0], interpret(graph, arrays)[0])


def test_empty_results_are_not_computed():
    b = Build()
    x = b.input((0, 5), F)
    short = clean(simplify(b.graph(b.do("exp", b.do("neg", x)))))
    assert [type(e.op) for e in short.equations] == [ops.Broadcast]


def test_scalars_are_computed_once_and_spread_last():
    b = Build()
    s = b.input((), F)
    wide = b.op(ops.Broadcast((4, 5), ()), s)
    short = clean(simplify(b.graph(b.do("exp", b.do("neg", wide)))))
    assert [e.outputs[0].type.shape for e in short.equations] == [(), (), (4, 5)]
