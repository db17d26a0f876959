"""Runs a function as `jit` would, by the graph interpreter instead of native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopwright.ir.graph.checker import check
from loopwright.ir.graph.interpreter import interpret
from loopwright.tracer.staging import Argument, Computed, spec_of, trace
from loopwright.tracer.trees import flatten


def run_traced(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of the traced function; arrays that it writes into are written."""
    staged = trace(fn, args, kwargs)
    check(staged.graph)
    leaves, _ = flatten((args, kwargs))
    given = [leaf for leaf in leaves if spec_of(leaf) is not None]
    inputs = [
        np.asarray(x).astype(v.type.dtype).copy()
        for x, v in zip(given, staged.graph.inputs, strict=True)
    ]
    results = interpret(staged.graph, inputs)
    for k, output in staged.written:
        np.copyto(given[k], results[output])
    made = []
    for spec in staged.outputs:
        match spec:
            case Computed(position, scalar):
                made.append(results[position][()] if scalar else results[position])
            case Argument(position):
                made.append(given[position])
            case _:
                made.append(spec.value)
    return staged.rebuild(made)


@pytest.fixture(scope="session")
def run() -> Callable[..., Any]:
    return run_traced
