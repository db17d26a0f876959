"""exp and its relatives, for float32 and float64.

exp(x) is p * s * s: x = 2 m ln 2 + r with a whole m and |r| <= ln 2, p a polynomial for e^r and
s = 2^m. With half of the exponent in each factor no factor overflows or is subnormal, and the one
rounding of the last product makes subnormal results and infinity right. m is found by adding a
large number (`Format.magic`), which also leaves m in the low bits, from where it is shifted into
the exponent field.
"""

from __future__ import annotations

import math

from .math_term import (
    DOUBLE,
    SINGLE,
    Term,
    above,
    below,
    by_format,
    copysign,
    fma,
    format_of,
    horner,
    lit,
    select,
)

# e^r on |r| <= ln 2.
_EXP = {
    SINGLE: (
        1.0, 1.0, 0.5000003576278687, 0.1666661649942398, 0.04166119545698166,
        0.008335962891578674, 0.0014105557929724455, 0.00019631328177638352,
    ),
    DOUBLE: (
        1.0, 0.9999999999999999, 0.4999999999999992, 0.1666666666666726, 0.041666666666704086,
        0.008333333333236324, 0.0013888888883372683, 0.00019841269909440243,
        2.4801590918248387e-05, 2.7557296388322995e-06, 2.755614092651871e-07,
        2.505557561086829e-08, 2.1063559357539383e-09, 1.590850416804031e-10,
    ),
}  # fmt: skip

# (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2.
_EXPM1 = {
    SINGLE: (
        0.4999999701976776, 0.1666654497385025, 0.04166749492287636, 0.008366405963897705,
        0.0013865204527974129,
    ),
    DOUBLE: (
        0.5000000000000006, 0.16666666666666607, 0.04166666666657361, 0.00833333333337798,
        0.0013888888932394835, 0.0001984126974413917, 2.4801504407396085e-05,
        2.755738493159715e-06, 2.762634987979814e-07, 2.506099929819664e-08,
    ),
}  # fmt: skip

# 2^r on |r| <= 1/2.
EXP2 = {
    SINGLE: (
        1.0, 0.6931471824645996, 0.24022647738456726, 0.05550359562039375, 0.009618501178920269,
        0.0013390989042818546, 0.00015328603330999613,
    ),
    DOUBLE: (
        1.0, 0.6931471805599453, 0.2402265069591011, 0.05550410866482174, 0.009618129107600588,
        0.0013333558146538665, 0.0001540353045022852, 1.5252733643029974e-05,
        1.3215438274816401e-06, 1.0178155769179241e-07, 7.073325085337644e-09,
        4.4395635353004704e-10,
    ),
}  # fmt: skip

# (sinh(x) - x) / x^3 in x^2, on |x| <= 1.
_SINH = {
    SINGLE: (0.1666666716337204, 0.00833331048488617, 0.00019842895562760532, 2.7822131869469e-06),
    DOUBLE: (
        0.16666666666666666, 0.008333333333333573, 0.00019841269841061157, 2.7557319310093174e-06,
        2.505208941190286e-08, 1.6061339303366265e-10, 7.503255319805352e-13,
        6.475607216379141e-15,
    ),
}  # fmt: skip

# ln 2 as a sum of two numbers of each format.
LN2 = {
    SINGLE: (0.6931471824645996, -1.9046542121259336e-09),
    DOUBLE: (0.6931471805599453, 2.3190468138462996e-17),
}

# Beyond these the function has reached its limits.
_EXP_RANGE = {SINGLE: (-104.0, 89.0), DOUBLE: (-746.0, 710.0)}
_EXP2_RANGE = {SINGLE: (-151.0, 129.0), DOUBLE: (-1076.0, 1025.0)}
_EXPM1_RANGE = {SINGLE: (-18.0, 88.8), DOUBLE: (-40.0, 709.9)}


def _split(x: Term) -> tuple[Term, Term]:
    """(p, s) with e^x = p * s * s; x within the format's `_EXP_RANGE`."""
    f = format_of(x)
    magic = f.magic + f.bias
    shifted = fma(x, 0.5 / math.log(2.0), magic)
    whole = shifted - magic
    high, low = LN2[f]
    rest = fma(whole, -2 * low, fma(whole, -2 * high, x))
    return horner(rest, _EXP[f]), f.power_of_two(shifted.bits(f.signed))


