"""Array functions that join, split, repeat, shift and pad."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.dtypes import canonical, promote
from ..ir.errors import ShapeError
from ..ir.graph.nodes import Atom
from ..ir.graph.ops import Broadcast, Concatenate, Gather, Pad, Slice
from .context import Trace, here, refused
from .creation import broadcast_to, number_of, shape_of
from .eager import array_function
from .reducing import axis_of
from .shapes import atleast_1d, atleast_2d, atleast_3d, expand_dims, moveaxis, reshape_to
from .traced import (
    Traced,
    active,
    atom_of,
    converted,
    fresh,
    lift,
    literal,
    reshaped_atom,
    stacked,
    viewed,
)
from .trees import map_leaves
from .updates import store
from .views import Shape, sliced


def joined(trace: Trace, arrays: Sequence[Traced], axis: int) -> Traced:
    """The arrays one after another along an axis, in their common type."""
    dtype = arrays[0].dtype
    for x in arrays[1:]:
        dtype = promote(dtype, x.dtype)
    first = arrays[0].shape
    total = 0
    for x in arrays:
        if len(x.shape) != len(first) or any(
            k != axis and n != m for k, (n, m) in enumerate(zip(x.shape, first, strict=True))
        ):
            raise ShapeError(
                f"arrays of shapes {first} and {x.shape} cannot be joined along axis {axis}", here()
            )
        total += x.shape[axis]
    atoms = tuple(converted(trace, x, dtype) for x in arrays)
    if len(atoms) == 1:
        return fresh(trace, atoms[0])
    shape = (*first[:axis], total, *first[axis + 1 :])
    return fresh(trace, trace.emit(Concatenate(axis), atoms, shape, dtype))


def _lifted(trace: Trace, arrays: Any) -> list[Traced]:
    if isinstance(arrays, Traced):
        count = arrays.shape[0] if arrays.shape else 0
        return [_part(trace, arrays, 0, k, k + 1, drop=True) for k in range(count)]
    found = [lift(trace, x) for x in arrays]
    if not found:
        raise ShapeError("at least one array is needed", here())
    return found


def _part(trace: Trace, x: Traced, axis: int, start: int, stop: int, drop: bool = False) -> Traced:
    starts = tuple(start if k == axis else 0 for k in range(x.ndim))
    sizes = tuple(max(0, stop - start) if k == axis else n for k, n in enumerate(x.shape))
    part = viewed(trace, sliced(x.elements, starts, sizes, (1,) * x.ndim))
    if not drop:
        return part
    return reshape_to(trace, part, tuple(n for k, n in enumerate(sizes) if k != axis))


@array_function
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Arrays joined along an axis (None: flat); see `numpy.concatenate`."""
    trace = active()
    parts = _lifted(trace, arrays)
    if axis is None:
        parts = [reshape_to(trace, x, (x.size,)) for x in parts]
        axis = 0
    if any(not x.ndim for x in parts):
        raise ShapeError("scalars cannot be concatenated", here(), "use np.stack or np.hstack")
    result = joined(trace, parts, axis_of(axis, parts[0].ndim))
    if dtype is not None:
        result = fresh(trace, converted(trace, result, canonical(dtype, here())))
    return result if out is None else store(trace, out, result)


concat = concatenate


@array_function
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None) -> Any:
    """Arrays of one shape along a new axis; see `numpy.stack`."""
    trace = active()
    parts = _lifted(trace, arrays)
    result = stacked(trace, parts, axis_of(axis, parts[0].ndim + 1))
    if dtype is not None:
        result = fresh(trace, converted(trace, result, canonical(dtype, here())))
    return result if out is None else store(trace, out, result)


@array_function
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays joined as rows; see `numpy.vstack`."""
    return concatenate([atleast_2d(x) for x in _lifted(active(), tup)], 0, dtype=dtype)


row_stack = vstack


@array_function
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays joined as columns; see `numpy.hstack`."""
    parts = [atleast_1d(x) for x in _lifted(active(), tup)]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype)


@array_function
def dstack(tup: Any) -> Any:
    """Arrays joined along the third axis; see `numpy.dstack`."""
    return concatenate([atleast_3d(x) for x in _lifted(active(), tup)], 2)


@array_function
def column_stack(tup: Any) -> Any:
    """Vectors as columns of a matrix; see `numpy.column_stack`."""
    trace = active()
    parts = []
    for x in _lifted(trace, tup):
        parts.append(reshape_to(trace, x, (x.size, 1)) if x.ndim < 2 else x)
    return concatenate(parts, 1)


