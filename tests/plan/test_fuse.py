"""Which equations share a kernel, and which do not."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.ir.graph import ops
from loopwright.ir.graph.nodes import Graph, Group, GroupedGraph, Literal
from loopwright.ir.graph.passes.fuse import group
from loopwright.ir.graph.passes.fusion import MAX_EQUATIONS
from loopwright.ir.graph.passes.hoist import is_view_group
from loopwright.ir.lowering.plan import build as build_plan
from loopwright.ir.visits import counting


def kernels(graph: Graph, written: tuple[int, ...] = ()) -> list[Group]:
    return [g for g in group(graph, written).groups if not is_view_group(g)]


def words(g: Group) -> list[str]:
    return [getattr(e.op, "name", "") or type(e.op).__name__ for e in g.equations]


def softmax(b, x, axis=1):
    shape = x.type.shape
    kept = [k for k in range(len(shape)) if k != axis]
    largest = b.spread(b.sum(x, axis, name="max"), shape, *kept)
    e = b.do("exp", b.do("sub", x, largest))
    return b.do("div", e, b.spread(b.sum(e, axis), shape, *kept))


def test_a_chain_of_elementwise_operations_is_one_kernel(build):
    x = build.input(8, 4)
    y = build.do("tanh", build.do("add", build.do("mul", x, 2.0), 1.0))
    (only,) = kernels(build.graph(y))
    assert words(only) == ["mul", "add", "tanh"]
    assert (only.inputs, only.outputs) == ((x,), (y,))


def test_a_softmax_is_one_kernel(build):
    assert len(kernels(build.graph(softmax(build, build.input(64, 1024))))) == 1


def test_a_layer_norm_with_kept_axes_is_one_kernel(build):
    x, gain = build.input(16, 256), build.input(256)
    shape = x.type.shape
    mean = build.do("mul", build.reshape(build.sum(x, 1), 16, 1), 1 / 256)
    d = build.do("sub", x, build.spread(mean, shape, 0, 1))
    square = build.sum(build.do("mul", d, d), 1)
    scale = build.do("sqrt", build.do("add", build.do("mul", square, 1 / 256), 1e-5))
    y = build.do("div", d, build.spread(build.reshape(scale, 16, 1), shape, 0, 1))
    y = build.do("mul", y, build.spread(gain, shape, 1))
    assert len(kernels(build.graph(y))) == 1


def test_a_row_too_long_to_keep_is_reduced_first(build):
    x = build.input(4, 1 << 16)
    total = build.spread(build.sum(build.do("exp", x), 1), x.type.shape, 0)
    parts = kernels(build.graph(build.do("div", x, total)))
    assert [words(g) for g in parts] == [["exp", "sum"], ["Broadcast", "div"]]


def test_a_sum_over_columns_is_not_fused_with_what_needs_it(build):
    x = build.input(64, 32)
    assert (
        len(kernels(build.graph(build.do("sub", x, build.spread(build.sum(x, 0), (64, 32), 1)))))
        == 2
    )


def test_work_on_a_reductions_result_joins_it(build):
    x = build.input(64, 32)
    (only,) = kernels(build.graph(build.do("sqrt", build.sum(build.do("mul", x, x), 0))))
    assert words(only) == ["mul", "sum", "sqrt"]


def test_bias_activation_and_residual_ride_on_a_convolution(build):
    x, w, w2 = build.input(1, 8, 6, 6), build.input(8, 8, 3, 3), build.input(8, 8, 3, 3)
    y = build.conv(x, w)
    y = build.do("add", y, build.spread(build.input(8), y.type.shape, 1))
    y = build.do("maximum", y, 0.0)
    z = build.do("maximum", build.do("add", build.conv(y, w2), y), 0.0)
    first, second = kernels(build.graph(z))
    assert words(first) == ["Conv", "Broadcast", "add", "maximum"]
    assert words(second) == ["Conv", "add", "maximum"]


def test_an_epilogue_stays_with_its_convolution_before_a_mean(build):
    x, w = build.input(1, 8, 6, 6), build.input(8, 8, 3, 3)
    y = build.do("maximum", build.conv(x, w), 0.0)
    first, second = kernels(build.graph(build.do("mul", build.sum(y, 2, 3), 1 / 36)))
    assert words(first) == ["Conv", "maximum"]
    assert words(second) == ["sum", "mul"]


def test_no_arithmetic_in_a_products_inner_loop(build):
    x, w = build.input(8, 8), build.input(8, 8)
    dot = ops.DotGeneral(((1,), (0,)), ((), ()), np.dtype(np.float32))
    y = build.op(dot, build.do("exp", x), build.op(ops.Transpose((1, 0)), w))
    first, second = kernels(build.graph(y))
    assert words(first) == ["exp"]
    assert words(second) == ["Transpose", "DotGeneral"]


def test_results_of_one_shape_from_one_array_share_a_kernel(build):
    x = build.input(100)
    results = [build.do(name, x) for name in ("exp", "sin", "neg")]
    (only,) = kernels(build.graph(*results))
    assert set(only.outputs) == set(results)


def test_unrelated_results_do_not_share(build):
    a, b = build.do("exp", build.input(100)), build.do("sin", build.input(100))
    assert len(kernels(build.graph(a, b))) == 2


def test_a_costly_value_is_not_recomputed_at_several_places(build):
    x = build.do("exp", build.input(100))
    y = build.do("add", build.slice(x, (0,), (98,)), build.slice(x, (2,), (98,)))
    assert [words(g) for g in kernels(build.graph(y))] == [["exp"], ["Slice", "Slice", "add"]]


def test_a_costly_value_is_not_repeated_by_a_broadcast(build):
    v = build.do("exp", build.input(100))
    y = build.do("add", build.input(50, 100), build.spread(v, (50, 100), 1))
    assert len(kernels(build.graph(y))) == 2


def test_shared_broadcasts_are_repeated_instead_of_stored(build):
    v = build.input(100)
    wide = build.spread(v, (50, 100), 1)
    a = build.sum(build.do("mul", wide, build.input(50, 100)), 1)
    b = build.do("add", wide, build.input(50, 100))
    assert all("Broadcast" in words(g) and len(g.equations) > 1 for g in kernels(build.graph(a, b)))


@pytest.mark.parametrize("leaky", [False, True])
def test_no_cycles_between_groups(build, leaky):
    """b = f(a); c = sort(b); d = a + c: d cannot join b's kernel, which c needs."""
    x = build.input(16)
    b = build.do("exp", x)
    c = build.op(ops.Sort(0), b)
    d = build.do("add", b if leaky else x, c)
    grouped = group(build.graph(d, b))
    require_order(grouped)


