"""Integer and bool operations in native code: defined for all operands, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loopwright.ir import dtypes
from loopwright.ir.expr.elementwise import TESTS, apply
from loopwright.ir.expr.nodes import Op
from loopwright.ir.expr.values import const

Native = Callable[..., Callable[..., np.ndarray]]

UNARY = (
    "neg", "abs", "sign", "square", "reciprocal", "not", "floor", "ceil", "trunc", "round", *TESTS
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "floor_div", "mod", "fmod", "pow", "and", "or", "xor", "shift_left",
    "shift_right", "maximum", "minimum", "fmax", "fmin", "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
ON_BOOL = ("and", "or", "xor", "maximum", "minimum", "fmax", "fmin", *COMPARISONS)


def numbers(dtype: np.dtype, seed: int) -> np.ndarray:
    """The limits, small numbers, counts around the width, and any bits."""
    info = np.iinfo(dtype)
    edge = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100]
    edge += [info.max, info.max - 1, info.max // 2, info.min, info.min + 1]
    edge += [-v for v in edge if info.min < 0]
    draw = np.random.default_rng(seed)
    bits = draw.integers(0, 256, 4000 * dtype.itemsize, np.uint8).view(dtype)
    small = draw.integers(-9 if info.min else 0, 10, 4000).astype(dtype)
    return np.concatenate(
        [np.array([v for v in edge if info.min <= v <= info.max], dtype), bits, small]
    )


def every_pair(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(numbers(dtype, 0)[:46], numbers(dtype, 0)[:46])
    return (
        np.concatenate([x.ravel(), numbers(dtype, 1)]),
        np.concatenate([y.ravel(), np.random.default_rng(2).permutation(numbers(dtype, 3))]),
    )


def result_type(name: str, dtype: np.dtype) -> np.dtype:
    return dtypes.BOOL if name in (*COMPARISONS, *TESTS) else dtype


@pytest.mark.parametrize("dtype", dtypes.INTEGERS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary(native: Native, name: str, dtype: np.dtype) -> None:
    x, result = numbers(dtype, 0), result_type(name, dtype)
    np.testing.assert_array_equal(native(name, (dtype,), result)(x), apply(name, (x,), result))


@pytest.mark.parametrize("dtype", dtypes.INTEGERS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary(native: Native, name: str, dtype: np.dtype) -> None:
    (x, y), result = every_pair(dtype), result_type(name, dtype)
    np.testing.assert_array_equal(
        native(name, (dtype, dtype), result)(x, y), apply(name, (x, y), result)
    )


@pytest.mark.parametrize("dtype", [dtypes.INT8, dtypes.UINT8], ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_bytes_on_every_pair(native: Native, name: str, dtype: np.dtype) -> None:
    everything = np.arange(256, dtype=np.uint8).view(dtype)
    x, y = (v.ravel() for v in np.meshgrid(everything, everything))
    result = result_type(name, dtype)
    np.testing.assert_array_equal(
        native(name, (dtype, dtype), result)(x, y), apply(name, (x, y), result)
    )


@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 2, 3, 5, 10, 31])
@pytest.mark.parametrize("dtype", [dtypes.INT32, dtypes.INT64], ids=str)
def test_powers_to_a_literal(native_formula: Native, exponent: int, dtype: np.dtype) -> None:
    x = numbers(dtype, 0)
    run = native_formula(lambda v: Op("pow", (v, const(exponent, dtype)), dtype), (dtype,), dtype)
    want = apply("pow", (x, np.full_like(x, exponent)), dtype)
    np.testing.assert_array_equal(run(x), want)


@pytest.mark.parametrize("divisor", [-7, -1, 0, 1, 2, 10])
@pytest.mark.parametrize("name", ["floor_div", "mod", "fmod"])
def test_division_by_a_literal(native_formula: Native, name: str, divisor: int) -> None:
    dtype = dtypes.INT32
    x = numbers(dtype, 0)
    run = native_formula(lambda v: Op(name, (v, const(divisor, dtype)), dtype), (dtype,), dtype)
    np.testing.assert_array_equal(run(x), apply(name, (x, np.full_like(x, divisor)), dtype))


@pytest.mark.parametrize("name", ["not", "abs", "floor", *TESTS])
def test_unary_on_bool(native: Native, name: str) -> None:
    x = np.array([False, True])
    got = native(name, (dtypes.BOOL,), dtypes.BOOL)(x)
    np.testing.assert_array_equal(got, apply(name, (x,), dtypes.BOOL))


@pytest.mark.parametrize("name", ON_BOOL)
def test_binary_on_bool(native: Native, name: str) -> None:
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    got = native(name, (dtypes.BOOL, dtypes.BOOL), dtypes.BOOL)(x, y)
    np.testing.assert_array_equal(got, apply(name, (x, y), dtypes.BOOL))
