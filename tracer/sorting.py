"""Array functions about order: sorting, searching, ranks, bins."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..ir.dtypes import FLOAT64, INT64, is_float
from ..ir.errors import ShapeError
from ..ir.graph.ops import Scatter
from . import reducing
from .context import Trace, here, refused
from .creation import linspace, number_of
from .eager import array_function
from .elementwise import binary, cast, filled_with, select, unary
from .promotion import common_of
from .reducing import axes_of, reduce, without
from .selection import take
from .shapes import flip, moveaxis, reshape_to
from .traced import Traced, active, atom_of, converted, fresh, lift, viewed
from .updates import store
from .views import sliced


@array_function
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """A sorted copy, NaN last; see `numpy.sort`."""
    trace = active()
    return reducing.sort(trace, lift(trace, a), axis)


@array_function
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """The positions that would sort, stable; see `numpy.argsort`."""
    trace = active()
    return reducing.sort(trace, lift(trace, a), axis, indices=True)


@array_function
def partition(a: Any, kth: Any, axis: Any = -1) -> Any:
    """A sorted copy, which is partitioned everywhere; see `numpy.partition`."""
    return sort(a, axis)


@array_function
def argpartition(a: Any, kth: Any, axis: Any = -1) -> Any:
    """The positions that would sort; see `numpy.argpartition`."""
    return argsort(a, axis)


@array_function
def lexsort(keys: Any, axis: Any = -1) -> Any:
    """The positions that would sort by the last key, then the one before; see `numpy.lexsort`."""
    trace = active()
    arrays = [lift(trace, k) for k in keys]
    if not arrays or any(x.ndim != 1 for x in arrays):
        raise refused("np.lexsort takes vectors as keys")
    order = reducing.sort(trace, arrays[0], 0, indices=True)
    for x in arrays[1:]:
        order = take(order, reducing.sort(trace, take(x, order), 0, indices=True))
    return order


def _counted_below(trace: Trace, edges: Traced, v: Traced, side: str) -> Traced:
    """How many edges are less than (side "left": else not greater than) each value, by bisection.

    NaN sorts last, as in NumPy.
    """
    n = edges.size
    if n == 0:
        return filled_with(trace, 0, v.shape, INT64)
    low = filled_with(trace, 0, v.shape, INT64)
    high = filled_with(trace, n, v.shape, INT64)
    two, one = lift(trace, 2), lift(trace, 1)
    for _ in range(n.bit_length()):
        middle = binary(trace, "floor_div", binary(trace, "add", low, high), two)
        probe = take(edges, middle, mode="clip")
        below = binary(trace, "lt" if side == "left" else "le", probe, v)
        if is_float(v.dtype):
            numbers = unary(trace, "not", unary(trace, "isnan", probe))
            last = binary(trace, "and", unary(trace, "isnan", v), numbers)
            if side == "right":
                last = unary(trace, "isnan", v)
            below = binary(trace, "or", below, last)
        open_ = binary(trace, "lt", low, high)
        up = binary(trace, "and", open_, below)
        down = binary(trace, "and", open_, unary(trace, "not", below))
        low = select(trace, up, binary(trace, "add", middle, one), low)
        high = select(trace, down, middle, high)
    return low


@array_function
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where values would be inserted into a sorted vector; see `numpy.searchsorted`."""
    trace = active()
    edges, values = lift(trace, a), lift(trace, v)
    if edges.ndim != 1:
        raise ShapeError("searchsorted needs a sorted vector", here())
    if side not in ("left", "right"):
        raise refused(f"searchsorted: there is no side {side!r}", "sides: left, right")
    if sorter is not None:
        edges = take(edges, sorter)
    dtype = common_of((edges, values))
    return _counted_below(
        trace,
        fresh(trace, converted(trace, edges, dtype)),
        fresh(trace, converted(trace, values, dtype)),
        side,
    )


