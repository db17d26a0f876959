"""Array functions that make arrays: from numbers, sequences, other arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..ir.dtypes import FLOAT64, INT64, canonical, is_float
from ..ir.errors import ShapeError
from ..ir.graph.nodes import Atom
from ..ir.graph.ops import Broadcast, Iota, Pad
from .context import Trace, current, here, refused
from .eager import array_function
from .elementwise import binary, cast, filled_with, select, unary
from .promotion import common_of
from .traced import (
    Traced,
    active,
    atom_of,
    converted,
    filled,
    fresh,
    lift,
    literal,
    reshaped_atom,
    spread,
    viewed,
)
from .views import Shape, broadcast, row_major_strides, transposed


def shape_of(shape: Any) -> Shape:
    """A shape given as a number or a sequence of numbers."""
    if isinstance(shape, tuple | list):
        return tuple(_extent(n) for n in shape)
    if isinstance(shape, np.ndarray | Traced) and shape.ndim:
        return tuple(_extent(shape[k]) for k in range(len(shape)))  # type: ignore[index,arg-type]
    return (_extent(shape),)


def _extent(n: Any) -> int:
    extent = operator.index(n)
    if extent < 0:
        raise ShapeError(f"a negative extent: {extent}", here())
    return extent


def dtype_of(dtype: Any, default: np.dtype) -> np.dtype:
    """The element type that the user named, or the default."""
    return default if dtype is None else canonical(dtype, here())


def number_of(trace: Trace, x: Any) -> Any:
    """A Python number, asked for while tracing; raises TraceError where it is not known."""
    if not isinstance(x, Traced):
        return x
    known = trace.demand(atom_of(trace, x))
    if known is None or known.ndim:
        raise refused(
            "the number of elements depends on the data of an array",
            "pass the number as an argument, or use a fixed size",
        )
    return known.item()


def iota(trace: Trace, shape: Shape, axis: int, dtype: np.dtype = INT64) -> Traced:
    """The position along an axis."""
    return fresh(trace, trace.emit(Iota(shape, dtype, axis), (), shape, dtype))


@array_function
def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K", ndmin: int = 0,
    subok: bool = False,
) -> Any:  # fmt: skip
    """An array of the elements of `object`; see `numpy.array`."""
    trace = active()
    x = lift(trace, object)
    wanted = dtype_of(dtype, x.dtype)
    if copy is not True and isinstance(object, Traced) and x.dtype == wanted and not x.scalar:
        return x
    shape = (*(1,) * (ndmin - x.ndim), *x.shape)
    atom = reshaped_atom(trace, converted(trace, x, wanted), shape)
    return fresh(trace, atom, scalar=False)


@array_function
def asarray(a: Any, dtype: Any = None, order: str = "K", *, copy: bool | None = None) -> Any:
    """`a` itself if it is an array of that type, else a new array; see `numpy.asarray`."""
    return array(a, dtype, copy=copy)


@array_function
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """`x` as another type; float to integer saturates. See `numpy.astype`."""
    trace = active()
    array = lift(trace, x)
    wanted = canonical(dtype, here())
    return x if not copy and array.dtype == wanted else cast(trace, array, wanted)


@array_function
def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """An array in C order, `a` itself if it is one; see `numpy.ascontiguousarray`."""
    x = lift(active(), a)
    if x.elements.strides == row_major_strides(x.shape):
        return array(a, dtype, copy=None)
    return array(a, dtype)


@array_function
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A copy; see `numpy.copy`."""
    return array(a)


@array_function
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Any:
    """An array of one value; see `numpy.full`."""
    trace = active()
    x = lift(trace, fill_value)
    atom = converted(trace, x, dtype_of(dtype, x.dtype))
    return fresh(trace, filled(trace, atom, shape_of(shape)), scalar=False)


def _filled(shape: Any, value: Any, dtype: Any, default: np.dtype) -> Traced:
    result = filled_with(active(), value, shape_of(shape), dtype_of(dtype, default))
    result.scalar = False
    return result


