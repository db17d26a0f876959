"""Array functions of products: dot, matmul, einsum, outer, cross, convolve, and kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.dtypes import canonical, is_float
from ..ir.errors import ShapeError
from ..ir.graph.ops import Conv, Precision
from . import products
from .context import Trace, here, refused
from .eager import array_function
from .elementwise import binary, cast, unary
from .joining import joined
from .promotion import common_of, floating
from .reducing import axis_of, reduce
from .reductions import diff, mean_of
from .shapes import diagonal, expand_dims, moveaxis, reshape_to, transpose
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
from .updates import store
from .views import sliced


@array_function
def matmul(
    x1: Any, x2: Any, /, out: Any = None, *, dtype: Any = None, precision: Precision | None = None,
    preferred_element_type: Any = None,
) -> Any:  # fmt: skip
    """The matrix product; see `numpy.matmul`.

    With `preferred_element_type` operands keep their types, and the result has that one.
    """
    trace = active()
    wanted = preferred_element_type if dtype is None else dtype
    kind = None if wanted is None else canonical(wanted, here())
    result = products.matmul(trace, lift(trace, x1), lift(trace, x2), precision, kind)
    return result if out is None else store(trace, out, result)


@array_function
def dot(a: Any, b: Any, out: Any = None, *, precision: Precision | None = None) -> Any:
    """The sum over the last axis of a and the second last of b; see `numpy.dot`."""
    trace = active()
    result = products.dot(trace, lift(trace, a), lift(trace, b), precision)
    return result if out is None else store(trace, out, result)


@array_function
def vdot(a: Any, b: Any, /) -> Any:
    """The sum of products of all elements; see `numpy.vdot`."""
    trace = active()
    x, y = lift(trace, a), lift(trace, b)
    return products.dot(trace, reshape_to(trace, x, (x.size,)), reshape_to(trace, y, (y.size,)))


@array_function
def inner(a: Any, b: Any, /) -> Any:
    """The sum of products over the last axes; see `numpy.inner`."""
    trace = active()
    x, y = lift(trace, a), lift(trace, b)
    if not x.ndim or not y.ndim:
        return binary(trace, "mul", x, y)
    return products.tensordot(trace, x, y, ((x.ndim - 1,), (y.ndim - 1,)))


@array_function
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """The product of every pair; see `numpy.outer`."""
    trace = active()
    x, y = lift(trace, a), lift(trace, b)
    column = fresh(trace, reshaped_atom(trace, atom_of(trace, x), (x.size, 1)))
    row = fresh(trace, reshaped_atom(trace, atom_of(trace, y), (1, y.size)))
    result = binary(trace, "mul", column, row)
    return result if out is None else store(trace, out, result)


@array_function
def tensordot(a: Any, b: Any, axes: Any = 2, *, precision: Precision | None = None) -> Any:
    """The sum of products over pairs of axes; see `numpy.tensordot`."""
    trace = active()
    return products.tensordot(trace, lift(trace, a), lift(trace, b), axes, precision)


@array_function
def einsum(
    subscripts: Any, *operands: Any, out: Any = None, dtype: Any = None, optimize: Any = False,
    precision: Precision | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Any sum of products, by labels of axes; see `numpy.einsum`."""
    if not isinstance(subscripts, str):
        raise refused("einsum takes its subscripts as a string", "einsum('ij,jk->ik', a, b)")
    trace = active()
    arrays = [lift(trace, x) for x in operands]
    if dtype is not None:
        wanted = canonical(dtype, here())
        arrays = [fresh(trace, converted(trace, x, wanted)) for x in arrays]
    result = products.einsum(trace, subscripts, arrays, precision)
    return result if out is None else store(trace, out, result)


@array_function
def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    """Sums of products along an axis; see `numpy.vecdot`."""
    trace = active()
    x, y = (moveaxis(lift(trace, v), axis, -1) for v in (x1, x2))
    return products.einsum(trace, "...i,...i->...", [x, y])


@array_function
def matvec(x1: Any, x2: Any, /) -> Any:
    """Matrices times vectors, both broadcast; see `numpy.matvec`."""
    trace = active()
    return products.einsum(trace, "...ij,...j->...i", [lift(trace, x1), lift(trace, x2)])


