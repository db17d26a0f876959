"""Formulas over values: arithmetic that reads as arithmetic and builds core operations.

A `Term` wraps a value. Operators with Python numbers take the term's own dtype, so that a formula
is written once for every format. Nothing is folded or reordered: the DAG is the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .. import dtypes
from ..expr.nodes import Op, Value
from ..expr.values import const


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A value with operators: + - * / and & | ^ ~, comparisons, `eq`, `ne`, shifts in range."""

    value: Value

    @property
    def dtype(self) -> np.dtype:
        """The value's element type."""
        return self.value.dtype

    def __add__(self, other: Operand) -> Term:
        return self._binary("add", other)

    def __radd__(self, other: Number) -> Term:
        return lit(other, self.dtype) + self

    def __sub__(self, other: Operand) -> Term:
        return self._binary("sub", other)

    def __rsub__(self, other: Number) -> Term:
        return lit(other, self.dtype) - self

    def __mul__(self, other: Operand) -> Term:
        return self._binary("mul", other)

    def __rmul__(self, other: Number) -> Term:
        return lit(other, self.dtype) * self

    def __truediv__(self, other: Operand) -> Term:
        return self._binary("div", other)

    def __rtruediv__(self, other: Number) -> Term:
        return lit(other, self.dtype) / self

    def __and__(self, other: Operand) -> Term:
        return self._binary("and", other)

    def __or__(self, other: Operand) -> Term:
        return self._binary("or", other)

    def __xor__(self, other: Operand) -> Term:
        return self._binary("xor", other)

    def __lshift__(self, other: Operand) -> Term:
        return self._binary("shl", other)

    def __rshift__(self, other: Operand) -> Term:
        return self._binary("shr", other)

    def __neg__(self) -> Term:
        return apply("neg", self)

    def __abs__(self) -> Term:
        return apply("abs", self)

    def __invert__(self) -> Term:
        return apply("not", self)

    def __lt__(self, other: Operand) -> Term:
        return self._compare("lt", other)

    def __le__(self, other: Operand) -> Term:
        return self._compare("le", other)

    def __gt__(self, other: Operand) -> Term:
        return self._compare("gt", other)

    def __ge__(self, other: Operand) -> Term:
        return self._compare("ge", other)

    def eq(self, other: Operand) -> Term:
        """self == other, false for NaN."""
        return self._compare("eq", other)

    def ne(self, other: Operand) -> Term:
        """self != other, true for NaN."""
        return self._compare("ne", other)

    def cast(self, dtype: np.dtype) -> Term:
        """The core conversion; to an integer only where the value is in range."""
        return self if self.dtype == dtype else apply("cast", self, dtype=dtype)

    def bits(self, dtype: np.dtype) -> Term:
        """The same bits as another type of equal width."""
        return apply("bitcast", self, dtype=dtype)

    def _binary(self, name: str, other: Operand) -> Term:
        return apply(name, self, _term(other, self.dtype))

    def _compare(self, name: str, other: Operand) -> Term:
        return apply(name, self, _term(other, self.dtype), dtype=dtypes.BOOL)


Number: TypeAlias = float | int | np.generic
Operand: TypeAlias = Term | Number


def apply(name: str, *args: Term, dtype: np.dtype | None = None) -> Term:
    """A core operation; its result has the first operand's dtype unless told."""
    return Term(Op(name, tuple(a.value for a in args), dtype or args[0].dtype))


def lit(value: Number, dtype: np.dtype) -> Term:
    """A literal; integers wrap into the dtype."""
    return Term(const(value, dtype))


def _term(operand: Operand, dtype: np.dtype) -> Term:
    return operand if isinstance(operand, Term) else lit(operand, dtype)


def select(condition: Term, a: Operand, b: Operand) -> Term:
    """a where the condition holds, else b; at least one of them is a term."""
    dtype = a.dtype if isinstance(a, Term) else b.dtype  # type: ignore[union-attr]
    return apply("select", condition, _term(a, dtype), _term(b, dtype), dtype=dtype)


def fma(a: Term, b: Operand, c: Operand) -> Term:
    """a * b + c with one rounding."""
    return apply("fma", a, _term(b, a.dtype), _term(c, a.dtype))


def polynomial(x: Term, coefficients: Sequence[Operand]) -> Term:
    """c[0] + c[1] x + c[2] x^2 + ... by fused steps.

    A chain of steps waits four cycles for each, and there are too few registers to interleave many
    chains: so the terms are joined in pairs (Estrin) until four are left.
    """
    if len(coefficients) > 4:
        pairs = zip(coefficients[::2], coefficients[1::2], strict=False)
        joined: list[Operand] = [fma(x, b, a) for a, b in pairs]
        return polynomial(x * x, joined + list(coefficients[2 * len(joined) :]))
    result = _term(coefficients[-1], x.dtype)
    for c in reversed(coefficients[:-1]):
        result = fma(result, x, c)
    return result


def polynomial_apart(x: Term, coefficients: Sequence[Operand]) -> Term:
    """The same with c[0] added last, alone: more accurate where c[0] is most of the result."""
    return fma(x, polynomial(x, coefficients[1:]), coefficients[0])


def below(x: Term, bound: Operand) -> Term:
    """min(x, bound) that keeps a NaN in x; one instruction on x86."""
    return select(_term(bound, x.dtype) < x, bound, x)


def above(x: Term, bound: Operand) -> Term:
    """max(x, bound) that keeps a NaN in x."""
    return select(_term(bound, x.dtype) > x, bound, x)


def sqrt(x: Term) -> Term:
    """Correctly rounded square root."""
    return apply("sqrt", x)


def nearest(x: Term) -> Term:
    """The nearest whole number, ties to even."""
    return apply("round", x)


def copysign(x: Term, sign: Term) -> Term:
    """|x| with the sign bit of `sign`."""
    return apply("copysign", x, sign)


def isnan(x: Term) -> Term:
    """Whether x is NaN."""
    return x.ne(x)


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format and the integers of its width.

    `fraction`: stored fraction bits. `magic`: 1.5 * 2^fraction; added to a small number it rounds
    it to a whole one, which then stands in the low bits.
    """

    real: np.dtype
    signed: np.dtype
    unsigned: np.dtype
    fraction: int
    bias: int

    @property
    def magic(self) -> float:
        """1.5 * 2^fraction."""
        return 1.5 * 2.0**self.fraction

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.fraction

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (8 * self.signed.itemsize - 1)

    @property
    def smallest(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)

    def power_of_two(self, biased: Term) -> Term:
        """2^(biased - bias) for an integer term in 1 .. 2 bias; bits above the field fall out."""
        return (biased << self.fraction).bits(self.real)

    def whole(self, integer: Term) -> Term:
        """A small integer as a float; x86 before AVX-512 converts no vectors of 64-bit integers."""
        if self.signed.itemsize == 4:
            return integer.cast(self.real)
        return (integer + lit(self.magic, self.real).bits(self.signed)).bits(self.real) - self.magic


SINGLE = Format(dtypes.FLOAT32, dtypes.INT32, dtypes.UINT32, 23, 127)
DOUBLE = Format(dtypes.FLOAT64, dtypes.INT64, dtypes.UINT64, 52, 1023)


def format_of(x: Term) -> Format:
    """The format of a float32 or float64 term."""
    return SINGLE if x.dtype == dtypes.FLOAT32 else DOUBLE


def by_format(x: Term, single: float, double: float) -> float:
    """A constant that differs between float32 and float64."""
    return single if x.dtype == dtypes.FLOAT32 else double
