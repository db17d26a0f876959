"""Inlining, cleaning, folding, batch norm and the pipeline, one law each."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from graph_builder import Build

from loopwright.ir.errors import BoundsError, InternalError
from loopwright.ir.graph import ops
from loopwright.ir.graph.checker import check
from loopwright.ir.graph.constants import ConstantStore
from loopwright.ir.graph.interpreter import interpret
from loopwright.ir.graph.nodes import Constant, Equation, Graph, Literal, Var
from loopwright.ir.graph.passes import fold as fold_module
from loopwright.ir.graph.passes.batchnorm import fold_affine
from loopwright.ir.graph.passes.clean import clean, drop_dead, share
from loopwright.ir.graph.passes.fold import fold
from loopwright.ir.graph.passes.inline import inline
from loopwright.ir.graph.passes.pipeline import optimise
from loopwright.ir.visits import counting

F = np.dtype("float32")


def kinds(graph: Graph) -> list[type]:
    return [type(e.op) for e in graph.equations]


# --- inline ---------------------------------------------------------------------------------------


def doubling() -> Graph:
    b = Build()
    x = b.input((3,))
    return b.graph(b.do("add", b.do("mul", x, b.constant(np.float32([1, 2, 3]))), x))


def call(b: Build, graph: Graph, *operands: Var) -> list[Var]:
    outputs = tuple(Var(a.type) for a in graph.outputs)
    b.equations.append(Equation(ops.Call(graph, "inner"), operands, outputs))
    return list(outputs)


def test_inlined_calls_have_fresh_variables_and_share_constants():
    inner = doubling()
    b = Build()
    x = b.input((3,))
    (y,) = call(b, inner, x)
    (z,) = call(b, inner, y)
    graph = b.graph(z, y)
    check(graph)
    flat = inline(graph)
    check(flat)
    assert len(flat.equations) == 4
    assert len(flat.constants) == 1
    arrays = [np.float32([1, -2, 0.5])]
    for found, expected in zip(interpret(flat, arrays), interpret(graph, arrays), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_calls_in_calls_and_results_that_are_arguments():
    inner = doubling()
    b = Build()
    x, y = b.input((3,)), b.input((3,))
    (first,) = call(b, inner, y)
    middle = b.graph(first, x, Literal(np.float32(7)))
    b = Build()
    p = b.input((3,))
    results = call(b, middle, p, p)
    flat = inline(b.graph(*results))
    check(flat)
    assert flat.outputs[1] is p
    assert isinstance(flat.outputs[2], Literal)
    np.testing.assert_array_equal(interpret(flat, [np.ones(3, F)])[0], [2, 3, 4])


def test_deeply_nested_calls_do_not_recurse():
    graph = doubling()
    for _ in range(3000):
        b = Build()
        x = b.input((3,))
        graph = b.graph(*call(b, graph, x))
    assert len(inline(graph).equations) == 2


# --- clean ----------------------------------------------------------------------------------------


def test_equal_equations_become_one():
    b = Build()
    x, y = b.input((3,)), b.input((3,))
    graph = b.graph(b.do("add", b.do("mul", x, y), b.do("mul", y, x)))
    assert len(clean(graph).equations) == 2
    graph = b.graph(b.do("sub", b.do("sub", x, y), b.do("sub", y, x)))
    assert len(share(drop_dead(graph)).equations) == 3


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (np.float32(0.0), np.float32(-0.0), False),
        (np.float32(np.nan), np.float32(np.nan), True),
        (np.float32(1), np.float64(1), False),
        (np.int8(1), np.bool_(True), False),
    ],
)
def test_literals_are_equal_by_bits_and_dtype(left, right, equal):
    b = Build()
    outputs = [
        b.op(ops.Broadcast((2,), ()), Literal(left)), b.op(ops.Broadcast((2,), ()), Literal(right)),
    ]  # fmt: skip
    assert len(clean(b.graph(*outputs)).equations) == (1 if equal else 2)


def test_constants_of_one_array_become_one():
    b = Build()
    x = b.input((3,))
    first = b.constant(np.float32([1, 2, 3]))
    array = b.constants[0].array
    second = Var(first.type)
    b.constants.append(Constant(second, array))
    short = clean(b.graph(b.do("add", b.do("mul", x, first), b.do("mul", x, second))))
    assert len(short.constants) == 1
    assert len(short.equations) == 2


def test_equal_contents_become_one_array_through_the_store():
    store = ConstantStore()
    graphs = [doubling() for _ in range(4)]
    found = [optimise(g, store=store).constants[0].array for g in graphs]
    assert all(a is found[0] for a in found)


def test_dead_equations_and_constants_go():
    b = Build()
    x = b.input((3,))
    b.do("exp", b.do("add", x, b.constant(np.ones(3, F))))
    graph = clean(b.graph(b.do("neg", x)))
    assert len(graph.equations) == 1
    assert not graph.constants
    assert clean(graph) is graph


# --- fold -----------------------------------------------------------------------------------------


def test_equations_on_constants_become_constants():
    b = Build()
    x = b.input((3, 2))
    w = b.constant(np.arange(6, dtype=F).reshape(2, 3))
    turned = b.op(ops.Transpose((1, 0)), w)
    total = b.op(ops.Reduce("sum", (0, 1)), w)
    graph = b.graph(b.do("mul", b.do("add", x, turned), total))
    short = clean(fold(graph, ConstantStore()))
    check(short)
    assert kinds(short) == [ops.Elementwise, ops.Elementwise]
    assert isinstance(short.equations[1].inputs[1], Literal)
    assert short.constants[0].array.flags.c_contiguous
    arrays = [np.ones((3, 2), F)]
    np.testing.assert_array_equal(interpret(short, arrays)[0], interpret(graph, arrays)[0])


def test_folding_happens_once_for_all_graphs_of_a_store(monkeypatch):
    runs = []
    evaluate = fold_module.evaluate
    monkeypatch.setattr(fold_module, "evaluate", lambda e, x: runs.append(e.op) or evaluate(e, x))
    store = ConstantStore()
    kept = []
    for _ in range(3):
        b = Build()
        w = b.constant(np.arange(6, dtype=F).reshape(2, 3))
        kept.append(optimise(b.graph(b.op(ops.Transpose((1, 0)), w)), store=store))
    assert runs == [ops.Transpose((1, 0))]
    assert len({id(g.constants[0].array) for g in kept}) == 1


def test_a_store_keeps_nothing_alive():
    store = ConstantStore()
    b = Build()
    w = b.constant(np.arange(6, dtype=F).reshape(2, 3))
    graph = optimise(b.graph(b.op(ops.Transpose((1, 0)), w)), store=store)
    assert len(store) == 2
    del graph, b, w
    gc.collect()
    assert len(store) == 0


def test_constants_do_not_grow():
    b = Build()
    row = b.constant(np.arange(200, dtype=F))
    wide = b.op(ops.Broadcast((200, 200), (1,)), row)
    tall = b.op(ops.Broadcast((200, 200), (0,)), row)
    graph = b.graph(b.do("add", wide, tall))
    assert kinds(fold(graph, ConstantStore())) == [ops.Broadcast, ops.Broadcast, ops.Elementwise]


def test_ranges_alone_stay_ranges():
    b = Build()
    line = b.op(ops.Iota((10,), np.dtype(np.int64), 0))
    graph = b.graph(line, b.do("square", line))
    short = clean(fold(graph, ConstantStore()))
    assert kinds(short) == [ops.Iota]
    np.testing.assert_array_equal(short.constants[0].array, np.arange(10) ** 2)


def test_an_index_outside_fails_when_the_function_runs():
    b = Build()
    w, at = b.constant(np.arange(3, dtype=F)), b.constant(np.int64([5]))
    graph = optimise(b.graph(b.op(ops.Gather((0,), "raise"), w, at)))
    assert kinds(graph) == [ops.Gather]
    with pytest.raises(BoundsError, match="index 5 is out of bounds for axis 0 of extent 3"):
        interpret(graph, [])


@pytest.mark.parametrize(("count", "folded"), [(4, True), (40, False)])
def test_a_constant_read_in_many_slices_stays_whole(count, folded):
    b = Build()
    value = b.input(())
    table = b.op(ops.Reshape((count, 1)), b.constant(np.arange(2, count + 2, dtype=F)))
    for k in range(count):
        piece = b.op(ops.Slice((k, 0), (1, 1), (1, 1)), table)
        value = b.do("mul", value, b.op(ops.Reshape(()), piece))
    short = optimise(b.graph(value))
    assert len(short.constants) == (0 if folded else 1)
    assert len(short.equations) == (count if folded else 3 * count)


def test_known_indices_are_checked_once():
    b = Build()
    x = b.input((3, 5))
    rows = b.constant(np.int8([[0, -1], [2, 1]]))
    graph = b.graph(b.op(ops.Gather((0,), "raise"), x, rows))
    short = optimise(graph)
    assert [e.op for e in short.equations] == [ops.Gather((0,), "clip")]
    array = np.arange(15, dtype=F).reshape(3, 5)
    np.testing.assert_array_equal(interpret(short, [array])[0], array[[[0, -1], [2, 1]]])


# --- batch norm -----------------------------------------------------------------------------------


def normalised(b: Build, product: Var, axis: int, channels: int, order: str = "bn") -> Var:
    rng = np.random.default_rng(1)
    mean, scale, shift = (rng.standard_normal(channels).astype(F) for _ in range(3))
    deviation = (rng.random(channels) + 0.5).astype(F)
    spread = ops.Broadcast(product.type.shape, (axis,))

    def wide(values: np.ndarray) -> Var:
        return b.op(spread, b.constant(values))

    y = b.do("sub", product, wide(mean))
    y = b.do("div", y, wide(deviation))
    y = b.do("mul", wide(scale), y)
    return b.do("add", y, wide(shift))


def conv_net(groups: int, precision: str) -> Graph:
    b = Build()
    rng = np.random.default_rng(0)
    x = b.input((2, 4, 6, 6))
    w = b.constant(rng.standard_normal((8, 4 // groups, 3, 3)).astype(F))
    op = ops.Conv((1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), groups, F, precision)
    return b.graph(b.do("maximum", normalised(b, b.op(op, x, w), 1, 8), 0.0))


def blocked_net(depthwise: bool) -> Graph:
    b = Build()
    rng = np.random.default_rng(0)
    x = b.input((2, 2, 5, 5, 4))
    shape = (2, 3, 3, 4) if depthwise else (3, 2, 3, 3, 4, 8)
    w = b.constant(rng.standard_normal(shape).astype(F))
    product = b.op(ops.ConvBlocked((1, 1), ((1, 1), (1, 1)), (1, 1), depthwise, F), x, w)
    out = product.type.shape
    spread = ops.Broadcast(out, (1, 4))
    scale = b.constant(rng.standard_normal((out[1], out[4])).astype(F))
    shift = b.op(ops.Broadcast(out, (0, 1, 2, 3, 4)),
                 b.constant(rng.standard_normal((1, out[1], 1, 1, out[4])).astype(F)))  # fmt: skip
    return b.graph(b.do("sub", shift, b.do("mul", product, b.op(spread, scale))))


def dot_net(side: int) -> Graph:
    b = Build()
    rng = np.random.default_rng(0)
    x = b.input((2, 5, 3))
    w = b.constant(rng.standard_normal((2, 3, 7)).astype(F))
    if side:
        product = b.op(ops.DotGeneral(((2,), (1,)), ((0,), (0,)), F), x, w)
        axis, channels = 2, 7
    else:
        product = b.op(ops.DotGeneral(((1,), (2,)), ((0,), (0,)), F), w, x)
        axis, channels = 1, 7
    return b.graph(normalised(b, product, axis, channels))


@pytest.mark.parametrize(
    "graph",
    [
        conv_net(1, "default"), conv_net(2, "default"), blocked_net(True), blocked_net(False),
        dot_net(0), dot_net(1),
    ],
)  # fmt: skip
def test_scale_and_shift_go_into_the_weights(graph):
    short = optimise(graph)
    check(short)
    products = (ops.Conv, ops.ConvBlocked, ops.DotGeneral)
    assert sum(isinstance(e.op, products) for e in short.equations) == 1
    names = [e.op.name for e in short.equations if isinstance(e.op, ops.Elementwise)]
    assert sorted({*names}) in (["add"], ["add", "maximum"])
    assert names.count("add") == 1
    rng = np.random.default_rng(2)
    arrays = [rng.standard_normal(v.type.shape).astype(F) for v in graph.inputs]
    (found,), (expected,) = interpret(short, arrays), interpret(graph, arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_precision_highest_is_left_alone():
    graph = conv_net(1, "highest")
    assert fold_affine(graph, ConstantStore()) is graph
    graph = conv_net(1, "default")
    names = [e.op.name for e in optimise(graph, precision="highest").equations
             if isinstance(e.op, ops.Elementwise)]  # fmt: skip
    assert names == ["sub", "div", "mul", "add", "maximum"]


def product(b: Build) -> Var:
    w = b.constant(np.ones((3, 4), F))
    return b.op(ops.DotGeneral(((1,), (0,)), ((), ()), F), b.input((5, 3)), w)


def folds(b: Build, *outputs: Var) -> bool:
    graph = b.graph(*outputs)
    return fold_affine(graph, ConstantStore()) is not graph


def test_what_keeps_a_scale_outside():
    b = Build()
    y = product(b)
    row = b.op(ops.Broadcast((5, 4), (1,)), b.constant(np.full(4, 2, F)))
    assert folds(b, b.do("mul", y, row))
    assert not folds(b, b.do("mul", y, row), y), "someone reads the product itself"
    b = Build()
    y = product(b)
    column = b.op(ops.Broadcast((5, 4), (0,)), b.constant(np.full(5, 2, F)))
    assert not folds(b, b.do("mul", y, column)), "not along channels"
    b = Build()
    y = product(b)
    row = b.op(ops.Broadcast((5, 4), (1,)), b.constant(np.full(4, np.inf, F)))
    assert not folds(b, b.do("mul", y, row)), "not finite"
    b = Build()
    y = product(b)
    assert not folds(b, b.do("mul", y, y)), "not a constant"
    b = Build()
    y = product(b)
    row = b.op(ops.Broadcast((5, 4), (1,)), b.constant(np.full(4, 2, F)))
    assert not folds(b, b.do("add", y, row)), "a bias alone has no scale"
    b = Build()
    y = product(b)
    assert not folds(b, b.do("div", b.op(ops.Broadcast((5, 4), (1,)),
                                         b.constant(np.full(4, 2, F))), y))  # fmt: skip


# --- tables ---------------------------------------------------------------------------------------


def rows(turns: int, vary: bool = True) -> Graph:
    b = Build()
    x = b.input((turns + 1, 4))
    for k in range(turns):
        row = b.op(ops.Slice((k, 0), (1, 4), (1, 1)), x)
        new = b.do("add", b.do("mul", row, 0.5), 0.1 * k if vary else 0.1)
        x = b.op(ops.UpdateSlice((k + 1, 0), (1, 1)), x, new)
    return b.graph(x)


def test_numbers_of_an_unrolled_loop_become_a_table():
    graph = rows(50)
    short = optimise(graph)
    assert [c.array.shape for c in short.constants] == [(50,)]
    arithmetic = {
        (e.op, *(a.value if isinstance(a, Literal) else None for a in e.inputs))
        for e in short.equations
        if isinstance(e.op, ops.Elementwise)
    }
    assert len(arithmetic) == 2, "all turns are alike"
    arrays = [np.random.default_rng(0).standard_normal((51, 4)).astype(F)]
    np.testing.assert_array_equal(interpret(short, arrays)[0], interpret(graph, arrays)[0])
    assert optimise(short) is short


def test_equal_numbers_and_short_loops_stay_literals():
    assert not optimise(rows(50, vary=False)).constants
    assert not optimise(rows(20)).constants


def test_a_chain_without_updates_keeps_its_literals():
    b = Build()
    value = b.input((4,))
    for k in range(100):
        value = b.do("add", value, 0.1 * (k + 1))
    assert not optimise(b.graph(value)).constants


# --- pipeline -------------------------------------------------------------------------------------


def test_the_pipeline_names_a_broken_graph():
    b = Build()
    x = b.input((3,))
    y = b.do("neg", x)
    broken = Graph((x,), (), (), (y,))
    with pytest.raises(InternalError, match="used before it is defined"):
        optimise(broken)


def chain(length: int) -> Graph:
    b = Build()
    x = b.input((8,))
    value = x
    names = ("add", "mul", "tanh", "maximum", "exp")
    for k in range(length):
        name = names[k % len(names)]
        value = b.do(name, value, x) if name in ops.BINARY else b.do(name, value)
    return b.graph(value)


def test_visits_grow_with_the_program_and_no_faster():
    per_equation = {}
    for length in (5_000, 50_000):
        graph = chain(length)
        with counting() as counts:
            short = optimise(graph)
        assert len(short.equations) == length
        per_equation[length] = sum(counts.values()) / length
    assert per_equation[50_000] <= 1.1 * per_equation[5_000]
    assert per_equation[50_000] <= 20


def test_sixty_doublings_are_sixty_equations():
    b = Build()
    x = value = b.input(())
    for _ in range(60):
        value = b.do("add", value, value)
    graph = optimise(b.graph(value))
    assert len(graph.equations) == 60
    assert interpret(graph, [np.float32(1)])[0] == 2.0**60
    assert x is graph.inputs[0]


def test_long_chains_of_one_law_collapse_without_recursion():
    b = Build()
    value = b.input((2, 3))
    for _ in range(20_001):
        value = b.op(ops.Transpose((1, 0)), value)
    for k in range(20_000):
        value = b.op(ops.Reshape((6,) if k % 2 else (3, 2)), value)
    for _ in range(20_000):
        value = b.do("neg", value)
    short = optimise(b.graph(value))
    assert [type(e.op) for e in short.equations] == [ops.Transpose, ops.Reshape]


def test_long_chains_on_constants_fold_without_recursion():
    b = Build()
    value = b.constant(np.float32([1, 2]))
    for _ in range(5_000):
        value = b.op(ops.Broadcast((2,), (0,)), b.do("neg", value))
    short = optimise(b.graph(value))
    assert not short.equations
    np.testing.assert_array_equal(short.constants[0].array, [1, 2])
