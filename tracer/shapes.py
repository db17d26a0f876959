"""Array functions that change shapes: views where NumPy gives views."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..ir.dtypes import BOOL
from ..ir.errors import ShapeError
from .context import Trace, here, refused
from .creation import broadcast_to, diagonal_matrix
from .eager import array_function
from .elementwise import common_shape
from .indexing import index_view
from .reducing import axes_of, axis_of
from .traced import Traced, active, atom_of, fresh, lift, reshaped_atom, view_of, viewed
from .updates import assign
from .views import (
    Shape,
    Storage,
    frozen,
    is_contiguous,
    reshaped,
    shares_memory,
    sliced,
    transposed,
)


def reshape_to(trace: Trace, x: Traced, shape: Shape) -> Traced:
    """The elements in another shape: a view or a copy, as NumPy would make."""
    return _shared_or_not(trace, x, shape, shares_memory(x.elements, shape))


def _shared_or_not(trace: Trace, x: Traced, shape: Shape, shares: bool | None) -> Traced:
    """A view or a copy; where it is not known which, a copy that is bound to the original."""
    if x.scalar:
        return fresh(trace, reshaped_atom(trace, atom_of(trace, x), shape), scalar=False)
    if shares:
        return viewed(trace, reshaped(view_of(trace, x), shape))
    result = fresh(trace, reshaped_atom(trace, atom_of(trace, x), shape))
    if shares is None:
        twin = result.elements
        assert isinstance(twin, Storage)
        x.elements.root.twins += (twin,)
        twin.twins += (x.elements.root,)
    return result


def full_shape(shape: Any, size: int, old: Shape) -> Shape:
    """A shape whose one -1 is worked out; raises ShapeError where the sizes differ."""
    if isinstance(shape, tuple | list):
        wanted = [operator.index(n) for n in shape]
    else:
        wanted = [operator.index(shape)]
    if -1 in wanted:
        rest = math.prod(n for n in wanted if n != -1)
        if wanted.count(-1) == 1 and rest and size % rest == 0:
            wanted[wanted.index(-1)] = size // rest
    if math.prod(wanted) != size or any(n < 0 for n in wanted):
        raise ShapeError(
            f"an array of shape {old} ({size} elements) cannot be reshaped to {tuple(wanted)}",
            here(),
        )
    return tuple(wanted)


@array_function
def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """The same elements in another shape; see `numpy.reshape`."""
    trace = active()
    x = lift(trace, a)
    wanted = full_shape(shape, x.size, x.shape)
    if order == "F":
        turned = viewed(trace, transposed(view_of(trace, x), tuple(range(x.ndim))[::-1]))
        made = reshape_to(trace, turned, wanted[::-1])
        result = viewed(trace, transposed(made.elements, tuple(range(len(wanted)))[::-1]))
    else:
        result = reshape_to(trace, x, wanted)
    return fresh(trace, atom_of(trace, result)) if copy else result


@array_function
def ravel(a: Any, order: str = "C") -> Any:
    """One axis of all elements, a view of an array in C order; see `numpy.ravel`."""
    trace = active()
    x = lift(trace, a)
    if order == "F":
        x = viewed(trace, transposed(view_of(trace, x), tuple(range(x.ndim))[::-1]))
    return _shared_or_not(trace, x, (x.size,), is_contiguous(x.elements))


@array_function
def transpose(a: Any, axes: Any = None) -> Any:
    """A view with the axes in another order; see `numpy.transpose`."""
    trace = active()
    x = lift(trace, a)
    if x.scalar:
        return x
    if axes is None:
        order = tuple(range(x.ndim))[::-1]
    else:
        order = tuple(axis_of(k, x.ndim) for k in axes)
        if sorted(order) != list(range(x.ndim)):
            raise ShapeError(f"axes {tuple(axes)} are no permutation of {x.ndim} axes", here())
    return viewed(trace, transposed(view_of(trace, x), order))


permute_dims = transpose


@array_function
def matrix_transpose(x: Any) -> Any:
    """The last two axes exchanged; see `numpy.matrix_transpose`."""
    return swapaxes(x, -1, -2)


@array_function
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """A view with two axes exchanged; see `numpy.swapaxes`."""
    trace = active()
    x = lift(trace, a)
    order = list(range(x.ndim))
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[i], order[j] = j, i
    return viewed(trace, transposed(view_of(trace, x), tuple(order)))


@array_function
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """A view with axes moved; see `numpy.moveaxis`."""
    trace = active()
    x = lift(trace, a)
    as_tuple = [s if isinstance(s, tuple | list) else (s,) for s in (source, destination)]
    sources, targets = ([axis_of(k, x.ndim) for k in names] for names in as_tuple)
    if len(sources) != len(targets):
        raise ShapeError("moveaxis: as many destinations as sources are needed", here())
    order = [k for k in range(x.ndim) if k not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return viewed(trace, transposed(view_of(trace, x), tuple(order)))


@array_function
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Any:
    """A view with one axis moved before another; see `numpy.rollaxis`."""
    x = lift(active(), a)
    source = axis_of(axis, x.ndim)
    target = operator.index(start) + (x.ndim if start < 0 else 0)
    return moveaxis(x, source, target - (source < target))


@array_function
def squeeze(a: Any, axis: Any = None) -> Any:
    """A view without axes of extent 1; see `numpy.squeeze`."""
    trace = active()
    x = lift(trace, a)
    if x.scalar:
        return x
    if axis is None:
        gone = tuple(k for k, n in enumerate(x.shape) if n == 1)
    else:
        gone = axes_of(axis, x.ndim)
    if any(x.shape[k] != 1 for k in gone):
        raise ShapeError(f"squeeze: an axis of shape {x.shape} is not of extent 1", here())
    shape = tuple(n for k, n in enumerate(x.shape) if k not in gone)
    return viewed(trace, reshaped(view_of(trace, x), shape))


@array_function
def expand_dims(a: Any, axis: Any) -> Any:
    """A view with new axes of extent 1; see `numpy.expand_dims`."""
    trace = active()
    x = lift(trace, a)
    names = axis if isinstance(axis, tuple | list) else (axis,)
    rank = x.ndim + len(names)
    new = axes_of(tuple(names), rank)
    rest = iter(x.shape)
    shape = tuple(1 if k in new else next(rest) for k in range(rank))
    return reshape_to(trace, x, shape)


def _at_least(arrays: tuple[Any, ...], rank: int) -> Any:
    trace = active()
    results = []
    for a in arrays:
        x = lift(trace, a)
        if x.ndim >= rank:
            results.append(x if isinstance(a, Traced) else viewed(trace, x.elements))
            continue
        if rank == 3 and x.ndim:
            shape = (*(1,) * (2 - x.ndim), *x.shape, 1)
        else:
            shape = (*(1,) * (rank - x.ndim), *x.shape)
        results.append(reshape_to(trace, x, shape))
    return results[0] if len(results) == 1 else tuple(results)


@array_function
def atleast_1d(*arys: Any) -> Any:
    """At least one axis; see `numpy.atleast_1d`."""
    return _at_least(arys, 1)


@array_function
def atleast_2d(*arys: Any) -> Any:
    """At least two axes; see `numpy.atleast_2d`."""
    return _at_least(arys, 2)


@array_function
def atleast_3d(*arys: Any) -> Any:
    """At least three axes; see `numpy.atleast_3d`."""
    return _at_least(arys, 3)


@array_function
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """All arrays at their common shape; see `numpy.broadcast_arrays`."""
    trace = active()
    arrays = [lift(trace, x) for x in args]
    shape = common_shape([x.shape for x in arrays])
    return tuple(broadcast_to(x, shape) for x in arrays)


@array_function
def flip(m: Any, axis: Any = None) -> Any:
    """A view with axes reversed; see `numpy.flip`."""
    trace = active()
    x = lift(trace, m)
    axes = axes_of(axis, x.ndim)
    starts = tuple(max(n - 1, 0) if k in axes else 0 for k, n in enumerate(x.shape))
    steps = tuple(-1 if k in axes else 1 for k in range(x.ndim))
    return viewed(trace, sliced(view_of(trace, x), starts, x.shape, steps))


@array_function
def fliplr(m: Any) -> Any:
    """Columns reversed; see `numpy.fliplr`."""
    return flip(m, 1)


@array_function
def flipud(m: Any) -> Any:
    """Rows reversed; see `numpy.flipud`."""
    return flip(m, 0)


@array_function
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """A quarter turn, `k` times; see `numpy.rot90`."""
    x = lift(active(), m)
    i, j = (axis_of(a, x.ndim) for a in axes)
    turns = operator.index(k) % 4
    if turns == 0:
        return flip(x, ())
    if turns == 2:
        return flip(flip(x, i), j)
    if turns == 1:
        return swapaxes(flip(x, j), i, j)
    return flip(swapaxes(x, i, j), j)


@array_function
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A read-only view of a diagonal; see `numpy.diagonal`."""
    trace = active()
    x = lift(trace, a)
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if i == j:
        raise ShapeError("diagonal: the two axes are the same", here())
    rest = [k for k in range(x.ndim) if k not in (i, j)]
    view = transposed(view_of(trace, x), (*rest, i, j))
    k = operator.index(offset)
    *lead, rows, columns = view.shape
    top, left = max(-k, 0), max(k, 0)
    n = max(0, min(rows - top, columns - left))
    zeros, ones = (0,) * len(lead), (1,) * len(lead)
    square = sliced(view, (*zeros, top, left), (*lead, n, n), (*ones, 1, 1))
    flat = reshaped(square, (*lead, n * n))
    result = sliced(flat, (*zeros, 0), (*lead, n), (*ones, n + 1))
    return viewed(trace, frozen(result, "numpy.diagonal gives a read-only view"))


