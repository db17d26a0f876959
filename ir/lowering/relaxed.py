"""Rules that change the last bits of elementwise code, each behind a flag that the user names.

Without flags elementwise code is strict: every operation rounds once, as written. The rules see
the user's operations, before mathematical functions become formulas (whose exactness they would
spoil).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .. import dtypes as dt
from ..errors import ArgumentError
from ..expr.nodes import Const, Op, Value
from ..expr.values import rewrite

Rule = Callable[[Op], Value | None]


def _contract(op: Op) -> Value | None:
    """a * b + c -> fma(a, b, c), and with minus: the product is not rounded."""
    if op.name not in ("add", "sub") or op.dtype not in (dt.FLOAT32, dt.FLOAT64):
        return None
    first, second = op.args
    minus = op.name == "sub"
    if isinstance(first, Op) and first.name == "mul":
        other = Op("neg", (second,), op.dtype) if minus else second
        return Op("fma", (*first.args, other), op.dtype)
    if isinstance(second, Op) and second.name == "mul":
        a, b = second.args
        return Op("fma", (Op("neg", (a,), op.dtype) if minus else a, b, first), op.dtype)
    return None


def _reciprocal(op: Op) -> Value | None:
    """x / c -> x * (1 / c) for a finite constant c that is not 0."""
    if op.name != "div" or op.dtype not in (dt.FLOAT32, dt.FLOAT64):
        return None
    x, c = op.args
    if isinstance(c, Const) and np.isfinite(c.value) and c.value != 0:
        inverse = Const(op.dtype.type(1) / c.value, op.dtype)
        if np.isfinite(inverse.value):
            return Op("mul", (x, inverse), op.dtype)
    return None


def _no_nans(op: Op) -> Value | None:
    """maximum and minimum without a thought for NaN: one comparison and a select."""
    if op.name not in ("maximum", "minimum") or not dt.is_float(op.dtype):
        return None
    test = Op("gt" if op.name == "maximum" else "lt", op.args, dt.BOOL)
    return Op("select", (test, *op.args), op.dtype)


RULES: dict[str, Rule] = {
    "contract": _contract,
    "reciprocal": _reciprocal,
    "no_nans": _no_nans,
}


def check_flags(flags: Sequence[str]) -> frozenset[str]:
    """The flags as a set; ArgumentError for a name that is none."""
    for flag in flags:
        if flag not in RULES:
            raise ArgumentError(
                f"fast_math has no flag {flag!r}", None, "flags: " + ", ".join(RULES)
            )
    return frozenset(flags)


def relax(values: tuple[Value, ...], flags: frozenset[str]) -> tuple[Value, ...]:
    """The values with the rules of these flags applied."""
    rules = [rule for name, rule in RULES.items() if name in flags]

    def leaf(value: Value) -> Value | None:
        if isinstance(value, Op):
            for rule in rules:
                found = rule(value)
                if found is not None:
                    return found
        return None

    return rewrite(values, leaf) if rules else values
