"""Reductions, scans and sorting of traced values along axes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..ir.dtypes import BOOL, INT64, is_float
from ..ir.errors import ShapeError
from ..ir.graph.ops import ArgReduce, Cumulative, Precision, Reduce, Sort
from .context import Trace, here
from .elementwise import binary, cast, filled_with, select
from .promotion import summing
from .traced import Traced, atom_of, converted, fresh, lift, literal, reshaped_atom
from .views import Shape

_IDENTITY = {"sum": 0, "prod": 1, "and": True, "or": False}


def axis_of(axis: Any, ndim: int) -> int:
    """A counted-from-zero axis; raises ShapeError if there is no such axis."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise ShapeError(f"axis {number} is out of bounds for an array of {ndim} axes", here())
    return number % ndim


def axes_of(axis: Any, ndim: int) -> Shape:
    """The axes that `axis` (None: all, a number or a tuple) names, in order."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, tuple | list):
        axis = (axis,)
    axes = sorted(axis_of(a, ndim) for a in axis)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axis {tuple(axis)} names an axis twice", here())
    return tuple(axes)


def without(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    """The shape after a reduction."""
    if keepdims:
        return tuple(1 if k in axes else n for k, n in enumerate(shape))
    return tuple(n for k, n in enumerate(shape) if k not in axes)


def reduce(
    trace: Trace,
    name: str,
    x: Traced,
    axis: Any = None,
    keepdims: bool = False,
    dtype: np.dtype | None = None,
    initial: Any = None,
    where: Traced | None = None,
    precision: Precision | None = None,
) -> Traced:
    """One of the graph's reductions, with NumPy's result type unless `dtype` is given."""
    axes = axes_of(axis, x.ndim)
    if name in ("and", "or"):
        dtype = BOOL if dtype is None else dtype
    elif name in ("sum", "prod"):
        dtype = summing(x.dtype) if dtype is None else dtype
    elif dtype is None:
        dtype = x.dtype
    if where is not None:
        x = masked(trace, name, x, where, dtype, initial)
    atom = converted(trace, x, dtype)
    if name in ("sum", "prod") and dtype == BOOL:
        name = {"sum": "or", "prod": "and"}[name]
    shape = x.shape
    if name in ("max", "min") and any(shape[k] == 0 for k in axes):
        if initial is None:
            raise ShapeError(
                f"the {name}imum of an empty array (shape {shape}) is not defined", here(),
                "give initial=, or check the size first",
            )  # fmt: skip
        return filled_with(trace, initial, without(shape, axes, keepdims), dtype)
    kept = without(shape, axes, False)
    if axes:
        op = Reduce(name, axes, precision or trace.precision)
        atom = trace.emit(op, (atom,), kept, dtype)
    result = fresh(trace, atom)
    if initial is not None:
        result = _with_initial(trace, name, result, initial)
    return keeping(trace, result, shape, axes) if keepdims else result


def keeping(trace: Trace, x: Traced, shape: Shape, axes: Shape) -> Traced:
    """A reduction's result with the reduced axes at extent 1."""
    full = without(shape, axes, True)
    return fresh(trace, reshaped_atom(trace, atom_of(trace, x), full))


def _with_initial(trace: Trace, name: str, x: Traced, initial: Any) -> Traced:
    names = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
    start = lift(trace, initial)
    return cast(trace, binary(trace, names.get(name, name), x, start), x.dtype)


def masked(
    trace: Trace, name: str, x: Traced, where: Traced, dtype: np.dtype, initial: Any
) -> Traced:
    """`x` with what `where` leaves out replaced by what does not count."""
    if name in ("max", "min"):
        if initial is None:
            raise ShapeError(f"{name} with where= needs initial=", here(), None)
        neutral = initial
    else:
        neutral = _IDENTITY[name]
    x = fresh(trace, converted(trace, x, dtype))
    return select(trace, where, x, fresh(trace, literal(neutral, dtype)))


def lowest(dtype: np.dtype, name: str) -> Any:
    """What never wins a "max" (or "min") of this type."""
    if is_float(dtype):
        return -np.inf if name == "max" else np.inf
    if dtype == BOOL:
        return name == "min"
    limits = np.iinfo(dtype)
    return limits.min if name == "max" else limits.max


def arg_reduce(trace: Trace, name: str, x: Traced, axis: Any, keepdims: bool = False) -> Traced:
    """The first position (int64) of the maximum or minimum; of the flat array if axis is None."""
    shape = x.shape
    atom = atom_of(trace, x)
    if axis is None:
        atom = reshaped_atom(trace, atom, (x.size,))
        number, axes = 0, tuple(range(x.ndim))
    else:
        number = axis_of(axis, x.ndim)
        axes = (number,)
    if any(shape[k] == 0 for k in axes):
        raise ShapeError(f"arg{name} of an empty array (shape {shape}) is not defined", here())
    kept = without(shape, axes, False)
    result = fresh(trace, trace.emit(ArgReduce(name, number), (atom,), kept, INT64))
    return keeping(trace, result, shape, axes) if keepdims else result


def cumulative(
    trace: Trace, name: str, x: Traced, axis: Any = None, dtype: np.dtype | None = None
) -> Traced:
    """A running reduction along an axis; of the flat array if axis is None."""
    if dtype is None:
        dtype = summing(x.dtype) if name in ("sum", "prod") else x.dtype
    atom = converted(trace, x, dtype)
    if axis is None:
        atom = reshaped_atom(trace, atom, (x.size,))
        number = 0
    else:
        number = axis_of(axis, x.ndim)
    shape = atom.type.shape
    if not shape:
        return fresh(trace, atom)
    return fresh(trace, trace.emit(Cumulative(name, number), (atom,), shape, dtype))


def sort(trace: Trace, x: Traced, axis: Any = -1, indices: bool = False) -> Traced:
    """Ascending along an axis (None: flat), or the positions that would sort."""
    atom = atom_of(trace, x)
    if axis is None:
        atom = reshaped_atom(trace, atom, (x.size,))
        number = 0
    else:
        number = axis_of(axis, x.ndim)
    op = Sort(number, indices)
    dtype = INT64 if indices else x.dtype
    return fresh(trace, trace.emit(op, (atom,), atom.type.shape, dtype))