@array_function
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin that each value falls into; see `numpy.digitize`."""
    trace = active()
    edges = lift(trace, bins)
    known = trace.known(atom_of(trace, edges))
    if known is not None and known.size > 1 and known[0] > known[-1]:
        turned = searchsorted(flip(edges), x, "left" if not right else "right")
        return binary(trace, "sub", lift(trace, edges.size), turned)
    return searchsorted(edges, x, "left" if right else "right")


@array_function
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
    kind: Any = None,
) -> Any:  # fmt: skip
    """Whether each element is among others; see `numpy.isin`."""
    trace = active()
    x, others = lift(trace, element), lift(trace, test_elements)
    column = reshape_to(trace, x, (*x.shape, 1))
    same = binary(trace, "eq", column, reshape_to(trace, others, (others.size,)))
    found = reduce(trace, "or", same, -1)
    return unary(trace, "not", found) if invert else found


@array_function
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """How often each small integer occurs; see `numpy.bincount`.

    The length of the result has to be known: give `minlength`, and every value lies below it.
    """
    trace = active()
    values = lift(trace, x)
    count = operator.index(number_of(trace, minlength))
    known = trace.known(atom_of(trace, values))
    if known is not None:
        count = max(count, int(known.max(initial=-1)) + 1)
    elif not count:
        raise refused(
            "the length of np.bincount's result depends on the data",
            "give minlength=, larger than every value",
        )
    if weights is None:
        start, updates = (
            filled_with(trace, 0, (count,), INT64),
            filled_with(trace, 1, values.shape, INT64),
        )
    else:
        start = filled_with(trace, 0, (count,), FLOAT64)
        updates = cast(trace, lift(trace, weights), FLOAT64)
    inputs = (atom_of(trace, start), atom_of(trace, values), atom_of(trace, updates))
    return fresh(trace, trace.emit(Scatter((0,), "raise", "sum"), inputs, (count,), start.dtype))


@array_function
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """How many values fall into each bin, and the edges; see `numpy.histogram`."""
    trace = active()
    x = lift(trace, a)
    x = reshape_to(trace, x, (x.size,))
    if isinstance(bins, str):
        raise refused(f"np.histogram with bins={bins!r}", "give the number of bins, or the edges")
    edges = lift(trace, bins)
    if edges.ndim == 0:
        count = operator.index(number_of(trace, bins))
        if range is None:
            low, high = reduce(trace, "min", x), reduce(trace, "max", x)
            same = binary(trace, "eq", low, high)
            half = lift(trace, 0.5)
            low, high = (
                select(trace, same, binary(trace, op, end, half), end)
                for op, end in (("sub", low), ("add", high))
            )
        else:
            low, high = (lift(trace, v) for v in range)
        edges = linspace(low, high, count + 1)
    count = edges.size - 1
    place = binary(trace, "sub", searchsorted(edges, x, "right"), lift(trace, 1))
    last = binary(trace, "eq", x, take(edges, count))
    place = select(trace, last, lift(trace, count - 1), place)
    dtype = INT64 if weights is None else FLOAT64
    start = filled_with(trace, 0, (count,), dtype)
    inside = binary(trace, "and", binary(trace, "ge", x, take(edges, 0)),
                    binary(trace, "le", x, take(edges, count)))  # fmt: skip
    place = select(trace, inside, place, lift(trace, count))
    if weights is None:
        updates = filled_with(trace, 1, x.shape, dtype)
    else:
        w = lift(trace, weights)
        updates = cast(trace, reshape_to(trace, w, (w.size,)), dtype)
    inputs = (atom_of(trace, start), atom_of(trace, place), atom_of(trace, updates))
    counts = fresh(trace, trace.emit(Scatter((0,), "fill", "sum"), inputs, (count,), dtype))
    if density:
        width = binary(trace, "sub", take(edges, np.arange(1, count + 1)),
                       take(edges, np.arange(count)))  # fmt: skip
        counts = binary(trace, "div", binary(trace, "div", counts, width),
                        reduce(trace, "sum", counts))  # fmt: skip
    return counts, edges


def _one_axis(trace: Trace, x: Traced, axis: Any) -> tuple[Traced, Any]:
    """The reduced axes made one, at the end; and the shape with them at extent 1."""
    axes = axes_of(axis, x.ndim)
    kept = without(x.shape, axes, True)
    moved = moveaxis(x, axes, tuple(range(x.ndim - len(axes), x.ndim)))
    rest = without(x.shape, axes, False)
    size = math.prod(x.shape[k] for k in axes)
    return fresh(trace, atom_of(trace, reshape_to(trace, moved, (*rest, size)))), kept


def _quantiles(
    trace: Trace, x: Traced, q: Traced, axis: Any, keepdims: bool, method: str
) -> Traced:
    """Quantiles in [0, 1] by interpolation between ranks; a NaN makes the result NaN."""
    if method not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise refused(
            f"quantiles by method {method!r} are not supported",
            "methods: linear, lower, higher, nearest, midpoint",
        )
    dtype = x.dtype if is_float(x.dtype) else FLOAT64
    data, kept = _one_axis(trace, x, axis)
    ordered = reducing.sort(trace, data)
    if method in ("linear", "midpoint"):
        ordered = cast(trace, ordered, dtype)
    n = ordered.shape[-1]
    if n == 0:
        raise ShapeError("a quantile of an empty array is not defined", here())
    place = binary(trace, "mul", cast(trace, q, FLOAT64), lift(trace, float(n - 1)))
    low = unary(trace, "floor", place)
    rest = binary(trace, "sub", place, low)
    if method == "nearest":
        low, rest = unary(trace, "round", place), filled_with(trace, 0, (), FLOAT64)
    elif method == "higher":
        low, rest = unary(trace, "ceil", place), filled_with(trace, 0, (), FLOAT64)
    elif method == "lower":
        rest = filled_with(trace, 0, (), FLOAT64)
    elif method == "midpoint":
        rest = binary(trace, "mul", unary(trace, "ceil", rest), lift(trace, 0.5))
    below = cast(trace, low, INT64)
    above = binary(trace, "minimum", binary(trace, "add", below, lift(trace, 1)),
                   lift(trace, n - 1))  # fmt: skip
    a = take(ordered, below, -1, mode="clip")
    if method in ("linear", "midpoint"):
        a = _between(trace, a, take(ordered, above, -1, mode="clip"), rest, dtype)
    rank = q.ndim
    result = a
    if rank:
        result = moveaxis(a, tuple(range(a.ndim - rank, a.ndim)), tuple(range(rank)))
        result = fresh(trace, atom_of(trace, result))
    if is_float(result.dtype):
        end = viewed(trace, sliced(ordered.elements, (*(0,) * (ordered.ndim - 1), n - 1),
                     (*ordered.shape[:-1], 1), (1,) * ordered.ndim))  # fmt: skip
        last = reshape_to(trace, end, ordered.shape[:-1])
        spoiled = unary(trace, "isnan", last)
        result = select(trace, spoiled, last, result)
    if keepdims:
        result = reshape_to(trace, result, (*q.shape, *kept))
    return fresh(trace, atom_of(trace, result))


def _between(trace: Trace, a: Traced, b: Traced, t: Traced, dtype: np.dtype) -> Traced:
    """a + (b - a) t, from the nearer end, as NumPy interpolates."""
    t = cast(trace, t, dtype) if dtype.itemsize < 8 else t
    step = binary(trace, "sub", b, a)
    forward = binary(trace, "add", a, binary(trace, "mul", step, t))
    back = binary(trace, "sub", b, binary(
        trace, "mul", step, binary(trace, "sub", lift(trace, 1.0), t)))  # fmt: skip
    result = select(trace, binary(trace, "ge", t, lift(trace, 0.5)), back, forward)
    return select(trace, binary(trace, "eq", a, b), a, result)


def _quantile(
    a: Any, q: Any, scale: float, axis: Any, out: Any, method: str, keepdims: bool
) -> Any:
    trace = active()
    fraction = lift(trace, q)
    if scale != 1.0:
        fraction = binary(trace, "div", cast(trace, fraction, FLOAT64), lift(trace, scale))
    result = _quantiles(trace, lift(trace, a), fraction, axis, keepdims, method)
    return result if out is None else store(trace, out, result)


@array_function
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    """The q-th quantiles, q in [0, 1]; see `numpy.quantile`."""
    return _quantile(a, q, 1.0, axis, out, method, keepdims)


@array_function
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    """The q-th percentiles, q in [0, 100]; see `numpy.percentile`."""
    return _quantile(a, q, 100.0, axis, out, method, keepdims)


@array_function
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The middle element, or the mean of the two middle ones; see `numpy.median`."""
    trace = active()
    x = lift(trace, a)
    data, kept = _one_axis(trace, x, axis)
    n = data.shape[-1]
    if n == 0:
        raise ShapeError("the median of an empty array is not defined", here())
    ordered = reducing.sort(trace, data)
    dtype = x.dtype if is_float(x.dtype) else FLOAT64
    middle = (n - 1) // 2
    result = cast(trace, take(ordered, middle, -1), dtype)
    if n % 2 == 0:
        other = cast(trace, take(ordered, middle + 1, -1), dtype)
        result = binary(trace, "div", binary(trace, "add", result, other), lift(trace, 2))
    if is_float(x.dtype):
        last = take(ordered, n - 1, -1)
        result = select(trace, unary(trace, "isnan", last), last, result)
    if keepdims:
        result = reshape_to(trace, result, kept)
        result = fresh(trace, atom_of(trace, result))
    return result if out is None else store(trace, out, result)