@array_function
def zeros(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    """An array of zeros; see `numpy.zeros`."""
    return _filled(shape, 0, dtype, FLOAT64)


@array_function
def ones(shape: Any, dtype: Any = None, order: str = "C") -> Any:
    """An array of ones; see `numpy.ones`."""
    return _filled(shape, 1, dtype, FLOAT64)


@array_function
def empty(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    """An array to be written into (of zeros until then); see `numpy.empty`."""
    return _filled(shape, 0, dtype, FLOAT64)


@array_function
def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    """Zeros in the shape and type of `a`; see `numpy.zeros_like`."""
    x = lift(active(), a)
    return _filled(x.shape if shape is None else shape, 0, dtype, x.dtype)


@array_function
def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    """Ones in the shape and type of `a`; see `numpy.ones_like`."""
    x = lift(active(), a)
    return _filled(x.shape if shape is None else shape, 1, dtype, x.dtype)


@array_function
def empty_like(
    prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    """An array to be written into, like `prototype`; see `numpy.empty_like`."""
    x = lift(active(), prototype)
    return _filled(x.shape if shape is None else shape, 0, dtype, x.dtype)


@array_function
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None,
) -> Any:  # fmt: skip
    """One value in the shape and type of `a`; see `numpy.full_like`."""
    trace = active()
    x, value = lift(trace, a), lift(trace, fill_value)
    atom = converted(trace, value, dtype_of(dtype, x.dtype))
    target = x.shape if shape is None else shape_of(shape)
    return fresh(trace, filled(trace, atom, target), scalar=False)


@array_function
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Evenly spaced values of [start, stop); see `numpy.arange`. The bounds have to be known."""
    trace = active()
    if stop is None:
        start, stop = 0, start
    first, last, by = (number_of(trace, x) for x in (start, stop, step))
    if by == 0:
        raise ShapeError("arange: the step is zero", here())
    default = np.result_type(*(np.asarray(v).dtype for v in (first, last, by)))
    wanted = dtype_of(dtype, default)
    count = max(0, math.ceil((last - first) / by))
    kind = wanted if is_float(wanted) else INT64
    base = np.asarray(first).astype(kind)
    delta = np.asarray(first + by).astype(kind) - base
    x = iota(trace, (count,), 0, kind)
    if delta != 1:
        x = binary(trace, "mul", x, fresh(trace, literal(delta, kind)))
    if base != 0:
        x = binary(trace, "add", x, fresh(trace, literal(base, kind)))
    return cast(trace, x, wanted)


@array_function
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """Evenly spaced numbers from start to stop; see `numpy.linspace`."""
    trace = active()
    count = _extent(number_of(trace, num))
    a, b = lift(trace, start), lift(trace, stop)
    kind = common_of((a, b))
    kind = kind if is_float(kind) else FLOAT64
    a, b = cast(trace, a, kind), cast(trace, b, kind)
    delta = binary(trace, "sub", b, a)
    intervals = count - 1 if endpoint else count
    shape = (count, *delta.shape)
    x = iota(trace, shape, 0, kind)
    step = binary(trace, "div", delta, fresh(trace, literal(max(intervals, 1), kind)))
    x = binary(trace, "add", binary(trace, "mul", x, step), a)
    if endpoint and count > 1:
        last = binary(trace, "eq", iota(trace, shape, 0), lift(trace, count - 1))
        x = select(trace, last, b, x)
    if dtype is not None and not is_float(canonical(dtype)):
        x = unary(trace, "floor", x)
    x = cast(trace, x, dtype_of(dtype, kind))
    if axis not in (0, -x.ndim):
        order = list(range(1, x.ndim))
        order.insert(axis % x.ndim, 0)
        x = viewed(trace, transposed(x.elements, tuple(order)))
    return (x, step) if retstep else x


@array_function
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """Numbers evenly spaced on a log scale; see `numpy.logspace`."""
    trace = active()
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    powers = binary(trace, "pow", lift(trace, base), exponents)
    return powers if dtype is None else cast(trace, powers, canonical(dtype, here()))


@array_function
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C") -> Any:
    """Ones on a diagonal; see `numpy.eye`."""
    trace = active()
    rows = _extent(number_of(trace, N))
    columns = rows if M is None else _extent(number_of(trace, M))
    return cast(trace, _on_diagonal(trace, (rows, columns), operator.index(k), "eq"),
                dtype_of(dtype, FLOAT64))  # fmt: skip


def _on_diagonal(trace: Trace, shape: Shape, k: int, comparison: str) -> Traced:
    """row + k `comparison` column."""
    rank = len(shape)
    row = iota(trace, shape, rank - 2)
    if k:
        row = binary(trace, "add", row, lift(trace, k))
    return binary(trace, comparison, row, iota(trace, shape, rank - 1))


@array_function
def identity(n: Any, dtype: Any = None) -> Any:
    """The identity matrix; see `numpy.identity`."""
    return eye(n, dtype=float if dtype is None else dtype)


@array_function
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    """Ones at and below a diagonal; see `numpy.tri`."""
    trace = active()
    rows = _extent(number_of(trace, N))
    columns = rows if M is None else _extent(number_of(trace, M))
    below = _on_diagonal(trace, (rows, columns), operator.index(k), "ge")
    return cast(trace, below, dtype_of(dtype, FLOAT64))


@array_function
def tril(m: Any, k: Any = 0) -> Any:
    """Zeros above a diagonal; see `numpy.tril`."""
    return _triangle(m, operator.index(k), "ge")


@array_function
def triu(m: Any, k: Any = 0) -> Any:
    """Zeros below a diagonal; see `numpy.triu`."""
    return _triangle(m, operator.index(k), "le")


def _triangle(m: Any, k: int, comparison: str) -> Traced:
    trace = active()
    x = lift(trace, m)
    if x.ndim == 1:
        x = fresh(trace, filled(trace, atom_of(trace, x), (x.size, x.size)))
    mask = _on_diagonal(trace, x.shape, k, comparison)
    return select(trace, mask, x, filled_with(trace, 0, (), x.dtype))


@array_function
def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with the elements of `v` on a diagonal; see `numpy.diagflat`."""
    trace = active()
    x = lift(trace, v)
    return diagonal_matrix(trace, reshaped_atom(trace, atom_of(trace, x), (x.size,)), k)


def diagonal_matrix(trace: Trace, atom: Atom, k: int) -> Traced:
    """The square matrix with a vector on its k-th diagonal, zero elsewhere."""
    zero = literal(0, atom.type.dtype)
    n = atom.type.shape[0] + abs(k)
    if k:
        low, high = (k, 0) if k > 0 else (0, -k)
        atom = trace.emit(Pad((low,), (high,), (0,)), (atom, zero), (n,), atom.type.dtype)
    shape = (n, n)
    wide = trace.emit(Broadcast(shape, (1,)), (atom,), shape, atom.type.dtype)
    return select(trace, _on_diagonal(trace, shape, k, "eq"), fresh(trace, wide),
                  fresh(trace, zero))  # fmt: skip


@array_function
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate arrays from coordinate vectors; see `numpy.meshgrid`."""
    trace = active()
    vectors = [lift(trace, x) for x in xi]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        order[:2] = [1, 0]
    whole = [1] * len(vectors)
    for k, x in zip(order, vectors, strict=True):
        whole[k] = x.size
    grids = []
    for k, x in zip(order, vectors, strict=True):
        shape = tuple(x.size if j == k else 1 for j in range(len(vectors)))
        atom = reshaped_atom(trace, converted(trace, x, x.dtype), shape)
        grids.append(fresh(trace, atom if sparse else filled(trace, atom, tuple(whole))))
    return tuple(grids)


@array_function
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The index of every element along each axis; see `numpy.indices`."""
    trace = active()
    shape = shape_of(dimensions)
    kind = dtype_of(dtype, INT64)
    grids = [iota(trace, shape, k, kind) for k in range(len(shape))]
    if sparse:
        return tuple(
            iota(trace, tuple(n if j == k else 1 for j, n in enumerate(shape)), k, kind)
            for k in range(len(shape))
        )
    return array(grids)


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """The values of a function of the coordinates; see `numpy.fromfunction`."""
    trace = current()
    if trace is None:
        return np.fromfunction(function, shape, dtype=np.dtype(dtype), **kwargs)
    whole = shape_of(shape)
    kind = dtype_of(dtype, FLOAT64)
    return function(*(iota(trace, whole, k, kind) for k in range(len(whole))), **kwargs)


@array_function
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Powers of a vector as columns; see `numpy.vander`."""
    trace = active()
    base = lift(trace, x)
    count = base.size if N is None else _extent(number_of(trace, N))
    column = reshaped_atom(trace, atom_of(trace, base), (base.size, 1))
    shape = (base.size, count)
    power = iota(trace, shape, 1)
    if not increasing:
        power = binary(trace, "sub", lift(trace, count - 1), power)
    kind = common_of((base, power))
    wide = spread(trace, column, shape)
    return binary(trace, "pow", cast(trace, fresh(trace, wide), kind), cast(trace, power, kind))


@array_function
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """A read-only array of another shape that repeats elements; see `numpy.broadcast_to`."""
    trace = active()
    x = lift(trace, array)
    target = shape_of(shape)
    own = x.shape
    tail = target[len(target) - len(own) :]
    if len(own) > len(target) or any(a not in (1, b) for a, b in zip(own, tail, strict=True)):
        raise ShapeError(f"an array of shape {own} cannot be broadcast to {target}", here())
    if own == target:
        return viewed(trace, x.elements)
    axes = tuple(range(len(target) - len(own), len(target)))
    return viewed(trace, broadcast(x.elements, target, axes))
