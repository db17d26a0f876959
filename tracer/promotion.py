"""NumPy 2's result types: strong types promote, Python numbers take the type of what they meet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..ir.dtypes import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    is_float,
    is_integer,
    is_signed,
    promote,
)
from ..ir.errors import DTypeError
from .context import here


def common(a: np.dtype, a_weak: bool, b: np.dtype, b_weak: bool) -> np.dtype:
    """The type that an operation on two operands computes in."""
    if a == b:
        return a
    if a_weak == b_weak:
        return promote(a, b)
    strong, weak = (b, a) if a_weak else (a, b)
    if weak == BOOL or is_float(strong):
        return strong
    if is_float(weak):
        return FLOAT64
    return strong if is_integer(strong) else INT64


def common_of(operands: Iterable[Any]) -> np.dtype:
    """The common type of any number of traced values."""
    strong: np.dtype | None = None
    weak: np.dtype | None = None
    for x in operands:
        if x.weak:
            weak = x.dtype if weak is None else promote(weak, x.dtype)
        else:
            strong = x.dtype if strong is None else promote(strong, x.dtype)
    if strong is None:
        return FLOAT64 if weak is None else weak
    return strong if weak is None else common(strong, False, weak, True)


def floating(dtype: np.dtype) -> np.dtype:
    """The float type in which NumPy's functions of real numbers compute for this type."""
    if is_float(dtype):
        return dtype
    if dtype.itemsize == 1:
        return FLOAT16
    return FLOAT32 if dtype.itemsize == 2 else FLOAT64


def summing(dtype: np.dtype) -> np.dtype:
    """The type in which sums and products of this type are made: integers widen to 64 bits."""
    if is_float(dtype):
        return dtype
    return INT64 if dtype == BOOL or is_signed(dtype) else UINT64


def require_same_kind(source: np.dtype, target: np.dtype) -> None:
    """Raises DTypeError where NumPy's `casting="same_kind"` forbids the conversion."""
    if _kind(source) > _kind(target) or (
        is_signed(source) and is_integer(target) and not is_signed(target)
    ):
        raise DTypeError(
            f"a result of {source} cannot be stored into an array of {target}",
            here(),
            f"convert it first: .astype({str(target)!r})",
        )


def _kind(dtype: np.dtype) -> int:
    if dtype == BOOL:
        return 0
    return 2 if is_float(dtype) else 1
