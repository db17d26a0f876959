"""Definitions of matrix products and convolutions: sums of `a * b` with nothing else inside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..expr import index as ix
from ..expr.combiners import operation
from ..expr.nodes import Index, Op, Value
from ..graph import ops
from ..graph.nodes import Equation
from ..tensor.nodes import Axis, AxisKind
from .builder import Builder
from .rules import cast, dilated, undecided
from .rules_reduce import accumulate, indices

_SPATIAL_NAMES = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}
_KERNEL_NAMES = {1: ("s",), 2: ("r", "s"), 3: ("q", "r", "s")}


def _product(a: Value, b: Value, dtype: np.dtype) -> Value:
    """a * b in the type that `dtype` is accumulated in."""
    wide = dtypes.accumulator(dtype)
    return Op(operation("prod", wide), (cast(a, wide), cast(b, wide)), wide)


def dot_general(op: ops.DotGeneral, equation: Equation, builder: Builder) -> None:
    """result[b, i, j] = sum(k) a[b, i, k] * b[b, j, k], each group of axes of any number."""
    a, b = equation.inputs
    (a_sum, b_sum), (a_batch, b_batch) = op.contract, op.batch
    a_shape, b_shape = a.type.shape, b.type.shape
    a_free = [k for k in range(len(a_shape)) if k not in (*a_sum, *a_batch)]
    b_free = [k for k in range(len(b_shape)) if k not in (*b_sum, *b_batch)]
    batch = builder.axes([a_shape[k] for k in a_batch], "b")
    rows = builder.axes([a_shape[k] for k in a_free], "i")
    columns = builder.axes([b_shape[k] for k in b_free], "j")
    summed = builder.axes([a_shape[k] for k in a_sum], "k", AxisKind.REDUCE)
    if not summed:
        summed = builder.axes([1], "k", AxisKind.REDUCE)
    a_place = _places(len(a_shape), ((a_batch, batch), (a_free, rows), (a_sum, summed)))
    b_place = _places(len(b_shape), ((b_batch, batch), (b_free, columns), (b_sum, summed)))
    value = _product(builder.read(a, a_place), builder.read(b, b_place), op.dtype)
    spatial = (*batch, *rows, *columns)
    accumulate(
        builder, equation, "matmul", "sum", (*spatial, *summed), indices(spatial), value,
        exact_order=op.precision == "highest",
    )  # fmt: skip


def _places(rank: int, parts: Sequence[tuple[Sequence[int], Sequence[Axis]]]) -> tuple[Index, ...]:
    places = [ix.ZERO] * rank
    for positions, axes in parts:
        for k, axis in zip(positions, axes, strict=False):
            places[k] = ix.of(axis.symbol)
    return tuple(places)


def conv(op: ops.Conv, equation: Equation, builder: Builder) -> None:
    """result[n, o, h, w] = sum(c, r, s) x[n, c, h * stride + r * dilation - low, ...] * w[...]."""
    x, weights = equation.inputs
    result = equation.outputs[0]
    rank = len(x.type.shape) - 2
    batch, channels, *sizes = result.type.shape
    _, depth, *kernel = weights.type.shape
    per_group = channels // op.groups
    (n,) = builder.axes([batch], "n")
    groups = builder.axes([op.groups], "g") if op.groups > 1 else ()
    (o,) = builder.axes([per_group], "o")
    spatial = builder.axes(sizes, _SPATIAL_NAMES.get(rank, ("x",)))
    (c,) = builder.axes([depth], "c", AxisKind.REDUCE)
    offsets = builder.axes(kernel, _KERNEL_NAMES.get(rank, ("r",)), AxisKind.REDUCE)
    in_channel, out_channel = ix.of(c.symbol), ix.of(o.symbol)
    if groups:  # an axis of extent 1 is left out, so that a depthwise index is the bare group
        group = ix.of(groups[0].symbol)
        in_channel = ix.add(ix.scale(group, depth), in_channel if depth > 1 else 0)
        out_channel = ix.add(ix.scale(group, per_group), out_channel if per_group > 1 else 0)
    place, domain = _windows(op, spatial, offsets, x.type.shape[2:], builder)
    value = _product(
        builder.read(x, (ix.of(n.symbol), in_channel, *place)),
        builder.read(weights, (out_channel, ix.of(c.symbol), *indices(offsets))),
        op.dtype,
    )
    accumulate(
        builder, equation, "conv", "sum", (n, *groups, o, *spatial, *_reduced(domain, c, offsets)),
        (ix.of(n.symbol), out_channel, *indices(spatial)), value, domain or (),
        exact_order=op.precision == "highest",
    )  # fmt: skip


def conv_blocked(op: ops.ConvBlocked, equation: Equation, builder: Builder) -> None:
    """The same on blocks of channels: `l` is the place in a block of outputs, `q` of inputs."""
    x, weights = equation.inputs
    result = equation.outputs[0]
    batch, blocks, *sizes, block = result.type.shape
    n, o, h, w, lane = builder.axes([batch, blocks, *sizes, block], "nohwl")
    spatial = (n, o, h, w, lane)
    kernel = weights.type.shape[1:3] if op.depthwise else weights.type.shape[2:4]
    offsets = builder.axes(kernel, "rs", AxisKind.REDUCE)
    place, domain = _windows(op, (h, w), offsets, x.type.shape[2:4], builder)
    batch_, block_, lane_ = (ix.of(a.symbol) for a in (n, o, lane))
    if op.depthwise:
        reduced = _reduced(domain, None, offsets)
        left = builder.read(x, (batch_, block_, *place, lane_))
        right = builder.read(weights, (block_, *indices(offsets), lane_))
    else:
        c, q = builder.axes([x.type.shape[1], x.type.shape[4]], "cq", AxisKind.REDUCE)
        reduced = (*_reduced(domain, c, offsets), q)
        outer, inner = ix.of(c.symbol), ix.of(q.symbol)
        left = builder.read(x, (batch_, outer, *place, inner))
        right = builder.read(weights, (block_, outer, *indices(offsets), inner, lane_))
    accumulate(
        builder, equation, "conv", "sum", (*spatial, *reduced), indices(spatial),
        _product(left, right, op.dtype), domain or (), exact_order=op.precision == "highest",
    )  # fmt: skip


def _windows(
    op: ops.Conv | ops.ConvBlocked,
    spatial: Sequence[Axis],
    offsets: Sequence[Axis],
    sizes: Sequence[int],
    builder: Builder,
) -> tuple[list[Index], tuple[Index, ...] | None]:
    """Where in x each kernel position falls, and the conditions under which that is inside.

    None instead of conditions: it is never inside.
    """
    dilations = op.input_dilation if isinstance(op, ops.Conv) else (1,) * len(sizes)
    places = []
    conditions: list[Index] = []
    for k, size in enumerate(sizes):
        at = ix.add(
            ix.scale(ix.of(spatial[k].symbol), op.strides[k]),
            ix.scale(ix.of(offsets[k].symbol), op.dilation[k]),
            -op.pads[k][0],
        )
        conditions += dilated(at, dilations[k], size, builder.ranges)
        places.append(ix.floor_divide(at, dilations[k], builder.ranges))
    return places, undecided(conditions, builder.ranges)


def _reduced(
    domain: tuple[Index, ...] | None, channel: Axis | None, offsets: Sequence[Axis]
) -> tuple[Axis, ...]:
    """The reduced axes; of extent 0 where the kernel never meets the input."""
    axes = (channel, *offsets) if channel is not None else tuple(offsets)
    if domain is not None:
        return axes
    return tuple(Axis(a.symbol, 0, a.kind) for a in axes)
