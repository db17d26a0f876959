"""Random graphs through the whole road: what runs is what the graph's interpreter says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_graphs import KINDS, arguments, graphs

from loopwright.driver.compiler import Options, prepare
from loopwright.driver.levels import lower_levels
from loopwright.ir import dtypes as dt
from loopwright.ir.errors import BoundsError
from loopwright.ir.flat.checker import check as check_flat
from loopwright.ir.flat.interpreter import interpret as interpret_flat
from loopwright.ir.graph.interpreter import interpret
from loopwright.ir.graph.nodes import Graph
from loopwright.ir.loop.checker import check as check_loop
from loopwright.ir.loop.interpreter import interpret as interpret_loop
from loopwright.ir.tensor.checker import check as check_tensor
from loopwright.ir.tensor.interpreter import interpret as interpret_tensor

# Sums are regrouped and fused, and up to ten operations follow one another: a few hundred units
# of the type's rounding, against the largest element.
ROUNDING = {dt.FLOAT16: 4e-3, dt.BFLOAT16: 3e-2, dt.FLOAT32: 1e-5, dt.FLOAT64: 1e-11}
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal types; equal integers and bools; floats within `ROUNDING`."""
    expected = np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if not dt.is_float(found.dtype):
        np.testing.assert_array_equal(found, expected)
        return
    a, b = found.astype(np.float64), expected.astype(np.float64)
    close = ROUNDING[found.dtype]
    scale = float(np.abs(b[np.isfinite(b)]).max(initial=1.0))
    np.testing.assert_allclose(a, b, rtol=close, atol=close * scale)


def exactly(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits, but for the payload of a NaN."""
    expected = np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    nan = np.isnan(expected.astype(np.float64)) if dt.is_float(found.dtype) else False
    got, want = np.where(nan, 0, found), np.where(nan, 0, expected)
    np.testing.assert_array_equal(got, want)
    if dt.is_float(found.dtype):
        np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), nan)


def meaning(graph: Graph, arrays: list[np.ndarray]) -> list[np.ndarray] | None:
    """What the graph means; None if an index is out of bounds."""
    try:
        return interpret(graph, arrays)
    except BoundsError:
        return None


@settings(max_examples=120, deadline=None, suppress_health_check=QUIET)
@given(st.data())
def test_native_code_does_what_the_graph_means(native, data):
    graph = data.draw(graphs())
    arrays = arguments(data, graph, special=False)
    expected = meaning(graph, arrays)
    run = native(graph, arrays)
    if expected is None:
        assert run.status > 0
        assert isinstance(run.executable.error(run.status), BoundsError)
        return
    assert run.status == 0
    for found, wanted in zip(run.results, expected, strict=True):
        same(found, wanted)


EXACT = (
    "select", "cast", "bitcast", "iota", "broadcast", "reshape", "transpose", "slice",
    "update_slice", "pad", "concatenate", "gather", "scatter", "arg_reduce", "sort",
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=QUIET)
@given(st.data())
def test_moves_are_exact_for_every_bit_pattern(native, data):
    graph = data.draw(graphs(kinds=EXACT))
    arrays = arguments(data, graph, special=True)
    expected = meaning(graph, arrays)
    run = native(graph, arrays)
    assert (run.status == 0) == (expected is not None)
    for found, wanted in zip(run.results, expected or (), strict=False):
        exactly(found, wanted)


@settings(max_examples=40, deadline=None, suppress_health_check=QUIET)
@given(st.data())
def test_every_level_agrees(data):
    graph = data.draw(graphs(max_equations=5))
    arrays = arguments(data, graph, special=False)
    options = Options()
    grouped = prepare(graph, options).grouped
    values = {c.var: c.array for c in grouped.constants}
    values |= dict(zip(grouped.inputs, arrays, strict=True))
    for group in grouped.groups:
        inputs = [np.asarray(values[v]) for v in group.inputs]
        alone = Graph(group.inputs, (), group.equations, group.outputs)
        expected = meaning(alone, inputs)
        if expected is None:
            return
        values |= dict(zip(group.outputs, expected, strict=True))
        if group.donated:
            continue
        levels = lower_levels(group, {}, "kernel", options)
        check_tensor(levels.tensor)
        check_loop(levels.plain)
        check_loop(levels.loop)
        check_flat(levels.flat)
        flat = [a.reshape(-1) for a in inputs]
        for results in (
            interpret_tensor(levels.tensor, inputs),
            interpret_loop(levels.plain, inputs),
            interpret_loop(levels.loop, inputs),
            interpret_flat(levels.flat, flat),
        ):
            for found, wanted in zip(results, expected, strict=True):
                same(np.asarray(found).reshape(np.shape(wanted)), wanted)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_operation_alone(native, kind):
    @settings(max_examples=15, deadline=None, suppress_health_check=QUIET)
    @given(st.data())
    def law(data):
        graph = data.draw(graphs(kinds=(kind,), max_equations=1))
        arrays = arguments(data, graph, special=False)
        expected = meaning(graph, arrays)
        run = native(graph, arrays)
        assert (run.status == 0) == (expected is not None)
        for found, wanted in zip(run.results, expected or (), strict=False):
            same(found, wanted)

    law()