@array_function
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Writes `val` over the main diagonal of a matrix in place; see `numpy.fill_diagonal`."""
    trace = active()
    if not isinstance(a, Traced) or a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise refused("fill_diagonal needs an array of two axes (or of equal extents)")
    if wrap:
        raise refused("fill_diagonal(wrap=True) is not supported")
    n = min(a.shape)
    value = lift(trace, val)
    if value.ndim > 1:
        value = reshape_to(trace, value, (value.size,))
    if value.ndim == 1 and value.size != n:
        counted = [k % value.size for k in range(n)]
        value = fresh(trace, atom_of(trace, viewed(trace, index_view(
            trace, value.elements, (counted,)).elements)))  # fmt: skip
    square = sliced(a.elements, (0,) * a.ndim, (n,) * a.ndim, (1,) * a.ndim)
    flat = reshaped(square, (n**a.ndim,))
    step = sum(n**k for k in range(a.ndim))
    assign(trace, sliced(flat, (0,), (n,), (step,)), value)


@array_function
def diag(v: Any, k: Any = 0) -> Any:
    """A vector as the diagonal of a matrix, or a matrix's diagonal; see `numpy.diag`."""
    trace = active()
    x = lift(trace, v)
    if x.ndim == 1:
        return diagonal_matrix(trace, atom_of(trace, x), operator.index(k))
    if x.ndim != 2:
        raise ShapeError("diag takes arrays of one or two axes", here())
    return diagonal(x, k)


