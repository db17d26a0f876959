"""Definitions that write at computed places: updates of slices, scatters, sorting."""

from __future__ import annotations

from .. import dtypes
from ..expr import index as ix
from ..expr.combiners import combiner, compare
from ..expr.nodes import Buffer, Dynamic, FromIndex, Index, Load, Op, Value
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


def sort(op: ops.Sort, equation: Equation, builder: Builder) -> None:
    """Each element goes to its rank: the number of elements that stand before it."""
    operand, result = equation.inputs[0], equation.outputs[0]
    shape = operand.type.shape
    spatial = builder.axes(shape)
    (other,) = builder.axes([shape[op.axis]], "r", AxisKind.REDUCE)
    index = indices(spatial)
    mine, theirs = index[op.axis], ix.of(other.symbol)
    before = _before(
        builder.read(operand, (*index[: op.axis], theirs, *index[op.axis + 1 :])),
        theirs,
        builder.read(operand, index),
        mine,
    )
    rank = builder.scratch("rank", shape, dtypes.INT64)
    builder.define(
        "rank", (*spatial, other), (rank,), index, (Op("cast", (before,), dtypes.INT64),),
        combine=combiner("sum", dtypes.INT64), equation=equation,
    )  # fmt: skip
    spatial = builder.axes(shape)
    index = indices(spatial)
    place = ix.of(Dynamic(Load(rank, index), 0, max(shape[op.axis] - 1, 0)))
    value = FromIndex(index[op.axis], dtypes.INT64) if op.indices else builder.read(operand, index)
    builder.define(
        "sort", spatial, (builder.result(result, "argsort" if op.indices else "sort"),),
        (*index[: op.axis], place, *index[op.axis + 1 :]), (value,), update=True,
        equation=equation,
    )  # fmt: skip


def _before(a: Value, a_at: Index, b: Value, b_at: Index) -> Value:
    """Whether a stands before b: less, or equal and earlier; NaN is equal to NaN, above all."""
    less, equal = compare(b, a)
    if dtypes.is_float(a.dtype):
        a_nan, b_nan = _bool("ne", a, a), _bool("ne", b, b)
        less = _bool("or", less, _bool("and", b_nan, _bool("not", a_nan)))
        equal = _bool("or", equal, _bool("and", b_nan, a_nan))
    earlier = _bool("lt", FromIndex(a_at, dtypes.INT64), FromIndex(b_at, dtypes.INT64))
    return _bool("or", less, _bool("and", equal, earlier))


def _bool(name: str, *args: Value) -> Value:
    return Op(name, args, dtypes.BOOL)
