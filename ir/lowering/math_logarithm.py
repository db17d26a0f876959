"""log and its relatives, for float32 and float64.

x = 2^e m with 2/3 <= m < 4/3, so that log1p(m - 1) and e ln 2 do not cancel. float32 uses a
polynomial in f = m - 1; float64 one in s = f / (2 + f), since log(m) = 2 atanh(s) is odd in s.
"""

from __future__ import annotations

import math

from .math_exponential import LN2
from .math_term import (
    DOUBLE,
    SINGLE,
    Term,
    by_format,
    copysign,
    fma,
    format_of,
    lit,
    polynomial,
    select,
    sqrt,
)

# (log1p(f) - f + f^2/2) / f^3, log2(1 + f) / f on |f| <= 1/3;
# log10(1 + f) / f on sqrt(1/2) <= 1 + f <= sqrt(2).
_LOG_SINGLE = (
    0.3333321213722229, -0.24999824166297913, 0.20010583102703094, -0.16679354012012482,
    0.14003384113311768, -0.12199293076992035, 0.13995349407196045, -0.1282864362001419,
)  # fmt: skip
_LOG2_SINGLE = (
    1.4426950216293335, -0.7213475108146667, 0.48090142011642456, -0.3606741428375244,
    0.2884942889213562, -0.24051645398139954, 0.204698383808136, -0.1775316596031189,
    0.19039791822433472, -0.17855589091777802,
)  # fmt: skip
_LOG10_SINGLE = (
    0.4342944920063019, -0.21714724600315094, 0.14476211369037628, -0.1085725948214531,
    0.08697913587093353, -0.07240668684244156, 0.06007089093327522, -0.053996335715055466,
    0.06259292364120483, -0.04812394827604294,
)  # fmt: skip

# (2 atanh(s) - 2 s) / s^3 in s^2, on |s| <= 0.2.
_LOG_DOUBLE = (
    0.666666666666666, 0.4000000000005674, 0.28571428555805206, 0.2222222429959177,
    0.18181665668863076, 0.15391119153824365, 0.13173472523944948, 0.1384392722187301,
)  # fmt: skip

# log10(2), 1 / ln 10 and 1 / ln 2 as sums of two numbers.
_LOG10_2 = {
    SINGLE: (0.3010300099849701, -1.432098883924482e-08),
    DOUBLE: (0.3010299956639812, -2.8037281277851704e-18),
}
_INV_LN10 = (0.4342944819032518, 1.098319650216765e-17)
_INV_LN2 = (1.4426950408889634, 2.0355273740931033e-17)


SQRT_HALF = {SINGLE: 0x3F3504F3, DOUBLE: 0x3FE6A09E667F3BCD}
"""The bits of the square root of 1/2."""

_TWO_THIRDS = {SINGLE: 0x3F2AAAAB, DOUBLE: 0x3FE5555555555555}


def _exponent(bits: Term, lowest: int) -> Term:
    """The e with m >= lowest, both as bits, of a positive normal number."""
    return (bits - lowest) >> (SINGLE if bits.dtype == SINGLE.signed else DOUBLE).fraction


def decompose(x: Term, lowest: int | None = None) -> tuple[Term, Term]:
    """(e as a float, f) with x = 2^e (1 + f) for positive finite x.

    `lowest`: the bits of the smallest 1 + f (of 2/3 unless told), from which it goes to the double.
    """
    f = format_of(x)
    tiny = x < f.smallest
    shift = f.fraction + 2
    scaled = select(tiny, x * 2.0**shift, x)
    bits = scaled.bits(f.signed)
    exponent = _exponent(bits, lowest or _TWO_THIRDS[f])
    fraction = (bits - (exponent << f.fraction)).bits(f.real) - 1.0
    whole = f.whole(exponent) - select(tiny, lit(float(shift), f.real), 0.0)
    return whole, fraction


def _with_limits(x: Term, result: Term) -> Term:
    """`result` for positive finite x; -inf at 0, NaN below, inf and NaN as they are."""
    at_most_zero = select(x.eq(0.0), lit(-math.inf, x.dtype), math.nan)
    return select(x > 0.0, select(x < math.inf, result, x), at_most_zero)


