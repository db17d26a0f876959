"""log and its relatives, for float32 and float64.

x = 2^e m with sqrt(1/2) <= m < sqrt(2), so that log(m) takes away at most half of e ln 2. float32
uses a polynomial in f = m - 1; float64 one in s = f / (2 + f), as log(m) = 2 atanh(s) is odd in s.
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
    polynomial_apart,
    select,
    sqrt,
)

# (log1p(f) - f + f^2/2) / f^3, log2(1 + f) / f and log10(1 + f) / f for these f.
_LOG_SINGLE = (
    0.3333333134651184, -0.250008225440979, 0.2000124603509903, -0.16623306274414062,
    0.1420142501592636, -0.13160504400730133, 0.12763620913028717, -0.07635655254125595,
)  # fmt: skip
_LOG2_SINGLE = (
    1.4426950216293335, -0.7213475108146667, 0.48090219497680664, -0.36068832874298096,
    0.2883915305137634, -0.2396484911441803, 0.20738093554973602, -0.1934630572795868,
    0.17166173458099365, -0.08785568922758102,
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

# The bits of the square root of 1/2.
_SQRT_HALF = {SINGLE: 0x3F3504F3, DOUBLE: 0x3FE6A09E667F3BCD}


def _exponent(bits: Term) -> Term:
    """The e of the module's docstring, from the bits of a positive normal number."""
    f = SINGLE if bits.dtype == SINGLE.signed else DOUBLE
    return (bits - _SQRT_HALF[f]) >> f.fraction


def decompose(x: Term) -> tuple[Term, Term]:
    """(e as a float, f) with x = 2^e (1 + f), for positive finite x."""
    f = format_of(x)
    tiny = x < f.smallest
    shift = f.fraction + 2
    scaled = select(tiny, x * 2.0**shift, x)
    bits = scaled.bits(f.signed)
    exponent = _exponent(bits)
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


def _log_parts(whole: Term, fraction: Term, more: Term | None = None) -> Term:
    """whole * ln 2 + log1p(fraction + more), where `more` is below fraction's last place."""
    f = format_of(fraction)
    tail = _tail_single(fraction) if f is SINGLE else _tail_double(fraction)
    high, low = LN2[f]
    small = whole * low
    if more is not None:
        small = small + fma(-more, fraction, more)
    return fma(whole, high, fraction - (tail - small))


def log(x: Term) -> Term:
    """Natural logarithm."""
    return _with_limits(x, _log_parts(*decompose(x)))


def log2(x: Term) -> Term:
    """Logarithm to base 2, exact for powers of two."""
    whole, fraction = decompose(x)
    if format_of(x) is SINGLE:
        return _with_limits(x, fma(fraction, polynomial_apart(fraction, _LOG2_SINGLE), whole))
    high, low = _scaled_double(fraction, _INV_LN2)
    main = whole + high
    return _with_limits(x, main + (((whole - main) + high) + low))


def log10(x: Term) -> Term:
    """Logarithm to base 10."""
    f = format_of(x)
    high, low = _LOG10_2[f]
    whole, fraction = decompose(x)
    if f is SINGLE:
        inner = fma(fraction, polynomial_apart(fraction, _LOG10_SINGLE), whole * low)
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
    return _log1p_sum(x, None)


def _log1p_sum(x: Term, lost: Term | None) -> Term:
    """log(1 + x + lost), where `lost` is below x's last place."""
    f = format_of(x)
    exponent = _exponent((x + 1.0).bits(f.signed))
    # 2^-e in two steps, since it may be subnormal.
    four_times = lit(f.one + (2 << f.fraction), f.signed) - (exponent << f.fraction)
    scale = four_times.bits(f.real) * 0.25
    fraction = fma(x, scale, scale - 1.0)
    more = None if lost is None else lost * scale
    result = _log_parts(f.whole(exponent), fraction, more)
    tiny = abs(x) < by_format(x, 2.0**-25, 2.0**-54)
    limited = select(x < math.inf, result, x)
    at_most = select(x.eq(-1.0), lit(-math.inf, x.dtype), math.nan)
    return select(tiny, x, select(x > -1.0, limited, at_most))


def _log_of_sum(x: Term, main: Term, rest: Term) -> Term:
    """log(1 + main + rest), main >= rest >= 0; log(2 x) where x is so large that it is the same."""
    large = x > by_format(x, 2.0**30, 2.0**60)
    total = main + rest
    lost = (main - total) + rest
    result = _log1p_sum(select(large, x, total), select(large, 0.0, lost))
    return result + select(large, lit(math.log(2.0), x.dtype), 0.0)


def asinh(x: Term) -> Term:
    """Inverse hyperbolic sine: log(|x| + sqrt(x^2 + 1)) with the sign of x."""
    size = abs(x)
    square = size * size
    return copysign(_log_of_sum(size, size, square / (1.0 + sqrt(square + 1.0))), x)


def acosh(x: Term) -> Term:
    """Inverse hyperbolic cosine, log(x + sqrt(x^2 - 1)); NaN below 1."""
    over = x - 1.0
    result = _log_of_sum(x, sqrt(fma(over, over, over + over)), over)
    return select(x < 1.0, math.nan, result)


def atanh(x: Term) -> Term:
    """Inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond."""
    size = abs(x)
    twice = size + size
    # 2x / (1 - x), written so that its error is small for small x.
    grown = fma(twice, size / (1.0 - size), twice)
    return copysign(log1p(select(size > 1.0, math.nan, grown)) * 0.5, x)
