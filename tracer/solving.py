"""Small dense linear systems: elimination and Cholesky, one step of the graph for each column."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.dtypes import FLOAT64, INT64, is_float
from ..ir.errors import ShapeError
from ..ir.graph.ops import UpdateSlice
from .context import Trace, here, refused
from .creation import broadcast_to, eye, iota
from .eager import array_function
from .elementwise import binary, cast, select, unary
from .joining import joined
from .products import matmul
from .reducing import arg_reduce, reduce
from .selection import take_along_axis
from .shapes import diagonal, matrix_transpose, reshape_to
from .traced import Traced, active, atom_of, fresh, lift, viewed
from .views import sliced

_LARGEST = 256


def _square(trace: Trace, a: Any, name: str) -> Traced:
    x = lift(trace, a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name} needs square matrices, not shape {x.shape}", here())
    if x.shape[-1] > _LARGEST:
        raise refused(
            f"np.linalg.{name} of {x.shape[-1]} rows: at most {_LARGEST} can be traced",
            "call it outside of the traced function",
        )
    return x if is_float(x.dtype) else cast(trace, x, FLOAT64)


def _part(x: Traced, rows: tuple[int, int], columns: tuple[int, int]) -> Traced:
    """Rows and columns [start, stop) of the matrices in the last two axes."""
    lead = x.shape[:-2]
    starts = (*(0,) * len(lead), rows[0], columns[0])
    sizes = (*lead, rows[1] - rows[0], columns[1] - columns[0])
    return viewed(active(), sliced(x.elements, starts, sizes, (1,) * x.ndim))


def _with_part(trace: Trace, x: Traced, part: Traced, row: int, column: int) -> Traced:
    """The matrices with a block replaced."""
    starts = (*(0,) * (x.ndim - 2), row, column)
    inputs = (atom_of(trace, x), atom_of(trace, part))
    return fresh(trace, trace.emit(UpdateSlice(starts, (1,) * x.ndim), inputs, x.shape, x.dtype))


def _eliminated(trace: Trace, x: Traced, n: int) -> tuple[Traced, Traced]:
    """Upper triangular by row operations with pivots; and the sign of the row exchanges."""
    width = x.shape[-1]
    sign = fresh(trace, atom_of(trace, lift(trace, np.ones(x.shape[:-2], x.dtype))))
    for k in range(n - 1):
        size = unary(trace, "abs", _part(x, (k, n), (k, k + 1)))
        pivot = arg_reduce(trace, "max", size, -2, True)
        pivot = binary(trace, "add", pivot, lift(trace, k))
        row = iota(trace, (*x.shape[:-2], n, 1), x.ndim - 2)
        order = select(trace, binary(trace, "eq", row, pivot), lift(trace, k), row)
        order = select(trace, binary(trace, "eq", row, lift(trace, k)), pivot, order)
        wide = cast(trace, broadcast_to(order, x.shape), INT64)
        x = take_along_axis(x, wide, -2)
        moved = reshape_to(trace, binary(trace, "ne", pivot, lift(trace, k)), x.shape[:-2])
        sign = select(trace, moved, unary(trace, "neg", sign), sign)
        top = _part(x, (k, k + 1), (k, width))
        factor = binary(trace, "div", _part(x, (k + 1, n), (k, k + 1)), _part(top, (0, 1), (0, 1)))
        rest = binary(trace, "sub", _part(x, (k + 1, n), (k, width)),
                      binary(trace, "mul", factor, top))  # fmt: skip
        x = _with_part(trace, x, rest, k + 1, k)
    return x, sign


@array_function
def solve(a: Any, b: Any) -> Any:
    """The x of a @ x = b, by elimination with pivots; see `numpy.linalg.solve`.

    A singular matrix gives infinities or NaN.
    """
    trace = active()
    matrix = _square(trace, a, "solve")
    right = lift(trace, b)
    n = matrix.shape[-1]
    vector = right.ndim == 1
    if right.shape[-1 if vector else -2] != n:
        raise ShapeError(f"solve: {n} equations, but a right side of shape {right.shape}", here())
    if vector:
        right = reshape_to(trace, right, (n, 1))
    result = _solved(trace, matrix, right)
    return reshape_to(trace, result, result.shape[:-1]) if vector else result


def _solved(trace: Trace, matrix: Traced, right: Traced) -> Traced:
    n, width = matrix.shape[-1], right.shape[-1]
    lead = np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    both = joined(
        trace,
        [broadcast_to(matrix, (*lead, n, n)), broadcast_to(right, (*lead, n, width))],
        len(lead) + 1,
    )
    upper, _ = _eliminated(trace, both, n)
    rows: list[Traced] = []
    for k in range(n - 1, -1, -1):
        value = _part(upper, (k, k + 1), (n, n + width))
        if rows:
            below = joined(trace, rows, len(lead))
            known = matmul(trace, _part(upper, (k, k + 1), (k + 1, n)), below)
            value = binary(trace, "sub", value, known)
        rows.insert(0, binary(trace, "div", value, _part(upper, (k, k + 1), (k, k + 1))))
    return joined(trace, rows, len(lead))


@array_function
def inv(a: Any) -> Any:
    """The inverse matrix; see `numpy.linalg.inv`."""
    trace = active()
    matrix = _square(trace, a, "inv")
    return _solved(trace, matrix, eye(matrix.shape[-1], dtype=matrix.dtype))


@array_function
def det(a: Any) -> Any:
    """The determinant; see `numpy.linalg.det`."""
    trace = active()
    matrix = _square(trace, a, "det")
    upper, sign = _eliminated(trace, matrix, matrix.shape[-1])
    product = reduce(trace, "prod", diagonal(upper, 0, -2, -1), -1)
    return binary(trace, "mul", sign, product)


@array_function
def slogdet(a: Any) -> Any:
    """The determinant's sign and the logarithm of its size; see `numpy.linalg.slogdet`."""
    trace = active()
    matrix = _square(trace, a, "slogdet")
    upper, sign = _eliminated(trace, matrix, matrix.shape[-1])
    pivots = diagonal(upper, 0, -2, -1)
    sign = binary(trace, "mul", sign, reduce(trace, "prod", unary(trace, "sign", pivots), -1))
    return sign, reduce(trace, "sum", unary(trace, "log", unary(trace, "abs", pivots)), -1)


@array_function
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The lower triangular L with L @ L.T = a; see `numpy.linalg.cholesky`.

    A matrix that is not positive definite gives NaN.
    """
    trace = active()
    x = _square(trace, a, "cholesky")
    n = x.shape[-1]
    columns: list[Traced] = []
    for k in range(n):
        rest = _part(x, (k, n), (k, k + 1))
        if columns:
            left = _part(joined(trace, columns, x.ndim - 1), (k, n), (0, k))
            known = matmul(trace, left, matrix_transpose(_part(left, (0, 1), (0, k))))
            rest = binary(trace, "sub", rest, known)
        root = unary(trace, "sqrt", _part(rest, (0, 1), (0, 1)))
        column = binary(trace, "div", rest, root)
        zero = fresh(trace, atom_of(trace, lift(trace, np.zeros((*x.shape[:-2], k, 1), x.dtype))))
        columns.append(joined(trace, [zero, column], x.ndim - 2) if k else column)
    lower = joined(trace, columns, x.ndim - 1)
    return matrix_transpose(lower) if upper else lower
