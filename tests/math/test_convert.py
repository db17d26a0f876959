"""Casts between all element types: saturating, and rounded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loopwright.ir import dtypes
from loopwright.ir.expr.elementwise import apply

Native = Callable[..., Callable[..., np.ndarray]]


def numbers(dtype: np.dtype) -> np.ndarray:
    """Any bits, the limits of every integer type and their neighbours, halfway cases."""
    if dtype == dtypes.BOOL:
        return np.array([False, True])
    draw = np.random.default_rng(0)
    bits = draw.integers(0, 256, 20000 * dtype.itemsize, np.uint8).view(dtype)
    if dtypes.is_integer(dtype):
        info = np.iinfo(dtype)
        edge = [0, 1, 2**24 + 1, 2**24 + 3, 2**53 + 1, 2**53 + 3, 2**62 + 2**38 + 1, 2**40 + 1]
        edge += [2**8 + 1, 2**9 + 3, 65519, 65520, 65521, 2**33 + 2**25, 2**33 + 2**25 + 1]
        edge += [info.min, info.max, info.max - 1, info.max - 2**30]
        edge = [v for v in edge if info.min <= v <= info.max]
        shifted = bits >> draw.integers(0, 8 * dtype.itemsize, bits.size).astype(dtype)
        return np.concatenate([np.array(edge, dtype), bits, shifted])
    powers = 2.0 ** np.array([7, 8, 15, 16, 31, 32, 63, 64])
    steps = np.concatenate([powers, powers - 1, powers + 1, powers - 0.5, [0.5, 1.5, 65520, 3e38]])
    steps = np.concatenate([steps, [np.inf, np.nan, 0]])
    with np.errstate(all="ignore"):
        edge = np.concatenate([steps, -steps]).astype(dtype)
        around = (draw.normal(size=20000) * 2.0 ** draw.integers(0, 70, 20000)).astype(dtype)
    return np.concatenate([edge, bits, around])


def assert_same(got: np.ndarray, want: np.ndarray, x: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        alike = got == want
        if dtypes.is_float(want.dtype):
            alike = alike & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
    at = np.flatnonzero(~alike)[:5]
    assert not at.size, [(x[k], got[k], want[k]) for k in at]


@pytest.mark.parametrize("target", dtypes.ALL, ids=str)
@pytest.mark.parametrize("source", dtypes.ALL, ids=str)
def test_casts_follow_the_reference(native: Native, source: np.dtype, target: np.dtype) -> None:
    x = numbers(source)
    assert_same(native("cast", (source,), target)(x), apply("cast", (x,), target), x)


@pytest.mark.parametrize("target", [dtypes.FLOAT16, dtypes.BFLOAT16], ids=str)
def test_float64_is_not_rounded_through_float32(native: Native, target: np.dtype) -> None:
    # Just above the midpoint between 1 and its neighbour, by less than float32 can tell.
    half_step = {dtypes.FLOAT16: 2.0**-11, dtypes.BFLOAT16: 2.0**-8}[target]
    x = np.array([1 + half_step, 1 + half_step + 2.0**-40, 1 + half_step - 2.0**-40])
    got = native("cast", (dtypes.FLOAT64,), target)(x).astype(np.float64)
    assert got.tolist() == [1.0, 1 + 2 * half_step, 1.0]


@pytest.mark.parametrize("source", [dtypes.INT64, dtypes.UINT64], ids=str)
def test_integers_are_rounded_once(native: Native, source: np.dtype) -> None:
    x = np.array([2**40 + 2**16 + 1, 2**40 + 2**16, 2**62 + 2**38 + 1, 2**62 + 2**38], source)
    got = native("cast", (source,), dtypes.FLOAT32)(x)
    assert got.tolist() == [2**40 + 2**17, 2**40, 2**62 + 2**39, 2**62]
