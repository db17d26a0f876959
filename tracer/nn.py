"""`loopwright.nn`: layers of neural networks as functions of arrays, batch and channels first.

Shapes: images x are [N, C, *spatial] with any number of spatial axes, convolution weights
[O, C / groups, *kernel]. Everything works inside of `jit`, and outside on NumPy arrays.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, canonical, is_float
from ..ir.errors import ShapeError
from ..ir.graph.ops import Conv, Pool, Precision, Reshape, Slice, Transpose
from ..ir.graph.types import result_types
from .context import Trace, here
from .creation import iota
from .eager import array_function
from .elementwise import binary, cast, select, unary
from .products import matmul
from .promotion import common_of, floating
from .reducing import axes_of, axis_of, lowest, reduce, without
from .reductions import mean_of
from .shapes import reshape_to
from .traced import Traced, active, atom_of, converted, fresh, lift, reshaped_atom
from .views import Shape

Pads = tuple[tuple[int, int], ...]


def _each(value: Any, rank: int, name: str) -> Shape:
    """One number for each spatial axis."""
    if isinstance(value, tuple | list):
        numbers = tuple(operator.index(v) for v in value)
    else:
        numbers = (operator.index(value),) * rank
    if len(numbers) != rank:
        raise ShapeError(f"{name}={value!r}: one number for each of {rank} axes is needed", here())
    return numbers


def _pads(pads: Any, sizes: Shape, window: Shape, strides: Shape, dilation: Shape) -> Pads:
    """Pairs of padding: a number, a number or a pair for each axis, "same" or "valid"."""
    rank = len(sizes)
    if isinstance(pads, str):
        if pads.lower() == "valid":
            return ((0, 0),) * rank
        if pads.lower() != "same":
            raise ShapeError(f"there is no padding {pads!r}", here(), "paddings: same, valid")
        result = []
        for n, k, s, d in zip(sizes, window, strides, dilation, strict=True):
            missing = max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
            result.append((missing // 2, missing - missing // 2))
        return tuple(result)
    if not isinstance(pads, tuple | list):
        return ((operator.index(pads),) * 2,) * rank
    if len(pads) != rank:
        raise ShapeError(f"pads={pads!r}: a pair for each of {rank} axes is needed", here())
    pairs = [p if isinstance(p, tuple | list) else (p, p) for p in pads]
    return tuple((operator.index(low), operator.index(high)) for low, high in pairs)


@array_function
def conv(
    x: Any,
    w: Any,
    *,
    strides: Any = 1,
    pads: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    precision: Precision | None = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolution without flip: x [N, C, *s], w [O, C / groups, *k] -> [N, O, *s'].

    `pads`: a number, a (low, high) pair for each axis, "same" or "valid". With
    `preferred_element_type` the operands keep their types and the result has that one. Raises
    ShapeError where the shapes do not fit.
    """
    trace = active()
    a, b = lift(trace, x), lift(trace, w)
    rank = a.ndim - 2
    if rank < 0 or b.ndim != a.ndim:
        raise ShapeError(
            f"conv takes x [N, C, ...] and w [O, C / groups, ...], not shapes {a.shape} and "
            f"{b.shape}",
            here(),
        )
    step, spread = _each(strides, rank, "strides"), _each(dilation, rank, "dilation")
    margins = _pads(pads, a.shape[2:], b.shape[2:], step, spread)
    return _convolved(
        trace, a, b, (step, margins, spread, (1,) * rank), groups, precision,
        preferred_element_type,
    )  # fmt: skip


def _convolved(
    trace: Trace,
    x: Traced,
    w: Traced,
    geometry: tuple[Shape, Pads, Shape, Shape],
    groups: int,
    precision: Precision | None,
    preferred: Any,
) -> Traced:
    common = common_of((x, w))
    if preferred is None:
        dtype = common
        inputs = (converted(trace, x, common), converted(trace, w, common))
    else:
        dtype = canonical(preferred, here())
        inputs = (atom_of(trace, x), atom_of(trace, w))
    op = Conv(*geometry, operator.index(groups), dtype, precision or trace.precision)
    (kind,) = result_types(op, (inputs[0].type, inputs[1].type), here())
    return fresh(trace, trace.emit(op, inputs, kind.shape, kind.dtype))


