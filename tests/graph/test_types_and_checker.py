"""Refusals of the type rules, and faults that the checker names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graph_builder import Build

from loopwright.ir import dtypes as dt
from loopwright.ir.errors import ArgumentError, DTypeError, InternalError, ShapeError
from loopwright.ir.graph import ops
from loopwright.ir.graph.checker import check, check_groups
from loopwright.ir.graph.interpreter import interpret
from loopwright.ir.graph.nodes import (
    ArrayType,
    Constant,
    Equation,
    Graph,
    Group,
    GroupedGraph,
    Literal,
    Var,
)
from loopwright.ir.graph.types import RULES, result_types
from loopwright.ir.source import Source

F, N, B = dt.FLOAT32, dt.INT32, dt.BOOL
HERE = Source("model.py", 7, "model")


def t(shape: tuple[int, ...], dtype: np.dtype = F) -> ArrayType:
    return ArrayType(shape, dtype)


def conv(**changes) -> ops.Conv:
    plain = ops.Conv((1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1), 1, F)
    return replace(plain, **changes)


REFUSALS = [
    (ops.Elementwise("add"), [t((2, 3)), t((4,))], ShapeError, r"\(2, 3\) and float32 \(4,\)"),
    (ops.Elementwise("add"), [t((2,)), t((2,), N)], DTypeError, "element types differ"),
    (ops.Elementwise("add"), [t((2,), B), t((2,), B)], DTypeError, "not defined for bool"),
    (ops.Elementwise("exp"), [t((2,), N)], DTypeError, "not defined for int32"),
    (ops.Elementwise("and"), [t((2,)), t((2,))], DTypeError, "not defined for float32"),
    (ops.Elementwise("add"), [t((2,))], InternalError, "takes 2 operands"),
    (ops.Elementwise("ad"), [t((2,))], InternalError, "no elementwise operation 'ad'"),
    (ops.Select(), [t((2,)), t((2,)), t((2,))], DTypeError, "condition"),
    (ops.Cast(np.dtype(complex)), [t((2,))], DTypeError, "complex128 are not supported"),
    (ops.Bitcast(dt.INT64), [t((2,))], DTypeError, "bits of float32 cannot be read as int64"),
    (ops.Bitcast(B), [t((2,), dt.INT8)], DTypeError, "cannot be read as bool"),
    (ops.Iota((3,), F, 1), [], ShapeError, "axis 1 is out of bounds"),
    (ops.Iota((-3,), F, 0), [], ShapeError, "at least 0"),
    (ops.Broadcast((4, 5), (1,)), [t((4,))], ShapeError, "cannot be broadcast"),
    (ops.Broadcast((4, 5), (1, 0)), [t((5, 4))], ShapeError, "increase"),
    (ops.Reshape((7,)), [t((2, 3))], ShapeError, "cannot reshape an array of 6 elements"),
    (ops.Transpose((0, 0)), [t((2, 3))], ShapeError, "twice"),
    (ops.Slice((0,), (4,), (1,)), [t((3,))], ShapeError, "not all inside extent 3"),
    (ops.Slice((0,), (2,), (-1,)), [t((3,))], ShapeError, "not all inside"),
    (ops.Slice((0,), (2,), (0,)), [t((3,))], ShapeError, "step cannot be zero"),
    (ops.UpdateSlice((2,), (1,)), [t((3,)), t((2,))], ShapeError, "not all inside"),
    (ops.UpdateSlice((0,), (1,)), [t((3,)), t((2,), N)], DTypeError, "differ"),
    (ops.Pad((-1,), (0,), (0,)), [t((3,)), t(())], ShapeError, "at least 0"),
    (ops.Pad((1,), (0,), (0,)), [t((3,)), t((1,))], ShapeError, "scalar"),
    (ops.Concatenate(0), [], ShapeError, "at least one array"),
    (ops.Concatenate(0), [t((3, 1)), t((3, 2))], ShapeError, "do not fit"),
    (ops.Concatenate(0), [t((3,)), t((3, 2))], ShapeError, "do not fit"),
    (ops.Gather((0,), "raise"), [t((3,)), t((2,))], DTypeError, "an index is not defined for"),
    (ops.Gather((0,), "clip"), [t((0,)), t((2,), N)], ShapeError, "nothing to index"),
    (ops.Gather((0, 1), "raise"), [t((3, 3)), t((2,), N), t((3,), N)], ShapeError, "differ"),
    (ops.Gather((0,), "fill"), [t((3,)), t((2,), N)], InternalError, "takes 3 operands"),
    (ops.Scatter((0,), "raise", None), [t((3,)), t((2,), N), t((3,))], ShapeError, "updates"),
    (ops.Scatter((0,), "raise", "sum"), [t((3,), B), t((2,), N), t((2,), B)], DTypeError, "sum"),
    (ops.Reduce("sum", (1,)), [t((3,))], ShapeError, "axis 1 is out of bounds"),
    (ops.Reduce("max", (0,)), [t((0, 2))], ShapeError, "empty axis"),
    (ops.Reduce("sum", (0,)), [t((3,), B)], DTypeError, "not defined for bool"),
    (ops.Reduce("and", (0,)), [t((3,))], DTypeError, "not defined for float32"),
    (ops.ArgReduce("min", 0), [t((0,))], ShapeError, "argmin of an empty axis"),
    (ops.Cumulative("sum", 0), [t((3,), B)], DTypeError, "not defined for bool"),
    (ops.Sort(1), [t((3,))], ShapeError, "out of bounds"),
    (
        ops.DotGeneral(((1,), (0,)), ((), ()), F),
        [t((2, 3)), t((4, 5))],
        ShapeError,
        r"extent 3 \(axis 1 of the first\) meets 4 \(axis 0 of the second\)",
    ),
    (ops.DotGeneral(((1,), (0,)), ((), ()), B), [t((2, 3)), t((3, 5))], DTypeError, "bool"),
    (conv(), [t((1, 3, 8, 8)), t((4, 2, 3, 3))], ShapeError, "3 channels in 1 groups"),
    (conv(groups=2), [t((1, 4, 8, 8)), t((3, 2, 3, 3))], ShapeError, "in 2 groups"),
    (conv(strides=(0, 1)), [t((1, 3, 8, 8)), t((4, 3, 3, 3))], ShapeError, "strides"),
    (conv(), [t((1, 3, 8)), t((4, 3, 3, 3))], ShapeError, "of one rank"),
    (ops.Pool("max", (2,), (1,), ((0, 0),), (1,)), [t((4, 4))], ShapeError, "1 entries for 2"),
    (ops.Broadcast((2**40, 2**40), ()), [t(())], ShapeError, "larger than any memory"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS, ids=lambda c: f"{type(c[0]).__name__}: {c[3]}")
def test_refusal_names_what_and_where(case):
    op, types, error, message = case
    with pytest.raises(error, match=message) as caught:
        result_types(op, tuple(types), HERE)
    assert caught.value.where is HERE
    assert 'at "model.py", line 7, in model' in str(caught.value)


def test_every_operation_has_a_rule():
    named = {v for v in vars(ops).values() if isinstance(v, type) and v.__module__ == ops.__name__}
    assert named - {ops.Call} == set(RULES)


@pytest.mark.parametrize(
    ("op", "types", "shape", "dtype"),
    [
        (ops.Elementwise("lt"), [t((2, 3)), t(())], (2, 3), B),
        (ops.Elementwise("isnan"), [t((2,))], (2,), B),
        (ops.Slice((2,), (3,), (-1,)), [t((3,))], (3,), F),
        (ops.Slice((3,), (0,), (1,)), [t((3,))], (0,), F),
        (ops.Pad((1,), (2,), (3,)), [t((2,)), t(())], (8,), F),
        (ops.Pad((1,), (2,), (3,)), [t((0,)), t(())], (3,), F),
        (ops.Gather((1,), "raise"), [t((3, 4, 5)), t((2, 2), N)], (2, 2, 3, 5), F),
        (ops.Reduce("sum", (2, 0)), [t((3, 4, 5))], (4,), F),
        (ops.DotGeneral(((2,), (0,)), ((0,), (2,)), F), [t((7, 2, 3)), t((3, 5, 7))], (7, 2, 5), F),
        (conv(groups=2, strides=(2, 1)), [t((1, 4, 9, 8)), t((6, 2, 3, 3))], (1, 6, 4, 6), F),
        (conv(), [t((1, 3, 2, 8)), t((4, 3, 3, 3))], (1, 4, 0, 6), F),
        (conv(input_dilation=(2, 2)), [t((1, 3, 4, 4)), t((4, 3, 3, 3))], (1, 4, 5, 5), F),
        (ops.ArgReduce("max", 1), [t((3, 4))], (3,), dt.INT64),
        (ops.Sort(0, True), [t((3, 4))], (3, 4), dt.INT64),
    ],
)  # fmt: skip
def test_result_type(op, types, shape, dtype):
    assert result_types(op, tuple(types)) == (ArrayType(shape, dtype),)


# --- checker --------------------------------------------------------------------------------------


def small() -> tuple[Build, Var, Var]:
    b = Build()
    x = b.input((3,))
    return b, x, b.do("neg", x)


def test_a_sound_graph_passes():
    b, x, y = small()
    check(b.graph(b.do("add", y, x), Literal(np.float32(1)), x))


def faults() -> dict[str, Graph]:
    found: dict[str, Graph] = {}
    b, x, y = small()
    neg = b.equations[0]
    found["used before it is defined"] = Graph((x,), (), (), (y,))
    found["defined twice"] = Graph((x,), (), (neg, neg), (y,))
    found["defined already"] = Graph((x, x), (), (neg,), (y,))
    wrong = Var(ArrayType((4,), F))
    bad = Equation(neg.op, (x,), (wrong,))
    found[r"bound as float32\[4\], but the operation gives float32\[3\]"] = Graph(
        (x,), (), (bad,), (wrong,)
    )
    late = Equation(ops.Elementwise("exp"), (y,), (Var(x.type),))
    found["> b: float32.* = exp a"] = Graph((x,), (), (late, neg), (y,))
    found["not a NumPy scalar"] = Graph((x,), (), (), (Literal(1.0),))  # type: ignore[arg-type]
    mixed = Equation(ops.Elementwise("add"), (x, Literal(np.float64(1))), (Var(x.type),))
    found["element types differ"] = Graph((x,), (), (mixed,), mixed.outputs)
    unhashable = Equation(ops.Reshape([3]), (x,), (Var(x.type),))  # type: ignore[arg-type]
    found["not sound"] = Graph((x,), (), (unhashable,), unhashable.outputs)
    array = np.ones(3, F)
    found["read-only"] = Graph((x,), (Constant(y, array),), (), (y,))
    found["holds an array of dtype float32"] = Graph((x,), (Constant(wrong, array),), (), (x,))
    return found


@pytest.mark.parametrize("message", faults())
def test_fault_is_named_and_quoted(message):
    with pytest.raises(InternalError, match=message):
        check(faults()[message])


def test_the_quote_shows_neighbours_and_the_users_line():
    b = Build()
    x = value = b.input((3,))
    for _ in range(40):
        value = b.op(ops.Elementwise("exp"), value, source=HERE)
    b.equations[20] = replace(b.equations[20], outputs=(Var(ArrayType((9,), F)),))
    with pytest.raises(InternalError) as caught:
        check(b.graph(x))
    text = str(caught.value)
    assert text.count(" = exp ") == 11
    assert text.count("> ") == 1
    assert "line 7, in model" in text


# --- groups ---------------------------------------------------------------------------------------


def grouped(*groups: Group, outputs: tuple[Var, ...], inputs: tuple[Var, ...]) -> GroupedGraph:
    return GroupedGraph(inputs, (), groups, outputs)


def test_sound_groups_pass_and_broken_ones_are_named():
    b, x, y = small()
    z = b.do("exp", y)
    neg, exp = b.equations
    first, second = Group("first", (x,), (neg,), (y,)), Group("second", (y,), (exp,), (z,))
    check_groups(grouped(first, second, outputs=(z,), inputs=(x,)))
    repeated = Group("both", (x,), (neg, exp), (z,))
    check_groups(grouped(first, repeated, outputs=(y, z), inputs=(x,)))
    with pytest.raises(InternalError, match=r"in group second: .* before it is defined"):
        check_groups(grouped(second, first, outputs=(z,), inputs=(x,)))
    with pytest.raises(InternalError, match=r"in group first: an output .* defined already"):
        check_groups(grouped(first, first, outputs=(y,), inputs=(x,)))
    with pytest.raises(InternalError, match="in group bare: "):
        check_groups(grouped(Group("bare", (), (neg,), (y,)), outputs=(y,), inputs=(x,)))
    with pytest.raises(InternalError, match="in group empty: "):
        check_groups(grouped(Group("empty", (x,), (), (y,)), outputs=(y,), inputs=(x,)))


def test_donated_inputs_have_the_type_of_their_output():
    b = Build()
    x, y = b.input((3,)), b.input((4,))
    z = b.do("neg", x)
    good = Group("good", (x, y), tuple(b.equations), (z,), ((0, 0),))
    check_groups(grouped(good, outputs=(z,), inputs=(x, y)))
    bad = replace(good, name="bad", donated=((1, 0),))
    with pytest.raises(InternalError, match="in group bad: donated input 1"):
        check_groups(grouped(bad, outputs=(z,), inputs=(x, y)))


# --- arguments of the interpreter -----------------------------------------------------------------


def test_wrong_arguments_are_refused():
    b, _, y = small()
    graph = b.graph(y)
    with pytest.raises(ArgumentError, match="takes 1 arrays, not 0"):
        interpret(graph, [])
    with pytest.raises(ArgumentError, match=r"argument 0 is float64 \(3,\)"):
        interpret(graph, [np.ones(3)])
    with pytest.raises(ArgumentError, match="argument 0 is float32"):
        interpret(graph, [np.ones((3, 1), F)])


def test_results_share_no_memory():
    b = Build()
    x = b.input((3, 4))
    turned = b.op(ops.Transpose((1, 0)), x)
    c = b.constant(np.ones(3, F))
    part = b.op(ops.Slice((1,), (2,), (1,)), c)
    graph = b.graph(x, x, turned, turned, c, part, part)
    array = np.arange(12, dtype=F).reshape(3, 4)
    results = interpret(graph, [array])
    every = [array, b.constants[0].array, *results]
    for k, one in enumerate(every):
        for other in every[k + 1 :]:
            assert not np.may_share_memory(one, other)
    results[0][:] = 7
    assert array[0, 1] == 1