@array_function
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Vectors times matrices, both broadcast; see `numpy.vecmat`."""
    trace = active()
    return products.einsum(trace, "...i,...ij->...j", [lift(trace, x1), lift(trace, x2)])


@array_function
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product; see `numpy.kron`."""
    trace = active()
    x, y = lift(trace, a), lift(trace, b)
    rank = max(x.ndim, y.ndim)
    m = (*(1,) * (rank - x.ndim), *x.shape)
    n = (*(1,) * (rank - y.ndim), *y.shape)
    left = tuple(e for k in m for e in (k, 1))
    right = tuple(e for k in n for e in (1, k))
    product = binary(
        trace,
        "mul",
        fresh(trace, reshaped_atom(trace, atom_of(trace, x), left)),
        fresh(trace, reshaped_atom(trace, atom_of(trace, y), right)),
    )
    whole = tuple(i * j for i, j in zip(m, n, strict=True))
    return fresh(trace, reshaped_atom(trace, atom_of(trace, product), whole))


def _component(trace: Trace, x: Traced, k: int) -> Traced:
    """Position k of the last axis."""
    lead = x.shape[:-1]
    view = sliced(x.elements, (*(0,) * len(lead), k), (*lead, 1), (1,) * x.ndim)
    return reshape_to(trace, viewed(trace, view), lead)


@array_function
def cross(
    a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None
) -> Any:
    """The cross product of vectors of two or three elements; see `numpy.cross`."""
    trace = active()
    if axis is not None:
        axisa = axisb = axisc = axis
    x = moveaxis(lift(trace, a), axisa, -1)
    y = moveaxis(lift(trace, b), axisb, -1)
    if x.shape[-1:] not in ((2,), (3,)) or y.shape[-1:] not in ((2,), (3,)):
        raise ShapeError("cross needs vectors of 2 or 3 elements", here())
    u = [_component(trace, x, k) for k in range(x.shape[-1])]
    v = [_component(trace, y, k) for k in range(y.shape[-1])]

    def minor(i: int, j: int) -> Traced:
        terms = [(u[i], v[j]), (u[j], v[i])] if i < len(u) and j < len(v) else []
        if i < len(u) and j < len(u) and i < len(v) and j < len(v):
            return binary(trace, "sub", binary(trace, "mul", *terms[0]),
                          binary(trace, "mul", *terms[1]))  # fmt: skip
        if i < len(u) and j < len(v):
            return binary(trace, "mul", u[i], v[j])
        return unary(trace, "neg", binary(trace, "mul", u[j], v[i]))

    if len(u) == len(v) == 2:
        return fresh(trace, atom_of(trace, minor(0, 1)), scalar=False)
    result = stacked(trace, [minor(1, 2), minor(2, 0), minor(0, 1)], 0)
    return fresh(trace, atom_of(trace, moveaxis(result, 0, axis_of(axisc, result.ndim))))


@array_function
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors; see `numpy.convolve`."""
    trace = active()
    x, y = lift(trace, a), lift(trace, v)
    if y.size > x.size:
        x, y = y, x
    return _sliding(trace, x, y, mode, flip=True)


@array_function
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The cross-correlation of two vectors; see `numpy.correlate`."""
    trace = active()
    x, y = lift(trace, a), lift(trace, v)
    if y.size > x.size:
        turned = _sliding(trace, y, x, mode, flip=False)
        view = sliced(turned.elements, (turned.size - 1,), turned.shape, (-1,))
        return fresh(trace, atom_of(trace, viewed(trace, view)))
    return _sliding(trace, x, y, mode, flip=False)


def _sliding(trace: Trace, x: Traced, y: Traced, mode: str, flip: bool) -> Traced:
    """Sums of products of the shorter vector along the longer, as a convolution."""
    if x.ndim > 1 or y.ndim > 1 or not x.size or not y.size:
        raise ShapeError("convolve and correlate take two vectors that are not empty", here())
    n, m = x.size, y.size
    margins = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}
    if mode not in margins:
        raise refused(f"there is no mode {mode!r}", "modes: full, same, valid")
    low, high = margins[mode]
    dtype = common_of((x, y))
    y = reshape_to(trace, y, (m,))
    kernel = viewed(trace, sliced(y.elements, (m - 1,), (m,), (-1,))) if flip else y
    inputs = (
        reshaped_atom(trace, converted(trace, x, dtype), (1, 1, n)),
        reshaped_atom(trace, converted(trace, kernel, dtype), (1, 1, m)),
    )
    count = n + low + high - m + 1
    op = Conv((1,), ((low, high),), (1,), (1,), 1, dtype, trace.precision)
    result = trace.emit(op, inputs, (1, 1, count), dtype)
    return fresh(trace, reshaped_atom(trace, result, (count,)))


