"""Conversions between element types in core casts: saturating, and rounded once."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .math_term import DOUBLE, SINGLE, Term, above, below, isnan, lit, select

_HALVES = (dtypes.FLOAT16, dtypes.BFLOAT16)


def convert(x: Term, dtype: np.dtype) -> Term:
    """x as `dtype`, as `ir/expr/rounding.py` defines it."""
    if x.dtype == dtype:
        return x
    if x.dtype in _HALVES:
        return convert(widen(x), dtype)
    if dtype == dtypes.BOOL:
        return x.ne(0)
    if dtype in _HALVES:
        return _to_half(x, dtype)
    if dtypes.is_float(x.dtype) and dtypes.is_integer(dtype):
        return _saturate(x, dtype)
    return x.cast(dtype)


def widen(x: Term) -> Term:
    """A 16-bit float as float32, exactly."""
    if x.dtype == dtypes.FLOAT16:
        return x.cast(dtypes.FLOAT32)
    return (x.bits(dtypes.UINT16).cast(dtypes.UINT32) << 16).bits(dtypes.FLOAT32)


def narrow(x: Term, dtype: np.dtype) -> Term:
    """float32 to a 16-bit float, to nearest even."""
    if dtype == dtypes.FLOAT16:
        return x.cast(dtype)
    bits = x.bits(dtypes.UINT32)
    rounded = bits + ((bits >> 16) & 1) + 0x7FFF
    kept = select(isnan(x), bits | 0x400000, rounded)
    return (kept >> 16).cast(dtypes.UINT16).bits(dtype)


def _to_half(x: Term, dtype: np.dtype) -> Term:
    if x.dtype == dtypes.FLOAT64:
        return narrow(_float32_to_odd(x), dtype)
    if x.dtype == dtypes.FLOAT32:
        return narrow(x, dtype)
    # float16 is infinite before float32 rounds an integer; bfloat16 needs the lost bits.
    if dtype == dtypes.FLOAT16 or x.dtype.itemsize <= 2:
        return narrow(x.cast(dtypes.FLOAT32), dtype)
    return narrow(_float32_to_odd(_sticky_double(x)), dtype)


def _float32_to_odd(x: Term) -> Term:
    """float64 to float32; what is inexact gets an odd last bit, so that a later rounding is one."""
    near = x.cast(dtypes.FLOAT32)
    back = near.cast(dtypes.FLOAT64)
    bits = near.bits(dtypes.INT32)
    moved = bits + select(abs(back) > abs(x), lit(-1, dtypes.INT32), 1)
    inexact = back.ne(x) & (bits & 1).eq(0) & x.eq(x)
    return select(inexact, moved, bits).bits(dtypes.FLOAT32)


def _sticky_double(x: Term) -> Term:
    """An integer as a float64 that rounds to 24 bits or fewer as the integer does."""
    if x.dtype.itemsize < 8:
        return x.cast(dtypes.FLOAT64)
    sticky = (x >> 16) | (x & 0xFFFF).ne(0).cast(x.dtype)
    large = x >= 2**40
    if dtypes.is_signed(x.dtype):
        large = large | (x <= -(2**40))
    return select(large, sticky.cast(dtypes.FLOAT64) * 2.0**16, x.cast(dtypes.FLOAT64))


def _saturate(x: Term, dtype: np.dtype) -> Term:
    """float32 or float64 to an integer: NaN is 0, what is out of range the nearest."""
    info = np.iinfo(dtype)
    fraction = (SINGLE if x.dtype == dtypes.FLOAT32 else DOUBLE).fraction
    low, high = float(info.min), float(info.max)
    if 8 * dtype.itemsize <= fraction:
        # Both limits are floats: the clamped number is in range.
        return select(isnan(x), 0.0, above(below(x, high), low)).cast(dtype)
    beyond = float(info.max + 1)
    inside = (x > low) & (x < beyond)
    kept = select(inside, x, 0.0).cast(dtype)
    return select(x >= beyond, info.max, select(x <= low, info.min, kept))
