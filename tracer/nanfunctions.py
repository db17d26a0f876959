"""Array functions that leave NaN out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.dtypes import is_float
from .context import Trace
from .eager import array_function
from .elementwise import filled_with, select, unary
from .reducing import arg_reduce, lowest, reduce
from .reductions import cumprod, cumsum, given, mean, prod, sum, var
from .traced import Traced, active, lift
from .updates import store


def _without_nan(trace: Trace, x: Traced, value: Any) -> tuple[Traced, Traced]:
    """`x` with NaN replaced, and where it was none."""
    there = unary(trace, "not", unary(trace, "isnan", x))
    return select(trace, there, x, filled_with(trace, value, (), x.dtype)), there


@array_function
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    """The sum of what is not NaN; see `numpy.nansum`."""
    trace = active()
    return sum(_without_nan(trace, lift(trace, a), 0)[0], axis, dtype, out, keepdims)


@array_function
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    """The product of what is not NaN; see `numpy.nanprod`."""
    trace = active()
    return prod(_without_nan(trace, lift(trace, a), 1)[0], axis, dtype, out, keepdims)


@array_function
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    """The mean of what is not NaN; see `numpy.nanmean`."""
    trace = active()
    x = lift(trace, a)
    return mean(x, axis, dtype, out, keepdims, where=_without_nan(trace, x, 0)[1])


@array_function
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False,
) -> Any:  # fmt: skip
    """The variance of what is not NaN; see `numpy.nanvar`."""
    trace = active()
    filled, there = _without_nan(trace, lift(trace, a), 0)
    return var(filled, axis, dtype, out, ddof, keepdims, where=there)


@array_function
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False,
) -> Any:  # fmt: skip
    """The standard deviation of what is not NaN; see `numpy.nanstd`."""
    return unary(active(), "sqrt", nanvar(a, axis, dtype, out, ddof, keepdims))


def _nan_extreme(name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    trace = active()
    x = lift(trace, a)
    filled, there = _without_nan(trace, x, lowest(x.dtype, name))
    keep = bool(given(keepdims))
    found = reduce(trace, name, filled, axis, keep)
    if is_float(x.dtype):
        nothing = unary(trace, "not", reduce(trace, "or", there, axis, keep))
        found = select(trace, nothing, filled_with(trace, np.nan, (), x.dtype), found)
    return found if out is None else store(trace, out, found)


@array_function
def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """The largest of what is not NaN; see `numpy.nanmax`."""
    return _nan_extreme("max", a, axis, out, keepdims)


@array_function
def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """The smallest of what is not NaN; see `numpy.nanmin`."""
    return _nan_extreme("min", a, axis, out, keepdims)


def _nan_position(name: str, a: Any, axis: Any) -> Any:
    trace = active()
    x = lift(trace, a)
    return arg_reduce(trace, name, _without_nan(trace, x, lowest(x.dtype, name))[0], axis)


@array_function
def nanargmax(a: Any, axis: Any = None) -> Any:
    """The first position of the largest of what is not NaN; see `numpy.nanargmax`."""
    return _nan_position("max", a, axis)


@array_function
def nanargmin(a: Any, axis: Any = None) -> Any:
    """The first position of the smallest of what is not NaN; see `numpy.nanargmin`."""
    return _nan_position("min", a, axis)


@array_function
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums of what is not NaN; see `numpy.nancumsum`."""
    trace = active()
    return cumsum(_without_nan(trace, lift(trace, a), 0)[0], axis, dtype, out)


@array_function
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products of what is not NaN; see `numpy.nancumprod`."""
    trace = active()
    return cumprod(_without_nan(trace, lift(trace, a), 1)[0], axis, dtype, out)
