"""Memory, in-place updates, forwarding and rolling of plans, counted."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.ir.errors import ArgumentError, InternalError
from loopwright.ir.graph import ops
from loopwright.ir.graph.interpreter import interpret
from loopwright.ir.graph.nodes import Graph, Literal
from loopwright.ir.graph.passes.fuse import group
from loopwright.ir.lowering.plan import build as build_plan
from loopwright.ir.plan import interpreter as plans
from loopwright.ir.plan.checker import check
from loopwright.ir.plan.counts import bytes_written, counts
from loopwright.ir.plan.nodes import Launch, Place, Plan, Repeat
from loopwright.ir.plan.printer import print_plan


def plan_of(graph: Graph, *written: tuple[int, int], strides=None, run=True) -> Plan:
    """The checked plan of a graph, run once against the graph's meaning."""
    plan = build_plan(group(graph, [i for i, _ in written]), written, strides)
    check(plan)
    if run:
        rng = np.random.default_rng(0)
        arrays = [rng.standard_normal(v.type.shape).astype(v.type.dtype) for v in graph.inputs]
        for k, own in (strides or {}).items():
            arrays[k] = strided(arrays[k], own)
        expected = interpret(graph, [a.copy() for a in arrays])
        for a, b in zip(plans.interpret(plan, arrays), expected, strict=True):
            np.testing.assert_array_equal(a, b)
    return plan


