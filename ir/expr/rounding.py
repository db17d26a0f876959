"""Conversions between element types, and fused multiply-add, each with exactly one rounding.

NumPy and ml_dtypes leave three things open or do them in two roundings: float to integer out of
range, wide types to bfloat16, and `a * b + c`. Here they have one meaning.

The trick that repeats is rounding to odd: a result that is inexact gets an odd last bit, so that a
second rounding, to a type at least two bits shorter, is as good as one rounding of the exact value.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import dtypes

Array: TypeAlias = npt.NDArray[Any]

# Exponents between which the exact splitting of a float64 product neither overflows nor loses bits.
_SAFE_LOW, _SAFE_HIGH = 2.0**-900, 2.0**900


def convert(x: Array, dtype: np.dtype) -> Array:
    """x as `dtype`: one rounding to nearest even, float to integer saturates (NaN gives 0).

    Integers to narrower integers wrap; anything to bool is `x != 0`.
    """
    source = x.dtype
    if source == dtype:
        return x
    if dtype == dtypes.BOOL:
        return np.asarray(x != 0)
    if dtypes.is_float(source) and dtypes.is_integer(dtype):
        return _saturate(x, dtype)
    if dtype == dtypes.BFLOAT16:
        return _to_bfloat16(x)
    if source == dtypes.BFLOAT16:
        return x.astype(np.float32).astype(dtype)
    return x.astype(dtype)


def _saturate(x: Array, dtype: np.dtype) -> Array:
    info = np.iinfo(dtype)
    wide = x.astype(np.float64)
    low, high = float(info.min), float(info.max + 1)  # both exact, where `max` may not be
    inside = (wide > low) & (wide < high)
    kept = np.where(inside, wide, 0.0).astype(dtype)
    kept = np.where(wide >= high, dtype.type(info.max), kept)
    return np.where(wide <= low, dtype.type(info.min), kept)


def _to_bfloat16(x: Array) -> Array:
    if dtypes.is_integer(x.dtype) and x.dtype.itemsize > 2:
        x = _sticky_float64(x)
    if x.dtype == np.float64:
        x = float32_to_odd(x)
    return x.astype(np.float32).astype(dtypes.BFLOAT16)


def _sticky_float64(x: Array) -> Array:
    """An integer as a float64 that rounds to any type of 24 bits or fewer as the integer does."""
    if x.dtype.itemsize < 8:
        return x.astype(np.float64)
    shifted = (x >> 16) | ((x & 0xFFFF) != 0).astype(x.dtype)
    large = (x >= 2**40) | ((x <= -(2**40)) if dtypes.is_signed(x.dtype) else False)
    return np.where(large, shifted.astype(np.float64) * 2.0**16, x.astype(np.float64))


def float32_to_odd(x: Array) -> Array:
    """float64 to float32, rounding to odd."""
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    return _make_odd(near, np.abs(back) > np.abs(x), (back != x) & ~np.isnan(x), np.uint32)


def _make_odd(near: Array, beyond: Array, inexact: Array, bits: type) -> Array:
    """`near`, moved by one step to the odd neighbour on the exact value's side where inexact.

    `beyond`: whether |near| is larger than the exact magnitude.
    """
    image: Array = np.asarray(near, order="C").view(bits)
    even = (image & bits(1)) == 0
    moved = np.where(beyond, image - bits(1), image + bits(1))
    return np.asarray(np.where(inexact & even, moved, image)).view(near.dtype)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c with one rounding, for any of the float types (all three of one type)."""
    dtype = a.dtype
    if dtype == np.float64:
        return _fma64(*np.broadcast_arrays(a, b, c))
    wide = [x.astype(np.float32).astype(np.float64) for x in np.broadcast_arrays(a, b, c)]
    product = wide[0] * wide[1]  # exact: 24 + 24 bits
    total, error = _two_sum(product, wide[2])
    inexact = (error != 0) & np.isfinite(total) & np.isfinite(error)
    beyond = np.signbit(error) != np.signbit(total)
    return convert(_make_odd(total, beyond, inexact, np.uint64), dtype)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """(s, e): s = a + b rounded and a + b = s + e exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _fma64(a: Array, b: Array, c: Array) -> Array:
    """float64: the exact product as a sum of two, added to c through rounding to odd.

    (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008.)
    """
    high = a * b
    low = _product_error(a, b, high)
    sum_high, sum_low = _two_sum(c, low)
    total, rest = _two_sum(high, sum_high)
    tail, lost = _two_sum(sum_low, rest)
    beyond = np.signbit(lost) != np.signbit(tail)
    tail = _make_odd(tail, beyond, (lost != 0) & np.isfinite(lost), np.uint64)
    result = np.asarray(total + tail)
    safe = _moderate(a) & _moderate(b) & _moderate(high) & (_moderate(c) | (c == 0))
    for position in np.argwhere(~safe):
        at = tuple(position)
        result[at] = _fma_scalar(float(a[at]), float(b[at]), float(c[at]))
    return result


def _moderate(x: Array) -> Array:
    magnitude = np.abs(x)
    return np.asarray((magnitude > _SAFE_LOW) & (magnitude < _SAFE_HIGH))


def _product_error(a: Array, b: Array, product: Array) -> Array:
    """a * b - product exactly (Dekker, by Veltkamp's splitting)."""
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    rest = ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    return np.asarray(a_low * b_low - rest)


def _split(x: Array) -> tuple[Array, Array]:
    scaled = x * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - x)
    return high, x - high


def _fma_scalar(a: float, b: float, c: float) -> float:
    """One float64 fused multiply-add by exact fractions, for the values near the range's ends."""
    if not (isfinite(a) and isfinite(b)):
        return a * b + c
    if not isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # the sign of a zero follows IEEE's rule for the rounded product as well
    try:
        return float(exact)  # correctly rounded, subnormals included
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