@array_function
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """`arr` with values at its end; see `numpy.append`."""
    trace = active()
    parts = [lift(trace, arr), lift(trace, values)]
    if axis is None:
        parts = [reshape_to(trace, x, (x.size,)) for x in parts]
        axis = parts[0].ndim - 1
    return concatenate(parts, axis)


@array_function
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Views of consecutive parts, of nearly equal size; see `numpy.array_split`."""
    trace = active()
    x = lift(trace, ary)
    number = axis_of(axis, x.ndim)
    n = x.shape[number]
    if isinstance(indices_or_sections, tuple | list | np.ndarray):
        cuts = [operator.index(k) for k in indices_or_sections]
    else:
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            raise ShapeError("the number of sections must be larger than 0", here())
        each, extra = divmod(n, sections)
        sizes = [each + (k < extra) for k in range(sections)]
        cuts = [int(c) for c in np.cumsum(sizes)[:-1]]
    bounds = [slice(a, b).indices(n)[:2] for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    return [_part(trace, x, number, a, b) for a, b in bounds]


@array_function
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Views of consecutive parts, of equal size; see `numpy.split`."""
    x = lift(active(), ary)
    if not isinstance(indices_or_sections, tuple | list | np.ndarray):
        sections = operator.index(indices_or_sections)
        n = x.shape[axis_of(axis, x.ndim)]
        if sections <= 0 or n % sections:
            raise ShapeError(f"{n} elements cannot be split into {sections} equal parts", here())
    return array_split(x, indices_or_sections, axis)


@array_function
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Rows in consecutive parts; see `numpy.vsplit`."""
    return split(ary, indices_or_sections, 0)


@array_function
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Columns in consecutive parts; see `numpy.hsplit`."""
    x = lift(active(), ary)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


@array_function
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """The third axis in consecutive parts; see `numpy.dsplit`."""
    return split(ary, indices_or_sections, 2)


@array_function
def unstack(x: Any, /, *, axis: Any = 0) -> Any:
    """The parts along an axis, without it; see `numpy.unstack`."""
    trace = active()
    a = lift(trace, x)
    number = axis_of(axis, a.ndim)
    return tuple(_part(trace, a, number, k, k + 1, drop=True) for k in range(a.shape[number]))


@array_function
def tile(A: Any, reps: Any) -> Any:
    """An array repeated as a whole; see `numpy.tile`."""
    trace = active()
    x = lift(trace, A)
    counts = tuple(operator.index(r) for r in (reps if isinstance(reps, tuple | list) else (reps,)))
    rank = max(x.ndim, len(counts))
    own = (*(1,) * (rank - x.ndim), *x.shape)
    counts = (*(1,) * (rank - len(counts)), *counts)
    atom = reshaped_atom(trace, atom_of(trace, x), own)
    wide = tuple(n for pair in zip(counts, own, strict=True) for n in pair)
    op = Broadcast(wide, tuple(range(1, 2 * rank, 2)))
    repeated = trace.emit(op, (atom,), wide, x.dtype)
    whole = tuple(c * n for c, n in zip(counts, own, strict=True))
    return fresh(trace, reshaped_atom(trace, repeated, whole))


