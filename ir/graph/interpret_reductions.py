"""NumPy meanings of reductions, scans and sorting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..expr.rounding import Array, convert
from . import ops

_UFUNCS = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
    "and": np.bitwise_and, "or": np.bitwise_or,
}  # fmt: skip
_ARITHMETIC = ("sum", "prod")


def reduce(op: ops.Reduce, x: Sequence[Array]) -> Array:
    """NumPy's reduction; precision "highest" adds one element after another."""
    (operand,) = x
    ufunc = _UFUNCS[op.name]
    if op.name not in _ARITHMETIC:
        return np.asarray(ufunc.reduce(operand, axis=op.axes))
    wide = convert(operand, dtypes.accumulator(operand.dtype))
    if op.precision == "default":
        result = ufunc.reduce(wide, axis=op.axes, dtype=wide.dtype)
    else:
        result = _in_order(ufunc, wide, op.axes)
    return convert(np.asarray(result), operand.dtype)


def _in_order(ufunc: np.ufunc, x: Array, axes: tuple[int, ...]) -> Array:
    """One accumulator, in C order of the axes."""
    kept = [k for k in range(x.ndim) if k not in axes]
    shape = [x.shape[k] for k in kept]
    line = x.transpose(*kept, *sorted(axes)).reshape(
        *shape, int(np.prod([x.shape[k] for k in axes]))
    )
    if line.shape[-1] == 0:
        return np.full(shape, ufunc.identity, x.dtype)
    running = ufunc.accumulate(line, axis=-1, dtype=x.dtype)
    return np.asarray(ufunc(running[..., -1], x.dtype.type(ufunc.identity)))  # 0 + -0 is 0


def arg_reduce(op: ops.ArgReduce, x: Sequence[Array]) -> Array:
    """The first position of the extreme, or of the first NaN."""
    function = np.argmax if op.name == "max" else np.argmin
    return np.asarray(function(_sortable(x[0]), axis=op.axis), np.int64)


def cumulative(op: ops.Cumulative, x: Sequence[Array]) -> Array:
    """NumPy's accumulate, from the other end if `reverse`."""
    (operand,) = x
    wide = operand
    if op.name in _ARITHMETIC:
        wide = convert(operand, dtypes.accumulator(operand.dtype))
    if op.reverse:
        wide = np.flip(wide, op.axis)
    result = np.asarray(_UFUNCS[op.name].accumulate(wide, axis=op.axis, dtype=wide.dtype))
    return convert(np.flip(result, op.axis) if op.reverse else result, operand.dtype)


def sort(op: ops.Sort, x: Sequence[Array]) -> Array:
    """Stable, NaN last."""
    keys = _sortable(x[0])
    if op.indices:
        return np.asarray(np.argsort(keys, axis=op.axis, kind="stable"), np.int64)
    return convert(np.sort(keys, axis=op.axis, kind="stable"), x[0].dtype)


def _sortable(x: Array) -> Array:
    """bfloat16 as float32, which NumPy orders with NaN last."""
    return convert(x, dtypes.FLOAT32) if x.dtype == dtypes.BFLOAT16 else x