@array_function
def ix_(*args: Any) -> Any:
    """Vectors shaped so that, as an index, they select every combination; see `numpy.ix_`."""
    trace = active()
    result = []
    for k, arg in enumerate(args):
        x = lift(trace, arg)
        if x.ndim != 1:
            raise ShapeError("ix_ takes vectors", here())
        if x.dtype == BOOL:
            known = trace.demand(atom_of(trace, x))
            if known is None:
                raise refused("np.ix_ of a mask that is not known while tracing")
            x = lift(trace, np.flatnonzero(known))
        result.append(reshape_to(trace, x, (*(1,) * k, x.size, *(1,) * (len(args) - k - 1))))
    return tuple(result)


def _indices_of(function: Any, *args: Any) -> Any:
    trace = active()
    return tuple(lift(trace, index) for index in function(*args))


@array_function
def diag_indices_from(arr: Any) -> Any:
    """The index of the main diagonal; see `numpy.diag_indices_from`."""
    x = lift(active(), arr)
    return _indices_of(np.diag_indices, x.shape[0], x.ndim)


@array_function
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """The index of the lower triangle; see `numpy.tril_indices_from`."""
    x = lift(active(), arr)
    return _indices_of(np.tril_indices, x.shape[-2], k, x.shape[-1])


@array_function
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """The index of the upper triangle; see `numpy.triu_indices_from`."""
    x = lift(active(), arr)
    return _indices_of(np.triu_indices, x.shape[-2], k, x.shape[-1])
