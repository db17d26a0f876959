"""Laws of operations that move elements, and of reductions. Each law is its docstring."""

from __future__ import annotations

from collections.abc import Sequence

from ... import dtypes
from ..nodes import Atom, Equation
from ..ops import (
    Broadcast,
    Concatenate,
    Elementwise,
    Reduce,
    Reshape,
    Slice,
    Sort,
    Transpose,
    UpdateSlice,
)
from .rewrite import Rewriter, Rule, literal, scalar_of

_MAX_HOPS = 16
"""How many updates in a row a slice looks past."""

_MAX_PARTS = 256
"""Of a concatenation of more parts no slice looks for its own."""


def same_shape(r: Rewriter, e: Equation) -> Atom | None:
    """broadcast, reshape to the operand's own shape -> the operand."""
    (x,) = e.inputs
    return x if x.type.shape == e.outputs[0].type.shape else None


def of_scalar(r: Rewriter, e: Equation) -> Atom | None:
    """reshape, transpose, slice of broadcast(s: rank 0) -> broadcast(s)."""
    (x,) = e.inputs
    scalar = scalar_of(r, x) if x.type.shape else None
    return None if scalar is None else r.spread(scalar, e.outputs[0].type.shape, e.source)


def broadcast_of_broadcast(r: Rewriter, e: Equation) -> Atom | None:
    """broadcast(broadcast(x)) -> broadcast(x)."""
    inner = r.maker(e.inputs[0])
    if inner is None or not isinstance(inner.op, Broadcast) or not isinstance(e.op, Broadcast):
        return None
    axes = tuple(e.op.axes[k] for k in inner.op.axes)
    return r.emit(Broadcast(e.op.shape, axes), inner.inputs, e.source)


def reshape_of_reshape(r: Rewriter, e: Equation) -> Atom | None:
    """reshape(reshape(x)) -> reshape(x)."""
    inner = r.maker(e.inputs[0])
    if inner is None or not isinstance(inner.op, Reshape):
        return None
    return r.emit(e.op, inner.inputs, e.source)


def identity_transpose(r: Rewriter, e: Equation) -> Atom | None:
    """transpose(x) with every axis in its place -> x."""
    assert isinstance(e.op, Transpose)
    return e.inputs[0] if e.op.permutation == tuple(range(len(e.op.permutation))) else None


def transpose_of_transpose(r: Rewriter, e: Equation) -> Atom | None:
    """transpose(transpose(x)) -> transpose(x)."""
    inner = r.maker(e.inputs[0])
    if inner is None or not isinstance(inner.op, Transpose) or not isinstance(e.op, Transpose):
        return None
    permutation = tuple(inner.op.permutation[k] for k in e.op.permutation)
    return r.emit(Transpose(permutation), inner.inputs, e.source)


def after_transpose(r: Rewriter, e: Equation) -> Atom | None:
    """f(transpose(x), transpose(y), scalar) -> transpose(f(x, y, scalar)), of one permutation."""
    permutation: tuple[int, ...] | None = None
    inner: list[Atom] = []
    for atom in e.inputs:
        maker = r.maker(atom)
        if not atom.type.shape:
            inner.append(atom)
        elif maker is None or not isinstance(maker.op, Transpose):
            return None
        elif permutation in (None, maker.op.permutation):
            permutation = maker.op.permutation
            inner.append(maker.inputs[0])
        else:
            return None
    if permutation is None:
        return None
    return r.emit(Transpose(permutation), (r.emit(e.op, tuple(inner), e.source),), e.source)


def _covers(shape: Sequence[int], op: Slice) -> bool:
    return op.sizes == tuple(shape) and all(
        (step == 1 and start == 0) or size == 1
        for start, step, size in zip(op.starts, op.steps, op.sizes, strict=True)
    )


def whole_slice(r: Rewriter, e: Equation) -> Atom | None:
    """A slice of everything in order -> x."""
    assert isinstance(e.op, Slice)
    return e.inputs[0] if _covers(e.inputs[0].type.shape, e.op) else None


def slice_of_slice(r: Rewriter, e: Equation) -> Atom | None:
    """slice(slice(x)) -> slice(x)."""
    inner = r.maker(e.inputs[0])
    if inner is None or not isinstance(inner.op, Slice) or not isinstance(e.op, Slice):
        return None
    a, b = inner.op, e.op
    starts = tuple(i + j * k for i, j, k in zip(a.starts, b.starts, a.steps, strict=True))
    steps = tuple(i * j for i, j in zip(a.steps, b.steps, strict=True))
    return r.emit(Slice(starts, b.sizes, steps), inner.inputs, e.source)


def slice_of_concatenate(r: Rewriter, e: Equation) -> Atom | None:
    """A slice that lies in one operand of a concatenation -> slice of that operand."""
    inner = r.maker(e.inputs[0])
    if inner is None or not isinstance(inner.op, Concatenate) or not isinstance(e.op, Slice):
        return None
    if len(inner.inputs) > _MAX_PARTS:
        return None
    axis = inner.op.axis
    low, high = _interval(e.op, axis)
    first = 0
    for part in inner.inputs:
        extent = part.type.shape[axis]
        if first <= low and high < first + extent:
            starts = list(e.op.starts)
            starts[axis] -= first
            return r.emit(Slice(tuple(starts), e.op.sizes, e.op.steps), (part,), e.source)
        first += extent
    return None


