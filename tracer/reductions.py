"""Array functions that reduce: sums, extremes, truth, means, and running ones."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..ir.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, canonical, is_float
from ..ir.errors import ShapeError
from ..ir.graph.ops import Precision
from .context import Trace, here
from .eager import array_function
from .elementwise import binary, cast, common_shape, filled_with, select, unary
from .joining import joined
from .masked import Masked
from .reducing import (
    arg_reduce,
    axes_of,
    axis_of,
    cumulative,
    reduce,
)
from .shapes import diagonal, reshape_to
from .traced import Traced, active, converted, fresh, lift, literal, viewed
from .ufuncs import truth
from .updates import store
from .views import sliced


def given(x: Any) -> Any:
    """NumPy spells "not given" in several ways."""
    return None if x is np._NoValue else x


_OF_SELECTIONS = frozenset(("sum", "prod", "and", "or"))


def _reduced(
    name: str,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
    precision: Precision | None = None,
) -> Any:
    trace = active()
    keep = bool(given(keepdims))
    where = given(where)
    if isinstance(a, Masked) and name in _OF_SELECTIONS:
        a.require_plain(dtype, out, given(initial), where)
        return a.reduce(name, axis, keep)
    condition = None if where is None or where is True else lift(trace, where)
    x = lift(trace, a)
    wanted = None if dtype is None else canonical(dtype, here())
    start = given(initial)
    result = reduce(trace, name, x, axis, keep, wanted, start, condition, precision)
    result.weak = False
    return result if out is None else store(trace, out, result)


@array_function
def sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = None, where: Any = True, *, precision: Precision | None = None,
) -> Any:  # fmt: skip
    """The sum; small integers widen to 64 bits. See `numpy.sum`."""
    return _reduced("sum", a, axis, dtype, out, keepdims, initial, where, precision)


@array_function
def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """The product; small integers widen to 64 bits. See `numpy.prod`."""
    return _reduced("prod", a, axis, dtype, out, keepdims, initial, where)


@array_function
def max(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """The largest element; a NaN wins. See `numpy.max`."""
    return _reduced("max", a, axis, None, out, keepdims, initial, where)


@array_function
def min(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """The smallest element; a NaN wins. See `numpy.min`."""
    return _reduced("min", a, axis, None, out, keepdims, initial, where)


amax, amin = max, min


@array_function
def any(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """Whether any element is true; see `numpy.any`."""
    return _reduced("or", a, axis, None, out, keepdims, None, where)


@array_function
def all(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """Whether all elements are true; see `numpy.all`."""
    return _reduced("and", a, axis, None, out, keepdims, None, where)


@array_function
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not zero; see `numpy.count_nonzero`."""
    trace = active()
    if isinstance(a, Masked):
        return Masked(truth(trace, a.value), a.mask, a.axes).reduce("sum", axis, keepdims)
    return reduce(trace, "sum", truth(trace, lift(trace, a)), axis, keepdims)


@array_function
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """The largest minus the smallest element; see `numpy.ptp`."""
    trace = active()
    result = binary(trace, "sub", max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))
    return result if out is None else store(trace, out, result)


@array_function
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """The first position of the largest element; the first NaN wins. See `numpy.argmax`."""
    trace = active()
    result = arg_reduce(trace, "max", lift(trace, a), axis, bool(given(keepdims)))
    return result if out is None else store(trace, out, result)


@array_function
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """The first position of the smallest element; the first NaN wins. See `numpy.argmin`."""
    trace = active()
    result = arg_reduce(trace, "min", lift(trace, a), axis, bool(given(keepdims)))
    return result if out is None else store(trace, out, result)


def _mean_type(dtype: np.dtype) -> tuple[np.dtype, np.dtype]:
    """In which type a mean is made, and which it has."""
    if not is_float(dtype):
        return FLOAT64, FLOAT64
    return (FLOAT32 if dtype in (FLOAT16, BFLOAT16) else dtype), dtype


