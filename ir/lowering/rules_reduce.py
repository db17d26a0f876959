"""Definitions of reductions, running reductions and pooling."""

from __future__ import annotations

from collections.abc import Sequence

from .. import dtypes
from ..expr import index as ix
from ..expr.combiners import arg_combiner, combiner, compare, limits, operation
from ..expr.nodes import FromIndex, Guarded, Index, Load, Op, Symbol, Value
from ..graph import ops
from ..graph.nodes import Equation
from ..tensor.nodes import Axis, AxisKind
from .builder import Builder
from .rules import cast, dilated, undecided

REDUCED_NAMES = ("r", "s", "t", "u")
LONG_ROW = 64
"""From this extent on a row is worth two passes of vectors."""


def indices(axes: Sequence[Axis]) -> tuple[Index, ...]:
    """The axes as indices."""
    return tuple(ix.of(a.symbol) for a in axes)


def accumulate(
    builder: Builder,
    equation: Equation,
    base: str,
    name: str,
    axes: Sequence[Axis],
    index: tuple[Index, ...],
    value: Value,
    domain: Sequence[Index] = (),
    exact_order: bool = False,
) -> None:
    """A reduction into the equation's result; halves are accumulated in float32."""
    result = equation.outputs[0]
    dtype = result.type.dtype
    wide = dtypes.accumulator(dtype)
    if wide == dtype:
        target = builder.result(result, base)
    else:
        target = builder.scratch(base, result.type.shape, wide)
    builder.define(
        base, axes, (target,), index, (cast(value, wide),), combine=combiner(name, wide),
        domain=domain, exact_order=exact_order, equation=equation,
    )  # fmt: skip
    if wide != dtype:
        builder.copy(builder.result(result, "cast"), target, equation)


def reduce(op: ops.Reduce, equation: Equation, builder: Builder) -> None:
    """result[kept] = combine over the reduced axes."""
    operand = equation.inputs[0]
    shape = operand.type.shape
    kept = [k for k in range(len(shape)) if k not in op.axes]
    spatial = builder.axes([shape[k] for k in kept])
    reduced = builder.axes([shape[k] for k in op.axes], REDUCED_NAMES, AxisKind.REDUCE)
    place = dict(zip([*kept, *op.axes], indices((*spatial, *reduced)), strict=True))
    value = builder.read(operand, tuple(place[k] for k in range(len(shape))))
    if op.axes:
        accumulate(
            builder, equation, op.name, op.name, (*spatial, *reduced), indices(spatial), value,
            exact_order=op.precision == "highest",
        )  # fmt: skip
    else:
        builder.store(builder.result(equation.outputs[0], op.name), operand, op.name, equation)


def arg_reduce(op: ops.ArgReduce, equation: Equation, builder: Builder) -> None:
    """(value, position)[kept] = the best pair along the axis; the value stays inside.

    Along rows in memory it is faster as two plain reductions, which vectorise along the row: the
    best value, then the least position that holds it.
    """
    shape = equation.inputs[0].type.shape
    if op.axis == len(shape) - 1 and shape[op.axis] >= LONG_ROW:
        _first_position(op, equation, builder)
        return
    spatial, reduced, value = _along(op.axis, equation, builder)
    result, name = equation.outputs[0], "arg" + op.name
    best = builder.scratch(name + "_value", result.type.shape, value.dtype)
    target = builder.result(result, name)
    builder.define(
        name,
        (*spatial, reduced),
        (best, target),
        indices(spatial),
        (value, FromIndex(ix.of(reduced.symbol), dtypes.INT64)),
        combine=arg_combiner(op.name, value.dtype),
        equation=equation,
    )


def _along(axis: int, equation: Equation, builder: Builder) -> tuple[tuple[Axis, ...], Axis, Value]:
    """The kept axes, the reduced one, and the operand there; halves as float32."""
    operand = equation.inputs[0]
    shape = operand.type.shape
    spatial = builder.axes([e for k, e in enumerate(shape) if k != axis])
    (reduced,) = builder.axes([shape[axis]], REDUCED_NAMES, AxisKind.REDUCE)
    index = indices(spatial)
    value = builder.read(operand, (*index[:axis], ix.of(reduced.symbol), *index[axis:]))
    return spatial, reduced, cast(value, dtypes.accumulator(value.dtype))


