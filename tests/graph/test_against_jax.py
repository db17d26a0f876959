"""The interpreter gives what JAX gives, wherever JAX defines the operation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from random_graphs import KINDS, arguments, graphs

from loopwright.ir import dtypes as dt
from loopwright.ir.graph import ops
from loopwright.ir.graph.interpreter import evaluate
from loopwright.ir.graph.nodes import Equation, Var

ROUNDINGS = {dt.FLOAT16: 2e-3, dt.BFLOAT16: 1.6e-2, dt.FLOAT32: 3e-6, dt.FLOAT64: 1e-12}
SUMS = (ops.DotGeneral, ops.Conv)
ORDERED = (ops.Reduce, ops.Cumulative, ops.Pool, ops.Scatter)


def is_sum(equation: Equation) -> bool:
    op = equation.op
    name = op.combine if isinstance(op, ops.Scatter) else getattr(op, "name", "")
    return isinstance(op, SUMS) or (isinstance(op, ORDERED) and name in ("sum", "prod"))


def tame(x: np.ndarray) -> np.ndarray:
    """Finite and small, so that the order of a sum does not decide over inf or NaN."""
    if not dt.is_float(x.dtype):
        return x
    return np.clip(np.nan_to_num(x.astype(np.float64)), -2, 2).astype(x.dtype)


def normal(x: np.ndarray) -> np.ndarray:
    """Without subnormal numbers, which JAX takes for zero."""
    if not dt.is_float(x.dtype):
        return x
    with np.errstate(all="ignore"):
        return np.where(np.abs(x.astype(np.float64)) < smallest(x.dtype), x * 0, x).astype(x.dtype)


def smallest(dtype: np.dtype) -> float:
    return float(np.finfo(np.float32 if dtype == dt.BFLOAT16 else dtype).tiny)


def compare(equation: Equation, found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype or isinstance(equation.op, ops.ArgReduce | ops.Sort)
    if not dt.is_float(found.dtype):
        np.testing.assert_array_equal(found, expected)
        return
    close = ROUNDINGS[found.dtype]
    least = smallest(found.dtype) * 4
    wide = found.astype(np.float64)
    scale = float(np.abs(wide[np.isfinite(wide)]).max(initial=1.0)) if is_sum(equation) else 0.0
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            wide, expected.astype(np.float64), rtol=close * 4, atol=least + close * scale * 16
        )


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"conv_blocked"}))
def test_operation_means_what_jax_says(kind, oracle):
    from jax_meaning import meaning

    @settings(
        max_examples=8 if kind != "elementwise" else 60,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.reuse, Phase.generate],  # shrinking would compile hundreds of programs
    )
    @given(data=st.data())
    def law(data):
        graph = data.draw(graphs(kinds=(kind,), max_equations=2))
        env = dict(zip(graph.inputs, arguments(data, graph), strict=True))
        env.update((c.var, c.array) for c in graph.constants)
        for equation in graph.equations:
            operands = [
                env[a] if isinstance(a, Var) else np.asarray(a.value) for a in equation.inputs
            ]
            if not isinstance(equation.op, ops.Bitcast):
                operands = [normal(x) for x in operands]
            if is_sum(equation):
                operands = [tame(x) for x in operands]
            (found,) = evaluate(equation, operands)
            env[equation.outputs[0]] = found
            expected = meaning(equation.op, operands)
            if expected is not None:
                compare(equation, found, np.asarray(expected))

    law()
