"""float16 and bfloat16: signs and neighbours on the bits, all else in float32, rounded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .. import dtypes
from ..expr.nodes import Const
from .math_convert import narrow, widen
from .math_term import Term, isnan, lit, select


def through_single(rule: Callable[..., Term], args: tuple[Term, ...]) -> Term:
    """rule(args) computed in float32; a float result is rounded to the operands' type."""
    result = rule(*(_widen(a) for a in args))
    return narrow(result, args[0].dtype) if result.dtype == dtypes.FLOAT32 else result


def _widen(x: Term) -> Term:
    """As `widen`, and constants stay constants."""
    if isinstance(x.value, Const):
        return lit(x.value.value.astype(dtypes.FLOAT32), dtypes.FLOAT32)
    return widen(x)


def _neg(x: Term) -> Term:
    return (x.bits(dtypes.UINT16) ^ 0x8000).bits(x.dtype)


def _abs(x: Term) -> Term:
    return (x.bits(dtypes.UINT16) & 0x7FFF).bits(x.dtype)


def _copysign(x: Term, sign: Term) -> Term:
    magnitude = x.bits(dtypes.UINT16) & 0x7FFF
    return (magnitude | (sign.bits(dtypes.UINT16) & 0x8000)).bits(x.dtype)


def _signbit(x: Term) -> Term:
    return x.bits(dtypes.INT16) < 0


def _nextafter(a: Term, b: Term) -> Term:
    wide_a, wide_b = widen(a), widen(b)
    bits = a.bits(dtypes.INT16)
    away = (wide_a < wide_b) ^ (bits < 0)
    stepped = bits + select(away, lit(1, dtypes.INT16), -1)
    smallest = (b.bits(dtypes.INT16) & 0x8000) | 1
    moved = select(wide_a.eq(0.0), smallest, stepped)
    # Between zeros NumPy's float16 stays where it is; every other type goes to b.
    equal = a if a.dtype == dtypes.FLOAT16 else b
    moved = select(wide_a.eq(wide_b), equal.bits(dtypes.INT16), moved)
    moved = select(isnan(wide_b), b.bits(dtypes.INT16), moved)
    return select(isnan(wide_a), a.bits(dtypes.INT16), moved).bits(a.dtype)


ON_BITS: Mapping[str, Callable[..., Term]] = {
    "neg": _neg,
    "abs": _abs,
    "copysign": _copysign,
    "signbit": _signbit,
    "nextafter": _nextafter,
}