@array_function
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Piecewise linear interpolation; see `numpy.interp`."""
    if period is not None:
        raise refused("np.interp with period= is not supported", "reduce x with np.mod first")
    trace = active()
    at, places, values = (cast(trace, lift(trace, v), FLOAT64) for v in (x, xp, fp))
    n = places.size
    if places.ndim != 1 or values.shape != places.shape or not n:
        raise ShapeError("interp needs two vectors of one length", here())
    first, last = take(values, 0), take(values, n - 1)
    one, zero = lift(trace, 1), lift(trace, 0)
    after = _counted_below(trace, places, at, "right")
    low = binary(trace, "maximum", binary(trace, "sub", after, one), zero)
    low = binary(trace, "minimum", low, lift(trace, max(n - 2, 0)))
    high = binary(trace, "minimum", binary(trace, "add", low, one), lift(trace, n - 1))
    x0, x1, y0, y1 = (
        take(v, k, mode="clip") for v, k in ((places, low), (places, high), (values, low),
                                             (values, high))
    )  # fmt: skip
    run, rise = binary(trace, "sub", x1, x0), binary(trace, "sub", y1, y0)
    slope = binary(trace, "div", rise, run)
    distance = binary(trace, "sub", at, x0)
    inner = binary(trace, "add", binary(trace, "mul", slope, distance), y0)
    inner = select(trace, binary(trace, "eq", at, x1), y1, inner)
    inner = select(trace, binary(trace, "eq", at, x0), y0, inner)
    final = take(places, n - 1)
    below = first if left is None else cast(trace, lift(trace, left), FLOAT64)
    above = last if right is None else cast(trace, lift(trace, right), FLOAT64)
    result = select(trace, binary(trace, "lt", at, take(places, 0)), below, inner)
    result = select(trace, binary(trace, "eq", at, final), last, result)
    result = select(trace, binary(trace, "gt", at, final), above, result)
    return select(trace, unary(trace, "isnan", at), at, result)
