"""Element types and literals in LLVM's words."""

from __future__ import annotations

import struct

import numpy as np

from ...ir import dtypes as dt

_TYPES = {
    dt.BOOL: "i1",
    dt.INT8: "i8",
    dt.INT16: "i16",
    dt.INT32: "i32",
    dt.INT64: "i64",
    dt.UINT8: "i8",
    dt.UINT16: "i16",
    dt.UINT32: "i32",
    dt.UINT64: "i64",
    dt.FLOAT16: "half",
    dt.BFLOAT16: "i16",  # its bits: most targets have no bfloat instructions to select
    dt.FLOAT32: "float",
    dt.FLOAT64: "double",
}


def scalar_type(dtype: np.dtype) -> str:
    """The type of one value in registers (i1 for bool)."""
    return _TYPES[dtype]


def memory_type(dtype: np.dtype) -> str:
    """The type of one element in memory (i8 for bool)."""
    return "i8" if dtype == dt.BOOL else _TYPES[dtype]


def with_lanes(element: str, lanes: int) -> str:
    """`element`, or a vector of it if lanes > 0."""
    return f"<{lanes} x {element}>" if lanes else element


def literal(value: np.generic, dtype: np.dtype) -> str:
    """The spelling of a scalar constant; floats by their bits, so that nothing is rounded."""
    if dtype == dt.BOOL:
        return "true" if value else "false"
    if dtype == dt.FLOAT16:
        return f"0xH{int(np.asarray(value).view(np.uint16)):04X}"
    if dtype == dt.BFLOAT16:
        return str(int(np.asarray(value).view(np.uint16)))
    if dt.is_float(dtype):
        bits = struct.unpack("<Q", struct.pack("<d", float(value)))[0]
        if value != value:  # keep a quiet NaN's own bits where the narrow type can hold them
            bits = 0x7FF8000000000000 | (bits & 0x8000000000000000)
        return f"0x{bits:016X}"
    return str(int(value))


def mangled(element: str, lanes: int) -> str:
    """The suffix of an overloaded intrinsic's name: f32, v8f32, i64, ..."""
    short = {"float": "f32", "double": "f64", "half": "f16"}.get(element, element)
    return f"v{lanes}{short}" if lanes else short
