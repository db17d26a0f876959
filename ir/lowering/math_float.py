"""Float operations without a series: signs, orders, neighbours, division with remainder, hypot."""

from __future__ import annotations

import math

from .. import dtypes
from ..expr.nodes import Const
from .math_term import (
    DOUBLE,
    SINGLE,
    Term,
    apply,
    copysign,
    fma,
    format_of,
    isnan,
    lit,
    nearest,
    select,
    sqrt,
)


def sign(x: Term) -> Term:
    """1, -1, 0 (for -0 too) or NaN."""
    small = select(x < 0.0, -1.0, select(isnan(x), x, 0.0))
    return select(x > 0.0, 1.0, small)


def square(x: Term) -> Term:
    """x * x."""
    return x * x


def reciprocal(x: Term) -> Term:
    """1 / x."""
    return 1.0 / x


def fmax(a: Term, b: Term) -> Term:
    """The larger; the other one where one is NaN."""
    return select((a > b) | isnan(b), a, b)


def fmin(a: Term, b: Term) -> Term:
    """The smaller; the other one where one is NaN."""
    return select((a < b) | isnan(b), a, b)


def isinf(x: Term) -> Term:
    """Whether x is infinite."""
    return abs(x).eq(math.inf)


def isfinite(x: Term) -> Term:
    """Whether x is neither infinite nor NaN."""
    return abs(x) < math.inf


def signbit(x: Term) -> Term:
    """Whether the sign bit is set, for zeros and NaN too."""
    return x.bits(format_of(x).signed) < 0


def nextafter(a: Term, b: Term) -> Term:
    """The neighbour of a on the side of b; b where they are equal."""
    f = format_of(a)
    bits = a.bits(f.signed)
    away = (a < b) ^ (bits < 0)
    stepped = (bits + select(away, lit(1, f.signed), -1)).bits(f.real)
    smallest = copysign(lit(1, f.signed).bits(f.real), b)
    moved = select(a.eq(0.0), smallest, stepped)
    return select(isnan(a) | isnan(b), a + b, select(a.eq(b), b, moved))


def hypot(a: Term, b: Term) -> Term:
    """sqrt(a^2 + b^2) without overflow on the way; infinite if either is, even beside a NaN."""
    infinite = isinf(a) | isinf(b)
    if format_of(a) is SINGLE:
        wide_a, wide_b = a.cast(dtypes.FLOAT64), b.cast(dtypes.FLOAT64)
        length = sqrt(fma(wide_a, wide_a, wide_b * wide_b)).cast(dtypes.FLOAT32)
        return select(infinite, math.inf, length)
    a, b = abs(a), abs(b)
    large = (a > 2.0**510) | (b > 2.0**510)
    small = (a < 2.0**-450) & (b < 2.0**-450)
    scale = select(large, lit(2.0**-600, a.dtype), select(small, lit(2.0**600, a.dtype), 1.0))
    back = select(large, lit(2.0**600, a.dtype), select(small, lit(2.0**-600, a.dtype), 1.0))
    a, b = a * scale, b * scale
    return select(infinite, math.inf, sqrt(fma(a, a, b * b)) * back)


def _is_one(x: Term) -> bool:
    return isinstance(x.value, Const) and bool(x.value.value == 1)


def fmod(a: Term, b: Term) -> Term:
    """The remainder of truncating division, exact for any quotient; it has the sign of a."""
    if _is_one(b):
        return copysign(a - apply("trunc", a), a)
    over, under = abs(a), abs(b)
    rest = _fmod_single(over, under) if format_of(a) is SINGLE else _fmod_double(over, under)
    return copysign(select(over < under, over, rest), a)


def _fmod_single(a: Term, b: Term) -> Term:
    """a mod b for a, b >= 0, by long division in float64: 52 bits of the quotient a step.

    Each partial remainder is a multiple of the quotient digit's last place times b's, and smaller
    than about 2^26 of them, so that every step is exact. A quotient has at most 277 bits.
    """
    rest, divisor = a.cast(dtypes.FLOAT64), b.cast(dtypes.FLOAT64)
    inverse = 1.0 / divisor
    for _ in range(6):
        rest = fma(-nearest(rest * inverse), divisor, rest)
    return select(rest < 0.0, rest + divisor, rest).cast(dtypes.FLOAT32)


