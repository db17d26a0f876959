"""Random programs mean the same as a graph, as groups, and as a plan."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_graphs import arguments, graphs

from loopwright.ir.graph.interpreter import interpret, interpret_group
from loopwright.ir.graph.nodes import GroupedGraph, Literal, Var
from loopwright.ir.graph.passes.fuse import group
from loopwright.ir.graph.passes.fusion import MAX_EQUATIONS
from loopwright.ir.lowering.plan import build
from loopwright.ir.plan import interpreter as plan_interpreter
from loopwright.ir.plan.checker import check


def run_groups(grouped: GroupedGraph, arguments: list[np.ndarray]) -> list[np.ndarray]:
    known = dict(zip(grouped.inputs, arguments, strict=True))
    known.update((c.var, c.array) for c in grouped.constants)
    for g in grouped.groups:
        results = interpret_group(g, [known[v] for v in g.inputs])
        for var, array in zip(g.outputs, results, strict=True):
            assert var not in known, "a variable is made by two groups"
            known[var] = array
    return [np.asarray(a.value) if isinstance(a, Literal) else known[a] for a in grouped.outputs]


def same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_groups_mean_what_the_graph_means(random_programs, data):
    graph, written = data.draw(random_programs)
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal(v.type.shape).astype(np.float32) for v in graph.inputs]
    grouped = group(graph, [i for i, _ in written])
    assert all(len(g.equations) <= MAX_EQUATIONS for g in grouped.groups)
    same(run_groups(grouped, arguments), interpret(graph, arguments))


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_a_plan_means_what_the_graph_means(random_programs, data):
    graph, written = data.draw(random_programs)
    rng = np.random.default_rng(0)
    arguments, strides = [], {}
    for k, var in enumerate(graph.inputs):
        array = rng.standard_normal(var.type.shape).astype(np.float32)
        layout = data.draw(st.sampled_from("ccft"))
        if layout == "f":
            array = np.asfortranarray(array)
        if layout == "t":
            array = np.repeat(array, 2, -1)[..., ::-2]
        if not array.flags.c_contiguous:
            strides[k] = tuple(s // 4 for s in array.strides)
        arguments.append(array)
    before = [a.copy() for a in arguments]
    plan = build(group(graph, [i for i, _ in written]), written, strides)
    check(plan)
    expected = interpret(graph, before)
    found = plan_interpreter.interpret(plan, arguments)
    same(found, expected)
    returned = {o: i for i, o in written}
    for k, argument in enumerate(arguments):
        if k not in returned.values():
            same([argument], [before[k]])
    for k, result in enumerate(found):
        if k in returned:
            assert result is arguments[returned[k]]
        else:
            others = arguments + found[:k]
            assert not any(np.shares_memory(result, other) for other in others)
    assert all(isinstance(v, Var) for v in graph.inputs)


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_plans_of_all_operations(data):
    graph = data.draw(graphs(precision="highest"))
    written, taken = [], set()
    for k, var in enumerate(graph.inputs):
        fitting = [o for o, a in enumerate(graph.outputs) if a.type == var.type and o not in taken]
        if fitting and data.draw(st.booleans()):
            written.append((k, data.draw(st.sampled_from(fitting))))
            taken.add(written[-1][1])
    plan = build(group(graph, [i for i, _ in written]), written)
    check(plan)
    arrays = arguments(data, graph)
    expected = interpret(graph, [a.copy() for a in arrays])
    found = plan_interpreter.interpret(plan, [a.copy() for a in arrays])
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes() or np.array_equal(
            a.astype(np.float64), b.astype(np.float64), equal_nan=True
        )
