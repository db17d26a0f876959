"""`loopwright.numpy.linalg`: norms, products, and small dense systems."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from ..ir.dtypes import FLOAT64, is_float
from ..ir.errors import ShapeError
from . import products
from .context import Trace, here, refused
from .creation import broadcast_to, eye
from .eager import array_function
from .elementwise import binary, cast, unary
from .linear import cross, matmul, norm_squared, outer, tensordot, vecdot
from .reducing import reduce
from .reductions import trace as sum_of_diagonal
from .shapes import diagonal, matrix_transpose, reshape_to
from .solving import cholesky, det, inv, slogdet, solve
from .traced import Traced, active, atom_of, fresh, lift

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "slogdet",
    "solve",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def _floats(trace: Trace, x: Any) -> Traced:
    a = lift(trace, x)
    return a if is_float(a.dtype) else cast(trace, a, FLOAT64)


def _vector_norm(trace: Trace, x: Traced, order: Any, axis: Any, keepdims: bool) -> Traced:
    size = unary(trace, "abs", x)
    if order in (None, 2):
        return unary(trace, "sqrt", norm_squared(trace, x, axis, keepdims))
    if order == np.inf:
        return reduce(trace, "max", size, axis, keepdims)
    if order == -np.inf:
        return reduce(trace, "min", size, axis, keepdims)
    if order == 0:
        nonzero = binary(trace, "ne", x, lift(trace, 0))
        return reduce(trace, "sum", nonzero, axis, keepdims, x.dtype)
    if order == 1:
        return reduce(trace, "sum", size, axis, keepdims)
    if isinstance(order, str):
        raise refused(f"there is no vector norm {order!r}")
    powers = binary(trace, "pow", size, lift(trace, float(order)))
    total = reduce(trace, "sum", powers, axis, keepdims)
    return binary(trace, "pow", total, lift(trace, 1.0 / order))


@array_function
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A vector norm, or the Frobenius, 1 or infinity norm of matrices; see `numpy.linalg.norm`."""
    trace = active()
    a = _floats(trace, x)
    if axis is None:
        if ord is None:
            return _vector_norm(trace, a, None, None, keepdims)
        axis = tuple(range(a.ndim))
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    if len(axes) == 1:
        return _vector_norm(trace, a, ord, axes, keepdims)
    if len(axes) != 2:
        raise ShapeError("norm takes one axis or two", here())
    row, column = (operator.index(k) % a.ndim for k in axes)
    if ord in (None, "fro"):
        return _vector_norm(trace, a, None, axes, keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        raise refused(f"the matrix norm {ord!r} is not supported", "norms: fro, 1, -1, inf, -inf")
    summed, rest = (row, column) if abs(ord) == 1 else (column, row)
    sums = reduce(trace, "sum", unary(trace, "abs", a), summed, True)
    result = reduce(trace, "max" if ord > 0 else "min", sums, rest, True)
    if keepdims:
        return result
    shape = tuple(n for k, n in enumerate(result.shape) if k not in (row, column))
    return fresh(trace, atom_of(trace, reshape_to(trace, result, shape)))


@array_function
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """A vector norm over axes (None: all); see `numpy.linalg.vector_norm`."""
    trace = active()
    return _vector_norm(trace, _floats(trace, x), ord, axis, keepdims)


@array_function
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """A norm of the matrices in the last two axes; see `numpy.linalg.matrix_norm`."""
    return norm(x, ord, (-2, -1), keepdims)


@array_function
def matrix_power(a: Any, n: Any) -> Any:
    """A square matrix to a power >= 0, by squaring; see `numpy.linalg.matrix_power`."""
    trace = active()
    x = lift(trace, a)
    power = operator.index(n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError("matrix_power needs square matrices", here())
    if power < 0:
        raise refused("matrix_power with a negative power is not supported")
    if power == 0:
        unit = eye(x.shape[-1], dtype=x.dtype)
        return fresh(trace, atom_of(trace, broadcast_to(unit, x.shape)))
    result: Traced | None = None
    square = x
    while power:
        if power & 1:
            result = square if result is None else products.matmul(trace, result, square)
        power >>= 1
        if power:
            square = products.matmul(trace, square, square)
    return result


@array_function
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The product of several matrices in the cheapest order; see `numpy.linalg.multi_dot`."""
    trace = active()
    parts = [lift(trace, x) for x in arrays]
    while len(parts) > 1:
        costs = [
            (a.shape[-1] * a.size // a.shape[-1] * (b.shape[1] if b.ndim == 2 else 1), k)
            for k, (a, b) in enumerate(itertools.pairwise(parts))
        ]
        k = min(costs)[1]
        parts[k : k + 2] = [products.matmul(trace, parts[k], parts[k + 1])]
    return parts[0]


@array_function
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the last two axes; see `numpy.linalg.trace`."""
    return sum_of_diagonal(x, offset, -2, -1, dtype)