@array_function
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariance matrix; see `numpy.cov`."""
    if fweights is not None or aweights is not None:
        raise refused("np.cov with weights is not supported")
    trace = active()
    x = _rows(trace, m, rowvar)
    if y is not None:
        x = joined(trace, [x, _rows(trace, y, rowvar)], 0)
    if not is_float(x.dtype):
        x = cast(trace, x, np.dtype(np.float64))
    if dtype is not None:
        x = cast(trace, x, canonical(dtype, here()))
    centred = binary(trace, "sub", x, mean_of(trace, x, 1, True))
    count = x.shape[1] - (int(ddof) if ddof is not None else int(not bias))
    product = products.matmul(trace, centred, transpose(centred))
    scaled = binary(trace, "div", product, fresh(trace, literal(max(count, 0), x.dtype)))
    shape = tuple(n for n in scaled.shape if n != 1)
    return fresh(trace, reshaped_atom(trace, atom_of(trace, scaled), shape), scalar=False)


def _rows(trace: Trace, m: Any, rowvar: bool) -> Traced:
    x = lift(trace, m)
    if x.ndim > 2:
        raise ShapeError("cov takes arrays of at most two axes", here())
    if x.ndim < 2:
        return reshape_to(trace, x, (1, x.size))
    if not rowvar and x.shape[0] != 1:
        turned: Traced = transpose(x)
        return turned
    return x


@array_function
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Correlation coefficients; see `numpy.corrcoef`."""
    trace = active()
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return binary(trace, "div", c, c)
    deviation = unary(trace, "sqrt", diagonal(c))
    c = binary(trace, "div", c, expand_dims(deviation, 1))
    c = binary(trace, "div", c, expand_dims(deviation, 0))
    c = binary(trace, "maximum", c, lift(trace, -1.0))
    return binary(trace, "minimum", c, lift(trace, 1.0))


@array_function
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, one-sided at the ends; see `numpy.gradient`. Even spacing only."""
    trace = active()
    x = lift(trace, f)
    if edge_order != 1:
        raise refused("np.gradient with edge_order=2 is not supported")
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        names = axis if isinstance(axis, tuple | list) else (axis,)
        axes = tuple(axis_of(k, x.ndim) for k in names)
    steps = [lift(trace, h) for h in varargs] or [lift(trace, 1.0)]
    if len(steps) == 1:
        steps = steps * len(axes)
    if len(steps) != len(axes) or any(h.ndim for h in steps):
        raise refused("np.gradient takes one number as spacing for each axis")
    x = cast(trace, x, floating(x.dtype)) if not is_float(x.dtype) else x
    results = [_slope(trace, x, k, h) for k, h in zip(axes, steps, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


def _slope(trace: Trace, x: Traced, axis: int, step: Traced) -> Traced:
    n = x.shape[axis]
    if n < 2:
        raise ShapeError("gradient needs at least two elements along an axis", here())

    def part(start: int, count: int) -> Traced:
        starts = tuple(start if k == axis else 0 for k in range(x.ndim))
        sizes = tuple(count if k == axis else m for k, m in enumerate(x.shape))
        return viewed(trace, sliced(x.elements, starts, sizes, (1,) * x.ndim))

    def slope(high: Traced, low: Traced, width: Traced) -> Traced:
        return binary(trace, "div", binary(trace, "sub", high, low), width)

    first = slope(part(1, 1), part(0, 1), step)
    last = slope(part(n - 1, 1), part(n - 2, 1), step)
    double = binary(trace, "mul", lift(trace, 2.0), step)
    inner = slope(part(2, n - 2), part(0, n - 2), double)
    return joined(trace, [first, inner, last], axis)


@array_function
def polyval(p: Any, x: Any) -> Any:
    """A polynomial, highest power first, by Horner's rule; see `numpy.polyval`."""
    trace = active()
    coefficients, at = lift(trace, p), lift(trace, x)
    result = binary(trace, "mul", at, lift(trace, 0))
    for k in range(coefficients.size):
        term = _component(trace, coefficients, k)
        result = binary(trace, "add", binary(trace, "mul", result, at), term)
    return result


@array_function
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of consecutive elements of the flat array; see `numpy.ediff1d`."""
    if to_end is not None or to_begin is not None:
        raise refused("np.ediff1d with to_begin= or to_end=", "join them with np.concatenate")
    trace = active()
    x = lift(trace, ary)
    return diff(reshape_to(trace, x, (x.size,)))


def norm_squared(trace: Trace, x: Traced, axis: Any, keepdims: bool) -> Traced:
    """The sum of squares."""
    return reduce(trace, "sum", unary(trace, "square", x), axis, keepdims)
