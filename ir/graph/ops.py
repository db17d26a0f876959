"""The operations of the graph, as values.

Shapes: elementwise operands each have the result's shape or rank 0. Everything else is explicit.
Type rules are in `types.py`, NumPy meanings in `interpreter.py`, lowering in `ir/lowering`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

import numpy as np

Precision: TypeAlias = OneOf["default", "highest"]
IndexMode: TypeAlias = OneOf["raise", "clip", "wrap", "fill"]

UNARY = (
    "neg", "abs", "sign", "floor", "ceil", "trunc", "round", "sqrt", "cbrt", "square", "reciprocal",
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "erf", "sigmoid", "not", "isnan", "isinf", "isfinite", "signbit",
)  # fmt: skip
"""`round` is half to even; `not` is bitwise (logical on bool); the last four give bool."""

BINARY = (
    "add", "sub", "mul", "div", "floor_div", "mod", "fmod", "pow", "maximum", "minimum",
    "fmax", "fmin", "atan2", "hypot", "copysign", "nextafter",
    "and", "or", "xor", "shift_left", "shift_right",
    "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
"""`div` is true division of floats; `mod` floors, `fmod` truncates; comparisons give bool.
`maximum`/`minimum` propagate NaN, `fmax`/`fmin` do not. Integer division and remainder by zero give
0, as in NumPy. Shifts by a count outside [0, width) give 0, or -1 for a negative `shift_right`."""

REDUCTIONS = ("sum", "prod", "max", "min", "and", "or")


@dataclass(frozen=True, slots=True)
class Elementwise:
    """One of `UNARY` or `BINARY`; both operands of one dtype."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """select(condition: bool, a, b): a where the condition holds, else b."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Conversion; float to integer saturates (NaN gives 0), anything to bool is `!= 0`."""

    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Bitcast:
    """The same bits as another type of equal width."""

    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Iota:
    """No operand: the position along `axis`."""

    shape: tuple[int, ...]
    dtype: np.dtype
    axis: int


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Operand axis k becomes result axis `axes[k]` (increasing); its extent is 1 or equal."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reshape:
    """The same elements in C order."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transpose:
    """Result axis k is operand axis `permutation[k]`."""

    permutation: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """result[i] = operand[starts + i * steps], steps nonzero, may be negative."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UpdateSlice:
    """update_slice(operand, update): operand with [starts + i * steps] replaced by update[i]."""

    starts: tuple[int, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pad:
    """pad(operand, fill: rank 0): `low`, `high` (>= 0) outside, `interior` between elements."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Concatenate:
    """The operands one after another along `axis`."""

    axis: int


@dataclass(frozen=True, slots=True)
class Gather:
    """gather(operand, index, ...[, fill: rank 0 if mode is "fill"]): one integer array per axis.

    All index arrays have one shape B; the result has shape B + the operand's other axes in order.
    Mode "raise": negative indices count from the end, others outside are a `BoundsError`; "clip":
    to [0, n-1]; "wrap": modulo n; "fill": negative count from the end, outside gives the fill.
    """

    axes: tuple[int, ...]
    mode: IndexMode


@dataclass(frozen=True, slots=True)
class Scatter:
    """scatter(operand, index, ..., updates): updates of shape B + other axes, in C order of B.

    `combine` None: the last wins; "sum", "prod", "max", "min": combined into what is there.
    Modes as in `Gather`; "fill" drops what is outside.
    """

    axes: tuple[int, ...]
    mode: IndexMode
    combine: str | None


@dataclass(frozen=True, slots=True)
class Reduce:
    """One of `REDUCTIONS` over `axes` (dropped). Result dtype = operand dtype.

    Sums and products of 16-bit floats accumulate in float32. max and min propagate NaN and need
    a non-empty extent. precision "highest": in C order of the reduced axes, one accumulator.
    """

    name: str
    axes: tuple[int, ...]
    precision: Precision = "default"


@dataclass(frozen=True, slots=True)
class ArgReduce:
    """The first position (int64) of the "max" or "min" along one axis; the first NaN wins."""

    name: str
    axis: int


@dataclass(frozen=True, slots=True)
class Cumulative:
    """Running "sum", "prod", "max" or "min" along `axis`."""

    name: str
    axis: int
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """Ascending along `axis`, NaN last, stable; `indices` gives int64 positions instead."""

    axis: int
    indices: bool = False


@dataclass(frozen=True, slots=True)
class DotGeneral:
    """Sum of products. Result axes: batch, then free axes of a, then free axes of b.

    Operand dtypes may differ; products and sums are made in `accumulator(dtype)` and the result
    cast to `dtype` at the end.
    """

    contract: tuple[tuple[int, ...], tuple[int, ...]]
    batch: tuple[tuple[int, ...], tuple[int, ...]]
    dtype: np.dtype
    precision: Precision = "default"


@dataclass(frozen=True, slots=True)
class Conv:
    """conv(x: [N, C, *spatial], w: [O, C / groups, *kernel]) -> [N, O, *spatial'], no flip.

    `pads`: (low, high) zeros per spatial axis, may be negative; `input_dilation` - 1 zeros
    between elements of x (transposed convolution). Products with padding are skipped.
    """

    strides: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    input_dilation: tuple[int, ...]
    groups: int
    dtype: np.dtype
    precision: Precision = "default"


@dataclass(frozen=True, slots=True)
class ConvBlocked:
    """Conv2d in the blocked layout: x [N, C/c, H, W, c] -> [N, O/o, H', W', o].

    w is [O/o, C/c, KH, KW, c, o]; depthwise (`depthwise`: c == o, C == O) it is [C/c, KH, KW, c].
    Channels are padded to whole blocks (weights of padded channels are zero).
    """

    strides: tuple[int, int]
    pads: tuple[tuple[int, int], tuple[int, int]]
    dilation: tuple[int, int]
    depthwise: bool
    dtype: np.dtype
    precision: Precision = "default"


@dataclass(frozen=True, slots=True)
class Pool:
    """Windowed "max", "min" or "sum" over the axes of `window` (one entry per operand axis).

    Padding cells take no part (max of an empty window is the lowest value).
    """

    name: str
    window: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A nested jitted function, inlined by the first pass. `graph` compares by identity."""

    graph: object
    name: str


GraphOp: TypeAlias = (
    Elementwise | Select | Cast | Bitcast | Iota | Broadcast | Reshape | Transpose | Slice
    | UpdateSlice | Pad | Concatenate | Gather | Scatter | Reduce | ArgReduce | Cumulative | Sort
    | DotGeneral | Conv | ConvBlocked | Pool | Call
)  # fmt: skip