def _fmod_double(a: Term, b: Term) -> Term:
    """a mod b for a >= b >= 0: m_a 2^d mod m_b, the power by squaring.

    m_a and m_b are the 53-bit significands and d, at most 2098, the difference of the exponents.
    """
    over, over_exponent = _significand(a)
    under, under_exponent = _significand(b)
    residues = _Residues(under)
    distance = over_exponent - under_exponent
    distance = select(distance < 0, 0, distance)
    # 2^(d / 32) is at most 2^65: a quotient of 13 bits, which leaves an exact remainder.
    power = residues.reduce(DOUBLE.power_of_two((distance >> 5) + DOUBLE.bias))
    for position in (4, 3, 2, 1, 0):
        bit = (distance >> position) & 1
        power = residues.multiply(power, power, DOUBLE.power_of_two(bit + DOUBLE.bias))
    rest = residues.multiply(residues.reduce(over), power, None)
    rest = select(rest < 0.0, rest + under, rest)
    # The unit of the significand, in two factors since it may be below the smallest number.
    unit = under_exponent - DOUBLE.fraction
    half = unit >> 1
    scaled = rest * DOUBLE.power_of_two(half + DOUBLE.bias)
    scaled = scaled * DOUBLE.power_of_two(unit - half + DOUBLE.bias)
    valid = (a < math.inf) & (b > 0.0)
    return select(valid, scaled, math.nan)


def _significand(x: Term) -> tuple[Term, Term]:
    """(m, e): x = m 2^(e - 52), m a whole float in [2^52, 2^53), for positive finite x."""
    tiny = x < DOUBLE.smallest
    bits = select(tiny, x * 2.0**54, x).bits(DOUBLE.signed)
    exponent = (bits >> DOUBLE.fraction) - select(tiny, lit(1023 + 54, DOUBLE.signed), 1023)
    whole = (bits & (2**52 - 1)) | ((DOUBLE.bias + 52) << 52)
    return whole.bits(DOUBLE.real), exponent


class _Residues:
    """Exact arithmetic modulo a whole float64 below 2^53, on residues between -m/2 and m/2."""

    def __init__(self, modulus: Term):
        self.modulus = modulus
        self.inverse = 1.0 / modulus

    def reduce(self, x: Term) -> Term:
        """x modulo m, at most about m/2; exact for a quotient below 2^51."""
        return fma(-nearest(x * self.inverse), self.modulus, x)

    def multiply(self, a: Term, b: Term, factor: Term | None) -> Term:
        """a * b * factor (1 or 2). Every sum on the way is a whole number below 2^53 or even."""
        product = a * b
        lost = fma(a, b, -product)
        rest = self.reduce(self.reduce(product)) + lost
        return self.reduce(rest if factor is None else rest * factor)


def mod(a: Term, b: Term) -> Term:
    """The remainder of floor division; it has the sign of b."""
    if _is_one(b):
        return a - apply("floor", a)
    rest = fmod(a, b)
    shifted = select((b < 0.0) ^ (rest < 0.0), rest + b, rest)
    return select(rest.eq(0.0), copysign(lit(0.0, a.dtype), b), shifted)


def floor_div(a: Term, b: Term) -> Term:
    """floor(a / b) as NumPy computes it, from the exact remainder."""
    if _is_one(b):
        return select(isfinite(a), apply("floor", a), math.nan)
    rest = fmod(a, b)
    quotient = (a - rest) / b
    lower = rest.ne(0.0) & ((b < 0.0) ^ (rest < 0.0))
    quotient = select(lower, quotient - 1.0, quotient)
    floor = apply("floor", quotient)
    floor = select(quotient - floor > 0.5, floor + 1.0, floor)
    ratio = a / b
    whole = select(quotient.eq(0.0), copysign(lit(0.0, a.dtype), ratio), floor)
    return select(b.eq(0.0), ratio, whole)