@array_function
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element repeated; see `numpy.repeat`. The counts have to be known."""
    trace = active()
    x = lift(trace, a)
    if axis is None:
        x = reshape_to(trace, x, (x.size,))
        axis = 0
    number = axis_of(axis, x.ndim)
    n = x.shape[number]
    counts = _known_counts(trace, repeats)
    if counts.size == 1:
        each = int(counts.reshape(()))
        wide = (*x.shape[: number + 1], each, *x.shape[number + 1 :])
        axes = tuple(k for k in range(len(wide)) if k != number + 1)
        atom = trace.emit(Broadcast(wide, axes), (atom_of(trace, x),), wide, x.dtype)
        shape = (*x.shape[:number], n * each, *x.shape[number + 1 :])
        return fresh(trace, reshaped_atom(trace, atom, shape))
    if counts.shape != (n,):
        raise ShapeError(f"repeat: {counts.size} counts for {n} elements", here())
    return fresh(trace, picked(trace, atom_of(trace, x), number, np.repeat(np.arange(n), counts)))


def _known_counts(trace: Trace, x: Any) -> np.ndarray[Any, Any]:
    if isinstance(x, Traced):
        known = trace.demand(atom_of(trace, x))
        if known is None:
            raise refused("repeat: the counts depend on the data", "use counts that are known")
        return known
    return np.asarray(x)


def picked(trace: Trace, atom: Atom, axis: int, positions: np.ndarray[Any, Any]) -> Atom:
    """Known positions (in range) of one axis, along that axis."""
    shape, dtype = atom.type.shape, atom.type.dtype
    order = (axis, *(k for k in range(len(shape)) if k != axis))
    index = trace.constant(np.ascontiguousarray(positions, np.int64))
    rest = tuple(shape[k] for k in order[1:])
    result = trace.emit(
        Gather((axis,), "clip" if shape[axis] else "raise"),
        (atom, index),
        (*positions.shape, *rest),
        dtype,
    )
    made = fresh(trace, result)
    moved: Traced = moveaxis(made, 0, axis)
    return atom_of(trace, moved)


@array_function
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements shifted around; see `numpy.roll`. The shifts have to be known."""
    trace = active()
    x = lift(trace, a)
    if axis is None:
        flat = roll(reshape_to(trace, x, (x.size,)), shift, 0)
        return reshape_to(trace, flat, x.shape)
    shifts = shift if isinstance(shift, tuple | list) else (shift,)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    if len(shifts) == 1:
        shifts = tuple(shifts) * len(axes)
    if len(axes) == 1:
        axes = tuple(axes) * len(shifts)
    atom = atom_of(trace, x)
    for by, name in zip(shifts, axes, strict=True):
        number = axis_of(name, x.ndim)
        n = x.shape[number]
        k = operator.index(by) % n if n else 0
        if k:
            parts = (_cut(trace, atom, number, n - k, n), _cut(trace, atom, number, 0, n - k))
            atom = trace.emit(Concatenate(number), parts, x.shape, x.dtype)
    return fresh(trace, atom)


def _cut(trace: Trace, atom: Atom, axis: int, start: int, stop: int, step: int = 1) -> Atom:
    shape = atom.type.shape
    count = len(range(start, stop, step))
    if count == shape[axis] and step == 1:
        return atom
    starts = tuple(start if k == axis else 0 for k in range(len(shape)))
    sizes = tuple(count if k == axis else n for k, n in enumerate(shape))
    steps = tuple(step if k == axis else 1 for k in range(len(shape)))
    return trace.emit(Slice(starts, sizes, steps), (atom,), sizes, atom.type.dtype)


@array_function
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Values put before one position; see `numpy.insert`."""
    trace = active()
    x = lift(trace, arr)
    if axis is None:
        x = reshape_to(trace, x, (x.size,))
        axis = 0
    number = axis_of(axis, x.ndim)
    n = x.shape[number]
    at = operator.index(number_of(trace, obj))
    if not -n <= at <= n:
        raise ShapeError(f"insert: position {at} is outside of {n} elements", here())
    at += n if at < 0 else 0
    new = lift(trace, values)
    row = (*x.shape[:number], 1, *x.shape[number + 1 :])
    if x.ndim == 1:
        new = reshape_to(trace, new, (new.size,))
    elif new.ndim < x.ndim:
        new = expand_dims(new, number) if new.ndim == x.ndim - 1 else new
        new = broadcast_to(new, row)
    new = fresh(trace, converted(trace, new, x.dtype))
    parts = [_part(trace, x, number, 0, at), new, _part(trace, x, number, at, n)]
    return joined(trace, parts, number)


@array_function
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Without the given positions; see `numpy.delete`. They have to be known."""
    trace = active()
    x = lift(trace, arr)
    if axis is None:
        x = reshape_to(trace, x, (x.size,))
        axis = 0
    number = axis_of(axis, x.ndim)
    where = obj if isinstance(obj, slice) else _known_counts(trace, obj)
    kept = np.delete(np.arange(x.shape[number]), where)
    return fresh(trace, picked(trace, atom_of(trace, x), number, kept))


