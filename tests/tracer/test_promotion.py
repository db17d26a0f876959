"""Operators give NumPy 2's types and values for every pair of types, weak numbers included."""

from __future__ import annotations

import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir.errors import DTypeError

TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64",
)  # fmt: skip
ARITHMETIC = (operator.add, operator.mul, operator.sub, operator.truediv)
DIVISION = (operator.floordiv, operator.mod)
COMPARISON = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
BITS = (operator.and_, operator.or_, operator.xor)
VALUES = np.array([0, 1, 2, 3, 5, 100, 127, 250])


def arrays(dtype: str) -> tuple[Any, Any]:
    x = VALUES.astype(dtype)
    return x, x[::-1].copy()


def by_numpy(f: Any, *args: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return f(*args)
    except TypeError:
        return TypeError


def agree(run: Any, f: Any, *args: Any) -> None:
    want = by_numpy(f, *args)
    if want is TypeError:
        with pytest.raises(TypeError):
            run(f, *args)
        return
    got = run(f, *args)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("right", TYPES)
@pytest.mark.parametrize("left", TYPES)
def test_pairs_of_arrays(left: str, right: str, run: Any) -> None:
    a, b = arrays(left)[0], arrays(right)[1]

    def everything(x: Any, y: Any) -> Any:
        made = []
        for f in (*ARITHMETIC, *COMPARISON, *DIVISION, np.maximum, np.hypot):
            if f is operator.sub and left == right == "bool":
                continue
            made.append(f(x, y))
        return made

    with np.errstate(all="ignore"):
        want = everything(a, b)
    for g, w in zip(run(everything, a, b), want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-3 if w.dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("f", [*BITS, operator.lshift, operator.rshift])
@pytest.mark.parametrize("dtype", TYPES)
def test_bits(f: Any, dtype: str, run: Any) -> None:
    a, b = arrays(dtype)
    shifts = f in (operator.lshift, operator.rshift)
    agree(run, f, a, (VALUES % 7).astype(dtype) if shifts else b)


@pytest.mark.parametrize("number", [2, 0.5, True, -3, 1e-3])
@pytest.mark.parametrize("dtype", TYPES)
def test_python_numbers_are_weak(dtype: str, number: Any, run: Any) -> None:
    a = arrays(dtype)[0]
    unsigned = dtype.startswith("u") and number == -3
    for f in (operator.add, operator.mul, operator.lt, operator.eq):
        if unsigned and f in (operator.add, operator.mul):
            with pytest.raises(OverflowError):
                run(lambda x, f=f: f(x, number), a)
            continue
        agree(run, lambda x, f=f: f(x, number), a)
        agree(run, lambda x, f=f: f(number, x), a)
        if not unsigned:  # as an argument its value is not known, and it wraps
            agree(run, f, a, number)


@pytest.mark.parametrize("scalar", [np.float32(0.5), np.float64(0.5), np.int8(3), np.uint64(7)])
@pytest.mark.parametrize("dtype", TYPES)
def test_numpy_scalars_are_strong(dtype: str, scalar: Any, run: Any) -> None:
    a = arrays(dtype)[0]
    agree(run, operator.mul, a, scalar)
    agree(run, lambda x: scalar + x, a)


@pytest.mark.parametrize("limit", [-1, 256, 300, -(2**40), 2**63])
@pytest.mark.parametrize("f", COMPARISON)
def test_comparisons_with_ints_out_of_range(f: Any, limit: int, run: Any) -> None:
    agree(run, lambda x: f(x, limit), VALUES.astype(np.uint8))
    agree(run, lambda x: f(limit, x), VALUES.astype(np.uint8))


@pytest.mark.parametrize("f", COMPARISON)
def test_signed_and_unsigned_64_bits_compare_exactly(f: Any, run: Any) -> None:
    a = np.array([-1, 0, 2**62 + 1, 2**63 - 1], np.int64)
    b = np.array([2**64 - 1, 0, 2**62, 2**63], np.uint64)
    agree(run, f, a, b)
    agree(run, f, b, a)


UNARY = (
    np.sqrt, np.exp, np.sin, np.abs, np.floor, np.ceil, np.square, np.isnan, np.isfinite, np.rint,
    np.log1p, np.negative, np.invert, np.sign, np.signbit, np.positive, np.reciprocal, np.fabs,
    np.trunc, np.cbrt, np.degrees,
)  # fmt: skip


@pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_one_array(f: Any, dtype: str, run: Any) -> None:
    a = arrays(dtype)[0]
    a = a + a.dtype.type(f is np.reciprocal)  # 1 / 0 of integers is not defined
    want = by_numpy(f, a)
    if want is TypeError:
        with pytest.raises(TypeError):
            run(f, a)
        return
    got = run(f, a)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=2e-3 if want.dtype == np.float16 else 1e-6)


@given(
    a=st.integers(-5, 5),
    b=st.one_of(st.integers(1, 5), st.floats(0.5, 5)),
    f=st.sampled_from((*ARITHMETIC, *DIVISION, operator.pow, divmod, *COMPARISON)),
)
@settings(max_examples=60, deadline=None)
def test_numbers_among_themselves_stay_python_like(a: int, b: float, f: Any, run: Any) -> None:
    if f is operator.pow and a <= 0:
        return
    want, got = f(a, b), run(f, a, b)
    np.testing.assert_allclose(got, want)
    x = np.float32(1.5)
    mixed = run(lambda p, q, y: y * (p + q), a, b, x)
    assert mixed.dtype == np.float32


def test_bfloat16(run: Any) -> None:
    x = np.arange(4).astype(ml_dtypes.bfloat16)
    assert run(lambda a: a * 0.5 + 1, x).dtype == x.dtype
    assert run(lambda a, b: a + b, x, np.ones(4, np.float32)).dtype == np.float32
    assert run(lambda a: np.sum(a), x).dtype == x.dtype


def test_in_place_operators_keep_the_type(run: Any) -> None:
    def scale(x: Any) -> None:
        x *= np.float64(0.1)
        x += np.arange(3)

    x, y = np.ones(3, np.float32), np.ones(3, np.float32)
    scale(y)
    run(scale, x)
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__iadd__(0.5),
        lambda x: x.__itruediv__(2),
        lambda x: np.add(x, 0.5, out=x),
    ],
)
def test_in_place_operators_refuse_to_narrow(write: Any, run: Any) -> None:
    with pytest.raises(DTypeError):
        run(write, np.ones(3, int))


def test_in_place_shape_is_fixed(run: Any) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        run(lambda x: x.__iadd__(np.ones((2, 3))), np.ones(3))


def test_scalars_are_rebound_arrays_are_changed(run: Any) -> None:
    def add(a: Any, b: Any, c: Any) -> Any:
        before = a
        a += 1
        b += 1
        c += 1
        return a, before

    zero = np.zeros(())
    got = run(add, np.float32(1), zero, 2)
    assert got == (2, 1) and zero == 1


@pytest.mark.parametrize("exponent", [2, 3, 0.5, -1, 1, 0, 2.5])
def test_constant_powers(exponent: Any, run: Any) -> None:
    x = np.linspace(0.1, 3, 50)
    np.testing.assert_allclose(run(lambda a: a**exponent, x), x**exponent, rtol=1e-15)


def test_negative_power_of_integers(run: Any) -> None:
    with pytest.raises(DTypeError, match="negative"):
        run(lambda x: x**-1, np.arange(3))
