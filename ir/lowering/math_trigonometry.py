"""sin, cos and tan.

float32 is reduced in float64, exactly for the whole range: |x| / (2 pi) is the sum of the products
of x with pieces of 1 / (2 pi), 28 bits each, so that every product is exact; whole turns are
dropped from each. `math_turns.py` reduces float64; there the result is a sum of two numbers.
"""

from __future__ import annotations

import math

from .. import dtypes
from .math_term import (
    DOUBLE,
    SINGLE,
    Term,
    fma,
    format_of,
    nearest,
    polynomial,
    polynomial_apart,
    select,
)
from .math_turns import reduce_double

_TURN_PIECES = (
    0.15915494225919247, 8.327028684640414e-10, 5.69002511952534e-19, 6.3170650472507054e-27,
    4.170716914254881e-35, 2.897178338357036e-44,
)  # fmt: skip
"""1 / (2 pi): five times 28 bits, then the rest."""

# (sin(y) - y) / y^3, (cos(y) - 1 + y^2/2) / y^4, (tan(y) - y) / y^3 in y^2, on |y| <= pi/4.
_SIN = {
    SINGLE: (-0.16666655242443085, 0.008332189172506332, -0.00019518275803420693),
    DOUBLE: (
        -0.1666666666666663, 0.008333333333321842, -0.0001984126982936105,
        2.7557313539783026e-06, -2.5050734655501022e-08, 1.5895453187798415e-10,
    ),
}  # fmt: skip
_COS = {
    SINGLE: (0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-05),
    DOUBLE: (
        0.041666666666666595, -0.0013888888888873333, 2.4801587288992877e-05,
        -2.755731421355569e-07, 2.0875704833316843e-09, -1.1358716276273459e-11,
    ),
}  # fmt: skip

_TAN = {
    SINGLE: (
        0.33333155512809753, 0.13338835537433624, 0.05340820550918579, 0.02444135956466198,
        0.0031015637796372175, 0.009396460838615894,
    ),
    DOUBLE: (
        0.33333333333332776, 0.13333333333414857, 0.05396825392654517, 0.021869489612128635,
        0.008863219118275133, 0.0035922895071950228, 0.0014547552957810083,
        0.0005950762285389438, 0.00022234536278904619, 0.00013659741447700997,
        -2.648846577960466e-05, 8.954708810818344e-05, -4.492804179764223e-05,
        2.0875709938993063e-05,
    ),
}  # fmt: skip


def _reduce_single(x: Term) -> tuple[Term, Term]:
    """(quarter turns as int32, float64 y): x >= 0 is quarter turns * pi/2 + y, |y| <= pi/4."""
    wide = x.cast(dtypes.FLOAT64)
    products = [wide * piece for piece in _TURN_PIECES[:-1]]
    # From the largest on, so that where the terms cancel nothing has been rounded before.
    turns, *others = [product - nearest(product) for product in products]
    for term in others:
        turns = turns + term
    turns = fma(wide, _TURN_PIECES[-1], turns)
    shifted = fma(turns, 4.0, DOUBLE.magic)
    quarters = shifted.bits(dtypes.INT64).cast(dtypes.INT32)
    return quarters, fma(shifted - DOUBLE.magic, -0.25, turns) * (2.0 * math.pi)


def _sin_cos(x: Term) -> tuple[Term, Term, Term]:
    """(quarter turns, sin(y), cos(y)) of the reduced |x|."""
    f = format_of(x)
    if f is SINGLE:
        quarters, wide = _reduce_single(abs(x))
        y = wide.cast(dtypes.FLOAT32)
        square = y * y
        sine = fma(y * square, polynomial(square, _SIN[f]), y)
        cosine = fma(square * square, polynomial(square, _COS[f]), fma(square, -0.5, 1.0))
        return quarters, sine, cosine
    quarters, y, tail = reduce_double(abs(x))
    square = y * y
    sine = y + fma(y * square, polynomial(square, _SIN[f]), fma(tail * square, -0.5, tail))
    half = square * 0.5
    first = 1.0 - half
    lost = (1.0 - first) - half
    cosine = first + fma(square * square, polynomial(square, _COS[f]), lost - y * tail)
    return quarters, sine, cosine


def _negate_where(value: Term, quarters: Term, bit: int) -> Term:
    """`value` with its sign flipped where that bit of `quarters` is set."""
    f = format_of(value)
    top = 8 * f.signed.itemsize - 1
    flip = (quarters << (top - bit)) & f.sign
    return (value.bits(quarters.dtype) ^ flip).bits(f.real)


def _negate_with(value: Term, x: Term) -> Term:
    """`value` with its sign flipped where x has the sign bit."""
    f = format_of(value)
    return (value.bits(f.signed) ^ (x.bits(f.signed) & f.sign)).bits(f.real)


def sin(x: Term) -> Term:
    """Sine."""
    quarters, sine, cosine = _sin_cos(x)
    result = select((quarters & 1).eq(0), sine, cosine)
    return _negate_with(_negate_where(result, quarters, 1), x)


def cos(x: Term) -> Term:
    """Cosine."""
    quarters, sine, cosine = _sin_cos(x)
    result = select((quarters & 1).eq(0), cosine, sine)
    return _negate_where(result, quarters + 1, 1)


def tan(x: Term) -> Term:
    """Tangent: -1 / tan(y) after an odd number of quarter turns."""
    f = format_of(x)
    if f is SINGLE:
        quarters, wide = _reduce_single(abs(x))
        y = wide.cast(f.real)
        tail = (wide - y.cast(wide.dtype)).cast(f.real)
    else:
        quarters, y, tail = reduce_double(abs(x))
    square = y * y
    # tan(y + tail) = tan(y) + tail (1 + tan(y)^2), the square to two terms.
    tail = fma(tail * square, fma(square, 2.0 / 3.0, 1.0), tail)
    tangent = y + fma(y * square, polynomial_apart(square, _TAN[f]), tail)
    even = (quarters & 1).eq(0)
    return _negate_with(select(even, tangent, -1.0) / select(even, 1.0, tangent), x)