def _first_position(op: ops.ArgReduce, equation: Equation, builder: Builder) -> None:
    result, name = equation.outputs[0], "arg" + op.name
    spatial, reduced, value = _along(op.axis, equation, builder)
    dtype = value.dtype
    best = builder.scratch(name + "_value", result.type.shape, dtype)
    builder.define(
        name, (*spatial, reduced), (best,), indices(spatial), (value,),
        combine=combiner(op.name, dtype), equation=equation,
    )  # fmt: skip
    spatial, reduced, value = _along(op.axis, equation, builder)
    small = dtypes.INT32 if reduced.extent < 2**31 else dtypes.INT64
    _, found = compare(value, Load(best, indices(spatial)))
    if dtypes.is_float(dtype):  # a NaN is best if there is one, and equal to nothing
        found = Op("or", (found, Op("ne", (value, value), dtypes.BOOL)), dtypes.BOOL)
    here = FromIndex(ix.of(reduced.symbol), small)
    place = Op("select", (found, here, limits(small)[1]), small)
    first = builder.scratch(name + "_position", result.type.shape, small)
    builder.define(
        name, (*spatial, reduced), (first,), indices(spatial), (place,),
        combine=combiner("min", small), equation=equation,
    )  # fmt: skip
    builder.copy(builder.result(result, name), first, equation)


def cumulative(op: ops.Cumulative, equation: Equation, builder: Builder) -> None:
    """result[r] = combine(result[r - 1], operand[r]), from the other end if reversed."""
    operand, result = equation.inputs[0], equation.outputs[0]
    shape, dtype = operand.type.shape, operand.type.dtype
    spatial = builder.axes([e for k, e in enumerate(shape) if k != op.axis])
    (scanned,) = builder.axes([shape[op.axis]], REDUCED_NAMES, AxisKind.SCAN)
    step = ix.of(scanned.symbol)
    index = indices(spatial)

    def at(position: Index) -> tuple[Index, ...]:
        return (*index[: op.axis], position, *index[op.axis :])

    here = ix.subtract(ix.constant(shape[op.axis] - 1), step) if op.reverse else step
    before = ix.add(here, 1 if op.reverse else -1)
    base = "cum" + op.name
    target = builder.result(result, base)
    value = builder.read(operand, at(here))
    combined = Op(operation(op.name, dtype), (Load(target, at(before)), value), dtype)
    builder.define(
        base, (*spatial, scanned), (target,), at(here),
        (Guarded((ix.add(step, -1),), combined, value),), equation=equation,
    )  # fmt: skip


def pool(op: ops.Pool, equation: Equation, builder: Builder) -> None:
    """result[i] = combine over the window of operand[i * stride + r * dilation - low]."""
    operand, result = equation.inputs[0], equation.outputs[0]
    shape = operand.type.shape
    spatial = builder.axes(result.type.shape, "nchw" if len(shape) == 4 else "ijklmnpq")
    windowed = [k for k, extent in enumerate(op.window) if extent != 1]
    reduced = builder.axes([op.window[k] for k in windowed], REDUCED_NAMES, AxisKind.REDUCE)
    offsets: dict[int, Symbol] = {k: a.symbol for k, a in zip(windowed, reduced, strict=True)}
    place = []
    conditions: list[Index] = []
    for k, axis in enumerate(spatial):
        at = ix.scale(ix.of(axis.symbol), op.strides[k])
        if k in offsets:
            at = ix.add(at, ix.scale(ix.of(offsets[k]), op.dilation[k]))
        at = ix.add(at, -op.pads[k][0])
        conditions += dilated(at, 1, shape[k], builder.ranges)
        place.append(at)
    domain = undecided(conditions, builder.ranges)
    if domain is None or not reduced:
        # Every window is empty, or holds one cell which may be padding.
        reduced = (*reduced, *builder.axes([0 if domain is None else 1], "v", AxisKind.REDUCE))
        domain = domain or ()
    value = builder.read(operand, tuple(place))
    accumulate(
        builder, equation, op.name + "_pool", op.name, (*spatial, *reduced), indices(spatial),
        value, domain,
    )  # fmt: skip
