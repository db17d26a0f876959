"""Graphs as text."""

from __future__ import annotations

import numpy as np
from graph_builder import Build

from loopwright.ir.graph import ops
from loopwright.ir.graph.nodes import Equation, Group, GroupedGraph, Literal, Var
from loopwright.ir.graph.printer import print_graph, short_name
from loopwright.ir.source import Source


def test_a_graph_prints_by_its_grammar(golden):
    b = Build()
    x = b.input((2, 3))
    w = b.constant(np.ones((3, 4), np.float32))
    y = b.op(ops.DotGeneral(((1,), (0,)), ((), ()), np.dtype("float32")), x, w)
    z = b.op(ops.Elementwise("maximum"), y, 0.0, source=Source("some/model.py", 12, "layer"))
    total = b.op(ops.Reduce("sum", (0,), "highest"), z)
    half = b.op(ops.Cast(np.dtype("float16")), total)
    golden(print_graph(b.graph(half, Literal(np.bool_(True))), sources=True))


def test_called_graphs_print_once_below(golden):
    inner = Build()
    inner_graph = inner.graph(inner.do("exp", inner.input((3,))))
    other = Build()
    other_graph = other.graph(other.do("log", other.input((3,))))
    b = Build()
    value = b.input((3,))
    for graph in (inner_graph, other_graph, inner_graph):
        made = Var(value.type)
        b.equations.append(Equation(ops.Call(graph, "f"), (value,), (made,)))
        value = made
    golden(print_graph(b.graph(value)))


def test_a_grouped_graph_prints_its_groups(golden):
    b = Build()
    x, u = b.input((8,)), b.input((2,))
    y = b.op(ops.UpdateSlice((0,), (1,)), x, u)
    z = b.do("exp", y)
    first = Group("update", (x, u), (b.equations[0],), (y,), ((0, 0),))
    second = Group("exp", (y,), (b.equations[1],), (z,))
    golden(print_graph(GroupedGraph((x, u), (), (first, second), (z,))))


def test_equal_graphs_print_equally():
    def make() -> str:
        b = Build()
        x = b.input((3,))
        return print_graph(b.graph(b.do("add", b.do("exp", x), x)))

    assert make() == make()


def test_names_never_run_out():
    names = [short_name(k) for k in range(2000)]
    assert names[:3] == ["a", "b", "c"]
    assert names[25:28] == ["z", "aa", "ab"]
    assert len(set(names)) == len(names)
