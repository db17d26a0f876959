"""Worst errors of the float32 functions: unary ones on every input, pow and atan2 on samples.

    PYTHONPATH=.typing python tests/math/exhaustive.py [--every N] [NAME ...]

Prints for each function the worst error in units in the last place of the float32 result, measured
against float64, and the input. A minute or two a function on one core; `--every 61` takes one
input of 61 instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from conftest import compile_operation
from scipy import special

FLOAT32 = np.dtype(np.float32)
CHUNK = 1 << 16
ALL_BITS = 1 << 32
SAMPLES = 10**9

UNARY: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": special.erf, "sigmoid": special.expit, "cbrt": np.cbrt, "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
}  # fmt: skip
BINARY: dict[str, Callable[..., np.ndarray]] = {"pow": np.power, "atan2": np.arctan2}


def every_input(step: int) -> Iterator[tuple[np.ndarray, ...]]:
    """All float32 bit patterns, or one of `step`, in chunks."""
    count = np.arange(CHUNK, dtype=np.uint64) * np.uint64(step)
    for start in range(0, ALL_BITS, CHUNK * step):
        yield ((count + np.uint64(start)).astype(np.uint32).view(np.float32),)


def pairs(name: str, samples: int) -> Iterator[tuple[np.ndarray, ...]]:
    """A grid of special values, then random pairs: half any bits, half where results vary."""
    edge = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 5, 2**23 + 1, 2**24, 2**25, np.inf, np.nan], "f4")
    tiny = np.array([2**-149, 2**-126, 3.4028235e38, 1 - 2**-24, 1 + 2**-23, 1 / 3], "f4")
    edge = np.concatenate([edge, tiny])
    edge = np.concatenate([edge, -edge])
    x, y = np.meshgrid(edge, edge)
    yield x.ravel(), y.ravel()
    draw = np.random.default_rng(0)
    for turn in range(samples // CHUNK):
        if turn % 2:
            bits = draw.integers(0, ALL_BITS, (2, CHUNK), np.uint32).view(np.float32)
            yield bits[0], bits[1]
        elif name == "pow":
            x = np.exp2(draw.uniform(-30, 30, CHUNK)).astype(FLOAT32)
            with np.errstate(all="ignore"):
                y = (draw.uniform(-152, 130, CHUNK) / np.log2(x)).astype(FLOAT32)
            yield x, y
        else:
            x, y = draw.normal(size=(2, CHUNK)).astype(FLOAT32)
            yield x, y


def distance(got: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Steps between float32 numbers; NaN is no step from NaN, and -0 is far from 0."""
    steps = np.abs(got.view(np.int32).astype(np.int64) - reference.view(np.int32))
    return np.where(np.isnan(got) & np.isnan(reference), 0, steps)


def error(got: float, exact: float) -> float:
    """|got - exact| in units in the last place of the float32 nearest to exact."""
    if got == exact or not np.isfinite(exact):
        return 0.0
    unit = float(np.spacing(np.float32(min(abs(exact), 3.4028235e38))))
    return abs(got - exact) / unit


def worst(
    name: str, reference: Callable[..., np.ndarray], inputs: Iterator[tuple[np.ndarray, ...]]
) -> tuple[float, int, tuple[float, ...]]:
    """(worst error, worst distance in steps, its input)."""
    arity = 1 if name in UNARY else 2
    run = compile_operation(name, (FLOAT32,) * arity, FLOAT32, CHUNK)
    most, found, where = 0, 0.0, (0.0, 0.0)[:arity]
    for chunk in inputs:
        got = run(*chunk)
        with np.errstate(all="ignore"):
            exact = reference(*(x.astype(np.float64) for x in chunk))
            rounded = exact.astype(FLOAT32)
            same = got.view(np.int32) == rounded.view(np.int32)
            if same.all():
                continue
            steps = distance(got, rounded)
        top = int(steps.max())
        if top < most:
            continue
        for k in np.flatnonzero(steps >= max(top, 1)):
            here = error(float(got[k]), float(exact[k]))
            if top > most or here > found:
                most, found, where = top, here, tuple(float(x[k]) for x in chunk)
    return found, most, where


def main() -> None:
    """Check the named functions, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for name in options.names or [*UNARY, *BINARY]:
        if name in UNARY:
            found, steps, where = worst(name, UNARY[name], every_input(options.every))
        else:
            inputs = pairs(name, SAMPLES // options.every)
            found, steps, where = worst(name, BINARY[name], inputs)
        at = ", ".join(x.hex() for x in where)
        print(f"{name:10} {found:6.3f} ulp, {steps} steps, at {at}", flush=True)


if __name__ == "__main__":
    main()
