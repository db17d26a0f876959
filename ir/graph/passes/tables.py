"""Numbers that vary from turn to turn of an unrolled loop become places in one table.

A Python loop that writes row after row repeats its equations. Where a turn's number is a literal
in them (`x[i] = x[i - 1] + i * step`), no two turns are alike, and each would be a kernel of its
own. Read from a table, they share one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from ...visits import visit
from ..constants import ConstantStore
from ..nodes import ArrayType, Constant, Equation, Graph, Literal, Var
from ..ops import Broadcast, Elementwise, Reshape, Select, Slice, UpdateSlice

MIN_TURNS = 32
"""Fewer updates of slices than this are no loop."""

VARYING = 4
"""At least one in so many of the literals has to be a new value."""


def tabulate(graph: Graph, store: ConstantStore) -> Graph:
    """`y_k = op(x_k, literal_k)` for many k -> `y_k = op(x_k, table[k])`, one table for equal ops.

    Only in graphs that update slices as often as the literals vary, and only for operations whose
    operands agree in all but the literal.
    """
    updates = sum(isinstance(e.op, UpdateSlice) for e in graph.equations)
    if updates < MIN_TURNS:
        return graph
    tables = _tables(graph, updates)
    if not tables:
        return graph
    constants = list(graph.constants)
    places: dict[tuple[Equation, int], tuple[Var, int]] = {}
    for uses in tables:
        array = store.intern(np.array([_literal(*use).value for use in uses]))
        var = Var(ArrayType(array.shape, array.dtype))
        constants.append(Constant(var, array))
        places.update((use, (var, k)) for k, use in enumerate(uses))
    equations: list[Equation] = []
    for equation in graph.equations:
        inputs = list(equation.inputs)
        for position in range(len(inputs)):
            if (equation, position) in places:
                inputs[position] = _read(*places[equation, position], equation, equations)
        changed = tuple(inputs) != equation.inputs
        equations.append(replace(equation, inputs=tuple(inputs)) if changed else equation)
    return Graph(graph.inputs, tuple(constants), tuple(equations), graph.outputs)


def _tables(graph: Graph, updates: int) -> list[list[tuple[Equation, int]]]:
    """The uses of literals that go into one table each."""
    classes: dict[Hashable, list[tuple[Equation, int]]] = defaultdict(list)
    for equation in visit("tabulate", graph.equations):
        if not isinstance(equation.op, Broadcast | Elementwise | Select):
            continue
        literals = [k for k, a in enumerate(equation.inputs) if isinstance(a, Literal)]
        if literals:
            types = tuple([a.type for a in equation.inputs])
            for k in literals:
                classes[equation.op, types, tuple(literals), k].append((equation, k))
    return [uses for uses in classes.values() if _varies(uses, updates)]


def _varies(uses: list[tuple[Equation, int]], updates: int) -> bool:
    values = {_literal(*use).value.tobytes() for use in uses}
    return max(MIN_TURNS, len(uses) // VARYING) <= len(values) <= VARYING * updates


def _literal(equation: Equation, position: int) -> Literal:
    found = equation.inputs[position]
    assert isinstance(found, Literal)
    return found


def _read(table: Var, place: int, equation: Equation, equations: list[Equation]) -> Var:
    """`table[place]`."""
    piece = Var(ArrayType((1,), table.type.dtype))
    scalar = Var(ArrayType((), table.type.dtype))
    source = equation.source
    equations.append(Equation(Slice((place,), (1,), (1,)), (table,), (piece,), source))
    equations.append(Equation(Reshape(()), (piece,), (scalar,), source))
    return scalar