def _interval(op: Slice, axis: int) -> tuple[int, int]:
    """The lowest and highest position that a slice with elements names along an axis."""
    start = op.starts[axis]
    last = start + (op.sizes[axis] - 1) * op.steps[axis]
    return min(start, last), max(start, last)


def slice_of_update(r: Rewriter, e: Equation) -> Atom | None:
    """slice(update_slice(x, u)) -> u for the very range, past updates of ranges apart.

    A slice of x itself would not do for a range apart: x would have to be kept beside the update.
    """
    assert isinstance(e.op, Slice)
    operand = e.inputs[0]
    for _ in range(_MAX_HOPS):
        maker = r.maker(operand)
        if maker is None or not isinstance(maker.op, UpdateSlice):
            return None
        operand, update = maker.inputs
        written = Slice(maker.op.starts, update.type.shape, maker.op.steps)
        if written == e.op:
            return update
        if not _apart(written, e.op):
            return None
    return None


def _apart(a: Slice, b: Slice) -> bool:
    if 0 in a.sizes or 0 in b.sizes:
        return True
    for axis in range(len(a.starts)):
        (low, high), (other_low, other_high) = _interval(a, axis), _interval(b, axis)
        if high < other_low or other_high < low:
            return True
    return False


def empty_update(r: Rewriter, e: Equation) -> Atom | None:
    """update_slice(x, an empty array) -> x."""
    return e.inputs[0] if 0 in e.inputs[1].type.shape else None


def whole_update(r: Rewriter, e: Equation) -> Atom | None:
    """update_slice(x, u) of everything in order -> u."""
    assert isinstance(e.op, UpdateSlice)
    x, update = e.inputs
    covers = _covers(x.type.shape, Slice(e.op.starts, update.type.shape, e.op.steps))
    return update if covers else None


def update_of_update(r: Rewriter, e: Equation) -> Atom | None:
    """update_slice(update_slice(x, u), v) of the same range -> update_slice(x, v).

    Only where nobody else reads the inner one, for x would have to be kept for both.
    """
    inner = r.maker(e.inputs[0])
    if inner is None or inner.op != e.op or inner.inputs[1].type != e.inputs[1].type:
        return None
    if r.uses[e.inputs[0]] > 1:
        return None
    return r.emit(e.op, (inner.inputs[0], e.inputs[1]), e.source)


def no_padding(r: Rewriter, e: Equation) -> Atom | None:
    """pad(x) that adds nothing -> x."""
    return e.inputs[0] if e.inputs[0].type == e.outputs[0].type else None


def fewer_parts(r: Rewriter, e: Equation) -> Atom | None:
    """concatenate(x) -> x; operands without elements are left out."""
    assert isinstance(e.op, Concatenate)
    full = [a for a in e.inputs if a.type.shape[e.op.axis]]
    if len(full) == len(e.inputs) > 1:
        return None
    return full[0] if len(full) == 1 else r.emit(e.op, full, e.source)


def reduce_nothing(r: Rewriter, e: Equation) -> Atom | None:
    """A reduction over axes of extent 1 -> reshape; a sum of floats also adds 0 (-0 becomes 0)."""
    assert isinstance(e.op, Reduce)
    (x,) = e.inputs
    if any(x.type.shape[k] != 1 for k in e.op.axes):
        return None
    alone = r.emit(Reshape(e.outputs[0].type.shape), (x,), e.source)
    if e.op.name != "sum" or not dtypes.is_float(x.type.dtype):
        return alone
    return r.emit(Elementwise("add"), (alone, literal(0, x.type.dtype)), e.source)


def one_along_axis(r: Rewriter, e: Equation) -> Atom | None:
    """A running sum, or a sort, of one element -> that element (its position is 0)."""
    (x,) = e.inputs
    axis = e.op.axis  # type: ignore[union-attr]
    if x.type.shape[axis] != 1:
        return None
    if isinstance(e.op, Sort) and e.op.indices:
        return r.spread(literal(0, dtypes.INT64), x.type.shape, e.source)
    return x


BROADCAST: tuple[Rule, ...] = (same_shape, broadcast_of_broadcast)
RESHAPE: tuple[Rule, ...] = (same_shape, of_scalar, reshape_of_reshape)
TRANSPOSE: tuple[Rule, ...] = (identity_transpose, of_scalar, transpose_of_transpose)
SLICE: tuple[Rule, ...] = (
    whole_slice,
    of_scalar,
    slice_of_slice,
    slice_of_concatenate,
    slice_of_update,
)
UPDATE_SLICE: tuple[Rule, ...] = (empty_update, whole_update, update_of_update)
PAD: tuple[Rule, ...] = (no_padding,)
CONCATENATE: tuple[Rule, ...] = (fewer_parts,)
REDUCE: tuple[Rule, ...] = (reduce_nothing,)
ALONG_AXIS: tuple[Rule, ...] = (one_along_axis,)
