"""The combiners of reductions, scans and scatters, with their identities."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .nodes import Combiner, Const, Op, Slot, Value
from .values import const

LAST_POSITION = 2**63 - 1
"""The position that loses every tie: the identity of `arg_combiner`."""

_OPS = {
    "sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "and": "and", "or": "or",
}  # fmt: skip
_BOOL_OPS = {"sum": "or", "prod": "and", "max": "or", "min": "and", "and": "and", "or": "or"}


def operation(name: str, dtype: np.dtype) -> str:
    """The elementwise operation that a reduction repeats (logical ones for bool)."""
    return (_BOOL_OPS if dtype == dtypes.BOOL else _OPS)[name]


def limits(dtype: np.dtype) -> tuple[Const, Const]:
    """The lowest and the highest value of a type (infinities of floats)."""
    if dtypes.is_float(dtype):
        return const(-np.inf, dtype), const(np.inf, dtype)
    if dtype == dtypes.BOOL:
        return const(False, dtype), const(True, dtype)
    info = np.iinfo(dtype)
    return const(np.array(info.min, dtype), dtype), const(np.array(info.max, dtype), dtype)


def identity(name: str, dtype: np.dtype) -> Const:
    """The value that changes nothing when combined."""
    low, high = limits(dtype)
    match name:
        case "sum" | "or":
            return const(np.zeros((), dtype), dtype)
        case "prod":
            return const(np.ones((), dtype), dtype)
        case "max":
            return low
        case "min":
            return high
        case _:  # "and": all bits
            return high if dtype in (dtypes.BOOL, *dtypes.UNSIGNED) else const(-1, dtype)


def combiner(name: str, dtype: np.dtype) -> Combiner:
    """The combiner of "sum", "prod", "max", "min" (both keep NaN), "and" or "or" on `dtype`."""
    left, right = Slot("left", dtype), Slot("right", dtype)
    result = Op(operation(name, dtype), (left, right), dtype)
    return Combiner(name, (identity(name, dtype),), (left,), (right,), (result,))


def arg_combiner(name: str, dtype: np.dtype) -> Combiner:
    """The combiner of "max" or "min" on pairs (value: dtype, position: int64).

    The greatest (least) value wins; among equal ones, and among NaNs, which beat all else, the
    first position. So the result depends neither on order nor on grouping.
    """
    low, high = limits(dtype)
    start = low if name == "max" else high
    left = (Slot("left", dtype), Slot("left_position", dtypes.INT64))
    right = (Slot("right", dtype), Slot("right_position", dtypes.INT64))
    earlier = _bool("lt", right[1], left[1])
    greater, equal = compare(*((right[0], left[0]) if name == "max" else (left[0], right[0])))
    if dtypes.is_float(dtype):
        l_nan, r_nan = _bool("ne", left[0], left[0]), _bool("ne", right[0], right[0])
        greater = _bool("or", greater, _bool("and", r_nan, _bool("not", l_nan)))
        equal = _bool("or", equal, _bool("and", r_nan, l_nan))
    wins = _bool("or", greater, _bool("and", equal, earlier))
    results = tuple(
        Op("select", (wins, new, old), new.dtype) for old, new in zip(left, right, strict=True)
    )
    identities = (start, const(LAST_POSITION, dtypes.INT64))
    return Combiner("arg" + name, identities, left, right, results)


def compare(a: Value, b: Value) -> tuple[Value, Value]:
    """(a > b, a == b) as bool values; False is less than True."""
    if a.dtype == dtypes.BOOL:
        return _bool("and", a, _bool("not", b)), _bool("not", _bool("xor", a, b))
    return _bool("gt", a, b), _bool("eq", a, b)


def _bool(name: str, *args: Value) -> Value:
    return Op(name, args, dtypes.BOOL)
