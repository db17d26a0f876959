"""Inlined operations: what one element of the result is, in terms of elements of the operands.

Each rule is a generator: it yields requests (operand, index) and is sent the element's value, so
that a chain of any depth is read without recursion (see `builder.py`). Index maps vanish here:
a transpose or a reshape is only another index.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .. import dtypes
from ..expr import index as ix
from ..expr.nodes import FromIndex, Guarded, Index, Op, Value
from ..expr.values import const
from ..graph import ops
from ..graph.nodes import Atom, Equation
from .positions import no_position, position

Indices: TypeAlias = tuple[Index, ...]
Request: TypeAlias = tuple[Atom, Indices]
Steps: TypeAlias = Generator[Request, Value, Value]


@dataclass(frozen=True, slots=True)
class Site:
    """Where a rule is applied: the equation, its status code, the ranges of the axes."""

    equation: Equation
    code: int
    ranges: ix.Ranges

    def operand(self, k: int, index: Indices) -> Request:
        """The request for operand k at an index of the result (rank-0 operands stand for all)."""
        atom = self.equation.inputs[k]
        return atom, index if atom.type.shape else ()


def _elementwise(name: str, site: Site, index: Indices) -> Steps:
    args = []
    for k in range(len(site.equation.inputs)):
        args.append((yield site.operand(k, index)))
    return Op(name, tuple(args), site.equation.outputs[0].type.dtype)


def _named(op: ops.Elementwise, site: Site, index: Indices) -> Steps:
    return _elementwise(op.name, site, index)


def _select(op: ops.Select, site: Site, index: Indices) -> Steps:
    return _elementwise("select", site, index)


def _bitcast(op: ops.Bitcast, site: Site, index: Indices) -> Steps:
    return _elementwise("bitcast", site, index)


def _cast(op: ops.Cast, site: Site, index: Indices) -> Steps:
    value = yield site.operand(0, index)
    return cast(value, op.dtype)


def _iota(op: ops.Iota, site: Site, index: Indices) -> Steps:
    yield from ()
    return FromIndex(index[op.axis], op.dtype)


def _broadcast(op: ops.Broadcast, site: Site, index: Indices) -> Steps:
    shape = site.equation.inputs[0].type.shape
    inner = tuple(
        index[axis] if extent != 1 else ix.ZERO for axis, extent in zip(op.axes, shape, strict=True)
    )
    return (yield site.equation.inputs[0], inner)


def _reshape(op: ops.Reshape, site: Site, index: Indices) -> Steps:
    operand = site.equation.inputs[0]
    return (yield operand, reshape_index(index, op.shape, operand.type.shape, site.ranges))


def _transpose(op: ops.Transpose, site: Site, index: Indices) -> Steps:
    inner = [ix.ZERO] * len(index)
    for at, axis in zip(index, op.permutation, strict=True):
        inner[axis] = at
    return (yield site.equation.inputs[0], tuple(inner))


def _slice(op: ops.Slice, site: Site, index: Indices) -> Steps:
    return (yield site.equation.inputs[0], strided(index, op.starts, op.steps))


def _pad(op: ops.Pad, site: Site, index: Indices) -> Steps:
    operand, fill = site.equation.inputs
    conditions: list[Index] = []
    inner = []
    for i, low, between, extent in zip(index, op.low, op.interior, operand.type.shape, strict=True):
        place = ix.add(i, -low)
        conditions += dilated(place, between + 1, extent, site.ranges)
        inner.append(ix.floor_divide(place, between + 1, site.ranges))
    open_ = undecided(conditions, site.ranges)
    if open_ is None:
        return (yield fill, ())
    value = yield operand, tuple(inner)
    if not open_:
        return value
    return Guarded(open_, value, (yield fill, ()))


def _concatenate(op: ops.Concatenate, site: Site, index: Indices) -> Steps:
    axis = op.axis
    parts: list[tuple[tuple[Index, ...], Value]] = []
    start = 0
    for operand in site.equation.inputs:
        extent = operand.type.shape[axis]
        place = ix.add(index[axis], -start)
        start += extent
        before_end = undecided([ix.subtract(ix.constant(extent - 1), place)], site.ranges)
        if before_end is None or not extent:
            continue
        if undecided([place], site.ranges) is None:
            break
        value = yield operand, (*index[:axis], place, *index[axis + 1 :])
        parts.append((before_end, value))
        if not before_end:
            break
    result = parts[-1][1] if parts else const(0, site.equation.outputs[0].type.dtype)
    for before_end, value in reversed(parts[:-1]):
        result = Guarded(before_end, value, result)
    return result


def _gather(op: ops.Gather, site: Site, index: Indices) -> Steps:
    operand, arrays = site.equation.inputs[0], site.equation.inputs[1 : 1 + len(op.axes)]
    rank = len(arrays[0].type.shape)
    outer, others = index[:rank], iter(index[rank:])
    places: dict[int, Index] = {}
    inside: list[Value] = []
    for axis, array in zip(op.axes, arrays, strict=True):
        extent = operand.type.shape[axis]
        value = yield array, outer
        if not extent:
            fill = const(0, operand.type.dtype) if op.mode != "fill" else (yield _fill(site))
            return no_position(fill, op.mode, site.code)
        found = position(value, extent, op.mode, site.code, site.ranges)
        places[axis] = found.clamped
        inside += [found.inside] if found.inside is not None else []
    inner = tuple(
        places[axis] if axis in places else next(others) for axis in range(len(operand.type.shape))
    )
    result = yield operand, inner
    if inside:
        ok = inside[0]
        for other in inside[1:]:
            ok = Op("and", (ok, other), dtypes.BOOL)
        result = Op("select", (ok, result, (yield _fill(site))), result.dtype)
    return result


def _fill(site: Site) -> Request:
    return site.equation.inputs[-1], ()


INLINE: Mapping[type, Callable[[Any, Site, Indices], Steps]] = {
    ops.Elementwise: _named,
    ops.Select: _select,
    ops.Cast: _cast,
    ops.Bitcast: _bitcast,
    ops.Iota: _iota,
    ops.Broadcast: _broadcast,
    ops.Reshape: _reshape,
    ops.Transpose: _transpose,
    ops.Slice: _slice,
    ops.Pad: _pad,
    ops.Concatenate: _concatenate,
    ops.Gather: _gather,
}
"""The operations that need no array of their own."""


def cast(value: Value, dtype: Any) -> Value:
    """The value converted to dtype; itself if it has that type."""
    return value if value.dtype == dtype else Op("cast", (value,), dtype)


def strided(index: Indices, starts: Sequence[int], steps: Sequence[int]) -> Indices:
    """starts + index * steps."""
    return tuple(
        ix.add(ix.scale(i, step), start)
        for i, start, step in zip(index, starts, steps, strict=True)
    )


def dilated(place: Index, step: int, extent: int, ranges: ix.Ranges) -> list[Index]:
    """Conditions (each >= 0) for place = step * k with k in [0, extent)."""
    conditions = [place, ix.subtract(ix.constant((extent - 1) * step), place)]
    if step > 1:
        conditions.append(ix.scale(ix.modulo(place, step, ranges), -1))
    return conditions


def undecided(conditions: Sequence[Index], ranges: ix.Ranges) -> tuple[Index, ...] | None:
    """The conditions that may hold or not; None if one of them never holds."""
    result = []
    for condition in conditions:
        low, high = ix.bounds(condition, ranges)
        if high < 0:
            return None
        if low < 0 and condition not in result:
            result.append(condition)
    return tuple(result)


def reshape_index(
    index: Indices, shape: Sequence[int], target: Sequence[int], ranges: ix.Ranges
) -> Indices:
    """The index into an array of shape `target` of the element at `index` of its reshape.

    Runs of axes with equal products are mapped apart, so that a split or a merge of axes leaves
    all others alone; div and mod appear only where the shapes truly interleave.
    """
    result = [ix.ZERO] * len(target)
    if 0 in shape:
        return tuple(result)
    sources = [k for k, extent in enumerate(shape) if extent != 1]
    targets = [k for k, extent in enumerate(target) if extent != 1]
    while sources:
        taken, given = [sources.pop(0)], [targets.pop(0)]
        left, right = shape[taken[0]], target[given[0]]
        while left != right:
            if left < right:
                taken.append(sources.pop(0))
                left *= shape[taken[-1]]
            else:
                given.append(targets.pop(0))
                right *= target[given[-1]]
        place = ix.ZERO
        for k in taken:
            place = ix.add(ix.scale(place, shape[k]), index[k])
        stride = left
        for n, k in enumerate(given):
            stride //= target[k]
            quotient = ix.floor_divide(place, stride, ranges)
            result[k] = ix.modulo(quotient, target[k], ranges) if n else quotient
    return tuple(result)
