"""Lowering of a fused group of equations to a tensor program.

Parameters: one per input of the group in order (INOUT where donated), then one per output that is
not donated. Arrays and definitions are called by their operation, numbered in trace order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..graph import ops
from ..graph.nodes import Equation, Group, Var
from ..tensor.nodes import TensorProgram
from .builder import Builder
from .materialise import UPDATES
from .merge import merge
from .rules_products import conv, conv_blocked, dot_general
from .rules_reduce import arg_reduce, cumulative, pool, reduce
from .rules_sort import sort
from .rules_update import scatter, update_slice

DEFINE: Mapping[type, Callable[[Any, Equation, Builder], None]] = {
    ops.Reduce: reduce,
    ops.ArgReduce: arg_reduce,
    ops.Cumulative: cumulative,
    ops.Pool: pool,
    ops.Sort: sort,
    ops.DotGeneral: dot_general,
    ops.Conv: conv,
    ops.ConvBlocked: conv_blocked,
    ops.UpdateSlice: update_slice,
    ops.Scatter: scatter,
}
"""The operations with definitions of their own; the others are in `rules.INLINE`."""


def lower_group(
    group: Group, strides: Mapping[Var, tuple[int, ...]] | None = None
) -> TensorProgram:
    """The tensor program of a group.

    `strides` (in elements) of inputs that are not C-contiguous. A check that fails in equation k
    of the group has the status code k + 1.
    """
    builder = Builder(group, strides or {})
    for equation in group.equations:
        if not any(v in builder.plan.stored for v in equation.outputs):
            continue
        rule = DEFINE.get(type(equation.op))
        if rule is None:
            base = _name(equation)
            target = builder.result(equation.outputs[0], base)
            builder.store(target, equation.outputs[0], base, equation)
        elif isinstance(equation.op, UPDATES):
            rule(equation.op, equation, builder)
        else:
            with builder.detour(equation):
                rule(equation.op, equation, builder)
    return merge(builder.finish())


def _name(equation: Equation) -> str:
    """What the array of an inlined operation is called."""
    if isinstance(equation.op, ops.Elementwise):
        return equation.op.name
    return type(equation.op).__name__.lower()
