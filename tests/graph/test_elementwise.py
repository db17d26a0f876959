"""Elementwise meanings: NumPy where NumPy defines them, exact arithmetic where it does not."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import fill

from loopwright.ir import dtypes as dt
from loopwright.ir.expr.elementwise import CORE, apply
from loopwright.ir.graph import ops
from loopwright.ir.graph.nodes import ArrayType
from loopwright.ir.graph.types import accepts, result_types

BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


@pytest.mark.parametrize("dtype", dt.ALL, ids=str)
def test_every_accepted_operation_has_a_meaning_and_warns_of_nothing(dtype):
    rng = np.random.default_rng(0)
    x, y = fill(rng, ArrayType((40,), dtype)), fill(rng, ArrayType((40,), dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ops.UNARY + ops.BINARY:
            if not accepts(name, dtype):
                continue
            operands = (x,) if name in ops.UNARY else (x, y)
            types = tuple(ArrayType(v.shape, v.dtype) for v in operands)
            (result,) = result_types(ops.Elementwise(name), types)
            found = apply(name, operands, result.dtype)
            assert (found.shape, found.dtype) == (result.shape, result.dtype), name
            for empty in (x[:0], x[3]):
                operands = (empty,) * len(operands)
                assert apply(name, operands, result.dtype).shape == np.shape(empty), name
        for target in dt.ALL:
            assert apply("cast", (x,), target).dtype == target
        if dtype != dt.BOOL and dt.is_integer(dtype):
            for name in CORE:
                apply(name, (x, np.abs(y) % 8 if name in ("shl", "shr") else y), dtype)


@pytest.mark.parametrize("dtype", dt.INTEGERS, ids=str)
def test_integers_wrap_and_never_fail(dtype):
    info = np.iinfo(dtype)

    def do(name, x, y):
        return int(apply(name, (np.asarray(x, dtype), np.asarray(y, dtype)), dtype))

    assert do("add", info.max, 1) == info.min
    assert do("mul", info.max, 2) == int(np.array(2 * info.max % 2**info.bits, np.uint64)
                                         .astype(dtype))  # fmt: skip
    for name in ("floor_div", "mod", "fmod", "quotient", "remainder"):
        assert do(name, 7, 0) == 0
    assert do("shift_left", 1, info.bits) == 0
    assert do("shift_right", info.max, info.bits) == 0
    assert do("pow", 3, 3) == 27
    assert do("pow", 2, info.bits) == 0
    if dt.is_signed(dtype):
        assert do("floor_div", info.min, -1) == info.min
        assert do("mod", info.min, -1) == do("fmod", info.min, -1) == 0
        assert do("quotient", info.min, -1) == info.min
        assert [do("floor_div", -7, 2), do("quotient", -7, 2)] == [-4, -3]
        assert [do("mod", -7, 2), do("fmod", -7, 2), do("remainder", -7, 2)] == [1, -1, -1]
        assert do("shift_right", -5, info.bits) == -1
        assert do("shift_right", -5, -1) == -1
        assert do("shift_left", 5, -1) == 0
        assert [do("pow", b, -3) for b in (2, 1, -1, 0)] == [0, 1, -1, 0]


@pytest.mark.parametrize("source", dt.FLOATS, ids=str)
@pytest.mark.parametrize("target", dt.INTEGERS, ids=str)
def test_float_to_integer_saturates(source, target):
    info = np.iinfo(target)
    with np.errstate(all="ignore"):
        x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 2.75, -0.75, 0.0]).astype(source)
    expected = [0, info.max, info.min]
    expected += [info.max if v > info.max else max(info.min, int(v)) if np.isfinite(v)
                 else info.max if v > 0 else info.min for v in x[3:].astype(float)]  # fmt: skip
    assert apply("cast", (x,), target).tolist() == expected


def nearest(exact: Fraction, dtype: np.dtype) -> np.ndarray:
    """The value of `dtype` next to an exact number, ties to even, by looking at neighbours."""
    guess = np.asarray(float(exact), np.float64)
    with np.errstate(all="ignore"):
        start = guess.astype(np.float32).astype(dtype)
        around = [start, *(np.nextafter(start, np.asarray(v, dtype)) for v in (-np.inf, np.inf))]
    finite = [v for v in around if np.isfinite(v)]

    def rank(v: np.ndarray) -> tuple[Fraction, int]:
        odd = int(np.asarray(v).view(BITS[dtype.itemsize])) & 1
        return abs(Fraction(float(v)) - exact), odd

    return min(finite, key=rank)


HALVES = st.sampled_from([dt.FLOAT16, dt.BFLOAT16])
MODEST = st.floats(-3e4, 3e4, allow_nan=False)


@settings(max_examples=300, deadline=None)
@given(dtype=HALVES, x=MODEST, shift=st.integers(-30, 0))
def test_narrowing_rounds_once(dtype, x, shift):
    value = np.float64(math.ldexp(x, shift))
    assert apply("cast", (value,), dtype) == nearest(Fraction(float(value)), dtype)


@settings(max_examples=300, deadline=None)
@given(head=st.integers(-(2**9), 2**9), shift=st.integers(0, 53), tail=st.integers(-1, 1))
def test_integers_to_bfloat16_round_once(head, shift, tail):
    whole = np.int64(head * 2**shift + tail)
    expected = nearest(Fraction(int(whole)), dt.BFLOAT16)
    assert apply("cast", (whole,), dt.BFLOAT16) == expected


@settings(max_examples=300, deadline=None)
@given(
    dtype=HALVES,
    name=st.sampled_from(["add", "sub", "mul", "div"]),
    pair=st.tuples(st.integers(0, 2**16 - 1), st.integers(0, 2**16 - 1)),
)
def test_half_arithmetic_is_correctly_rounded(dtype, name, pair):
    x, y = (np.asarray(v, np.uint16).view(dtype) for v in pair)
    if not (np.isfinite(x) and np.isfinite(y)) or (name == "div" and y == 0):
        return
    a, b = Fraction(float(x)), Fraction(float(y))
    exact = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b if b else a}[name]
    found = apply(name, (x, y), dtype)
    if np.isfinite(found):
        assert found == nearest(exact, dtype)


@settings(max_examples=300, deadline=None)
@given(
    dtype=st.sampled_from(dt.FLOATS),
    x=st.floats(-8, 8), y=st.floats(-8, 8), scale=st.integers(-60, 2), ulps=st.integers(-3, 3),
)  # fmt: skip
def test_fma_rounds_once(dtype, x, y, scale, ulps):
    a, b = (np.asarray(v, np.float64).astype(dtype) for v in (x, y))
    product = float(a) * float(b)
    c = np.asarray(-product * (1 + ulps * 2.0**scale), np.float64).astype(dtype)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    found = apply("fma", (a, b, c), dtype)
    expected = float(exact) if dtype == dt.FLOAT64 else nearest(exact, dtype)
    assert found == expected


def test_fma_at_the_ends_of_the_range():
    cases = [
        (1e300, 1e300, -np.inf, -np.inf), (1e200, 1e200, 1.0, np.inf), (np.inf, 0, 1, np.nan),
        (5e-324, 0.5, 5e-324, 1e-323), (1e-200, 1e-200, 0.0, 0.0), (-1e-200, 1e-200, 0.0, -0.0),
        (2.0**600, 2.0**500, -(2.0**1023), np.inf), (1.0, -0.0, -0.0, -0.0),
    ]  # fmt: skip
    a, b, c, expected = np.array(cases).T
    found = apply("fma", (a, b, c), dt.FLOAT64)
    np.testing.assert_array_equal(found, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


def test_special_values():
    def do(name, *x):
        return float(apply(name, tuple(np.float32(v) for v in x), dt.FLOAT32))

    assert math.isnan(do("maximum", 1, np.nan)) and math.isnan(do("minimum", np.nan, 1))
    assert do("fmax", 1, np.nan) == do("fmin", np.nan, 1) == 1
    assert [do("round", v) for v in (0.5, 1.5, -2.5)] == [0, 2, -2]
    assert do("pow", -0.0, 0.5) == 0 and not np.signbit(do("pow", -0.0, 0.5))
    assert do("pow", -np.inf, 0.5) == np.inf
    assert do("pow", np.nan, 0) == 1
    assert do("mod", -1, np.inf) == np.inf
    assert do("sigmoid", -100) == pytest.approx(math.exp(-100), rel=1e-6)
    assert do("sigmoid", 1000) == 1 and do("sigmoid", -np.inf) == 0
    assert do("erf", np.inf) == 1 and math.isnan(do("erf", np.nan))
    assert math.isnan(do("sign", np.nan))
    assert do("copysign", 1, -0.0) == -1