@array_function
def conv_transpose(
    x: Any,
    w: Any,
    *,
    strides: Any = 1,
    pads: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    precision: Precision | None = None,
    preferred_element_type: Any = None,
) -> Any:
    """Transposed convolution: x [N, C, *s], w [C, O / groups, *k] -> [N, O, *s'].

    s' = (s - 1) * strides - pads + dilation * (k - 1) + 1 + output_padding.
    """
    trace = active()
    a, b = lift(trace, x), lift(trace, w)
    rank = a.ndim - 2
    count = operator.index(groups)
    if rank < 0 or b.ndim != a.ndim or a.shape[1] != b.shape[0] or a.shape[1] % count:
        raise ShapeError(
            f"conv_transpose takes x [N, C, ...] and w [C, O / groups, ...], not shapes {a.shape} "
            f"and {b.shape} in {count} groups",
            here(),
        )
    step, spread = _each(strides, rank, "strides"), _each(dilation, rank, "dilation")
    extra = _each(output_padding, rank, "output_padding")
    kernel = b.shape[2:]
    declared = _pads(pads, a.shape[2:], kernel, step, spread)
    margins = tuple(
        (d * (k - 1) - low, d * (k - 1) - high + e)
        for k, d, (low, high), e in zip(kernel, spread, declared, extra, strict=True)
    )
    flipped = _turned(trace, b, count)
    geometry = ((1,) * rank, margins, spread, step)
    return _convolved(trace, a, flipped, geometry, count, precision, preferred_element_type)