def _clamp(x: Term, low: float, high: float) -> Term:
    return above(below(x, high), low)


def exp(x: Term) -> Term:
    """e^x."""
    p, s = _split(_clamp(x, *_EXP_RANGE[format_of(x)]))
    return p * s * s


def exp2(x: Term) -> Term:
    """2^x, exact for whole x."""
    f = format_of(x)
    x = _clamp(x, *_EXP2_RANGE[f])
    magic = f.magic + 2 * f.bias
    shifted = fma(x, 1.0, magic)
    rest = x - (shifted - magic)
    biased = shifted.bits(f.unsigned)
    half = biased >> 1
    return horner(rest, EXP2[f]) * f.power_of_two(half) * f.power_of_two(biased - half)


def expm1(x: Term) -> Term:
    """e^x - 1, accurate near 0."""
    f = format_of(x)
    bounded = _clamp(x, *_EXPM1_RANGE[f])
    # 2^(n - 1), which does not overflow before the result does.
    magic = f.magic + f.bias - 1
    shifted = fma(bounded, 1.0 / math.log(2.0), magic)
    whole = shifted - magic
    high, low = LN2[f]
    rest = fma(whole, -low, fma(whole, -high, bounded))
    reduced = fma(rest * rest, horner(rest, _EXPM1[f]), rest)
    half = f.power_of_two(shifted.bits(f.signed))
    result = fma(half, reduced, half - 0.5) * 2.0
    return select(abs(x) < by_format(x, 2.0**-25, 2.0**-54), x, result)


def sinh(x: Term) -> Term:
    """(e^x - e^-x) / 2."""
    f = format_of(x)
    size = abs(x)
    half, inverse = _half_exp(size)
    square = x * x
    small = fma(size * square, horner(square, _SINH[f]), size)
    return copysign(select(size < 1.0, small, half - inverse), x)


def cosh(x: Term) -> Term:
    """(e^x + e^-x) / 2."""
    half, inverse = _half_exp(abs(x))
    return half + inverse


def _half_exp(size: Term) -> tuple[Term, Term]:
    """e^size / 2 (overflowing only where the sum does) and e^-size / 2."""
    high = by_format(size, 91.0, 712.0)
    p, s = _split(below(size, high))
    half = (p * (s * 0.5)) * s
    return half, 0.25 / half


# tanh(x) / x in x^2 on |x| <= 9.02, as numerator and denominator.
_TANH_SINGLE = (
    (0.9999999789597681, 0.13379718773712526, 0.00349403272318178, 2.058334116886217e-05,
     1.3318682102846278e-08),
    (1.0, 0.46713034084733357, 0.025871073548628817, 0.000328308502337868, 7.761900718477556e-07),
)  # fmt: skip

# (tanh(x) / x - 1) / x^2 in x^2 on |x| <= 0.625, likewise.
_TANH_DOUBLE = (
    (-0.33333333333333326, -0.02049685359419883, -0.00019909189678503686),
    (1.0, 0.4614905607825819, 0.023288738098879068, 0.00020644148118346034),
)


def tanh(x: Term) -> Term:
    """Hyperbolic tangent."""
    if format_of(x) is SINGLE:
        bounded = _clamp(x, -9.02, 9.02)
        square = bounded * bounded
        return bounded * horner(square, _TANH_SINGLE[0]) / horner(square, _TANH_SINGLE[1])
    size = abs(x)
    square = x * x
    grown = exp(size + size)
    small = size < 0.625
    over = select(small, size * square * horner(square, _TANH_DOUBLE[0]), -2.0)
    under = select(small, horner(square, _TANH_DOUBLE[1]), grown + 1.0)
    return copysign(select(small, size, 1.0) + over / under, x)


def sigmoid(x: Term) -> Term:
    """1 / (1 + e^-x), with relative accuracy for large negative x too.

    With e^x = p s s it is p s / (p s + 1/s), where nothing overflows.
    """
    f = format_of(x)
    limit = by_format(x, 104.0, 746.0)
    p, s = _split(_clamp(x, -float(limit), float(limit)))
    inverse = (lit(2 * f.one, f.signed) - s.bits(f.signed)).bits(f.real)
    grown = p * s
    return grown / (grown + inverse)