def mean_of(
    trace: Trace,
    x: Traced,
    axis: Any,
    keepdims: bool = False,
    dtype: np.dtype | None = None,
    where: Traced | None = None,
    ddof: int = 0,
    precision: Precision | None = None,
) -> Traced:
    """Sum over count (less `ddof`); halves are summed in float32, integers in float64."""
    compute, result = _mean_type(x.dtype) if dtype is None else (dtype, dtype)
    total = reduce(trace, "sum", x, axis, keepdims, compute, None, where, precision)
    if where is None:
        axes = axes_of(axis, x.ndim)
        count = 1
        for k in axes:
            count *= x.shape[k]
        number = fresh(trace, literal(count - ddof if count > ddof else 0, compute))
    else:
        ones = select(trace, where, filled_with(trace, 1, x.shape, compute),
                      filled_with(trace, 0, (), compute))  # fmt: skip
        number = reduce(trace, "sum", ones, axis, keepdims, compute)
        if ddof:
            number = binary(trace, "sub", number, lift(trace, ddof))
            number = binary(trace, "maximum", number, lift(trace, 0))
    return cast(trace, binary(trace, "div", total, number), result)


def _condition(trace: Trace, where: Any) -> Traced | None:
    where = given(where)
    return None if where is None or where is True else lift(trace, where)


@array_function
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
    where: Any = True, precision: Precision | None = None,
) -> Any:  # fmt: skip
    """The arithmetic mean; of integers in float64. See `numpy.mean`."""
    trace = active()
    if isinstance(a, Masked):
        a.require_plain(dtype, out, given(keepdims), given(where))
        return a.mean(axis)
    wanted = None if dtype is None else canonical(dtype, here())
    result = mean_of(
        trace, lift(trace, a), axis, bool(given(keepdims)), wanted, _condition(trace, where),
        precision=precision,
    )  # fmt: skip
    return result if out is None else store(trace, out, result)


def var_of(
    trace: Trace,
    x: Traced,
    axis: Any,
    keepdims: bool = False,
    dtype: np.dtype | None = None,
    where: Traced | None = None,
    ddof: Any = 0,
) -> Traced:
    """The mean squared distance from the mean."""
    compute, result = _mean_type(x.dtype) if dtype is None else (dtype, dtype)
    x = fresh(trace, converted(trace, x, compute))
    centre = mean_of(trace, x, axis, True, where=where)
    square = unary(trace, "square", binary(trace, "sub", x, centre))
    ddof = operator.index(ddof)
    return cast(trace, mean_of(trace, square, axis, keepdims, None, where, ddof), result)


@array_function
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The variance; see `numpy.var`."""
    trace = active()
    if isinstance(a, Masked):
        a.require_plain(dtype, out, given(keepdims), given(where), ddof, given(correction))
        return a.var(axis)
    wanted = None if dtype is None else canonical(dtype, here())
    ddof = ddof if given(correction) is None else correction
    result = var_of(
        trace, lift(trace, a), axis, bool(given(keepdims)), wanted, _condition(trace, where), ddof
    )
    return result if out is None else store(trace, out, result)


@array_function
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation; see `numpy.std`."""
    trace = active()
    variance = var(a, axis, dtype, None, ddof, keepdims, where=where, correction=correction)
    result = unary(trace, "sqrt", variance)
    return result if out is None else store(trace, out, result)


@array_function
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """The weighted mean; see `numpy.average`."""
    trace = active()
    x = lift(trace, a)
    keep = bool(given(keepdims))
    if weights is None:
        result = mean_of(trace, x, axis, keep)
        count = x.size // (result.size or 1)
        total = filled_with(trace, count, result.shape, result.dtype)
        return (result, total) if returned else result
    w = lift(trace, weights)
    if w.shape != x.shape:
        number = axis_of(0 if axis is None else axis, x.ndim)
        if w.ndim != 1 or axis is None or w.shape[0] != x.shape[number]:
            raise ShapeError(
                f"average: weights of shape {w.shape} do not fit an array of shape {x.shape}",
                here(),
            )
        w = reshape_to(trace, w, tuple(n if k == number else 1 for k, n in enumerate(x.shape)))
    product = binary(trace, "mul", x, w)
    if not is_float(product.dtype):
        product = cast(trace, product, FLOAT64)
    full = binary(trace, "mul", w, filled_with(trace, 1, x.shape, w.dtype))
    total = reduce(trace, "sum", full, axis, keep, product.dtype)
    result = binary(trace, "div", reduce(trace, "sum", product, axis, keep), total)
    return (result, total) if returned else result


