"""The type rule of every operation: operand types to result types, or a refusal.

`RULES` maps an operation's class to its rule. Refusals speak of shapes and dtypes as a NumPy user
knows them; they carry the user's line. Rules of reductions, products and windows are in
`types_linear.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from .. import dtypes
from ..errors import DTypeError, InternalError, LoopwrightError, ShapeError
from ..expr.elementwise import COMPARISONS, GIVES_BOOL, TESTS
from ..source import Source
from . import ops, types_linear
from .nodes import ArrayType, Graph
from .refusals import (
    Types,
    kind,
    require_axes,
    require_axis,
    require_count,
    require_kind,
    require_length,
    require_positive,
    require_same_dtype,
    require_scalar,
    show,
)

Rule: TypeAlias = Callable[[Any, Types], ArrayType]

MAX_RANK = 64
MAX_BYTES = 2**63 - 1

# What each elementwise name accepts: b(ool), i(ntegers), f(loats).
_ACCEPTS: Mapping[str, str] = {
    **dict.fromkeys(ops.UNARY + ops.BINARY, "f"),
    **dict.fromkeys(("neg", "sign", "square", "reciprocal"), "if"),
    **dict.fromkeys(("add", "sub", "mul", "floor_div", "mod", "fmod", "pow"), "if"),
    **dict.fromkeys(("abs", "floor", "ceil", "trunc", "round", *TESTS), "bif"),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin", *COMPARISONS), "bif"),
    **dict.fromkeys(("and", "or", "xor", "not"), "bi"),
    **dict.fromkeys(("shift_left", "shift_right"), "i"),
}
_ARITY = {**dict.fromkeys(ops.UNARY, 1), **dict.fromkeys(ops.BINARY, 2)}


def result_types(op: ops.GraphOp, input_types: Types, where: Source | None = None) -> Types:
    """The types of the operation's results.

    Raises ShapeError or DTypeError, with `where`, if the operands do not fit the operation.
    """
    try:
        if isinstance(op, ops.Call):
            return _call(op, input_types)
        if type(op) not in RULES:
            raise InternalError(f"{op!r} is not an operation")
        result = RULES[type(op)](op, input_types)
        if len(result.shape) > MAX_RANK or result.nbytes > MAX_BYTES:
            raise ShapeError(
                f"an array of shape {result.shape} and dtype {result.dtype} is larger than "
                "any memory"
            )
    except LoopwrightError as refusal:
        refusal.where = refusal.where or where
        raise
    return (result,)


def _call(op: ops.Call, types: Types) -> Types:
    if not isinstance(op.graph, Graph):
        raise InternalError(f"the call of {op.name} holds no graph")
    wanted = tuple(v.type for v in op.graph.inputs)
    if wanted != types:
        raise InternalError(f"{op.name} takes ({show(*wanted)}), not ({show(*types)})")
    return tuple(a.type for a in op.graph.outputs)


def _common_shape(name: str, types: Types) -> tuple[int, ...]:
    """The shape of all operands that are not scalars."""
    shape: tuple[int, ...] = ()
    for t in types:
        if t.shape and t.shape != shape:
            if shape:
                raise ShapeError(f"{name}: shapes do not fit each other: {show(*types)}")
            shape = t.shape
    return shape


def _elementwise(op: ops.Elementwise, types: Types) -> ArrayType:
    name = op.name
    if name not in _ARITY:
        raise InternalError(f"there is no elementwise operation {name!r}")
    require_count(name, types, _ARITY[name])
    first = types[0]
    if len(types) == 2 and types[1].dtype != first.dtype:
        require_same_dtype(name, *types)
    require_kind(name, first, _ACCEPTS[name])
    shape = _common_shape(name, types)
    if name in GIVES_BOOL:
        return ArrayType(shape, dtypes.BOOL)
    return first if first.shape == shape else ArrayType(shape, first.dtype)


def _select(op: ops.Select, types: Types) -> ArrayType:
    require_count("select", types, 3)
    condition, a, b = types
    require_kind("the condition of select", condition, "b")
    require_same_dtype("select", a, b)
    return ArrayType(_common_shape("select", types), a.dtype)


def _cast(op: ops.Cast, types: Types) -> ArrayType:
    require_count("cast", types, 1)
    return ArrayType(types[0].shape, dtypes.canonical(op.dtype))


def _bitcast(op: ops.Bitcast, types: Types) -> ArrayType:
    require_count("bitcast", types, 1)
    source, target = types[0].dtype, dtypes.canonical(op.dtype)
    if source.itemsize != target.itemsize or dtypes.BOOL in (source, target):
        raise DTypeError(
            f"the bits of {source} cannot be read as {target}",
            fix="choose a type of the same width (and not bool)",
        )
    return ArrayType(types[0].shape, target)


def _iota(op: ops.Iota, types: Types) -> ArrayType:
    require_count("iota", types, 0)
    require_positive("iota", "the shape", op.shape, 0)
    require_axis("iota", op.axis, len(op.shape))
    result = ArrayType(op.shape, dtypes.canonical(op.dtype))
    require_kind("a range of positions", result, "if")
    return result


def _broadcast(op: ops.Broadcast, types: Types) -> ArrayType:
    require_count("broadcast", types, 1)
    require_positive("broadcast", "the shape", op.shape, 0)
    shape = types[0].shape
    require_length("broadcast", "axes", op.axes, len(shape))
    require_axes("broadcast", op.axes, len(op.shape))
    if list(op.axes) != sorted(op.axes):
        raise ShapeError(f"broadcast: axes {op.axes} have to increase")
    for extent, axis in zip(shape, op.axes, strict=True):
        if extent not in (1, op.shape[axis]):
            raise ShapeError(
                f"an array of shape {shape} cannot be broadcast to {op.shape}: extent {extent} "
                f"meets {op.shape[axis]}"
            )
    return ArrayType(op.shape, types[0].dtype)


def _reshape(op: ops.Reshape, types: Types) -> ArrayType:
    require_count("reshape", types, 1)
    require_positive("reshape", "the shape", op.shape, 0)
    result = ArrayType(op.shape, types[0].dtype)
    if result.size != types[0].size:
        raise ShapeError(
            f"cannot reshape an array of {types[0].size} elements (shape {types[0].shape}) into "
            f"shape {op.shape}"
        )
    return result


def _transpose(op: ops.Transpose, types: Types) -> ArrayType:
    require_count("transpose", types, 1)
    shape = types[0].shape
    require_length("transpose", "the permutation", op.permutation, len(shape))
    require_axes("transpose", op.permutation, len(shape))
    return ArrayType(tuple(shape[k] for k in op.permutation), types[0].dtype)


def _require_inside(
    name: str,
    shape: tuple[int, ...],
    starts: tuple[int, ...],
    sizes: tuple[int, ...],
    steps: tuple[int, ...],
) -> None:
    for what, values in (("starts", starts), ("sizes", sizes), ("steps", steps)):
        require_length(name, what, values, len(shape))
    require_positive(name, "sizes", sizes, 0)
    if 0 in steps:
        raise ShapeError(f"{name}: a step cannot be zero")
    for axis, (n, start, size, step) in enumerate(zip(shape, starts, sizes, steps, strict=True)):
        last = start + (size - 1) * step
        if size and not (0 <= start < n and 0 <= last < n):
            raise ShapeError(
                f"{name}: positions {start} to {last} of axis {axis} are not all inside extent {n}"
            )


def _slice(op: ops.Slice, types: Types) -> ArrayType:
    require_count("slice", types, 1)
    _require_inside("slice", types[0].shape, op.starts, op.sizes, op.steps)
    return ArrayType(op.sizes, types[0].dtype)


def _update_slice(op: ops.UpdateSlice, types: Types) -> ArrayType:
    require_count("update of a slice", types, 2)
    operand, update = types
    require_same_dtype("update of a slice", operand, update)
    _require_inside("update of a slice", operand.shape, op.starts, update.shape, op.steps)
    return operand


def _pad(op: ops.Pad, types: Types) -> ArrayType:
    require_count("pad", types, 2)
    operand, fill = types
    require_same_dtype("pad", operand, fill)
    require_scalar("pad", "the fill value", fill)
    for what, values in (("low", op.low), ("high", op.high), ("interior", op.interior)):
        require_length("pad", what, values, len(operand.shape))
        require_positive("pad", what, values, 0)
    extents = zip(operand.shape, op.low, op.high, op.interior, strict=True)
    shape = tuple(a + n + max(n - 1, 0) * gap + b for n, a, b, gap in extents)
    return ArrayType(shape, operand.dtype)


def _concatenate(op: ops.Concatenate, types: Types) -> ArrayType:
    if not types:
        raise ShapeError("at least one array is needed to concatenate")
    first = types[0]
    require_axis("concatenate", op.axis, len(first.shape))
    total = 0
    for t in types:
        if t.dtype != first.dtype:
            require_same_dtype("concatenate", first, t)
        if len(t.shape) != len(first.shape) or any(
            a != b
            for k, (a, b) in enumerate(zip(t.shape, first.shape, strict=True))
            if k != op.axis
        ):
            raise ShapeError(
                f"concatenate along axis {op.axis}: shapes do not fit each other: {show(first, t)}"
            )
        total += t.shape[op.axis]
    shape = (*first.shape[: op.axis], total, *first.shape[op.axis + 1 :])
    return ArrayType(shape, first.dtype)


def _indexed(
    name: str, axes: tuple[int, ...], mode: str, operand: ArrayType, indices: Types
) -> tuple[int, ...]:
    """B + the operand's other axes."""
    require_axes(name, axes, len(operand.shape))
    if not axes:
        raise InternalError(f"{name} without axes")
    for t in indices:
        require_kind("an index", t, "i")
        if t.shape != indices[0].shape:
            raise ShapeError(f"{name}: the index arrays differ in shape: {show(*indices)}")
    count = ArrayType(indices[0].shape, dtypes.INT64).size
    if mode in ("clip", "wrap") and count and any(operand.shape[a] == 0 for a in axes):
        raise ShapeError(f"{name}: there is nothing to index in an empty axis of {operand.shape}")
    rest = tuple(n for k, n in enumerate(operand.shape) if k not in axes)
    return (*indices[0].shape, *rest)


