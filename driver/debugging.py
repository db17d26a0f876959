"""`jit(debug=True)`: the graph run by its interpreter, with every value checked as it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ir import dtypes
from ..ir.errors import NaNError
from ..ir.graph.interpreter import evaluate
from ..ir.graph.nodes import Atom, Equation, Literal, Var
from ..tracer.staging import Argument, Computed
from .specialisation import Specialisation

Array = npt.NDArray[Any]


def run(found: Specialisation, leaves: Sequence[Any]) -> Any:
    """The function's result for these leaves.

    Raises BoundsError where an index leaves its axis and NaNError where an operation makes a NaN
    from operands that hold none, both at the user's line.
    """
    staged = found.staged
    graph = staged.graph
    values: dict[Var, Array] = {c.var: c.array for c in graph.constants}
    for var, d in zip(graph.inputs, found.dynamics, strict=True):
        values[var] = np.asarray(leaves[d.leaf], var.type.dtype)

    def value(atom: Atom) -> Array:
        return np.asarray(atom.value) if isinstance(atom, Literal) else values[atom]

    for equation in graph.equations:
        operands = [value(a) for a in equation.inputs]
        results = [np.asarray(r) for r in evaluate(equation, operands)]
        _check(equation, operands, results)
        values.update(zip(equation.outputs, results, strict=True))
    for position, output in staged.written:
        np.copyto(leaves[found.dynamics[position].leaf], value(graph.outputs[output]))
    made: list[Any] = []
    for spec in staged.outputs:
        match spec:
            case Computed(position, scalar):
                array = value(graph.outputs[position])
                made.append(array[()] if scalar else np.array(array))
            case Argument(position):
                made.append(leaves[found.dynamics[position].leaf])
            case _:
                made.append(spec.value)
    return staged.rebuild(made)


def _check(equation: Equation, operands: list[Array], results: list[Array]) -> None:
    made = any(dtypes.is_float(r.dtype) and bool(np.isnan(r).any()) for r in results)
    given = any(dtypes.is_float(a.dtype) and bool(np.isnan(a).any()) for a in operands)
    if made and not given:
        raise NaNError(
            f"{type(equation.op).__name__.lower()} made a NaN from operands without one",
            equation.source,
            "look at the operands there, for 0/0, inf - inf or the root of a negative number",
        )
