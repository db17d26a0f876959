"""Type rules of reductions, scans, products and windows."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from ..errors import InternalError, ShapeError
from . import ops
from .nodes import ArrayType
from .refusals import (
    Types,
    require_axes,
    require_axis,
    require_count,
    require_kind,
    require_length,
    require_positive,
    show,
)
from .windows import positions

_REDUCE_ACCEPTS = {
    **dict.fromkeys(("sum", "prod"), "if"),
    **dict.fromkeys(("max", "min"), "bif"),
    **dict.fromkeys(("and", "or"), "bi"),
}


def reduce(op: ops.Reduce, types: Types) -> ArrayType:
    """The operand without the reduced axes; max and min need something to choose from."""
    require_count(op.name, types, 1)
    if op.name not in ops.REDUCTIONS:
        raise InternalError(f"there is no reduction {op.name!r}")
    _require_precision(op.precision)
    (operand,) = types
    require_kind(op.name, operand, _REDUCE_ACCEPTS[op.name])
    require_axes(op.name, op.axes, len(operand.shape))
    if op.name in ("max", "min") and any(operand.shape[a] == 0 for a in op.axes):
        _refuse_empty(op.name, operand)
    shape = tuple(n for k, n in enumerate(operand.shape) if k not in op.axes)
    return ArrayType(shape, operand.dtype)


def _refuse_empty(name: str, operand: ArrayType) -> None:
    raise ShapeError(
        f"{name} of an empty axis: shape {operand.shape}", fix="an empty array has no extreme"
    )


def _require_precision(precision: str) -> None:
    if precision not in ("default", "highest"):
        raise InternalError(f"there is no precision {precision!r}")


def arg_reduce(op: ops.ArgReduce, types: Types) -> ArrayType:
    """The operand without the axis, as int64."""
    name = f"arg{op.name}"
    require_count(name, types, 1)
    if op.name not in ("max", "min"):
        raise InternalError(f"there is no {name}")
    (operand,) = types
    require_axis(name, op.axis, len(operand.shape))
    if operand.shape[op.axis] == 0:
        _refuse_empty(name, operand)
    shape = tuple(n for k, n in enumerate(operand.shape) if k != op.axis)
    return ArrayType(shape, dtypes.INT64)


def cumulative(op: ops.Cumulative, types: Types) -> ArrayType:
    """The operand's own type."""
    name = f"cumulative {op.name}"
    require_count(name, types, 1)
    if op.name not in ("sum", "prod", "max", "min"):
        raise InternalError(f"there is no {name}")
    require_kind(name, types[0], _REDUCE_ACCEPTS[op.name])
    require_axis(name, op.axis, len(types[0].shape))
    return types[0]


def sort(op: ops.Sort, types: Types) -> ArrayType:
    """The operand's own type, or its shape in int64."""
    require_count("sort", types, 1)
    require_axis("sort", op.axis, len(types[0].shape))
    return ArrayType(types[0].shape, dtypes.INT64) if op.indices else types[0]


def dot_general(op: ops.DotGeneral, types: Types) -> ArrayType:
    """Batch axes, then the free axes of a, then those of b."""
    require_count("matmul", types, 2)
    _require_precision(op.precision)
    a, b = types
    result = _product("matmul", op.dtype)
    for k, operand in enumerate(types):
        axes = (*op.batch[k], *op.contract[k])
        require_axes("matmul", axes, len(operand.shape))
    for what, (left, right) in (("contract", op.contract), ("batch", op.batch)):
        if len(left) != len(right):
            raise InternalError(f"matmul: {what} axes {left} and {right} do not pair")
        for i, j in zip(left, right, strict=True):
            if a.shape[i] != b.shape[j]:
                raise ShapeError(
                    f"matmul: shapes do not fit each other: {show(a, b)}: extent {a.shape[i]} "
                    f"(axis {i} of the first) meets {b.shape[j]} (axis {j} of the second)"
                )
    free = [
        operand.shape[k]
        for side, operand in enumerate(types)
        for k in range(len(operand.shape))
        if k not in op.contract[side] and k not in op.batch[side]
    ]
    return ArrayType((*(a.shape[i] for i in op.batch[0]), *free), result)


