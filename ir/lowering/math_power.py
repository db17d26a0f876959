"""pow and cbrt, for float32 and float64."""

from __future__ import annotations

import math

from .. import dtypes
from ..expr.nodes import Const
from .math_exponential import EXP2, exp2
from .math_logarithm import decompose
from .math_term import (
    DOUBLE,
    SINGLE,
    Term,
    above,
    apply,
    below,
    copysign,
    fma,
    format_of,
    lit,
    polynomial,
    polynomial_apart,
    select,
    sqrt,
)

# For float32, in float64: log2(m) / s in s^2 with s = (m - 1) / (m + 1), and 2^r on |r| <= 1/2.
_LOG2_RATIO = (
    2.8853900817774165, 0.9617966948339746, 0.5770777537631596, 0.4122263148872158,
    0.3192805723611748, 0.29088033936101726,
)  # fmt: skip
_EXP2_SHORT = (
    1.0, 0.6931471807292726, 0.24022651199653017, 0.05550410351430706, 0.009618027047235397,
    0.0013333923638557152, 0.00015469358447664652, 1.5201796021161668e-05,
)  # fmt: skip

# For float64: (2 atanh(s) - 2 s - 2 s^3 / 3) / s^5 in s^2.
_ATANH_TAIL = (
    0.3999999999999972, 0.2857142857157993, 0.22222222190782007, 0.18181821568032777,
    0.15384404538683247, 0.13341204418293548, 0.11591459617823258, 0.1257696279983982,
)  # fmt: skip
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
_INV_LN2 = (1.4426950408889634, 2.0355273740931033e-17)

# m^(-1/3) on 1 <= m < 8, to three digits.
_INVERSE_CBRT = (
    1.4247742891311646, -0.5964284539222717, 0.20366442203521729, -0.03856426849961281,
    0.0036899535916745663, -0.000139113690238446,
)  # fmt: skip


def power(x: Term, y: Term) -> Term:
    """x^y with C99's special values."""
    if isinstance(y.value, Const):
        known = _constant_power(x, float(y.value.value))
        if known is not None:
            return known
    if isinstance(x.value, Const) and x.value.value == 2:
        return exp2(y)
    base = abs(x)
    size = _power_single(base, y) if format_of(x) is SINGLE else _power_double(base, y)
    # Oddness by halves: beyond 2^fraction every number is even.
    whole = apply("trunc", y).eq(y)
    half = y * 0.5
    odd = whole & apply("trunc", half).ne(half)
    negative = x.bits(format_of(x).signed) < 0
    signed = select(negative & odd, -size, size)
    undefined = (x < 0.0) & (x > -math.inf) & ~whole
    signed = select(undefined, math.nan, signed)
    one = x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & abs(y).eq(math.inf))
    return select(one, 1.0, signed)


def _constant_power(x: Term, exponent: float) -> Term | None:
    """x^exponent by few multiplications where that is at least as accurate."""
    if exponent == 0.5:
        # -0 and -inf have positive powers.
        return select(x.eq(-math.inf), math.inf, sqrt(x + 0.0))
    square = x * x
    powers = {0.0: lit(1.0, x.dtype), 1.0: x, 2.0: square, 3.0: square * x, 4.0: square * square}
    if exponent in powers:
        return powers[exponent]
    return 1.0 / x if exponent == -1.0 else None


def _power_single(base: Term, y: Term) -> Term:
    """base^y for base >= 0, in float64."""
    wide = base.cast(dtypes.FLOAT64)
    bits = wide.bits(DOUBLE.signed)
    exponent = (bits - 0x3FE5555555555555) >> 52
    fraction = (bits - (exponent << 52)).bits(dtypes.FLOAT64) - 1.0
    s = fraction / (fraction + 2.0)
    logarithm = fma(s, polynomial(s * s, _LOG2_RATIO), DOUBLE.whole(exponent))
    logarithm = _log_limits(wide, logarithm)
    product = above(below(y.cast(dtypes.FLOAT64) * logarithm, 200.0), -200.0)
    shifted = product + (DOUBLE.magic + DOUBLE.bias)
    rest = product - (shifted - (DOUBLE.magic + DOUBLE.bias))
    scale = DOUBLE.power_of_two(shifted.bits(DOUBLE.signed))
    return (polynomial_apart(rest, _EXP2_SHORT) * scale).cast(dtypes.FLOAT32)


