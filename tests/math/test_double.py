"""float64 functions against references with more bits: long double, and mpmath for angles."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

Native = Callable[..., Callable[..., np.ndarray]]

DOUBLE = np.dtype(np.float64)
LONG = np.longdouble
COUNT = 20000

needs_long_double = pytest.mark.skipif(
    np.finfo(LONG).nmant < 63, reason="long double is no wider than float64 here"
)


def between(low: float, high: float) -> np.ndarray:
    return np.random.default_rng(0).uniform(low, high, COUNT)


def magnitudes(low: float, high: float) -> np.ndarray:
    """Of both signs, with exponents between low and high."""
    draw = np.random.default_rng(1)
    return np.exp2(draw.uniform(low, high, COUNT)) * draw.choice([-1, 1], COUNT)


def long_sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


CASES: dict[str, tuple[Callable[..., np.ndarray], list[np.ndarray]]] = {
    "exp": (np.exp, [between(-745, 709.7), between(-1, 1)]),
    "exp2": (np.exp2, [between(-1074, 1023), between(-1, 1)]),
    "expm1": (np.expm1, [between(-40, 709), between(-1, 1), magnitudes(-60, 0)]),
    "log": (np.log, [abs(magnitudes(-1074, 1023)), between(0.5, 2)]),
    "log2": (np.log2, [abs(magnitudes(-1074, 1023)), between(0.5, 2)]),
    "log10": (np.log10, [abs(magnitudes(-1074, 1023)), between(0.5, 2)]),
    "log1p": (np.log1p, [between(-0.999, 3), magnitudes(-60, -1), abs(magnitudes(0, 1023))]),
    "sin": (np.sin, [between(-4, 4), between(-1e5, 1e5), magnitudes(-60, 10)]),
    "cos": (np.cos, [between(-4, 4), between(-1e5, 1e5)]),
    "tan": (np.tan, [between(-4, 4), between(-1e5, 1e5), magnitudes(-60, 10)]),
    "asin": (np.arcsin, [between(-1, 1), magnitudes(-60, 0)]),
    "acos": (np.arccos, [between(-1, 1), 1 - abs(magnitudes(-53, 0))]),
    "atan": (np.arctan, [between(-4, 4), magnitudes(-60, 60)]),
    "sinh": (np.sinh, [between(-3, 3), between(-710, 710), magnitudes(-60, 3)]),
    "cosh": (np.cosh, [between(-3, 3), between(-710, 710)]),
    "tanh": (np.tanh, [between(-3, 3), magnitudes(-60, 5)]),
    "asinh": (np.arcsinh, [between(-3, 3), magnitudes(-60, 1000)]),
    "acosh": (np.arccosh, [between(1, 4), abs(magnitudes(1, 1000))]),
    "atanh": (np.arctanh, [between(-1, 1), magnitudes(-60, -1)]),
    "sigmoid": (long_sigmoid, [between(-744, 744), between(-5, 5)]),
    "cbrt": (np.cbrt, [magnitudes(-1074, 1023), between(0.1, 10)]),
}


def errors(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """In units in the last place of float64."""
    return np.abs(got.astype(LONG) - exact) / np.spacing(np.abs(exact).astype(DOUBLE)).astype(LONG)


@needs_long_double
@pytest.mark.parametrize("name", CASES)
def test_error_is_at_most_two_units(native: Native, name: str) -> None:
    reference, ranges = CASES[name]
    run = native(name, (DOUBLE,), DOUBLE)
    for x in ranges:
        error = errors(run(x), reference(x.astype(LONG)))
        at = int(error.argmax())
        assert error[at] <= 2, (x[at], float(error[at]))


@needs_long_double
def test_powers_are_within_two_units_over_the_whole_range(native: Native) -> None:
    run = native("pow", (DOUBLE, DOUBLE), DOUBLE)
    for x in (abs(magnitudes(-1000, 1000)), abs(magnitudes(-1, 1)), 1 + between(-1e-5, 1e-5)):
        y = np.random.default_rng(2).uniform(-1074, 1023, COUNT) / np.log2(x)
        error = errors(run(x, y), np.power(x.astype(LONG), y.astype(LONG)))
        at = int(error.argmax())
        assert error[at] <= 2, (x[at], y[at], float(error[at]))


@needs_long_double
def test_directions_are_within_two_units(native: Native) -> None:
    x, y = np.random.default_rng(3).normal(size=(2, COUNT))
    got = native("atan2", (DOUBLE, DOUBLE), DOUBLE)(y, x)
    assert errors(got, np.arctan2(y.astype(LONG), x.astype(LONG))).max() <= 2


def test_erf_is_within_two_units(native: Native) -> None:
    x = np.concatenate([between(-6, 6)[:1000], magnitudes(-60, 0)[:1000]])
    got = native("erf", (DOUBLE,), DOUBLE)(x)
    with mpmath.workprec(100):
        for value, result in zip(x, got, strict=True):
            assert units_off(result, mpmath.erf(mpmath.mpf(float(value)))) <= 2, value


def units_off(got: float, exact: mpmath.mpf) -> float:
    return float(abs(mpmath.mpf(float(got)) - exact) / float(np.spacing(abs(float(exact)))))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_of_every_size_are_reduced_exactly(native: Native, name: str) -> None:
    # Among them the float64 nearest to a multiple of a quarter turn, and pi/2, pi, ... rounded.
    nearest = [6381956970095103.0 * 2.0**797, np.finfo(DOUBLE).max, 2.0**-27]
    x = np.concatenate([np.pi / 2 * np.arange(1, 100), magnitudes(-30, 1023.9)[:500], nearest])
    got = native(name, (DOUBLE,), DOUBLE)(x)
    with mpmath.workprec(1400):
        for value, result in zip(x, got, strict=True):
            exact = getattr(mpmath, name)(mpmath.mpf(float(value)))
            assert units_off(result, exact) <= 2, value
