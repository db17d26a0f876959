"""What every elementwise operation means, on NumPy arrays.

One function, `apply`, over tables from name to NumPy function. Integers wrap. 16-bit floats are
computed in float32 and rounded once, which for + - * / and sqrt is correct rounding. Functions
such as exp are computed in float64 for every narrower float and rounded once.

`CORE` names are those of values only, after lowering: C-like division and shifts by a count in
range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from .. import dtypes
from .rounding import Array, convert, fma

Function: TypeAlias = Callable[..., Any]

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
TESTS = ("isnan", "isinf", "isfinite", "signbit")
GIVES_BOOL = frozenset((*COMPARISONS, *TESTS))
CORE = ("quotient", "remainder", "shl", "shr")


def apply(name: str, operands: tuple[Array, ...], dtype: np.dtype) -> Array:
    """The operation `name` on operands of one shape or rank 0; a fresh array of `dtype`.

    The operands have the types that the graph's rules ask for (see `ir/graph/types.py`); they may
    be NumPy scalars. Nothing is raised for any values, and no warning leaves. The result may be an
    operand itself where the operation changes nothing.
    """
    arrays = tuple(np.asarray(x) for x in operands)
    with np.errstate(all="ignore"):
        return np.asarray(_compute(name, arrays, dtype))


def _compute(name: str, x: tuple[Array, ...], dtype: np.dtype) -> Any:
    match name:
        case "cast":
            return convert(x[0], dtype)
        case "bitcast":
            return np.asarray(x[0], order="C").view(dtype)
        case "select":
            return np.where(*x)
        case "fma":
            return fma(*x)
    source = x[0].dtype
    if not dtypes.is_float(source):
        return _exact(_BOOL if source == dtypes.BOOL else _INTEGER, name, source)(*x)
    if name in _BITS:
        return _BITS[name](*x)
    if name in _MATH:
        wide = tuple(v.astype(np.float64) for v in x)
        return convert(np.asarray(_MATH[name](*wide)), dtype)
    function = _exact(_FLOAT, name, source)
    if source.itemsize > 2:
        return function(*x)
    return convert(np.asarray(function(*(v.astype(np.float32) for v in x))), dtype)


def _exact(table: Mapping[str, Function], name: str, dtype: np.dtype) -> Function:
    if name not in table:
        raise TypeError(f"{name} has no meaning for {dtype}")
    return table[name]


def _pow(x: Array, y: Array) -> Array:
    # NumPy takes the square root for a scalar exponent 0.5, which differs at -0 and -inf.
    root = (y == 0.5) & ((x == 0) | np.isneginf(x))
    return np.where(root, np.abs(x), np.power(x, y))


def _sigmoid(x: Array) -> Array:
    # exp of a negative number only, so that neither side overflows
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _integer_pow(x: Array, y: Array) -> Array:
    """Wrapping power; to a negative exponent the reciprocal of the power, truncated (1/0 is 0)."""
    result: Array = np.power(x, np.maximum(y, x.dtype.type(0)))
    if not dtypes.is_signed(x.dtype):
        return result
    odd = (y & 1) != 0
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0)).astype(x.dtype)
    return np.where(y < 0, inverse, result)


def _quotient(x: Array, y: Array) -> Array:
    """C's truncating division (0 for division by zero)."""
    whole: Array = np.floor_divide(x, y)
    rest = np.fmod(x, y)
    up = ((rest != 0) & ((x < 0) != (y < 0))).astype(x.dtype)
    return np.asarray(np.where(y == 0, x.dtype.type(0), whole + up))


def _same(x: Array) -> Array:
    return x


_erf = np.frompyfunc(math.erf, 1, 1)

# On any type, with the same NumPy function.
_ORDER: dict[str, Function] = {
    "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin,
    "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip

_BOOL: dict[str, Function] = {
    **_ORDER,
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not,
    "abs": _same, "floor": _same, "ceil": _same, "trunc": _same, "round": _same,
    "isnan": np.zeros_like, "isinf": np.zeros_like, "isfinite": np.ones_like,
    "signbit": np.zeros_like,
}  # fmt: skip

_INTEGER: dict[str, Function] = {
    **_ORDER,
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square,
    "floor": _same, "ceil": _same, "trunc": _same, "round": _same,
    "reciprocal": lambda x: _quotient(x.dtype.type(1), x),
    "not": np.invert,
    "isnan": lambda x: np.zeros(x.shape, np.bool_), "isinf": lambda x: np.zeros(x.shape, np.bool_),
    "isfinite": lambda x: np.ones(x.shape, np.bool_), "signbit": lambda x: x < 0,
    "add": np.add, "sub": np.subtract, "mul": np.multiply,
    "floor_div": np.floor_divide, "mod": np.remainder, "fmod": np.fmod, "pow": _integer_pow,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "shift_left": np.left_shift, "shift_right": np.right_shift,
    "quotient": _quotient, "remainder": np.fmod,
    "shl": np.left_shift, "shr": np.right_shift,
}  # fmt: skip

# Computed in the type itself, or in float32 for 16-bit floats, with one correct rounding.
_FLOAT: dict[str, Function] = {
    **_ORDER,
    "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "sqrt": np.sqrt, "square": np.square, "reciprocal": np.reciprocal,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide,
    "floor_div": np.floor_divide, "mod": np.remainder, "fmod": np.fmod,
}  # fmt: skip

# Work on the bits of the type itself.
_BITS: dict[str, Function] = {
    "neg": np.negative, "abs": np.abs, "copysign": np.copysign, "signbit": np.signbit,
    "nextafter": np.nextafter,
}  # fmt: skip

# Computed in float64, then rounded.
_MATH: dict[str, Function] = {
    "cbrt": np.cbrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": lambda x: np.asarray(_erf(x), np.float64), "sigmoid": _sigmoid,
    "pow": _pow, "atan2": np.arctan2, "hypot": np.hypot,
}  # fmt: skip