def _tail_double(fraction: Term) -> Term:
    """f - log1p(f)."""
    s = fraction / (fraction + 2.0)
    half_square = fraction * fraction * 0.5
    z = s * s
    return half_square - s * fma(z, polynomial(z, _LOG_DOUBLE), half_square)


def _tail_single(fraction: Term) -> Term:
    """f - log1p(f)."""
    square = fraction * fraction
    return square * fma(fraction, -polynomial(fraction, _LOG_SINGLE), 0.5)


def _log_parts(whole: Term, fraction: Term) -> Term:
    """whole * ln 2 + log1p(fraction)."""
    f = format_of(fraction)
    tail = _tail_single(fraction) if f is SINGLE else _tail_double(fraction)
    high, low = LN2[f]
    return fma(whole, high, fraction - (tail - whole * low))


def log(x: Term) -> Term:
    """Natural logarithm."""
    return _with_limits(x, _log_parts(*decompose(x)))


def log2(x: Term) -> Term:
    """Logarithm to base 2, exact for powers of two."""
    if format_of(x) is SINGLE:
        whole, fraction = decompose(x)
        return _with_limits(x, fma(fraction, polynomial(fraction, _LOG2_SINGLE), whole))
    whole, fraction = decompose(x, SQRT_HALF[DOUBLE])
    high, low = _scaled_double(fraction, _INV_LN2)
    main = whole + high
    return _with_limits(x, main + (((whole - main) + high) + low))


def log10(x: Term) -> Term:
    """Logarithm to base 10."""
    f = format_of(x)
    high, low = _LOG10_2[f]
    whole, fraction = decompose(x, SQRT_HALF[f])
    if f is SINGLE:
        inner = fma(fraction, polynomial(fraction, _LOG10_SINGLE), whole * low)
        return _with_limits(x, fma(whole, high, inner))
    main, rest = _scaled_double(fraction, _INV_LN10)
    return _with_limits(x, fma(whole, high, main + fma(whole, low, rest)))


def _scaled_double(fraction: Term, factor: tuple[float, float]) -> tuple[Term, Term]:
    """factor * log1p(fraction) as a sum of a main part and a small one."""
    main = fraction * factor[0]
    lost = fma(fraction, factor[0], -main)
    return main, fma(fraction, factor[1], lost) - _tail_double(fraction) * factor[0]


def log1p(x: Term) -> Term:
    """log(1 + x), accurate near 0."""
    f = format_of(x)
    exponent = _exponent((x + 1.0).bits(f.signed), _TWO_THIRDS[f])
    # 2^-e in two steps, since it may be subnormal.
    scale = (lit(f.one + (2 << f.fraction), f.signed) - (exponent << f.fraction)).bits(
        f.real
    ) * 0.25
    fraction = fma(x, scale, scale - 1.0)
    result = _log_parts(f.whole(exponent), fraction)
    tiny = abs(x) < by_format(x, 2.0**-25, 2.0**-54)
    limited = select(x < math.inf, result, x)
    at_most = select(x.eq(-1.0), lit(-math.inf, x.dtype), math.nan)
    return select(tiny, x, select(x > -1.0, limited, at_most))


def asinh(x: Term) -> Term:
    """Inverse hyperbolic sine."""
    size = abs(x)
    large = size > by_format(x, 2.0**30, 2.0**60)
    square = size * size
    near = size + square / (1.0 + sqrt(square + 1.0))
    result = log1p(select(large, size, near)) + select(large, lit(math.log(2.0), x.dtype), 0.0)
    return copysign(result, x)


def acosh(x: Term) -> Term:
    """Inverse hyperbolic cosine; NaN below 1."""
    large = x > by_format(x, 2.0**30, 2.0**60)
    over = x - 1.0
    near = over + sqrt(fma(over, over, over + over))
    result = log1p(select(large, x, near)) + select(large, lit(math.log(2.0), x.dtype), 0.0)
    return select(x < 1.0, math.nan, result)


def atanh(x: Term) -> Term:
    """Inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond."""
    size = abs(x)
    twice = size + size
    # 2x / (1 - x), written so that its error is small for small x.
    grown = fma(twice, size / (1.0 - size), twice)
    return copysign(log1p(select(size > 1.0, math.nan, grown)) * 0.5, x)
