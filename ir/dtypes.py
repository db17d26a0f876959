"""Element types: NumPy dtypes, the ones supported, and NumPy 2's promotion.

A dtype is always a native-order `np.dtype`. `bfloat16` comes from ml_dtypes.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .errors import DTypeError
from .source import Source

BOOL = np.dtype(np.bool_)
INT8, INT16, INT32, INT64 = (np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64))
UINT8, UINT16, UINT32, UINT64 = (np.dtype(t) for t in (np.uint8, np.uint16, np.uint32, np.uint64))
FLOAT16, FLOAT32, FLOAT64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

SIGNED = (INT8, INT16, INT32, INT64)
UNSIGNED = (UINT8, UINT16, UINT32, UINT64)
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
ALL = (BOOL, *INTEGERS, *FLOATS)

_NAMES = {d: d.name for d in ALL}


def supported(dtype: np.dtype) -> bool:
    """Whether arrays of this type (native byte order) can be compiled."""
    return dtype in _NAMES


def canonical(dtype: npt.DTypeLike, where: Source | str | None = None) -> np.dtype:
    """The supported native dtype that a user's spelling means; else `DTypeError`."""
    found = np.dtype(dtype).newbyteorder("=")
    if found not in _NAMES:
        raise DTypeError(
            f"arrays of dtype {np.dtype(dtype)} are not supported",
            where,
            "convert it first with .astype; supported: " + ", ".join(_NAMES.values()),
        )
    return found


def is_float(dtype: np.dtype) -> bool:
    """Whether dtype is one of the four floating types."""
    return dtype in FLOATS


def is_signed(dtype: np.dtype) -> bool:
    """Whether dtype is a signed integer."""
    return dtype in SIGNED


def is_integer(dtype: np.dtype) -> bool:
    """Whether dtype is a signed or unsigned integer."""
    return dtype in INTEGERS


def promote(a: np.dtype, b: np.dtype) -> np.dtype:
    """NumPy's common type of two strong types; with bfloat16 by the JAX lattice.

    bfloat16 with float16 gives float32, with any integer or bool gives bfloat16.
    """
    if a == b:
        return a
    if BFLOAT16 in (a, b):
        other = b if a == BFLOAT16 else a
        if other == FLOAT16:
            return FLOAT32
        return other if other in (FLOAT32, FLOAT64) else BFLOAT16
    return np.promote_types(a, b)


def accumulator(dtype: np.dtype) -> np.dtype:
    """The type that sums and products of this type are accumulated in (float32 for halves)."""
    return FLOAT32 if dtype in (FLOAT16, BFLOAT16) else dtype