def _turned(trace: Trace, w: Traced, groups: int) -> Traced:
    """[C, O / groups, *k] as the weights [O, C / groups, *k] of the convolution it transposes."""
    c, o, *kernel = w.shape
    dtype = w.dtype
    parts = (groups, c // groups, o, *kernel)
    atom = reshaped_atom(trace, atom_of(trace, w), parts)
    order = (0, 2, 1, *range(3, len(parts)))
    shape = tuple(parts[k] for k in order)
    atom = trace.emit(Transpose(order), (atom,), shape, dtype)
    whole = (groups * o, c // groups, *kernel)
    atom = trace.emit(Reshape(whole), (atom,), whole, dtype)
    starts = (0, 0, *(max(k - 1, 0) for k in kernel))
    steps = (1, 1, *(-1 if k > 1 else 1 for k in kernel))
    return fresh(trace, trace.emit(Slice(starts, whole, steps), (atom,), whole, dtype))


def _windows(
    x: Traced, window: Any, strides: Any, pads: Any, dilation: Any, ceil: bool
) -> tuple[Shape, Shape, Pads, Shape, Pads]:
    """Window, strides, pads, dilation of the spatial axes; and the pads as declared.

    With `ceil` the last window may reach over the end, unless it would start there.
    """
    rank = x.ndim - 2
    if rank < 1:
        raise ShapeError(f"pooling takes x [N, C, ...], not shape {x.shape}", here())
    size = _each(window, rank, "window")
    step = size if strides is None else _each(strides, rank, "strides")
    spread = _each(dilation, rank, "dilation")
    declared = _pads(pads, x.shape[2:], size, step, spread)
    if not ceil:
        return size, step, declared, spread, declared
    margins = []
    for n, k, s, d, (low, high) in zip(x.shape[2:], size, step, spread, declared, strict=True):
        reach = (k - 1) * d + 1
        places = -(-(n + low + high - reach) // s) + 1
        if (places - 1) * s >= n + low:
            places -= 1
        margins.append((low, max(0, (places - 1) * s + reach - n - low)))
    return size, step, tuple(margins), spread, declared


def _pooled(
    trace: Trace, name: str, x: Traced, size: Shape, step: Shape, pads: Pads, spread: Shape
) -> Traced:
    none = ((0, 0), (0, 0))
    op = Pool(name, (1, 1, *size), (1, 1, *step), (*none, *pads), (1, 1, *spread))
    atom = atom_of(trace, x)
    (kind,) = result_types(op, (atom.type,), here())
    return fresh(trace, trace.emit(op, (atom,), kind.shape, kind.dtype))


@array_function
def max_pool(
    x: Any, window: Any, *, strides: Any = None, pads: Any = 0, dilation: Any = 1,
    ceil: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of x [N, C, *s]; padding takes no part, a NaN wins."""
    trace = active()
    a = lift(trace, x)
    size, step, margins, spread, _ = _windows(a, window, strides, pads, dilation, ceil)
    return _pooled(trace, "max", a, size, step, margins, spread)


@array_function
def avg_pool(
    x: Any, window: Any, *, strides: Any = None, pads: Any = 0, count_include_pad: bool = True,
    ceil: bool = False,
) -> Any:  # fmt: skip
    """The mean of each window of x [N, C, *s].

    The divisor counts the cells inside of the input and, with `count_include_pad`, of the declared
    padding; never those that only `ceil` adds.
    """
    trace = active()
    a = lift(trace, x)
    size, step, margins, spread, declared = _windows(a, window, strides, pads, 1, ceil)
    result = a.dtype if is_float(a.dtype) else floating(a.dtype)
    wide = FLOAT32 if result in (FLOAT16, BFLOAT16) else result
    total = _pooled(trace, "sum", cast(trace, a, wide), size, step, margins, spread)
    if count_include_pad and margins == declared:
        whole = int(np.prod(size))
        return cast(trace, binary(trace, "div", total, lift(trace, whole)), result)
    for k, places in enumerate(total.shape[2:]):
        low, high = declared[k] if count_include_pad else (0, 0)
        start = np.arange(places) * step[k] - margins[k][0]
        end = np.minimum(start + size[k], a.shape[2 + k] + high)
        counts = np.maximum(end - np.maximum(start, -low), 0)
        shape = tuple(places if j == k else 1 for j in range(total.ndim - 2))
        divisor = trace.constant(counts.reshape(shape).astype(wide))
        total = binary(trace, "div", total, fresh(trace, divisor))
    return cast(trace, total, result)


@array_function
def global_avg_pool(x: Any, *, keepdims: bool = False) -> Any:
    """The mean over the spatial axes: [N, C, *s] -> [N, C]."""
    trace = active()
    a = lift(trace, x)
    return mean_of(trace, a, tuple(range(2, a.ndim)), keepdims)


def _floating(trace: Trace, x: Any) -> Traced:
    a = lift(trace, x)
    return a if is_float(a.dtype) and not a.weak else cast(trace, a, floating(a.dtype))


@array_function
def relu(x: Any) -> Any:
    """max(x, 0); a NaN stays."""
    trace = active()
    return binary(trace, "maximum", lift(trace, x), lift(trace, 0))


@array_function
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6); a NaN stays."""
    trace = active()
    return binary(trace, "minimum", relu(x), lift(trace, 6))


@array_function
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """x where it is positive, else negative_slope * x."""
    trace = active()
    a = _floating(trace, x)
    scaled = binary(trace, "mul", a, lift(trace, negative_slope))
    return select(trace, binary(trace, "ge", a, lift(trace, 0)), a, scaled)


@array_function
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    trace = active()
    a = _floating(trace, x)
    below = binary(trace, "mul", unary(trace, "expm1", a), lift(trace, alpha))
    return select(trace, binary(trace, "gt", a, lift(trace, 0)), a, below)


@array_function
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    trace = active()
    return unary(trace, "sigmoid", _floating(trace, x))


@array_function
def silu(x: Any) -> Any:
    """x * sigmoid(x)."""
    trace = active()
    a = _floating(trace, x)
    return binary(trace, "mul", a, unary(trace, "sigmoid", a))


@array_function
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    trace = active()
    shifted = relu6(binary(trace, "add", _floating(trace, x), lift(trace, 3)))
    return binary(trace, "div", shifted, lift(trace, 6))


@array_function
def hard_swish(x: Any) -> Any:
    """x * hard_sigmoid(x)."""
    trace = active()
    return binary(trace, "mul", lift(trace, x), hard_sigmoid(x))


@array_function
def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    trace = active()
    a = _floating(trace, x)
    tail = unary(trace, "exp", unary(trace, "neg", unary(trace, "abs", a)))
    return binary(
        trace, "add", binary(trace, "maximum", a, lift(trace, 0)), unary(trace, "log1p", tail)
    )


@array_function
def erf(x: Any) -> Any:
    """The error function."""
    trace = active()
    return unary(trace, "erf", _floating(trace, x))


@array_function
def gelu(x: Any, *, approximate: bool = False) -> Any:
    """x times the normal distribution's share below x (by tanh if `approximate`)."""
    trace = active()
    a = _floating(trace, x)
    half, one = lift(trace, 0.5), lift(trace, 1.0)
    if approximate:
        cube = binary(trace, "mul", binary(trace, "mul", a, a), a)
        inner = binary(trace, "add", a, binary(trace, "mul", lift(trace, 0.044715), cube))
        scaled = binary(trace, "mul", lift(trace, float(np.sqrt(2 / np.pi))), inner)
        share = unary(trace, "tanh", scaled)
    else:
        share = unary(trace, "erf", binary(trace, "mul", a, lift(trace, float(np.sqrt(0.5)))))
    share = binary(trace, "mul", half, binary(trace, "add", one, share))
    return binary(trace, "mul", a, share)


@array_function
def softmax(x: Any, axis: Any = -1) -> Any:
    """exp(x) / sum(exp(x)) along axes, without overflow."""
    trace = active()
    a = _floating(trace, x)
    axes = axes_of(axis, a.ndim)
    top = reduce(trace, "max", a, axes, True)
    e = unary(trace, "exp", binary(trace, "sub", a, top))
    return binary(trace, "div", e, reduce(trace, "sum", e, axes, True))


@array_function
def log_softmax(x: Any, axis: Any = -1) -> Any:
    """log(softmax(x)), without overflow."""
    trace = active()
    a = _floating(trace, x)
    axes = axes_of(axis, a.ndim)
    shifted = binary(trace, "sub", a, reduce(trace, "max", a, axes, True))
    total = reduce(trace, "sum", unary(trace, "exp", shifted), axes, True)
    return binary(trace, "sub", shifted, unary(trace, "log", total))


@array_function
def logsumexp(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) along axes, without overflow."""
    trace = active()
    a = _floating(trace, x)
    axes = axes_of(axis, a.ndim)
    top = reduce(trace, "max", a, axes, True, initial=lowest(a.dtype, "max"))
    top = select(trace, unary(trace, "isinf", top), lift(trace, 0.0), top)
    e = unary(trace, "exp", binary(trace, "sub", a, top))
    total = unary(trace, "log", reduce(trace, "sum", e, axes, True))
    result = binary(trace, "add", total, top)
    return result if keepdims else reshape_to(trace, result, without(a.shape, axes, False))


def _normalised(trace: Trace, a: Traced, axes: Shape, eps: Any) -> Traced:
    """(x - mean) / sqrt(variance + eps); halves are worked in float32."""
    mean = mean_of(trace, a, axes, True)
    centred = binary(trace, "sub", a, mean)
    variance = mean_of(trace, unary(trace, "square", centred), axes, True)
    deviation = unary(trace, "sqrt", binary(trace, "add", variance, lift(trace, eps)))
    return binary(trace, "div", centred, deviation)


@array_function
def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, *, axis: Any = -1, eps: Any = 1e-5
) -> Any:
    """Normalised over axes, then scaled by `weight` and shifted by `bias` (of those axes)."""
    trace = active()
    a = _floating(trace, x)
    wide = cast(trace, a, FLOAT32) if a.dtype in (FLOAT16, BFLOAT16) else a
    result = cast(trace, _normalised(trace, wide, axes_of(axis, a.ndim), eps), a.dtype)
    if weight is not None:
        result = binary(trace, "mul", result, lift(trace, weight))
    if bias is not None:
        result = binary(trace, "add", result, lift(trace, bias))
    return result


@array_function
def rms_norm(x: Any, weight: Any = None, *, axis: Any = -1, eps: Any = 1e-6) -> Any:
    """Divided by the root of the mean square over axes, then scaled by `weight`."""
    trace = active()
    a = _floating(trace, x)
    wide = cast(trace, a, FLOAT32) if a.dtype in (FLOAT16, BFLOAT16) else a
    mean = mean_of(trace, unary(trace, "square", wide), axes_of(axis, a.ndim), True)
    root = unary(trace, "sqrt", binary(trace, "add", mean, lift(trace, eps)))
    result = cast(trace, binary(trace, "div", wide, root), a.dtype)
    return result if weight is None else binary(trace, "mul", result, lift(trace, weight))


@array_function
def batch_norm(
    x: Any,
    mean: Any,
    var: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    axis: int = 1,
    eps: Any = 1e-5,
) -> Any:
    """(x - mean) / sqrt(var + eps) * weight + bias, one of each for every position of `axis`."""
    trace = active()
    a = _floating(trace, x)
    number = axis_of(axis, a.ndim)
    shape = tuple(n if k == number else 1 for k, n in enumerate(a.shape))

    def along(v: Any) -> Traced:
        return reshape_to(trace, lift(trace, v), shape)

    deviation = unary(trace, "sqrt", binary(trace, "add", lift(trace, var), lift(trace, eps)))
    result = binary(trace, "div", binary(trace, "sub", a, along(mean)), along(deviation))
    if weight is not None:
        result = binary(trace, "mul", result, along(weight))
    if bias is not None:
        result = binary(trace, "add", result, along(bias))
    return result


@array_function
def linear(x: Any, w: Any, b: Any = None, *, precision: Precision | None = None) -> Any:
    """x [..., I] @ w [O, I] transposed, plus b [O]."""
    trace = active()
    weights = lift(trace, w)
    if weights.ndim != 2:
        raise ShapeError(f"linear takes weights [O, I], not shape {weights.shape}", here())
    o, i = weights.shape
    atom = trace.emit(Transpose((1, 0)), (atom_of(trace, weights),), (i, o), weights.dtype)
    result = matmul(trace, lift(trace, x), fresh(trace, atom), precision)
    return result if b is None else binary(trace, "add", result, lift(trace, b))


@array_function
def one_hot(x: Any, classes: int, dtype: Any = np.float32) -> Any:
    """1 at the position that each element numbers, else 0: [...] -> [..., classes]."""
    trace = active()
    a = lift(trace, x)
    column = fresh(trace, reshaped_atom(trace, atom_of(trace, a), (*a.shape, 1)))
    row = iota(trace, (operator.index(classes),), 0)
    return cast(trace, binary(trace, "eq", column, row), canonical(dtype, here()))
