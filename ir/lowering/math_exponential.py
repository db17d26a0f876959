"""exp and its relatives, for float32 and float64.

e^x = 2^n e^r with n the whole number nearest to x / ln 2, so that |r| <= ln(2) / 2, and a
polynomial for e^r. n is found by adding a large number (`Format.magic`), which also leaves n in
the low bits, from where it is shifted into the exponent field. 2^n is applied as two factors of
half the exponent, neither of which overflows or is subnormal: so the one rounding of the last
product makes subnormal results and infinity right.
"""

from __future__ import annotations

import math

from .math_term import (
    DOUBLE,
    SINGLE,
    Format,
    Term,
    above,
    below,
    by_format,
    copysign,
    fma,
    format_of,
    polynomial,
    polynomial_apart,
    select,
)

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


def _clamp(x: Term, low: float, high: float) -> Term:
    return above(below(x, high), low)


def _reduce(x: Term, bias: int) -> tuple[Term, Term, Term]:
    """(r, what its rounding lost, n + bias in the low bits) with x = n ln 2 + r."""
    f = format_of(x)
    magic = f.magic + bias
    shifted = fma(x, 1.0 / math.log(2.0), magic)
    whole = shifted - magic
    high, low = LN2[f]
    first = fma(whole, -high, x)
    rest = fma(whole, -low, first)
    return rest, fma(whole, -low, first - rest), shifted.bits(f.unsigned)


def _half_powers(f: Format, twice_biased: Term) -> tuple[Term, Term]:
    """(2^a, 2^b) with a + b = n, of the low bits n + 2 bias."""
    half = twice_biased >> 1
    return f.power_of_two(half), f.power_of_two(twice_biased - half)


def _split(x: Term) -> tuple[Term, Term, Term]:
    """(p, s, t) with e^x = p * s * t; x within the format's `_EXP_RANGE`."""
    f = format_of(x)
    rest, _, exponent = _reduce(x, 2 * f.bias)
    return polynomial_apart(rest, (1.0, 1.0, *_EXPM1[f])), *_half_powers(f, exponent)


def exp(x: Term) -> Term:
    """e^x."""
    p, s, t = _split(_clamp(x, *_EXP_RANGE[format_of(x)]))
    return p * s * t


def exp2(x: Term) -> Term:
    """2^x, exact for whole x."""
    f = format_of(x)
    x = _clamp(x, *_EXP2_RANGE[f])
    magic = f.magic + 2 * f.bias
    shifted = x + magic
    s, t = _half_powers(f, shifted.bits(f.unsigned))
    return polynomial_apart(x - (shifted - magic), EXP2[f]) * s * t


def _expm1_rest(rest: Term, lost: Term | None) -> Term:
    """e^(rest + lost) - 1."""
    square, series = rest * rest, polynomial(rest, _EXPM1[format_of(rest)])
    return fma(square, series, rest) if lost is None else rest + fma(square, series, lost)


def expm1(x: Term) -> Term:
    """e^x - 1, accurate near 0."""
    f = format_of(x)
    # 2^(n - 1), which does not overflow before the result does.
    rest, lost, exponent = _reduce(_clamp(x, *_EXPM1_RANGE[f]), f.bias - 1)
    half = f.power_of_two(exponent)
    result = fma(half, _expm1_rest(rest, lost), half - 0.5) * 2.0
    return select(abs(x) < by_format(x, 2.0**-25, 2.0**-54), x, result)


def sinh(x: Term) -> Term:
    """(e^x - e^-x) / 2."""
    f = format_of(x)
    size = abs(x)
    half, inverse = _half_exp(size)
    square = x * x
    small = fma(size * square, polynomial(square, _SINH[f]), size)
    return copysign(select(size < 1.0, small, half - inverse), x)


def cosh(x: Term) -> Term:
    """(e^x + e^-x) / 2."""
    half, inverse = _half_exp(abs(x))
    return half + inverse


def _half_exp(size: Term) -> tuple[Term, Term]:
    """e^size / 2 (overflowing only where the sum does) and e^-size / 2."""
    p, s, t = _split(below(size, by_format(size, 91.0, 712.0)))
    half = p * (s * 0.5) * t
    return half, 0.25 / half


def tanh(x: Term) -> Term:
    """Hyperbolic tangent: w = g / (g + 2) with g = e^2x - 1; for small g rather h - h w, h = g / 2.

    Both are equal; in the second the rounding of g + 2 hardly counts.
    """
    f = format_of(x)
    size = below(abs(x), by_format(x, 10.0, 20.0))
    rest, lost, exponent = _reduce(size + size, f.bias)
    scale = f.power_of_two(exponent)
    grown = fma(scale, _expm1_rest(rest, None if f is SINGLE else lost), scale - 1.0)
    ratio = grown / (grown + 2.0)
    half = grown * 0.5
    return copysign(select(grown < 1.0, fma(-half, ratio, half), ratio), x)


def sigmoid(x: Term) -> Term:
    """1 / (1 + e^-x), with relative accuracy for large negative x too.

    With a = e^-|x| and w = a / (1 + a) it is 1 - w for positive x and a - a w for negative.
    """
    p, s, t = _split(above(-abs(x), by_format(x, -104.0, -746.0)))
    small = p * s * t
    share = small / (small + 1.0)
    kept = select(x.bits(format_of(x).signed) < 0, small, 1.0)
    return fma(-kept, share, kept)
