"""Reduction of a float64 angle by quarter turns, exact for the whole range (Payne and Hanek).

x = m 2^k with a whole m below 2^53. Of the bits of 1 / (2 pi), those that multiply m to whole turns
and those far below the last place do not matter: a window of 192 bits is left. m times the window,
modulo one turn, is a fixed-point number of 128 bits, kept as two unsigned 64-bit integers. A
float64 is never nearer than about 2^-62 to a multiple of a quarter turn, so that at least 64
significant bits remain after the quarter turns are taken away.
"""

from __future__ import annotations

from .. import dtypes
from .math_term import DOUBLE, Term, fma, lit, select

_INVERSE_TURN = int(
    "28be60db9391054a7f09d5f47d4d377036d8a5664f10e4107f9458eaf7aef1586dc91b8e909"
    "374b801924bba827464873f877ac72c4a69cfba208d7d4baed1213a671c09ad17df904e6475"
    "8e60d4ce7d272117e2ef7e4a0ec7fe25fff7816603fbcbc462d6829b47db4d9fb3c9f2c26dd"
    "3d18fd9a797fa8b5d49eeb1faf97c5ecf41ce7de294a4ba9afed7ec47e357421580cc11bf1e",
    16,
)
"""1 / (2 pi) as a fraction of 1200 bits."""

_LEADING = 80
"""Zero bits put before them, so that the window of a small x starts inside."""

_WORDS = tuple((_INVERSE_TURN >> (1216 - 64 * n)) & (2**64 - 1) for n in range(20))

_SMALL = 2.0**-27
"""Below it x needs no reduction, and its window would start before the first word."""

_TURN = (6.283185307179586, 2.4492935982947064e-16)
_LOW = 0xFFFFFFFF


def reduce_double(x: Term) -> tuple[Term, Term, Term]:
    """(q, y, tail) with x = q quarter turns + y + tail, |y| <= pi/4, for a float64 x >= 0.

    q is a uint64 of which the low two bits count; y is NaN where x is not finite.
    """
    high, low = _turns(x)
    quarters = (high + (1 << 61)) >> 62
    y, tail = _angle((high - (quarters << 62)).bits(dtypes.INT64), low)
    small = x < _SMALL
    y = select(small, x, y)
    y = select(x < float("inf"), y, float("nan"))
    return select(small, 0, quarters), y, select(small, 0.0, tail)


def _turns(x: Term) -> tuple[Term, Term]:
    """x / (2 pi) modulo 1 as a fraction of 128 bits: its upper and lower 64."""
    bits = x.bits(dtypes.UINT64)
    exponent = (bits >> 52).bits(dtypes.INT64)
    first = exponent - (1075 - _LEADING)
    start = select(first < 0, 0, first).bits(dtypes.UINT64)
    words = _window(start)
    a = [part for word in words for part in (word >> 32, word & _LOW)]
    m = (bits & (2**52 - 1)) | 2**52
    m_low, m_high = m & _LOW, m >> 32
    # Products by the column (of 32 bits, the first on top) in which they end.
    p = [m_low * a[k] for k in range(5)]
    q = [m_high * a[k + 1] for k in range(5)]
    column3 = (p[3] & _LOW) + (q[3] & _LOW) + (p[4] >> 32) + (q[4] >> 32)
    column2 = (p[2] & _LOW) + (q[2] & _LOW) + (p[3] >> 32) + (q[3] >> 32) + (column3 >> 32)
    upper = ((p[0] + q[0]) << 32) + p[1] + q[1] + (p[2] >> 32) + (q[2] >> 32) + (column2 >> 32)
    return upper, (column2 << 32) | (column3 & _LOW)


def _window(start: Term) -> list[Term]:
    """The 192 bits of the table from bit `start` on, as three words."""
    words = [lit(w, dtypes.UINT64) for w in _WORDS]
    # Word 16 is the last that a window starts in; then each bit of the word number halves.
    for bit, needed in ((4, 4), (3, 11), (2, 7), (1, 5), (0, 4)):
        there = (start << (63 - 6 - bit)).bits(dtypes.INT64) < 0
        step = 1 << bit
        chosen = [select(there, words[n + step], words[n]) for n in range(needed)]
        words = chosen + words[needed:]
    inside = start & 63
    left = 63 - inside
    return [(words[n] << inside) | ((words[n + 1] >> 1) >> left) for n in range(3)]


def _angle(high: Term, low: Term) -> tuple[Term, Term]:
    """(high + low / 2^64) / 2^64 turns, high signed, as an angle: a sum of two float64 numbers."""
    unsigned = high.bits(dtypes.UINT64)
    top = DOUBLE.whole(high >> 32) * 2.0**32
    next_part = _exactly(unsigned & _LOW)
    rest = fma(_exactly(low >> 32), 2.0**-32, _exactly(low & _LOW) * 2.0**-64)
    main = top + next_part
    rest = (next_part - (main - top)) + rest
    turns = main + rest
    turns_low = rest - (turns - main)
    scale, scale_low = (part * 2.0**-64 for part in _TURN)
    angle = turns * scale
    return angle, fma(turns, scale, -angle) + fma(turns, scale_low, turns_low * scale)


def _exactly(integer: Term) -> Term:
    """A uint64 below 2^52 as a float64."""
    return (integer | lit(2.0**52, DOUBLE.real).bits(dtypes.UINT64)).bits(DOUBLE.real) - 2.0**52