@array_function
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """An array with a margin; see `numpy.pad`. Modes: constant, edge, reflect, symmetric, wrap."""
    trace = active()
    x = lift(trace, array)
    width = pad_width
    if isinstance(width, dict):
        given = {axis_of(k, x.ndim): v for k, v in width.items()}
        width = [given.get(k, (0, 0)) for k in range(x.ndim)]
    plain = map_leaves(lambda n: operator.index(number_of(trace, n)), width)
    widths = np.broadcast_to(np.asarray(plain, np.int64), (x.ndim, 2)).tolist()
    if any(n < 0 for pair in widths for n in pair):
        raise ShapeError(
            f"np.pad by a negative width: {pad_width}", here(), "cut margins off by slicing"
        )
    if mode == "constant":
        return _padded(trace, x, widths, kwargs.get("constant_values", 0))
    if mode not in ("edge", "reflect", "symmetric", "wrap") or kwargs.get("reflect_type") == "odd":
        raise refused(
            f"np.pad with mode {mode!r} is not supported",
            "modes: constant, edge, reflect, symmetric, wrap",
        )
    atom = atom_of(trace, x)
    for k, (low, high) in enumerate(widths):
        if low or high:
            positions = np.pad(np.arange(x.shape[k]), (low, high), mode)
            atom = _taken_along(trace, atom, k, positions)
    return fresh(trace, atom)


def _padded(trace: Trace, x: Traced, widths: list[list[int]], values: Any) -> Traced:
    uniform = not isinstance(values, tuple | list | np.ndarray)
    atom = atom_of(trace, x)
    if uniform:
        fill = converted(trace, lift(trace, values), x.dtype)
        shape = tuple(n + a + b for n, (a, b) in zip(x.shape, widths, strict=True))
        low, high = (tuple(w[s] for w in widths) for s in (0, 1))
        op = Pad(low, high, (0,) * x.ndim)
        return fresh(trace, trace.emit(op, (atom, fill), shape, x.dtype))
    fills = np.broadcast_to(np.asarray(values), (x.ndim, 2)).tolist()
    for k in range(x.ndim):
        for side in (0, 1):
            width = [0] * x.ndim
            width[k] = widths[k][side]
            zeros = (0,) * x.ndim
            shape = tuple(n + w for n, w in zip(atom.type.shape, width, strict=True))
            low, high = (tuple(width), zeros) if side == 0 else (zeros, tuple(width))
            fill = literal(fills[k][side], x.dtype)
            atom = trace.emit(Pad(low, high, zeros), (atom, fill), shape, x.dtype)
    return fresh(trace, atom)


def _taken_along(trace: Trace, atom: Atom, axis: int, positions: np.ndarray[Any, Any]) -> Atom:
    """Known positions of an axis, as few slices joined where there are few runs."""
    runs = _runs(positions)
    if len(runs) > 8:
        return picked(trace, atom, axis, positions)
    parts = []
    for start, count, step in runs:
        if step > 0:
            part = _cut(trace, atom, axis, start, start + count, step)
        elif step == 0:
            part = _cut(trace, atom, axis, start, start + 1)
            shape = (*atom.type.shape[:axis], count, *atom.type.shape[axis + 1 :])
            op = Broadcast(shape, tuple(range(len(shape))))
            part = trace.emit(op, (part,), shape, atom.type.dtype)
        else:
            part = _cut(trace, atom, axis, start, start - count, step)
        parts.append(part)
    if len(parts) == 1:
        return parts[0]
    whole = (*atom.type.shape[:axis], len(positions), *atom.type.shape[axis + 1 :])
    return trace.emit(Concatenate(axis), tuple(parts), whole, atom.type.dtype)


def _runs(positions: np.ndarray[Any, Any]) -> list[tuple[int, int, int]]:
    """(start, count, step) of the maximal arithmetic runs of steps 1, 0 and -1."""
    runs: list[tuple[int, int, int]] = []
    for p in positions.tolist():
        if runs:
            start, count, step = runs[-1]
            by = p - (start + (count - 1) * step)
            if count == 1 and abs(by) <= 1:
                runs[-1] = (start, 2, by)
                continue
            if by == step:
                runs[-1] = (start, count + 1, step)
                continue
        runs.append((p, 1, 1))
    return runs


@array_function
def resize(a: Any, new_shape: Any) -> Any:
    """The elements repeated to fill a shape; see `numpy.resize`."""
    trace = active()
    x = lift(trace, a)
    shape: Shape = shape_of(new_shape)
    wanted = int(np.prod(shape))
    positions = np.resize(np.arange(x.size), wanted)
    flat = reshaped_atom(trace, atom_of(trace, x), (x.size,))
    return fresh(trace, reshaped_atom(trace, picked(trace, flat, 0, positions), shape))