def _running(name: str, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    trace = active()
    wanted = None if dtype is None else canonical(dtype, here())
    result = cumulative(trace, name, lift(trace, a), axis, wanted)
    return result if out is None else store(trace, out, result)


@array_function
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums; see `numpy.cumsum`."""
    return _running("sum", a, axis, dtype, out)


@array_function
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products; see `numpy.cumprod`."""
    return _running("prod", a, axis, dtype, out)


@array_function
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running sums, with a leading zero on demand; see `numpy.cumulative_sum`."""
    return _cumulative("sum", 0, x, axis, dtype, include_initial)


def _cumulative(
    name: str, start: int, x: Any, axis: Any, dtype: Any, include_initial: bool
) -> Traced:
    trace = active()
    array = lift(trace, x)
    number = axis_of(0 if axis is None else axis, array.ndim)
    result: Traced = _running(name, array, number, dtype, None)
    if not include_initial:
        return result
    edge = tuple(1 if k == number else n for k, n in enumerate(array.shape))
    return joined(trace, [filled_with(trace, start, edge, result.dtype), result], number)


@array_function
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running products, with a leading one on demand; see `numpy.cumulative_prod`."""
    return _cumulative("prod", 1, x, axis, dtype, include_initial)


@array_function
def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours, `n` times; see `numpy.diff`."""
    trace = active()
    x = lift(trace, a)
    number = axis_of(axis, x.ndim)
    parts = [x]
    edge = tuple(1 if k == number else m for k, m in enumerate(x.shape))
    for extra, at in ((given(prepend), 0), (given(append), len(parts))):
        if extra is not None:
            y = lift(trace, extra)
            if not y.ndim:
                y = binary(trace, "add", filled_with(trace, 0, edge, y.dtype), y)
            parts.insert(at if at == 0 else len(parts), y)
    if len(parts) > 1:
        x = joined(trace, parts, number)
    for _ in range(operator.index(n)):
        low, high = _neighbours(trace, x, number)
        x = binary(trace, "ne" if x.dtype == BOOL else "sub", high, low)
    return x


def _neighbours(trace: Trace, x: Traced, axis: int) -> tuple[Traced, Traced]:
    """All elements but the last along an axis, and all but the first."""
    count = x.shape[axis] - 1
    sizes = tuple((count if count > 0 else 0) if k == axis else n for k, n in enumerate(x.shape))
    ones = (1,) * x.ndim
    starts = tuple(int(k == axis and count > 0) for k in range(x.ndim))
    low = viewed(trace, sliced(x.elements, (0,) * x.ndim, sizes, ones))
    return low, viewed(trace, sliced(x.elements, starts, sizes, ones))


@array_function
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The integral by the trapezoidal rule; see `numpy.trapezoid`."""
    trace = active()
    values = lift(trace, y)
    number = axis_of(axis, values.ndim)
    width = lift(trace, dx)
    if x is not None:
        places = lift(trace, x)
        if places.ndim == 1:
            steps = diff(places)
            shape = tuple(steps.size if k == number else 1 for k in range(values.ndim))
            width = reshape_to(trace, steps, shape)
        else:
            width = diff(places, axis=axis)
    low, high = _neighbours(trace, values, number)
    area = binary(trace, "mul", width, binary(trace, "add", high, low))
    return reduce(trace, "sum", binary(trace, "div", area, lift(trace, 2.0)), axis)


@array_function
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sum of a diagonal; see `numpy.trace`."""
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


@array_function
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements; see `numpy.array_equal`."""
    t = active()
    x, y = lift(t, a1), lift(t, a2)
    if x.shape != y.shape:
        return False
    same = binary(t, "eq", x, y)
    if equal_nan:
        both = binary(t, "and", unary(t, "isnan", x), unary(t, "isnan", y))
        same = binary(t, "or", same, both)
    return reduce(t, "and", same)


def close(trace: Trace, a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Traced:
    """|a - b| <= atol + rtol * |b|, equal infinities included."""
    x, y = lift(trace, a), lift(trace, b)
    common_shape([x.shape, y.shape])
    if not is_float(y.dtype):
        y = cast(trace, y, FLOAT64)
    bound = binary(
        trace,
        "add",
        lift(trace, atol),
        binary(trace, "mul", lift(trace, rtol), unary(trace, "abs", y)),
    )
    near = binary(trace, "le", unary(trace, "abs", binary(trace, "sub", x, y)), bound)
    near = binary(trace, "and", near, unary(trace, "isfinite", y))
    near = binary(trace, "or", near, binary(trace, "eq", x, y))
    if equal_nan:
        both = binary(trace, "and", unary(trace, "isnan", x), unary(trace, "isnan", y))
        near = binary(trace, "or", near, both)
    return near


@array_function
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether elements are equal within a tolerance; see `numpy.isclose`."""
    return close(active(), a, b, rtol, atol, equal_nan)


@array_function
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are equal within a tolerance; see `numpy.allclose`."""
    t = active()
    return reduce(t, "and", close(t, a, b, rtol, atol, equal_nan))
