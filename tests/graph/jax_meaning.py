"""What JAX gives for an operation of the graph, where JAX defines it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from loopwright.ir import dtypes as dt
from loopwright.ir.graph import ops

_NAMES: dict[str, Callable[..., Any]] = {
    "neg": jnp.negative, "not": jnp.invert, "round": jnp.rint, "reciprocal": lambda x: 1 / x,
    "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "asinh": jnp.arcsinh,
    "acosh": jnp.arccosh, "atanh": jnp.arctanh, "atan2": jnp.arctan2,
    "erf": jax.scipy.special.erf, "sigmoid": jax.nn.sigmoid,
    "sub": jnp.subtract, "mul": jnp.multiply, "div": jnp.true_divide, "mod": jnp.remainder,
    "floor_div": jnp.floor_divide, "pow": jnp.power,
    "and": jnp.bitwise_and, "or": jnp.bitwise_or, "xor": jnp.bitwise_xor,
    "shift_left": jnp.left_shift, "shift_right": jnp.right_shift,
    "eq": jnp.equal, "ne": jnp.not_equal, "lt": jnp.less, "le": jnp.less_equal,
    "gt": jnp.greater, "ge": jnp.greater_equal,
}  # fmt: skip

_REDUCE = {
    "sum": jnp.sum, "prod": jnp.prod, "max": jnp.max, "min": jnp.min,
    "and": jnp.bitwise_and.reduce, "or": jnp.bitwise_or.reduce,
}  # fmt: skip
_CUMULATIVE = {
    "sum": lax.cumsum, "prod": lax.cumprod, "max": lax.cummax, "min": lax.cummin,
}  # fmt: skip
_UPDATES = {None: "set", "sum": "add", "prod": "multiply", "max": "max", "min": "min"}


def meaning(op: ops.GraphOp, x: Sequence[np.ndarray]) -> Any | None:
    """JAX's result, or None where JAX leaves it open or has no such operation."""
    match op:
        case ops.Elementwise():
            return _elementwise(op.name, x)
        case ops.Select():
            return jnp.where(*x)
        case ops.Cast(dtype):
            return jnp.asarray(x[0]).astype(dtype)
        case ops.Bitcast(dtype):
            return lax.bitcast_convert_type(x[0], dtype)
        case ops.Iota(shape, dtype, axis):
            return lax.broadcasted_iota(dtype, shape, axis)
        case ops.Broadcast(shape, axes):
            return lax.broadcast_in_dim(x[0], shape, axes)
        case ops.Reshape(shape):
            return jnp.reshape(x[0], shape)
        case ops.Transpose(permutation):
            return jnp.transpose(x[0], permutation)
        case ops.Slice(starts, sizes, steps):
            return jnp.asarray(x[0])[_index(starts, sizes, steps)]
        case ops.UpdateSlice(starts, steps):
            return jnp.asarray(x[0]).at[_index(starts, x[1].shape, steps)].set(x[1])
        case ops.Pad(low, high, interior):
            return lax.pad(x[0], x[1], list(zip(low, high, interior, strict=True)))
        case ops.Concatenate(axis):
            return jnp.concatenate(x, axis)
        case ops.Gather():
            return _gather(op, x)
        case ops.Scatter():
            return _scatter(op, x)
        case ops.Reduce(name, axes):
            if name in ("sum", "prod"):
                return _REDUCE[name](x[0], axis=axes, dtype=x[0].dtype)
            return _REDUCE[name](x[0], axis=axes) if axes else None
        case ops.ArgReduce(name, axis):
            return (jnp.argmax if name == "max" else jnp.argmin)(x[0], axis=axis)
        case ops.Cumulative(name, axis, reverse):
            if _is_half(x[0]) or x[0].dtype == dt.BOOL:
                return None
            return _CUMULATIVE[name](x[0], axis, reverse=reverse)
        case ops.Sort(axis, indices):
            return (jnp.argsort if indices else jnp.sort)(x[0], axis=axis, stable=True)
        case ops.DotGeneral(contract, batch, dtype):
            a, b = (jnp.asarray(v).astype(dt.accumulator(dtype)) for v in x)
            return lax.dot_general(a, b, (contract, batch), precision="highest").astype(dtype)
        case ops.Conv():
            return _conv(op, x)
        case ops.Pool():
            return _pool(op, x)
        case _:
            return None


