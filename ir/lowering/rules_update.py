"""Definitions that write into an array that holds something: updates of slices, scatters."""

from __future__ import annotations

from .. import dtypes
from ..expr.combiners import combiner
from ..expr.nodes import Buffer, Index
from ..expr.values import const
from ..graph import ops
from ..graph.nodes import Equation
from ..tensor.nodes import AxisKind
from .builder import Builder
from .positions import no_position, target_position
from .rules import strided
from .rules_reduce import indices


def _updated(equation: Equation, builder: Builder, base: str) -> Buffer:
    """The result's array, holding the operand."""
    target = builder.result(equation.outputs[0], base)
    if not builder.in_place(equation):
        builder.store(target, equation.inputs[0], "copy", equation)
    return target


def update_slice(op: ops.UpdateSlice, equation: Equation, builder: Builder) -> None:
    """result[starts + i * steps] = update[i], all else as in the operand."""
    target = _updated(equation, builder, "update")
    update = equation.inputs[1]
    axes = builder.axes(update.type.shape)
    index = indices(axes)
    builder.define(
        "update", axes, (target,), strided(index, op.starts, op.steps),
        (builder.read(update, index),), update=True, equation=equation,
    )  # fmt: skip


def scatter(op: ops.Scatter, equation: Equation, builder: Builder) -> None:
    """result[index arrays] = (combined with) updates, in the order of the index arrays."""
    target = _updated(equation, builder, "scatter")
    arrays, updates = equation.inputs[1 : 1 + len(op.axes)], equation.inputs[-1]
    shape, dtype = target.shape, target.dtype
    rank = len(arrays[0].type.shape)
    ordered = builder.axes(updates.type.shape[:rank], ("r", "s", "t", "u"), AxisKind.SCAN)
    others = builder.axes(updates.type.shape[rank:])
    outer, inner = indices(ordered), iter(indices(others))
    value = builder.read(updates, indices((*ordered, *others)))
    places: dict[int, Index] = {}
    domain: list[Index] = []
    code = builder.code(equation)
    for axis, array in zip(op.axes, arrays, strict=True):
        position = builder.read(array, outer)
        if not shape[axis]:
            _check_nothing(op, equation, builder, dtype)
            return
        place, conditions = target_position(position, shape[axis], op.mode, code, builder.ranges)
        places[axis] = place
        domain += conditions
    builder.define(
        "scatter", (*ordered, *others), (target,),
        tuple(places[k] if k in places else next(inner) for k in range(len(shape))), (value,),
        combine=combiner(op.combine, dtype) if op.combine else None, domain=domain, update=True,
        equation=equation,
    )  # fmt: skip


def _check_nothing(op: ops.Scatter, equation: Equation, builder: Builder, dtype: object) -> None:
    """A scatter into an axis of extent 0: fails if there is anything to write."""
    if op.mode == "fill" or not equation.inputs[1].type.size:
        return
    zero = const(0, dtypes.INT64)
    value = no_position(zero, op.mode, builder.code(equation))
    builder.define(
        "check", (), (builder.scratch("check", (), dtypes.INT64),), (), (value,),
        equation=equation,
    )  # fmt: skip
