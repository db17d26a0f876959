"""Laws of casts and bitcasts. Each law is its docstring."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ..nodes import Atom, Equation
from ..ops import Bitcast, Cast
from .laws_elementwise import scalar_operand
from .rewrite import Rewriter, Rule

# Binary digits of the significand, and the largest exponent, of each float type.
_DIGITS = {dtypes.FLOAT16: 11, dtypes.BFLOAT16: 8, dtypes.FLOAT32: 24, dtypes.FLOAT64: 53}
_RANGE = {dtypes.FLOAT16: 15, dtypes.BFLOAT16: 127, dtypes.FLOAT32: 127, dtypes.FLOAT64: 1023}


def is_exact(source: np.dtype, target: np.dtype) -> bool:
    """Whether every value of `source` is a value of `target`."""
    if source in (target, dtypes.BOOL):
        return True
    if target == dtypes.BOOL:
        return False
    if dtypes.is_float(source):
        wider = dtypes.is_float(target) and _DIGITS[target] >= _DIGITS[source]
        return wider and _RANGE[target] >= _RANGE[source]
    info = np.iinfo(source)
    if dtypes.is_float(target):
        return int(info.max).bit_length() <= _DIGITS[target]
    other = np.iinfo(target)
    return other.min <= info.min and info.max <= other.max


def same_type(r: Rewriter, e: Equation) -> Atom | None:
    """cast[t](x: t) -> x, and so bitcast."""
    (x,) = e.inputs
    return x if x.type.dtype == e.outputs[0].type.dtype else None


def cast_of_cast(r: Rewriter, e: Equation) -> Atom | None:
    """cast[c](cast[b](x: a)) -> cast[c](x), where b holds all values of a or only bits are cut."""
    inner = r.maker(e.inputs[0])
    if inner is None or not isinstance(inner.op, Cast):
        return None
    (x,) = inner.inputs
    a, b, c = x.type.dtype, e.inputs[0].type.dtype, e.outputs[0].type.dtype
    return r.emit(Cast(c), (x,), e.source) if _skips(a, b, c) else None


def _skips(a: np.dtype, b: np.dtype, c: np.dtype) -> bool:
    if is_exact(a, b):
        # integers wrap where floats saturate
        saturates = dtypes.is_float(b) and dtypes.is_integer(c) and not dtypes.is_float(a)
        return not saturates or is_exact(a, c)
    return all(map(dtypes.is_integer, (a, b, c))) and c.itemsize <= b.itemsize


def bitcast_of_bitcast(r: Rewriter, e: Equation) -> Atom | None:
    """bitcast(bitcast(x)) -> bitcast(x)."""
    inner = r.maker(e.inputs[0])
    if inner is None or not isinstance(inner.op, Bitcast):
        return None
    return r.emit(e.op, inner.inputs, e.source)


CAST: tuple[Rule, ...] = (same_type, scalar_operand, cast_of_cast)
BITCAST: tuple[Rule, ...] = (same_type, scalar_operand, bitcast_of_bitcast)
