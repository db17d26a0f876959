"""Exact rules of algebra: each gives the same value for every input, bit by bit.

For floats that excludes much: x * 0 is not 0 (NaN, infinities, -0), x + 0 is not x (for -0), x - x
is not 0 (NaN). A NaN stays a NaN; which of its many bit patterns it has is nobody's promise.
Integers wrap, so the laws of the ring hold. The laws stand in `laws_elementwise.py`,
`laws_convert.py` and `laws_movement.py`, one function each, and here is the table of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import ops
from ..nodes import Atom, Equation, Graph
from . import laws_convert, laws_elementwise, laws_movement
from .rewrite import Rewriter, Rule, literal

LAWS: Mapping[type, tuple[Rule, ...]] = {
    ops.Elementwise: (*laws_elementwise.LAWS, laws_movement.after_transpose),
    ops.Select: (*laws_elementwise.SELECT, laws_movement.after_transpose),
    ops.Cast: (*laws_convert.CAST, laws_movement.after_transpose),
    ops.Bitcast: laws_convert.BITCAST,
    ops.Broadcast: laws_movement.BROADCAST,
    ops.Reshape: laws_movement.RESHAPE,
    ops.Transpose: laws_movement.TRANSPOSE,
    ops.Slice: laws_movement.SLICE,
    ops.UpdateSlice: laws_movement.UPDATE_SLICE,
    ops.Pad: laws_movement.PAD,
    ops.Concatenate: laws_movement.CONCATENATE,
    ops.Reduce: laws_movement.REDUCE,
    ops.Cumulative: laws_movement.ALONG_AXIS,
    ops.Sort: laws_movement.ALONG_AXIS,
}

_MAY_FAIL = (ops.Gather, ops.Scatter, ops.Call)


def simplify(graph: Graph) -> Graph:
    """The graph with every law applied, in one walk."""
    return Rewriter(graph, _simplify).run("simplify")


def _simplify(rewriter: Rewriter, equation: Equation) -> Atom | None:
    nothing = _empty(rewriter, equation)
    if nothing is not None:
        return nothing
    for law in LAWS.get(type(equation.op), ()):
        found = law(rewriter, equation)
        if found is not None:
            return found
    return None


def _empty(rewriter: Rewriter, equation: Equation) -> Atom | None:
    """An array without elements needs no computing: -> broadcast of 0."""
    result = equation.outputs[0].type
    if result.size or isinstance(equation.op, (*_MAY_FAIL, ops.Broadcast)):
        return None
    return rewriter.spread(literal(0, result.dtype), result.shape, equation.source)
