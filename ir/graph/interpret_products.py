"""NumPy meanings of matrix products, convolution and pooling.

Products and sums are made in the accumulator of the result type. Precision "highest" adds one
product after another, in C order of the contracted axes; "default" leaves the order to NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from .. import dtypes
from ..expr.combiners import identity
from ..expr.rounding import Array, convert
from . import ops
from .windows import positions, taken


def dot_general(op: ops.DotGeneral, x: Sequence[Array]) -> Array:
    """Both operands as stacks of matrices [batch, free, contracted], multiplied."""
    wide = dtypes.accumulator(op.dtype)
    a, shape_a = _stack(convert(x[0], wide), op.batch[0], op.contract[0])
    b, shape_b = _stack(convert(x[1], wide), op.batch[1], op.contract[1])
    if op.precision == "default":
        result = np.matmul(a, b.transpose(0, 2, 1))
    else:
        result = np.zeros((a.shape[0], a.shape[1], b.shape[1]), wide)
        for k in range(a.shape[2]):
            result += a[:, :, None, k] * b[:, None, :, k]
    batch = [x[0].shape[k] for k in op.batch[0]]
    return convert(result.reshape((*batch, *shape_a, *shape_b)), op.dtype)


def _stack(x: Array, batch: tuple[int, ...], contract: tuple[int, ...]) -> tuple[Array, list[int]]:
    """x as [batch, free, contracted], and the free extents."""
    free = [k for k in range(x.ndim) if k not in batch and k not in contract]
    extents = [x.shape[k] for k in free]
    sizes = (prod(x.shape[k] for k in batch), prod(extents), prod(x.shape[k] for k in contract))
    return x.transpose(*batch, *free, *contract).reshape(sizes), extents


def conv(op: ops.Conv, x: Sequence[Array]) -> Array:
    """One kernel cell after another, each on the places where it meets the array."""
    wide = dtypes.accumulator(op.dtype)
    data, weights = convert(x[0], wide), convert(x[1], wide)
    batch, outputs, groups = data.shape[0], weights.shape[0], op.groups
    rank = data.ndim - 2
    places = [
        positions(n, k, s, p, d, g)
        for n, k, s, p, d, g in zip(
            data.shape[2:], weights.shape[2:], op.strides, op.pads, op.dilation, op.input_dilation,
            strict=True,
        )
    ]  # fmt: skip
    data = data.reshape(batch, groups, weights.shape[1], *data.shape[2:])
    weights = weights.reshape(groups, outputs // groups, *weights.shape[1:])
    result = np.zeros((batch, groups, outputs // groups, *places), wide)
    leading = (slice(None),) * 3
    channels = [slice(None)] if op.precision == "default" else _each(weights.shape[2])
    for channel, cell in product(channels, np.ndindex(*weights.shape[3:])):
        met = [
            taken(data.shape[3 + k], places[k], cell[k] * op.dilation[k], op.strides[k],
                  op.pads[k][0], op.input_dilation[k])
            for k in range(rank)
        ]  # fmt: skip
        there = (*leading, *(_span(place) for place, _ in met))
        here = (*leading, *(_span(element) for _, element in met))
        part = data[:, :, channel][here]
        factor = weights[:, :, channel][(..., *cell)]
        flat = np.matmul(factor, part.reshape(*part.shape[:3], prod(part.shape[3:])))
        result[there] += flat.reshape(*flat.shape[:3], *part.shape[3:])
    return convert(result.reshape(batch, outputs, *places), op.dtype)


def _each(count: int) -> list[slice]:
    return [slice(k, k + 1) for k in range(count)]


def _span(positions: range) -> slice:
    return slice(positions.start, positions.stop, positions.step) if positions else slice(0, 0)


def conv_blocked(op: ops.ConvBlocked, x: Sequence[Array]) -> Array:
    """The plain convolution of the unblocked arrays, blocked again."""
    data, weights = x
    batch, blocks, height, width, lanes = data.shape
    plain = data.transpose(0, 1, 4, 2, 3).reshape(batch, blocks * lanes, height, width)
    if op.depthwise:
        kernel = weights.shape[1:3]
        groups, out_lanes = blocks * lanes, lanes
        weights = weights.transpose(0, 3, 1, 2).reshape(groups, 1, *kernel)
    else:
        kernel = weights.shape[2:4]
        groups, out_lanes = 1, weights.shape[5]
        outputs = weights.shape[0] * out_lanes
        weights = weights.transpose(0, 5, 1, 4, 2, 3).reshape(outputs, blocks * lanes, *kernel)
    meaning = ops.Conv(op.strides, op.pads, op.dilation, (1, 1), groups, op.dtype, op.precision)
    result = conv(meaning, (plain, weights))
    shape = (batch, weights.shape[0] // out_lanes, out_lanes, *result.shape[2:])
    return result.reshape(shape).transpose(0, 1, 3, 4, 2)


def pool(op: ops.Pool, x: Sequence[Array]) -> Array:
    """One window cell after another, combined into the identity."""
    (operand,) = x
    dtype = dtypes.accumulator(operand.dtype) if op.name == "sum" else operand.dtype
    combine = {"max": np.maximum, "min": np.minimum, "sum": np.add}[op.name]
    data = convert(operand, dtype)
    places = [
        positions(n, w, s, p, d)
        for n, w, s, p, d in zip(
            operand.shape, op.window, op.strides, op.pads, op.dilation, strict=True
        )
    ]
    result = np.full(places, identity(op.name, dtype).value, dtype)
    for cell in np.ndindex(*op.window):
        met = [
            taken(operand.shape[k], places[k], cell[k] * op.dilation[k], op.strides[k],
                  op.pads[k][0])
            for k in range(operand.ndim)
        ]  # fmt: skip
        there = tuple(_span(place) for place, _ in met)
        here = tuple(_span(element) for _, element in met)
        result[there] = combine(result[there], data[here])
    return convert(result, operand.dtype)