def strided(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """A copy with these strides (in elements; column order)."""
    result = np.asfortranarray(array)
    assert result.strides == tuple(s * array.itemsize for s in strides)
    return result


def test_rows_written_one_by_one_move_their_bytes_only(build):
    """1,000 rows of a 40 MB array: one fill, one rolled kernel, no copy."""
    v, x = build.input(10_000), build.fill(0.0, 1000, 10_000)
    for k in range(1000):
        x = build.set_row(x, k, build.do("mul", v, 2.0))
    plan = plan_of(build.graph(x), run=False)
    assert bytes_written(plan) == 2 * 40_000_000
    assert counts(plan).kernels == 2
    assert counts(plan).launches == 1001
    assert counts(plan).copies == 0
    assert isinstance(plan.steps[1], Repeat) and plan.steps[1].count == 1000


def test_rows_of_an_argument_are_written_in_place(build):
    x, v = build.input(200, 50), build.input(50)
    y = x
    for k in range(200):
        y = build.set_row(y, k, build.do("add", build.row(y, k), v))
    plan = plan_of(build.graph(y), (0, 0))
    assert bytes_written(plan) == 200 * 50 * 4
    assert counts(plan).kernels == 1
    assert plan.results[0].place is Place.ARGUMENT


def test_rows_of_an_argument_that_is_not_written_are_changed_in_one_copy(build):
    x, v = build.input(200, 50), build.input(50)
    y = x
    for k in range(200):
        y = build.set_row(y, k, v)
    plan = plan_of(build.graph(y))
    assert bytes_written(plan) == 2 * 200 * 50 * 4
    assert plan.results[0].place is Place.RESULT


def test_copies_that_repeat_are_rolled_as_kernels(build):
    x, y = build.input(64, 32), build.input(64, 32)
    z = x
    for k in range(64):
        z = build.set_row(z, k, build.row(y, 63 - k))
    plan = plan_of(build.graph(z), (0, 0))
    assert counts(plan).steps == 1
    (only,) = plan.steps
    assert isinstance(only, Repeat)
    (launch,) = only.body
    assert isinstance(launch, Launch) and launch.advance == (-128, 128)


def test_a_recurrence_over_rows_is_rolled(build):
    x = build.do("exp", build.input(100, 8))
    for k in range(1, 100):
        x = build.set_row(x, k, build.do("mul", build.row(x, k - 1), 0.5))
    plan = plan_of(build.graph(x))
    assert counts(plan).steps == 2
    assert counts(plan).kernels == 2


def test_an_old_version_that_is_still_needed_costs_a_copy(build):
    x = build.input(10, 10)
    y = build.set_row(x, 3, build.input(10))
    plan = plan_of(build.graph(y, build.do("mul", x, 2.0), x), (0, 0))
    assert counts(plan).copies >= 1


def test_a_view_of_the_old_version_keeps_it_alive(build):
    x = build.do("exp", build.input(10, 10))
    old = build.reshape(x, 100)
    y = build.set_row(x, 3, build.input(10))
    plan_of(build.graph(old, y))


def test_two_values_for_one_row_keep_their_order(build):
    """The kernel of the last row is run before the copy into the first."""
    x, v = build.input(3, 1), build.input(1)
    product = build.do("mul", build.slice(x, (0, 0), (1, 1)), 2.0)
    y = build.update(x, product, (0, 0))
    late = build.do("add", v, v)
    y = build.set_row(y, 0, v)
    y = build.set_row(y, 1, late)
    plan_of(build.graph(x, y), (0, 1))


def test_elementwise_updates_of_an_argument_need_no_temporary(build):
    x = build.input(100)
    plan = plan_of(build.graph(build.do("add", build.do("exp", x), 1.0)), (0, 0))
    assert (counts(plan).copies, plan.arena_bytes) == (0, 0)


def test_stencil_steps_alternate_between_two_arrays(build):
    x = build.input(20, 20)
    y = x
    for _ in range(20):
        parts = [build.slice(y, s, (18, 18)) for s in ((0, 1), (2, 1), (1, 0), (1, 2))]
        total = build.do("add", build.do("add", *parts[:2]), build.do("add", *parts[2:]))
        y = build.update(y, build.do("mul", total, 0.25), (1, 1))
    plan = plan_of(build.graph(y), (0, 0))
    assert counts(plan).kernels == 1
    assert counts(plan).copies == 0
    assert plan.arena_bytes <= 2 * 1664
    assert counts(plan).steps == 4


def test_columns_share_a_kernel_as_rows_do(build):
    x, v = build.input(8, 50), build.input(8, 1)
    y = x
    for k in range(1, 50):
        left = build.slice(y, (0, k - 1), (8, 1))
        y = build.update(y, build.do("add", left, v), (0, k))
    plan = plan_of(build.graph(y), (0, 0))
    assert (counts(plan).kernels, counts(plan).steps, counts(plan).copies) == (1, 1, 0)
    assert bytes_written(plan) == 49 * 8 * 4


def test_windows_share_a_kernel(build):
    x = build.input(12, 40)
    y = build.fill(0.0, 30)
    for k in range(30):
        total = build.sum(build.slice(x, (2, k), (4, 5)), 0, 1)
        y = build.update(y, build.reshape(total, 1), (k,))
    plan = plan_of(build.graph(y), run=False)
    assert counts(plan).kernels == 2


def test_a_value_stored_and_used_again_needs_no_temporary(build):
    """y[k] = v = f(v): the next step reads it from where it was stored."""
    x, y = build.input(40), build.fill(0.0, 40)
    v = build.slice(x, (0,), (1,))
    for k in range(1, 40):
        v = build.do("add", v, build.slice(x, (k,), (1,)))
        y = build.update(y, v, (k,))
    plan = plan_of(build.graph(y))
    assert (counts(plan).copies, plan.arena_bytes) == (0, 0)
    assert counts(plan).steps == 3


def test_arrays_filled_alike_are_filled_twice_not_copied(build):
    zeros = build.fill(0.0, 10, 4)
    a = build.set_row(zeros, 1, build.input(4))
    b = build.set_row(zeros, 2, build.input(4))
    plan = plan_of(build.graph(a, b))
    assert counts(plan).launches == 2
    assert counts(plan).bytes_copied == 2 * 16


def test_a_row_still_needed_is_copied_out_not_the_whole_array(build):
    x, v = build.input(100, 16), build.input(16)
    old = build.slice(x, (3, 0), (1, 16))
    y = build.set_row(x, 3, v)
    late = build.op(ops.Sort(1), old)
    plan = plan_of(
        build.graph(build.do("add", build.row(y, 3), build.reshape(late, 16)), y), (0, 1)
    )
    assert counts(plan).bytes_copied < 16 * 100


def test_swapped_arguments(build):
    x, y = build.input(5), build.input(5)
    plan_of(build.graph(y, x), (0, 0), (1, 1))


def test_results_are_fresh(build):
    x = build.input(2, 3)
    c = build.constant(np.arange(6, dtype=np.float32))
    e = build.do("exp", x)
    seven = Literal(np.float32(7))
    plan = plan_of(build.graph(x, build.reshape(x, 6), e, e, build.reshape(e, 6), c, seven))
    places = {(s.place, s.position) for s in plan.results}
    assert places == {(Place.RESULT, k) for k in range(7)}


def test_a_reshape_of_a_temporary_is_a_view(build):
    x, w = build.input(4, 6), build.input(12, 5)
    dot = ops.DotGeneral(((1,), (0,)), ((), ()), np.dtype(np.float32))
    y = build.op(dot, build.reshape(build.do("exp", x), 2, 12), w)
    plan = plan_of(build.graph(y))
    assert counts(plan).launches == 2


def test_temporaries_reuse_the_arena(build):
    w, x = build.input(32, 32), build.input(32, 32)
    dot = ops.DotGeneral(((1,), (0,)), ((), ()), np.dtype(np.float32))
    for _ in range(10):
        x = build.op(dot, x, w)
    plan = plan_of(build.graph(x))
    assert plan.arena_bytes == 2 * 32 * 32 * 4


@pytest.mark.parametrize("written", [(), ((0, 0),)])
def test_strided_arguments(build, written):
    x, v = build.input(6, 4), build.input(4)
    y = build.set_row(x, 2, build.do("add", build.row(x, 2), v))
    y = build.do("mul", y, 2.0)
    plan = plan_of(build.graph(y, build.row(x, 1)), *written, strides={0: (1, 6)})
    assert plan.arguments[0].strides == (1, 6)


def test_a_spare_argument_is_used_up(build):
    x = build.input(10, 10)
    graph = build.graph(build.do("exp", build.set_row(x, 3, build.input(10))))
    spared = build_plan(group(graph, [0]), spare=[0])
    check(spared, spare=[0])
    with pytest.raises(InternalError, match="writes argument 0"):
        check(spared)
    assert bytes_written(spared) == 40 + 400


def test_empty_arrays(build):
    x = build.input(0, 4)
    plan_of(build.graph(build.do("exp", x), build.sum(x, 0), x))


def test_wrong_arguments_are_refused(build):
    x = build.input(2, 3)
    plan = plan_of(build.graph(build.do("exp", x)))
    with pytest.raises(ArgumentError, match="1 arguments"):
        plans.interpret(plan, [])
    with pytest.raises(ArgumentError, match="float64"):
        plans.interpret(plan, [np.zeros((2, 3))])
    with pytest.raises(ArgumentError, match="not contiguous"):
        plans.interpret(plan, [np.zeros((3, 2), np.float32).T])


def test_a_long_program_is_planned_linearly(build):
    x = build.input(16)
    for k in range(5_000):
        x = build.op(ops.Sort(0), x) if k % 2 else build.do("neg", x)
    plan = plan_of(build.graph(x), run=False)
    assert counts(plan).launches == 5_000
    assert counts(plan).steps < 10


def test_print(build, golden):
    x, v = build.input(8, 4), build.input(4)
    y = x
    for k in range(8):
        y = build.set_row(y, k, build.do("add", build.row(y, k), v))
    total = build.sum(y, 1)
    golden(print_plan(plan_of(build.graph(total, y), (0, 1), run=False)))
