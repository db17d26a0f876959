"""Worst errors of the float32 functions: unary ones on every input, pow and atan2 on samples.

    PYTHONPATH=.typing python tests/math/exhaustive.py [--every N] [--numpy] [NAME ...]

Prints for each function the worst error, in units in the last place of a float32 at the exact
result, and the input. The reference is the float64 formula of the same function (its own errors,
at most two units of float64, are in test_double.py), compiled into one kernel with the function and
the comparison: half a minute a function. `--numpy` refers to NumPy's and SciPy's float64 functions
instead and takes minutes; `--every 61` takes one input of 61.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from conftest import compile_formula, compile_operation
from scipy import special

from loopwright.ir.expr.nodes import Op, Value
from loopwright.ir.lowering.math_term import DOUBLE, Term, lit, select

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
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
    "reciprocal": np.reciprocal, "square": np.square,
}  # fmt: skip
BINARY: dict[str, Callable[..., np.ndarray]] = {"pow": np.power, "atan2": np.arctan2}

Errors = Callable[..., np.ndarray]


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
            x, y = draw.standard_normal((2, CHUNK), FLOAT32)
            yield x, y


def compiled_errors(name: str) -> Errors:
    """From inputs to errors, in one kernel; infinite where a special value is wrong."""

    def formula(*inputs: Value) -> Value:
        got = Term(Op(name, inputs, FLOAT32))
        wide = tuple(Term(x).cast(FLOAT64).value for x in inputs)
        exact = Term(Op(name, wide, FLOAT64))
        want = exact.cast(FLOAT32)
        exponent = (exact.bits(DOUBLE.unsigned) >> 52).bits(DOUBLE.signed) & 0x7FF
        unit = DOUBLE.power_of_two(select(exponent < 1023 - 126, 1023 - 126, exponent) - 23)
        error = (abs(got.cast(FLOAT64) - exact) / unit).cast(FLOAT32)
        same = got.bits(np.dtype(np.int32)).eq(want.bits(np.dtype(np.int32)))
        ordinary = (abs(got) < np.inf) & (abs(want) < np.inf) & (got.ne(0.0) | want.ne(0.0))
        both = got.ne(got) & want.ne(want)
        return select(ordinary, error, select(same | both, 0.0, lit(np.inf, FLOAT32))).value

    arity = 1 if name in UNARY else 2
    return compile_formula(formula, (FLOAT32,) * arity, FLOAT32, CHUNK)


def numpy_errors(name: str) -> Errors:
    """The same against NumPy and SciPy."""
    reference = {**UNARY, **BINARY}[name]
    run = compile_operation(name, (FLOAT32,) * (1 if name in UNARY else 2), FLOAT32, CHUNK)

    def errors(*inputs: np.ndarray) -> np.ndarray:
        got = run(*inputs)
        with np.errstate(all="ignore"):
            exact = reference(*(x.astype(FLOAT64) for x in inputs))
            want = exact.astype(FLOAT32)
            unit = np.spacing(np.minimum(np.abs(want), np.finfo(FLOAT32).max))
            error = np.abs(got - exact) / unit
        ordinary = np.isfinite(got) & np.isfinite(want) & ((got != 0) | (want != 0))
        same = (got.view(np.int32) == want.view(np.int32)) | (np.isnan(got) & np.isnan(want))
        return np.where(ordinary, error, np.where(same, 0.0, np.inf))

    return errors


def worst(
    errors: Errors, inputs: Iterator[tuple[np.ndarray, ...]]
) -> tuple[float, tuple[float, ...]]:
    """(worst error, its input)."""
    found, where = 0.0, ()
    for chunk in inputs:
        error = errors(*chunk)
        at = int(error.argmax())
        if error[at] > found or not where:
            found, where = float(error[at]), tuple(float(x[at]) for x in chunk)
    return found, where


def main() -> None:
    """Check the named functions, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--numpy", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for name in options.names or [*UNARY, *BINARY]:
        errors = numpy_errors(name) if options.numpy else compiled_errors(name)
        unary = name in UNARY
        inputs = every_input(options.every) if unary else pairs(name, SAMPLES // options.every)
        found, where = worst(errors, inputs)
        at = ", ".join(x.hex() for x in where)
        print(f"{name:10} {found:7.4f} ulp at {at}", flush=True)


if __name__ == "__main__":
    main()
