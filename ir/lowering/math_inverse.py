"""asin, acos, atan and atan2, for float32 and float64."""

from __future__ import annotations

import math

from .math_term import (
    DOUBLE,
    SINGLE,
    Format,
    Term,
    copysign,
    fma,
    format_of,
    isnan,
    lit,
    polynomial,
    select,
    sqrt,
)

# (asin(x) - x) / x^3 in x^2 on |x| <= 1/2, (atan(x) - x) / x^3 in x^2 on |x| <= 1.
_ASIN = {
    SINGLE: (
        0.16666752099990845, 0.07495306432247162, 0.045469772070646286, 0.02418077178299427,
        0.04216642305254936,
    ),
    DOUBLE: (
        0.16666666666665403, 0.07500000000338593, 0.044642856826932566, 0.03038195919766642,
        0.022371756531019023, 0.017359728514793272, 0.013884993529418709, 0.012170843574871556,
        0.006520744995906779, 0.01954849054882487, -0.016256637452878135, 0.031934888078018905,
    ),
}  # fmt: skip
_ATAN = {
    SINGLE: (
        -0.33333152532577515, 0.19993767142295837, -0.14211001992225647, 0.10665769129991531,
        -0.07551661133766174, 0.04320475831627846, -0.016363222151994705, 0.0029194338712841272,
    ),
    DOUBLE: (
        -0.3333333333333186, 0.19999999999755178, -0.14285714271341532, 0.11111110678909586,
        -0.09090901237806834, 0.07692212955004116, -0.06665860538785175, 0.05877308694719181,
        -0.05239236639095117, 0.046739605059804436, -0.04092663274148947, 0.03406825430529736,
        -0.025827399469549473, 0.016978659093663, -0.009185040367918887, 0.0038562432944710206,
        -0.001164173877052613, 0.0002230461048091993, -2.026108486171485e-05,
    ),
}  # fmt: skip

_PI = math.pi
_PI_LOW = {SINGLE: -8.742277657347586e-08, DOUBLE: 1.2246467991473532e-16}


def _odd(x: Term, square: Term, table: dict[Format, tuple[float, ...]]) -> Term:
    """x + x^3 p(x^2)."""
    return fma(x * square, polynomial(square, table[format_of(x)]), x)


def _folded_asin(x: Term) -> tuple[Term, Term, Term]:
    """(|x| > 1/2, s, t): s + t is asin of |x|, or there of sqrt((1 - |x|) / 2); NaN beyond 1."""
    size = abs(x)
    large = size > 0.5
    square = select(large, (1.0 - size) * 0.5, size * size)
    base = select(large, sqrt(square), size)
    return large, base, base * square * polynomial(square, _ASIN[format_of(x)])


def asin(x: Term) -> Term:
    """Arc sine; NaN outside [-1, 1]."""
    large, base, tail = _folded_asin(x)
    # pi/2 - 2 (s + t), with what the rounding of the first difference loses.
    twice = base + base
    first = _PI / 2 - twice
    lost = (_PI / 2 - first) - twice + 0.5 * _PI_LOW[format_of(x)]
    far = first + (lost - (tail + tail))
    return copysign(select(large, far, base + tail), x)


def acos(x: Term) -> Term:
    """Arc cosine; NaN outside [-1, 1]."""
    f = format_of(x)
    large, base, tail = _folded_asin(x)
    angle = base + tail
    twice = angle + angle
    middle = _PI / 2 - (copysign(angle, x) - 0.5 * _PI_LOW[f])
    left = _PI - (twice - _PI_LOW[f])
    return select(large, select(x < 0.0, left, twice), middle)


def atan(x: Term) -> Term:
    """Arc tangent."""
    f = format_of(x)
    size = abs(x)
    steep = size > 1.0
    base = select(steep, 1.0 / size, size)
    angle = _odd(base, base * base, _ATAN)
    far = _PI / 2 - (angle - 0.5 * _PI_LOW[f])
    return copysign(select(steep, far, angle), x)


def atan2(y: Term, x: Term) -> Term:
    """The angle of the point (x, y), with C99's values at zeros and infinities."""
    f = format_of(x)
    high, wide = abs(y), abs(x)
    steep = high > wide
    over = select(steep, wide, high)
    under = select(steep, high, wide)
    # Equal sides are a quotient of 1 (infinities too), but at the origin it is 0.
    quotient = select(over.eq(under), select(under.eq(0.0), lit(0.0, x.dtype), 1.0), over / under)
    angle = _odd(quotient, quotient * quotient, _ATAN)
    angle = select(steep, _PI / 2 - (angle - 0.5 * _PI_LOW[f]), angle)
    left = x.bits(f.signed) < 0
    angle = select(left, _PI - (angle - _PI_LOW[f]), angle)
    result = copysign(angle, y)
    return select(isnan(x) | isnan(y), math.nan, result)