def _log_limits(x: Term, result: Term) -> Term:
    """The logarithm's values at 0, infinity and NaN, for x >= 0."""
    return select(x.eq(0.0), -math.inf, select(x < math.inf, result, x))


def _power_double(base: Term, y: Term) -> Term:
    """base^y for base >= 0, through log2(base) as a sum of two numbers."""
    whole, fraction = decompose(base)
    high, low = _log_sum(fraction)
    scaled = high * _INV_LN2[0]
    rest = fma(high, _INV_LN2[0], -scaled) + fma(high, _INV_LN2[1], low * _INV_LN2[0])
    main = whole + scaled
    rest = ((whole - main) + scaled) + rest
    main = _log_limits(base, main)

    product = y * main
    lost = fma(y, main, -product) + y * rest
    bounded = above(below(product, 1100.0), -1100.0)
    lost = select(abs(product) < 1100.0, lost, 0.0)
    magic = DOUBLE.magic + 2 * DOUBLE.bias
    shifted = bounded + magic
    rest = (bounded - (shifted - magic)) + lost
    biased = shifted.bits(DOUBLE.unsigned)
    half = biased >> 1
    scale = DOUBLE.power_of_two(half)
    return polynomial_apart(rest, EXP2[DOUBLE]) * scale * DOUBLE.power_of_two(biased - half)


def _log_sum(f: Term) -> tuple[Term, Term]:
    """log(1 + f) as a sum of two float64 numbers, to about 2^-64: 2 s + 2/3 s^3 + s^5 p(s^2)."""
    under = f + 2.0
    under_low = f - (under - 2.0)
    inverse = 1.0 / under
    s = f * inverse
    s_low = (fma(-s, under, f) - s * under_low) * inverse
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * s * s_low
    cube = s * z
    cube_low = fma(s, z, -cube) + fma(s, z_low, s_low * z)
    third = cube * _TWO_THIRDS[0]
    third_low = fma(cube, _TWO_THIRDS[0], -third) + fma(
        cube, _TWO_THIRDS[1], cube_low * _TWO_THIRDS[0]
    )
    tail = cube * z * polynomial(z, _ATANH_TAIL)
    twice = s + s
    high = twice + third
    low = ((twice - high) + third) + (third_low + (s_low + s_low) + tail)
    total = high + low
    return total, (high - total) + low


def cbrt(x: Term) -> Term:
    """Cube root, of negative numbers too."""
    f = format_of(x)
    size = abs(x)
    tiny = size < f.smallest
    third = 8 if f is SINGLE else 18
    bits = select(tiny, size * 2.0 ** (3 * third), size).bits(f.signed)
    # floor(e / 3) as a rounded float, in whose low bits it stands as an integer.
    exponent = f.whole((bits >> f.fraction) - (f.bias + 1))
    quotient = fma(exponent, 1.0 / 3.0, f.magic).bits(f.signed)
    step = quotient << f.fraction
    m = (bits - step - (step << 1)).bits(f.real)

    y = polynomial(m, _INVERSE_CBRT)
    for _ in range(1 if f is SINGLE else 2):
        error = fma(-(m * y), y * y, 1.0)
        y = fma(y * error, fma(error, 2.0 / 9.0, 1.0 / 3.0), y)
    root = m * y * y
    root = fma(fma(-(root * root), root, m), y * y * (1.0 / 3.0), root)
    back = step - select(tiny, lit(third << f.fraction, f.signed), 0)
    result = copysign((root.bits(f.signed) + back).bits(f.real), x)
    return select(size < math.inf, select(x.eq(0.0), x, result), x)
