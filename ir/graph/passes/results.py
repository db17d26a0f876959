"""Results in the order of axes in which they are computed, as NumPy leaves them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeAlias

from ..nodes import Atom, Graph, Var
from ..ops import Transpose

Layout: TypeAlias = tuple[int, ...] | None
"""Axis k of the result is axis `layout[k]` of its memory; None: they are the same."""


def free_layouts(graph: Graph, fixed: Collection[int]) -> tuple[Graph, tuple[Layout, ...]]:
    """`-> transpose(y)` becomes `-> y`, with the permutation as the result's layout.

    Not for the outputs in `fixed`, whose memory is given.
    """
    made = {e.outputs[0]: e for e in graph.equations if isinstance(e.op, Transpose)}
    outputs: list[Atom] = []
    layouts: list[Layout] = []
    for k, atom in enumerate(graph.outputs):
        equation = made.get(atom) if isinstance(atom, Var) and k not in fixed else None
        if equation is None or not isinstance(equation.op, Transpose):
            outputs.append(atom)
            layouts.append(None)
        else:
            outputs.append(equation.inputs[0])
            layouts.append(equation.op.permutation)
    if not any(layouts):
        return graph, tuple(layouts)
    return replace(graph, outputs=tuple(outputs)), tuple(layouts)
