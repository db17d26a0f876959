"""Array functions that ask what an array is, rather than what it holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.dtypes import BOOL, canonical
from .context import current
from .eager import array_function
from .elementwise import binary, constant_like, filled_with, unary
from .promotion import common_of
from .reducing import axis_of
from .traced import Traced, active, lift, viewed


@array_function
def ndim(a: Any) -> int:
    """The number of axes; see `numpy.ndim`."""
    return lift(active(), a).ndim


@array_function
def shape(a: Any) -> tuple[int, ...]:
    """The extents; see `numpy.shape`."""
    return lift(active(), a).shape


@array_function
def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or the extent of an axis; see `numpy.size`."""
    x = lift(active(), a)
    return x.size if axis is None else x.shape[axis_of(axis, x.ndim)]


def isscalar(element: Any) -> bool:
    """Whether this is a number and no array; see `numpy.isscalar`."""
    if isinstance(element, Traced):
        return bool(element.scalar)
    return bool(np.isscalar(element))


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The type of an operation on these arrays and types; see `numpy.result_type`."""
    trace = current()
    if trace is None or not any(isinstance(x, Traced) for x in arrays_and_dtypes):
        return np.result_type(*arrays_and_dtypes)
    numbers = (Traced, np.ndarray, np.generic, bool, int, float)
    return common_of(
        lift(trace, x) if isinstance(x, numbers) else filled_with(trace, 0, (), canonical(x))
        for x in arrays_and_dtypes
    )


@array_function
def real(val: Any) -> Any:
    """The array itself: complex numbers are not supported; see `numpy.real`."""
    trace = active()
    return viewed(trace, lift(trace, val).elements)


@array_function
def imag(val: Any) -> Any:
    """Zeros: complex numbers are not supported; see `numpy.imag`."""
    trace = active()
    x = lift(trace, val)
    return constant_like(trace, x, 0, x.dtype)


@array_function
def isreal(x: Any) -> Any:
    """True everywhere: complex numbers are not supported; see `numpy.isreal`."""
    trace = active()
    return constant_like(trace, lift(trace, x), True, BOOL)


@array_function
def iscomplex(x: Any) -> Any:
    """False everywhere: complex numbers are not supported; see `numpy.iscomplex`."""
    trace = active()
    return constant_like(trace, lift(trace, x), False, BOOL)


def isrealobj(x: Any) -> bool:
    """Whether the type is not complex; see `numpy.isrealobj`."""
    return True if isinstance(x, Traced) else bool(np.isrealobj(x))


def iscomplexobj(x: Any) -> bool:
    """Whether the type is complex; see `numpy.iscomplexobj`."""
    return not isrealobj(x)


@array_function
def isposinf(x: Any) -> Any:
    """Whether elements are +infinity; see `numpy.isposinf`."""
    trace = active()
    return binary(trace, "eq", lift(trace, x), lift(trace, np.inf))


@array_function
def isneginf(x: Any) -> Any:
    """Whether elements are -infinity; see `numpy.isneginf`."""
    trace = active()
    return binary(trace, "eq", lift(trace, x), lift(trace, -np.inf))


@array_function
def fix(x: Any) -> Any:
    """Rounded towards zero; see `numpy.fix`."""
    trace = active()
    return unary(trace, "trunc", lift(trace, x))
