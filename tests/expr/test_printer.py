"""Indices and values as text."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.ir import dtypes
from loopwright.ir.expr import index as ix
from loopwright.ir.expr.nodes import (
    Buffer,
    Check,
    Dynamic,
    FromIndex,
    Guarded,
    Index,
    Load,
    Op,
    Symbol,
    Value,
)
from loopwright.ir.expr.printer import (
    print_buffer,
    print_index,
    print_together,
    print_value,
)
from loopwright.ir.expr.values import const

F = dtypes.FLOAT32
ROW, J = Symbol("i"), Symbol("j")
A = Buffer("a", (9,), F)
X = Load(A, (ix.of(ROW),))
Y = Load(A, (ix.of(J),))


def op(name: str, *args: Value) -> Value:
    return Op(name, args, F)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (ix.constant(-3), "-3"),
        (ix.ZERO, "0"),
        (ix.add(ix.scale(ix.of(ROW), 4), ix.of(J), -1), "4*i + j - 1"),
        (ix.subtract(ix.constant(7), ix.of(ROW)), "7 - i"),
        (ix.add(ix.scale(ix.of(ROW), -2), -1), "-2*i - 1"),
        (ix.floor_divide(ix.of(ROW), 4), "i//4"),
        (ix.scale(ix.modulo(ix.add(ix.of(ROW), ix.of(J)), 3), 2), "2*((i + j)%3)"),
        (ix.scale(ix.modulo(ix.of(ROW), 3), -1), "-(i%3)"),
        (ix.of(Dynamic(Op("cast", (X,), dtypes.INT64), 0, 8)), "`int64(a[i])`"),
    ],
)
def test_index(index: Index, text: str) -> None:
    assert print_index(index) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (op("mul", op("add", X, Y), X), "(a[i] + a[j]) * a[i]"),
        (op("add", X, op("mul", Y, X)), "a[i] + a[j] * a[i]"),
        (op("sub", X, op("sub", Y, X)), "a[i] - (a[j] - a[i])"),
        (op("sub", op("sub", X, Y), X), "a[i] - a[j] - a[i]"),
        (op("neg", op("neg", X)), "-(-a[i])"),
        (op("mul", X, const(-1.5, F)), "a[i] * -1.5"),
        (op("maximum", X, const(np.nan, F)), "maximum(a[i], nan)"),
        (Op("cast", (X,), dtypes.FLOAT64), "float64(a[i])"),
        (Op("bitcast", (X,), dtypes.INT32), "bits(a[i], int32)"),
        (Op("lt", (X, Y), dtypes.BOOL), "a[i] < a[j]"),
        (FromIndex(ix.of(ROW), dtypes.INT8), "int8(i)"),
        (Guarded((ix.of(ROW), ix.of(J)), X, Y), "a[i] if i >= 0 and j >= 0 else a[j]"),
        (op("neg", Guarded((ix.of(ROW),), X, Y)), "-(a[i] if i >= 0 else a[j])"),
        (Check(const(True, dtypes.BOOL), X, 3), "check(True, a[i], 3)"),
    ],
)
def test_value(value: Value, text: str) -> None:
    assert print_value(value) == text


def test_what_is_shared_is_named_once() -> None:
    total = op("add", X, Y)
    square = op("mul", total, total)
    text = print_together([square, op("exp", total)])
    assert text.lets == [("e0", "a[i] + a[j]")]
    assert text.values == ["e0 * e0", "exp(e0)"]


def test_buffers_show_strides() -> None:
    assert print_buffer(A) == "a: float32[9]"
    assert print_buffer(Buffer("b", (2, 3), F, strides=(1, 2))) == (
        "b: float32[2, 3] strides [1, 2]"
    )
