"""NumPy meanings of the operations that move elements: broadcast to gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import BoundsError
from ..expr.rounding import Array, convert
from . import ops

_UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def iota(op: ops.Iota, x: Sequence[Array]) -> Array:
    """Positions along the axis; narrow integers wrap."""
    line = convert(np.arange(op.shape[op.axis], dtype=np.int64), op.dtype)
    return np.broadcast_to(line.reshape(-1, *[1] * (len(op.shape) - op.axis - 1)), op.shape)


def broadcast(op: ops.Broadcast, x: Sequence[Array]) -> Array:
    """A view with stride 0 along the new and stretched axes."""
    (operand,) = x
    shape = [1] * len(op.shape)
    for extent, axis in zip(operand.shape, op.axes, strict=True):
        shape[axis] = extent
    return np.broadcast_to(operand.reshape(shape), op.shape)


def _slices(
    starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]
) -> tuple[slice, ...]:
    result = []
    for start, size, step in zip(starts, sizes, steps, strict=True):
        stop = start + size * step
        result.append(slice(start, stop if stop >= 0 else None, step) if size else slice(0, 0))
    return tuple(result)


def slice_(op: ops.Slice, x: Sequence[Array]) -> Array:
    """A view."""
    return np.asarray(x[0][_slices(op.starts, op.sizes, op.steps)])


def update_slice(op: ops.UpdateSlice, x: Sequence[Array]) -> Array:
    """A copy with the range replaced."""
    operand, update = x
    result = np.array(operand, order="C")
    result[_slices(op.starts, update.shape, op.steps)] = update
    return result


def pad(op: ops.Pad, x: Sequence[Array]) -> Array:
    """The operand's elements spread out in an array of the fill value."""
    operand, fill = x
    extents = list(zip(operand.shape, op.low, op.high, op.interior, strict=True))
    shape = [low + n + max(n - 1, 0) * gap + high for n, low, high, gap in extents]
    result = np.full(shape, fill, operand.dtype)
    steps = tuple(gap + 1 for gap in op.interior)
    result[_slices(op.low, operand.shape, steps)] = operand
    return result


def gather(op: ops.Gather, x: Sequence[Array]) -> Array:
    """B + the other axes."""
    operand, indices = x[0], x[1 : 1 + len(op.axes)]
    moved = np.moveaxis(operand, op.axes, range(len(op.axes)))
    places, inside = _resolve(op.axes, op.mode, operand.shape, indices)
    rest = moved.shape[len(op.axes) :]
    if inside is None:
        return np.asarray(moved[places])
    result = np.full((*indices[0].shape, *rest), x[-1], operand.dtype)
    result[inside] = moved[tuple(p[inside] for p in places)]
    return result


def scatter(op: ops.Scatter, x: Sequence[Array]) -> Array:
    """A copy of the operand with the updates written, or combined, in C order of the indices."""
    operand, indices, updates = x[0], x[1:-1], x[-1]
    result = np.array(operand, order="C")
    moved = np.moveaxis(result, op.axes, range(len(op.axes)))
    places, inside = _resolve(op.axes, op.mode, operand.shape, indices)
    rest = moved.shape[len(op.axes) :]
    kept = np.ones(indices[0].shape, np.bool_) if inside is None else inside
    flat = tuple(p[kept] for p in places)
    values = updates[kept].reshape((len(flat[0]), *rest))
    if op.combine is None:
        last = _last_of_each(flat, moved.shape[: len(op.axes)])
        moved[tuple(p[last] for p in flat)] = values[last]
    else:
        _UFUNCS[op.combine].at(moved, flat, values)
    return result


def _last_of_each(places: tuple[Array, ...], shape: tuple[int, ...]) -> Array:
    """Where each distinct place occurs last."""
    count = len(places[0])
    if not count:
        return np.zeros(0, np.int64)
    linear = np.ravel_multi_index(places, shape)
    _, first = np.unique(linear[::-1], return_index=True)
    return np.asarray(count - 1 - first)


def _resolve(
    axes: tuple[int, ...], mode: str, shape: tuple[int, ...], indices: Sequence[Array]
) -> tuple[tuple[Array, ...], Array | None]:
    """Places inside the axes and, for mode "fill", which of them the indices really named."""
    places = []
    inside = np.ones(indices[0].shape, np.bool_)
    for axis, index in zip(axes, indices, strict=True):
        extent = shape[axis]
        wide: Array = index.astype(np.uint64 if index.dtype.kind == "u" else np.int64)
        if mode == "wrap":
            place = wide % wide.dtype.type(extent)
        elif mode == "clip":
            place = np.clip(wide, 0, max(extent - 1, 0))
        else:
            negative = wide < 0
            counted = np.where(negative, wide + wide.dtype.type(extent), wide)
            ok = (counted >= 0) & (counted < extent)
            if mode == "raise" and not ok.all():
                raise BoundsError(
                    f"index {index[~ok].flat[0]} is out of bounds for axis {axis} of extent "
                    f"{extent}",
                    fix='check the indices, or use take with mode="clip", "wrap" or "fill"',
                )
            inside &= ok
            place = np.where(ok, counted, wide.dtype.type(0))
        places.append(place.astype(np.int64))
    return tuple(places), inside if mode == "fill" else None