def _elementwise(name: str, x: Sequence[np.ndarray]) -> Any | None:
    function = _NAMES.get(name) or getattr(jnp, name)
    first = x[0]
    if not dt.is_float(first.dtype):
        open_ = ("floor", "ceil", "trunc", "round", "reciprocal", "signbit", "fmax", "fmin", "pow")
        if name in open_ or (name in ("floor_div", "mod", "fmod") and not x[1].all()):
            return None
    elif name in ("floor_div", "mod", "fmod") or (name == "nextafter" and _is_half(first)):
        return None  # quotients that do not fit have another rounding in JAX
    return function(*x)


def _is_half(x: np.ndarray) -> bool:
    return x.dtype in (dt.FLOAT16, dt.BFLOAT16)


def _index(starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> Any:
    lines = [a + s * np.arange(n) for a, n, s in zip(starts, sizes, steps, strict=True)]
    return np.ix_(*lines) if lines else ()


def _gather(op: ops.Gather, x: Sequence[np.ndarray]) -> Any | None:
    operand, indices = jnp.asarray(x[0]), x[1 : 1 + len(op.axes)]
    if 0 in operand.shape:
        return None
    if op.mode in ("clip", "wrap"):
        if len(op.axes) > 1 or indices[0].dtype == np.uint64:
            return None
        moved = jnp.moveaxis(operand, op.axes[0], 0)
        return jnp.take(moved, indices[0].astype(np.int64), axis=0, mode=op.mode)
    if any(i.dtype == np.uint64 for i in indices):
        return None
    moved = jnp.moveaxis(operand, op.axes, range(len(op.axes)))
    wide = tuple(i.astype(np.int64) for i in indices)
    if op.mode == "fill":
        return moved.at[wide].get(mode="fill", fill_value=x[-1][()])
    return moved[wide]


def _scatter(op: ops.Scatter, x: Sequence[np.ndarray]) -> Any | None:
    indices = tuple(i.astype(np.int64) for i in x[1:-1])
    if op.mode in ("clip", "wrap") or any(i.dtype == np.uint64 for i in x[1:-1]):
        return None
    extents = [x[0].shape[a] for a in op.axes]
    if 0 in extents:
        return None
    places = np.stack([(i % n).ravel() for i, n in zip(indices, extents, strict=True)])
    if op.combine is None and len(np.unique(places, axis=1).T) < places.shape[1]:
        return None  # JAX does not say which of several updates wins
    moved = jnp.moveaxis(jnp.asarray(x[0]), op.axes, range(len(op.axes)))
    made = getattr(moved.at[indices], _UPDATES[op.combine])(x[-1], mode="drop")
    return jnp.moveaxis(made, range(len(op.axes)), op.axes)


def _conv(op: ops.Conv, x: Sequence[np.ndarray]) -> Any | None:
    if not dt.is_float(op.dtype) or 0 in x[0].shape:
        return None
    for n, gap, (low, high) in zip(x[0].shape[2:], op.input_dilation, op.pads, strict=True):
        if (n - 1) * gap + 1 + min(low, 0) + min(high, 0) < 0:
            return None
    a, b = (jnp.asarray(v).astype(dt.accumulator(op.dtype)) for v in x)
    made = lax.conv_general_dilated(
        a, b, op.strides, op.pads, op.input_dilation, op.dilation, feature_group_count=op.groups
    )
    return made.astype(op.dtype)


def _pool(op: ops.Pool, x: Sequence[np.ndarray]) -> Any | None:
    if min(min(p) for p in op.pads) < 0:
        return None
    dtype = dt.accumulator(x[0].dtype) if op.name == "sum" else x[0].dtype
    if dtype == dt.BOOL:
        return None
    start, combine = {
        "sum": (0, lax.add),
        "max": (-np.inf if dt.is_float(dtype) else np.iinfo(dtype).min, lax.max),
        "min": (np.inf if dt.is_float(dtype) else np.iinfo(dtype).max, lax.min),
    }[op.name]
    operand = jnp.asarray(x[0]).astype(dtype)
    made = lax.reduce_window(
        operand, np.asarray(start, dtype)[()], combine, op.window, op.strides, op.pads,
        window_dilation=op.dilation,
    )  # fmt: skip
    return made.astype(x[0].dtype)
