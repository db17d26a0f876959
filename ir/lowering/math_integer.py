"""Integer and bool operations with defined results everywhere: division, powers, shifts, signs."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from ..expr.nodes import Const
from .math_term import Term, apply, lit, select


def sign(x: Term) -> Term:
    """1, 0 or -1."""
    positive = select(x > 0, lit(1, x.dtype), 0)
    return select(x < 0, -1, positive) if dtypes.is_signed(x.dtype) else positive


def square(x: Term) -> Term:
    """x * x, wrapping."""
    return x * x


def reciprocal(x: Term) -> Term:
    """1 / x truncated, and 0 for 0: nonzero for 1 and -1 only."""
    kept = x.eq(1) | x.eq(-1) if dtypes.is_signed(x.dtype) else x.eq(1)
    return select(kept, x, 0)


def signbit(x: Term) -> Term:
    """Whether x is negative."""
    return x < 0


def floor_div(a: Term, b: Term) -> Term:
    """floor(a / b); 0 for b = 0; the smallest number divided by -1 wraps."""
    quotient, rest = _divide(a, b)
    if not dtypes.is_signed(a.dtype):
        return quotient
    return select(_opposed(rest, b), quotient - 1, quotient)


def mod(a: Term, b: Term) -> Term:
    """The remainder of `floor_div`, with b's sign; 0 for b = 0."""
    _, rest = _divide(a, b)
    if not dtypes.is_signed(a.dtype):
        return rest
    return select(_opposed(rest, b), rest + b, rest)


def fmod(a: Term, b: Term) -> Term:
    """The remainder of truncating division, with a's sign; 0 for b = 0."""
    return _divide(a, b)[1]


def _opposed(rest: Term, b: Term) -> Term:
    return rest.ne(0) & ((rest ^ b) < 0)


def _divide(a: Term, b: Term) -> tuple[Term, Term]:
    """Truncating quotient and remainder; both 0 for b = 0."""
    zero = b.eq(0)
    safe = select(zero, 1, b)
    if dtypes.is_signed(a.dtype):
        # The one quotient that does not fit: dividing by 1 gives the wrapped one.
        lowest = np.iinfo(a.dtype).min
        safe = select(a.eq(lowest) & b.eq(-1), 1, safe)
    quotient = _quotient(a, safe)
    rest = a - quotient * safe
    return select(zero, 0, quotient), select(zero, 0, rest)


def _quotient(a: Term, b: Term) -> Term:
    """a / b truncated, b not 0 and the quotient in range.

    Vector units divide floats only. A correctly rounded quotient of integers of n bits truncates
    right if the float has more than 2 n + 1 bits, or for quotients above 1 more than n + 1.
    """
    if isinstance(b.value, Const) or a.dtype.itemsize == 8:
        return apply("quotient", a, b)
    wide = dtypes.FLOAT32 if a.dtype.itemsize <= 2 else dtypes.FLOAT64
    return (a.cast(wide) / b.cast(wide)).cast(a.dtype)


def power(x: Term, y: Term) -> Term:
    """x^y, wrapping, by squaring; a negative y gives the truncated reciprocal (0 for x = 0)."""
    if isinstance(y.value, Const):
        return _constant_power(x, int(y.value.value))
    signed = dtypes.is_signed(x.dtype)
    bits = 8 * x.dtype.itemsize - signed
    result, base = lit(1, x.dtype), x
    for position in range(bits):
        bit = (y >> position) & 1 if position else y & 1
        result = select(bit.ne(0), result * base, result)
        if position + 1 < bits:
            base = base * base
    if not signed:
        return result
    return select(y < 0, _negative_power(x, (y & 1).ne(0)), result)


def _constant_power(x: Term, exponent: int) -> Term:
    if exponent < 0:
        return _negative_power(x, lit(bool(exponent & 1), dtypes.BOOL))
    result: Term | None = None
    base = x
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        base = base * base if exponent else base
    return lit(1, x.dtype) if result is None else result


def _negative_power(x: Term, odd: Term) -> Term:
    return select(x.eq(1) | (x.eq(-1) & odd), x, select(x.eq(-1), lit(1, x.dtype), 0))


def shift_left(x: Term, count: Term) -> Term:
    """x * 2^count, wrapping; 0 for a count outside [0, width)."""
    inside, safe = _in_width(x, count)
    return select(inside, x << safe, 0)


def shift_right(x: Term, count: Term) -> Term:
    """floor(x / 2^count); for a count outside [0, width) 0, or -1 for negative x."""
    inside, safe = _in_width(x, count)
    outside = select(x < 0, lit(-1, x.dtype), 0) if dtypes.is_signed(x.dtype) else 0
    return select(inside, x >> safe, outside)


def _in_width(x: Term, count: Term) -> tuple[Term, Term]:
    width = 8 * x.dtype.itemsize
    inside = count < width
    if dtypes.is_signed(count.dtype):
        inside = inside & (count >= 0)
    return inside, count & (width - 1)
