"""Random programs: each pass keeps every bit of every result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_graphs import arguments, graphs

from loopwright.ir.dtypes import BFLOAT16
from loopwright.ir.graph.checker import check, check_groups
from loopwright.ir.graph.constants import ConstantStore
from loopwright.ir.graph.interpreter import interpret
from loopwright.ir.graph.passes.algebra import simplify
from loopwright.ir.graph.passes.clean import clean
from loopwright.ir.graph.passes.fold import fold
from loopwright.ir.graph.passes.fuse import group
from loopwright.ir.graph.passes.pipeline import optimise
from loopwright.ir.graph.printer import print_graph

STEADY = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

PASSES = {
    "simplify": simplify,
    "fold": lambda graph: fold(graph, ConstantStore()),
    "clean": clean,
    "all": optimise,
}


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype == BFLOAT16:  # of which NumPy's tests do not know the NaN
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_array_equal(a, b)
        if a.dtype.kind not in "iub":
            nan = np.isnan(a)
            np.testing.assert_array_equal(np.signbit(a) | nan, np.signbit(b) | nan)


@pytest.mark.parametrize("name", PASSES)
@STEADY
@given(data=st.data())
def test_pass_keeps_meaning(name, data):
    graph = data.draw(graphs(precision="highest"))
    check(graph)
    changed = PASSES[name](graph)
    check(changed)
    arrays = arguments(data, graph)
    copies = [a.copy() for a in arrays]
    expected = interpret(graph, arrays)
    assert_same(arrays, copies)
    assert_same(interpret(changed, arrays), expected)
    for result, var in zip(expected, graph.outputs, strict=True):
        assert (result.shape, result.dtype) == (var.type.shape, var.type.dtype)
        assert result.flags.c_contiguous
        assert not any(np.may_share_memory(result, a) for a in arrays if a.size)


@STEADY
@given(graph=graphs())
def test_passes_end_where_nothing_changes(graph):
    once = optimise(graph)
    assert print_graph(optimise(once)) == print_graph(once)


@STEADY
@given(graph=graphs(max_equations=20))
def test_groups_of_a_graph_are_sound(graph):
    check_groups(group(optimise(graph)))
