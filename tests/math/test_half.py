"""float16 and bfloat16 functions on all 65,536 inputs."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from loopwright.ir.expr.elementwise import TESTS, apply
from loopwright.ir.graph.ops import UNARY

Native = Callable[..., Callable[..., np.ndarray]]

BOOL = np.dtype(np.bool_)
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
CORRECTLY_ROUNDED = (
    "neg", "abs", "sign", "floor", "ceil", "trunc", "round", "sqrt", "square", "reciprocal", *TESTS
)  # fmt: skip
PAIRS = ("add", "sub", "mul", "div", "floor_div", "mod", "fmod", "copysign", "nextafter")
ORDERS = ("maximum", "minimum", "fmax", "fmin", "eq", "ne", "lt", "le", "gt", "ge")


def order(x: np.ndarray) -> np.ndarray:
    """Consecutive integers for consecutive numbers; all NaN are one, far from all others."""
    bits = x.view(np.uint16).astype(np.int32)
    signed = np.where(bits >> 15, -(bits & 0x7FFF) - 1, bits)
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(x), 1 << 20, signed)


def pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    bits = np.random.default_rng(0).integers(0, 1 << 16, (2, 100000), np.uint16)
    close = np.random.default_rng(1).normal(size=(2, 50000)).astype(dtype)
    return (
        np.concatenate([bits[0].view(dtype), close[0]]),
        np.concatenate([bits[1].view(dtype), close[1]]),
    )


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", [n for n in UNARY if n != "not"])
def test_every_input_rounds_to_the_nearest_or_its_neighbour(
    native: Native, name: str, dtype: np.dtype
) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    result = BOOL if name in TESTS else dtype
    got, want = native(name, (dtype,), result)(x), apply(name, (x,), result)
    if result == BOOL:
        np.testing.assert_array_equal(got, want)
        return
    # float32 errs by two units of its own: a neighbour is right for results near a midpoint only.
    steps = np.abs(order(got) - order(want))
    assert steps.max() <= (0 if name in CORRECTLY_ROUNDED else 1), x[steps.argmax()]
    assert (steps != 0).mean() < 0.001


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_arithmetic_has_one_rounding(native: Native, name: str, dtype: np.dtype) -> None:
    x, y = pairs(dtype)
    got, want = native(name, (dtype, dtype), dtype)(x, y), apply(name, (x, y), dtype)
    np.testing.assert_array_equal(order(got), order(want))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", ORDERS)
def test_orders_follow_numpy(native: Native, name: str, dtype: np.dtype) -> None:
    result = dtype if name in ORDERS[:4] else BOOL
    x, y = pairs(dtype)
    got, want = native(name, (dtype, dtype), result)(x, y), apply(name, (x, y), result)
    differ = (got != want) & ~(np.isnan(got.astype("f4")) & np.isnan(want.astype("f4")))
    assert not differ.any()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_pair_functions_are_off_by_a_step_at_most(
    native: Native, name: str, dtype: np.dtype
) -> None:
    x, y = pairs(dtype)
    # A signalling NaN beside an infinity is the C library's choice.
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(x) & np.isfinite(y)
    x, y = x[usable], y[usable]
    got, want = native(name, (dtype, dtype), dtype)(x, y), apply(name, (x, y), dtype)
    assert np.abs(order(got) - order(want)).max() <= 1