_MODES = ("raise", "clip", "wrap", "fill")


def _gather(op: ops.Gather, types: Types) -> ArrayType:
    if op.mode not in _MODES:
        raise InternalError(f"gather has no mode {op.mode!r}")
    fills = op.mode == "fill"
    require_count("gather", types, 1 + len(op.axes) + fills)
    operand = types[0]
    if fills:
        require_same_dtype("gather", operand, types[-1])
        require_scalar("gather", "the fill value", types[-1])
    indices = types[1 : 1 + len(op.axes)]
    return ArrayType(_indexed("gather", op.axes, op.mode, operand, indices), operand.dtype)


def _scatter(op: ops.Scatter, types: Types) -> ArrayType:
    if op.mode not in _MODES or op.combine not in (None, "sum", "prod", "max", "min"):
        raise InternalError(f"scatter has no mode {op.mode!r} with {op.combine!r}")
    require_count("scatter", types, 2 + len(op.axes))
    operand, updates = types[0], types[-1]
    require_same_dtype("scatter", operand, updates)
    if op.combine in ("sum", "prod"):
        require_kind(f"scatter with {op.combine}", operand, "if")
    shape = _indexed("scatter", op.axes, op.mode, operand, types[1:-1])
    if updates.shape != shape:
        raise ShapeError(f"scatter: the updates have shape {updates.shape}, not {shape}")
    return operand


RULES: Mapping[type, Rule] = {
    ops.Elementwise: _elementwise,
    ops.Select: _select,
    ops.Cast: _cast,
    ops.Bitcast: _bitcast,
    ops.Iota: _iota,
    ops.Broadcast: _broadcast,
    ops.Reshape: _reshape,
    ops.Transpose: _transpose,
    ops.Slice: _slice,
    ops.UpdateSlice: _update_slice,
    ops.Pad: _pad,
    ops.Concatenate: _concatenate,
    ops.Gather: _gather,
    ops.Scatter: _scatter,
    ops.Reduce: types_linear.reduce,
    ops.ArgReduce: types_linear.arg_reduce,
    ops.Cumulative: types_linear.cumulative,
    ops.Sort: types_linear.sort,
    ops.DotGeneral: types_linear.dot_general,
    ops.Conv: types_linear.conv,
    ops.ConvBlocked: types_linear.conv_blocked,
    ops.Pool: types_linear.pool,
}


def accepts(name: str, dtype: np.dtype) -> bool:
    """Whether the elementwise operation is defined for elements of this type."""
    return kind(dtype) in _ACCEPTS[name]