def _product(name: str, dtype: np.dtype) -> np.dtype:
    found = dtypes.canonical(dtype)
    require_kind(name, ArrayType((), found), "if")
    return found


def conv(op: ops.Conv, types: Types) -> ArrayType:
    """[N, O, *positions of the kernel]."""
    require_count("conv", types, 2)
    _require_precision(op.precision)
    result = _product("conv", op.dtype)
    x, w = types
    rank = len(x.shape) - 2
    if rank < 0 or len(w.shape) != len(x.shape):
        raise ShapeError(
            "conv takes x [N, C, ...] and weights [O, C / groups, ...] of one rank, "
            f"not {show(x, w)}"
        )
    for what, values in (
        ("strides", op.strides),
        ("dilation", op.dilation),
        ("input dilation", op.input_dilation),
    ):
        require_length("conv", what, values, rank)
        require_positive("conv", what, values)
    require_length("conv", "pads", op.pads, rank)
    require_positive("conv", "groups", (op.groups,))
    if x.shape[1] != w.shape[1] * op.groups or w.shape[0] % op.groups:
        raise ShapeError(
            f"conv: {x.shape[1]} channels in {op.groups} groups do not fit weights of shape "
            f"{w.shape}"
        )
    places = tuple(
        positions(n, k, s, p, d, g)
        for n, k, s, p, d, g in zip(
            x.shape[2:], w.shape[2:], op.strides, op.pads, op.dilation, op.input_dilation,
            strict=True,
        )
    )  # fmt: skip
    _require_window("conv", w.shape[2:])
    return ArrayType((x.shape[0], w.shape[0], *places), result)


def _require_window(name: str, window: tuple[int, ...]) -> None:
    if 0 in window:
        raise ShapeError(f"{name}: the window {window} has no cells")


def conv_blocked(op: ops.ConvBlocked, types: Types) -> ArrayType:
    """[N, O/o, H', W', o]."""
    require_count("conv", types, 2)
    _require_precision(op.precision)
    result = _product("conv", op.dtype)
    x, w = types
    rank = 4 if op.depthwise else 6
    if len(x.shape) != 5 or len(w.shape) != rank:
        raise ShapeError(f"blocked conv takes rank 5 and {rank}, not {show(x, w)}")
    require_positive("conv", "strides", op.strides)
    require_positive("conv", "dilation", op.dilation)
    n, blocks, height, width, lanes = x.shape
    if op.depthwise:
        out_blocks, kh, kw, out_lanes = w.shape
        fits = (blocks, lanes) == (out_blocks, out_lanes)
    else:
        out_blocks, in_blocks, kh, kw, in_lanes, out_lanes = w.shape
        fits = (blocks, lanes) == (in_blocks, in_lanes)
    if not fits:
        raise ShapeError(f"blocked conv: channels do not fit each other: {show(x, w)}")
    _require_window("conv", (kh, kw))
    places = tuple(
        positions(extent, k, s, p, d)
        for extent, k, s, p, d in zip(
            (height, width), (kh, kw), op.strides, op.pads, op.dilation, strict=True
        )
    )
    return ArrayType((n, out_blocks, *places, out_lanes), result)


def pool(op: ops.Pool, types: Types) -> ArrayType:
    """The number of places of the window along each axis."""
    name = f"pooling with {op.name}"
    require_count(name, types, 1)
    if op.name not in ("max", "min", "sum"):
        raise InternalError(f"there is no {name}")
    (operand,) = types
    require_kind(name, operand, _REDUCE_ACCEPTS[op.name])
    for what, values in (
        ("window", op.window),
        ("strides", op.strides),
        ("dilation", op.dilation),
    ):
        require_length(name, what, values, len(operand.shape))
        require_positive(name, what, values)
    require_length(name, "pads", op.pads, len(operand.shape))
    shape = tuple(
        positions(n, w, s, p, d)
        for n, w, s, p, d in zip(
            operand.shape, op.window, op.strides, op.pads, op.dilation, strict=True
        )
    )
    return ArrayType(shape, operand.dtype)
