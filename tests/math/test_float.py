"""float32 and float64 functions in native code against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loopwright.ir.expr.elementwise import TESTS, apply
from loopwright.ir.expr.nodes import Op
from loopwright.ir.expr.values import const

Native = Callable[..., Callable[..., np.ndarray]]

SINGLE, DOUBLE, BOOL = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.bool_)
SERIES = (
    "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid",
)  # fmt: skip
EXACT = (
    "neg",
    "abs",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "round",
    "sqrt",
    "square",
    "reciprocal",
    *TESTS,
)
EXACT_PAIRS = ("add", "sub", "mul", "div", "floor_div", "mod", "fmod", "copysign", "nextafter")
ORDERS = ("maximum", "minimum", "fmax", "fmin", "eq", "ne", "lt", "le", "gt", "ge")


def special_values(dtype: np.dtype) -> np.ndarray:
    """Zeros, infinities, NaN, limits of the format, small whole numbers and neighbours of 1."""
    info = np.finfo(dtype)
    limits = [info.max, info.tiny, info.smallest_subnormal, 1 + info.eps, 1 - info.epsneg]
    ordinary = [0, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 88.5, 100, 710, 1e-3, 1e-6, 1e4]
    large = [2.0**24 + 2, 2.0**31, np.pi, np.pi / 2, np.inf, np.nan]
    half = np.array([*ordinary, *large, *limits], dtype)
    return np.concatenate([half, -half])


def random_bits(dtype: np.dtype, count: int, seed: int = 0) -> np.ndarray:
    """Numbers of every magnitude, subnormal ones and NaN (quiet: C libraries differ) among them."""
    draw = np.random.default_rng(seed)
    with np.errstate(invalid="ignore"):
        return draw.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype) * dtype.type(1)


def unary_inputs(dtype: np.dtype) -> np.ndarray:
    draw = np.random.default_rng(1)
    around_one = draw.normal(size=30000).astype(dtype)
    return np.concatenate([special_values(dtype), random_bits(dtype, 30000), around_one])


def pair_inputs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(special_values(dtype), special_values(dtype))
    wide = random_bits(dtype, 20000, 2), random_bits(dtype, 20000, 3)
    near = np.random.default_rng(4).normal(size=(2, 20000)).astype(dtype) * 3
    return np.concatenate([x.ravel(), wide[0], near[0]]), np.concatenate(
        [y.ravel(), wide[1], near[1]]
    )


def assert_same(got: np.ndarray, want: np.ndarray, *inputs: np.ndarray) -> None:
    """Equal bits, but for NaN."""
    with np.errstate(all="ignore"):
        alike = (got == want) & (np.signbit(got) == np.signbit(want))
        alike |= np.isnan(got) & np.isnan(want)
    at = np.flatnonzero(~alike)[:5]
    assert not at.size, [(*(x[k] for x in inputs), got[k], want[k]) for k in at]


def assert_close(got: np.ndarray, exact: np.ndarray, ulp: float, *inputs: np.ndarray) -> None:
    """Within `ulp` units of the exact results, and the same special values and signs of zero."""
    with np.errstate(all="ignore"):
        want = exact.astype(got.dtype)
        finite = np.isfinite(got) & np.isfinite(want) & ((got != 0) | (want != 0))
        error = np.abs(got.astype(exact.dtype) - exact) / np.spacing(np.abs(want))
        good = np.where(finite, error <= ulp, (got == want) & (np.signbit(got) == np.signbit(want)))
        good |= np.isnan(got) & np.isnan(want)
    at = np.flatnonzero(~good)[:5]
    assert not at.size, [(*(x[k] for x in inputs), got[k], want[k], error[k]) for k in at]


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_exact_unary_operations_have_numpys_bits(
    native: Native, name: str, dtype: np.dtype
) -> None:
    result = BOOL if name in TESTS else dtype
    x = unary_inputs(dtype)
    assert_same(native(name, (dtype,), result)(x), apply(name, (x,), result), x)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", EXACT_PAIRS)
def test_exact_pair_operations_have_numpys_bits(native: Native, name: str, dtype: np.dtype) -> None:
    x, y = pair_inputs(dtype)
    assert_same(native(name, (dtype, dtype), dtype)(x, y), apply(name, (x, y), dtype), x, y)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", ORDERS)
def test_orders_follow_numpy_but_for_the_sign_of_equal_zeros(
    native: Native, name: str, dtype: np.dtype
) -> None:
    result = dtype if name in ORDERS[:4] else BOOL
    x, y = pair_inputs(dtype)
    got, want = native(name, (dtype, dtype), result)(x, y), apply(name, (x, y), result)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", SERIES)
def test_series_are_near_numpys_float64_results(native: Native, name: str, dtype: np.dtype) -> None:
    x = unary_inputs(dtype)
    exact = apply(name, (x.astype(DOUBLE),), DOUBLE)
    # NumPy's own float64 results are off by up to a unit or two.
    assert_close(native(name, (dtype,), dtype)(x), exact, 2.0 if dtype == SINGLE else 4.0, x)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_pairs_are_near_numpys_float64_results(native: Native, name: str, dtype: np.dtype) -> None:
    x, y = pair_inputs(dtype)
    exact = apply(name, (x.astype(DOUBLE), y.astype(DOUBLE)), DOUBLE)
    assert_close(native(name, (dtype, dtype), dtype)(x, y), exact, 2.0, x, y)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", ["fmod", "mod", "floor_div"])
def test_remainders_are_exact_for_quotients_of_every_size(
    native: Native, name: str, dtype: np.dtype
) -> None:
    draw = np.random.default_rng(5)
    y = random_bits(dtype, 50000, 6)
    with np.errstate(all="ignore"):
        ratio = np.exp2(draw.uniform(-5, 300, y.size)) * draw.choice([-1, 1], y.size)
        x = (y * ratio).astype(dtype)
        whole = (y * np.round(draw.uniform(0, 1000, y.size))).astype(dtype)
    x, y = np.concatenate([x, whole]), np.concatenate([y, y])
    assert_same(native(name, (dtype, dtype), dtype)(x, y), apply(name, (x, y), dtype), x, y)


def test_exp2_and_log2_are_exact_at_powers_of_two(native: Native) -> None:
    exponents = np.arange(-149, 128).astype(SINGLE)
    powers = np.ldexp(np.float32(1), exponents.astype(int))
    assert_same(native("exp2", (SINGLE,), SINGLE)(exponents), powers, exponents)
    assert_same(native("log2", (SINGLE,), SINGLE)(powers), exponents, powers)
    exponents = np.arange(-1074, 1024).astype(DOUBLE)
    powers = np.ldexp(1.0, exponents.astype(int))
    assert_same(native("exp2", (DOUBLE,), DOUBLE)(exponents), powers, exponents)
    assert_same(native("log2", (DOUBLE,), DOUBLE)(powers), exponents, powers)


@pytest.mark.parametrize("name", ["tanh", "erf", "sigmoid", "sin", "cos"])
def test_bounded_functions_never_leave_their_bounds(native: Native, name: str) -> None:
    x = np.concatenate([random_bits(SINGLE, 200000, 7), np.linspace(-20, 20, 200001, dtype="f4")])
    got = native(name, (SINGLE,), SINGLE)(x[np.isfinite(x)])
    assert np.abs(got).max() <= 1


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", ["fmod", "mod", "floor_div"])
def test_division_by_a_literal_one_has_numpys_bits(
    native_formula: Native, name: str, dtype: np.dtype
) -> None:
    x, one = unary_inputs(dtype), const(1, dtype)
    run = native_formula(lambda v: Op(name, (v, one), dtype), (dtype,), dtype)
    assert_same(run(x), apply(name, (x, np.ones_like(x)), dtype), x)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("exponent", [-1, 0, 0.5, 1, 2, 3, 4])
def test_powers_to_a_literal_are_near_numpys(
    native_formula: Native, exponent: float, dtype: np.dtype
) -> None:
    x, literal = unary_inputs(dtype), const(exponent, dtype)
    run = native_formula(lambda v: Op("pow", (v, literal), dtype), (dtype,), dtype)
    exact = apply("pow", (x.astype(DOUBLE), np.full(x.shape, exponent)), DOUBLE)
    assert_close(run(x), exact, 2.0, x)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
def test_powers_of_a_literal_two_are_near_numpys(native_formula: Native, dtype: np.dtype) -> None:
    x, two = unary_inputs(dtype), const(2, dtype)
    run = native_formula(lambda v: Op("pow", (two, v), dtype), (dtype,), dtype)
    assert_close(run(x), apply("exp2", (x.astype(DOUBLE),), DOUBLE), 2.0, x)