def require_order(grouped: GroupedGraph) -> None:
    known = set(grouped.inputs) | {c.var for c in grouped.constants}
    for g in grouped.groups:
        assert known.issuperset(g.inputs)
        known.update(g.outputs)
    assert known.issuperset(a for a in grouped.outputs if not isinstance(a, Literal))


def test_a_reader_runs_before_the_update_that_overwrites_it(build):
    x = build.input(100, 100)
    before = build.sum(x, 1)
    changed = build.set_row(x, 3, build.input(100))
    y = build.do("add", build.sum(changed, 1), build.do("mul", before, 2.0))
    order = [words(g) for g in group(build.graph(y, changed), [0]).groups]
    assert order.index(["sum"]) < order.index(["UpdateSlice"])


def test_a_stencil_reads_the_old_array_and_writes_a_new_one(build):
    x = build.input(50, 50)
    parts = [build.slice(x, s, (48, 48)) for s in ((0, 1), (2, 1), (1, 0), (1, 2))]
    total = build.do("add", build.do("add", *parts[:2]), build.do("add", *parts[2:]))
    (only,) = kernels(build.graph(build.update(x, total, (1, 1))), (0,))
    assert only.donated == ()


@pytest.mark.parametrize(
    ("read", "in_place"), [((1, 1), True), ((0, 0), False)]
)  # fmt: skip
def test_an_update_of_what_it_reads_itself_is_in_place(build, read, in_place):
    x, y = build.input(50, 50), build.input(49, 49)
    value = build.do("add", build.slice(x, read, (49, 49)), y)
    (only,) = kernels(build.graph(build.update(x, value, (1, 1))), (0,))
    assert only.donated == (((0, 0),) if in_place else ())


def test_interleaved_updates_do_not_disturb_each_other(build):
    """x[::2] = f(x[1::2]): what is read is not written."""
    x = build.input(100)
    odd = build.slice(x, (1,), (50,), (2,))
    (only,) = kernels(build.graph(build.update(x, build.do("exp", odd), (0,), (2,))), (0,))
    assert only.donated == ((0, 0),)


def test_a_scatters_operand_is_donated(build):
    x, index = build.input(100), build.input(10, dtype=np.dtype(np.int64))
    y = build.op(ops.Scatter((0,), "clip", "sum"), x, index, build.do("exp", build.input(10)))
    (only,) = kernels(build.graph(y), (0,))
    assert words(only) == ["exp", "Scatter"]
    assert [only.inputs[i] for i, _ in only.donated] == [x]


def test_a_long_chain_is_cut(build):
    x = build.input(4)
    for _ in range(1000):
        x = build.do("sin", x)
    parts = kernels(build.graph(x))
    assert sum(len(g.equations) for g in parts) == 1000
    assert max(len(g.equations) for g in parts) <= MAX_EQUATIONS
    assert len(parts) <= 5


def test_sixty_doublings_are_one_kernel(build):
    x = build.input(4)
    for _ in range(60):
        x = build.do("add", x, x)
    (only,) = kernels(build.graph(x))
    assert len(only.equations) == 60


def test_visits_per_equation_do_not_grow(builder):
    def visits(length: int) -> float:
        b = builder()
        x = b.input(4)
        for k in range(length):
            x = b.op(ops.Sort(0), x) if k % 7 == 0 else b.do("add", x, x)
        with counting() as counts:
            build_plan(group(b.graph(x)))
        return counts.total() / length

    assert visits(10_000) < 1.1 * visits(1_000)


def test_many_readers_of_one_view_stay_linear(build):
    x = build.input(64, 64)
    wide = build.spread(build.input(64), (64, 64), 1)
    results = [build.sum(build.do("mul", x, wide), 1) for _ in range(300)]
    grouped = group(build.graph(*results))
    assert sum(len(g.equations) for g in grouped.groups) <= 6 * 901


def test_dead_equations_are_dropped(build):
    x = build.input(4)
    build.do("exp", x)
    assert len(kernels(build.graph(build.do("sin", x)))) == 1


def test_a_graph_without_equations(build):
    x = build.input(4)
    assert group(build.graph(x)).groups == ()
