"""Functions are traced unchanged: whatever way their names reach NumPy."""

from __future__ import annotations

import dataclasses
import functools
import math
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy import linspace, zeros
from numpy import sum as total

from loopwright.ir.errors import LeakError, TraceError

X = np.arange(6.0).reshape(2, 3)
TABLE = np.array([10.0, 20.0, 30.0, 40.0])
COUNT = 0
HELD = [np]


def by_module(x: Any) -> Any:
    out = np.zeros(x.shape)
    out[0] = x[1]
    return out


def by_name(x: Any) -> Any:
    out = zeros(3)
    out += total(x, 0)
    out[1:] -= linspace(0, 1, 2) * x[0, 1:]
    return out


def helper(x: Any) -> Any:
    out = np.empty_like(x)
    out[...] = x + 1
    return out


def by_helper(x: Any) -> Any:
    return helper(helper(x))


def by_inner_function(x: Any) -> Any:
    def inner(y: Any) -> Any:
        out = np.ones(3)
        out[0] = y[0]
        return out + len([np.zeros(2) for _ in range(2)])

    return inner(x[0]) + inner(x[1])


def by_import_inside(x: Any) -> Any:
    import numpy as numerics
    from numpy import ones

    out = numerics.zeros(3)
    out[:] = x[0] * ones(3)
    return out


def by_default(x: Any, make: Any = np.zeros, xp: Any = np) -> Any:
    out = make(3)
    out[0] = xp.sqrt(x[1, 1])
    return out


def by_submodule(x: Any) -> Any:
    out = np.zeros(2)
    out[:] = np.linalg.norm(x, axis=1)
    return out


def by_table(x: Any) -> Any:
    return TABLE[x[0].astype(int)] * x[0]


def by_recursion(x: Any, depth: int = 3) -> Any:
    out = np.zeros(3)
    out[:] = x[0] if depth == 0 else by_recursion(x, depth - 1) + 1
    return out


def decorated(f: Any) -> Any:
    @functools.wraps(f)
    def wrapper(*args: Any) -> Any:
        out = np.zeros(3)
        out[:] = f(*args)
        return out

    return wrapper


@decorated
def by_decorator(x: Any) -> Any:
    out = np.ones(3)
    out *= x[0]
    return out


def by_constants(x: Any) -> Any:
    """Arrays that do not depend on the arguments are known while tracing."""
    steps = np.arange(4)
    out = np.zeros(3)
    for k in steps[1:]:
        if k % 2 == 1:
            out[: int(k)] += x[0, : int(k)]
    n = int(np.ceil(np.sqrt(np.prod(x.shape))))
    window = np.hanning(5)
    return out * n + window[1:4] + np.fft.fftfreq(3)


def by_math(x: Any, y: Any, scale: float = 0.5) -> Any:
    root = math.sqrt(y) + math.floor(y) + math.pi
    return x * root * max(scale, 0.25, y) + min(y, scale) + math.log(8, 2)


def by_partial(x: Any) -> Any:
    return functools.partial(by_default, make=np.ones)(x)


def by_instance_check(x: Any) -> Any:
    return x + 1 if isinstance(x, np.ndarray) and not isinstance(x[0, 0], np.ndarray) else None


@pytest.mark.parametrize(
    "function",
    [
        by_module, by_name, by_helper, by_inner_function, by_import_inside, by_default,
        by_submodule, by_table, by_recursion, by_decorator, by_constants, by_partial,
        by_instance_check, lambda x: by_helper(x)[::2],
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_names_of_numpy(function: Any, run: Any) -> None:
    got, want = run(function, X.copy()), function(X.copy())
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype and isinstance(got, np.ndarray)


def test_functions_of_math_and_builtins(run: Any) -> None:
    np.testing.assert_allclose(run(by_math, X, 0.3), by_math(X, 0.3), rtol=1e-15)
    np.testing.assert_allclose(run(by_math, X, 7), by_math(X, 7), rtol=1e-15)


def test_globals_are_written_back_and_read_late(run: Any) -> None:
    def count(x: Any) -> Any:
        global COUNT
        COUNT += 1
        later()
        return x * COUNT

    def later() -> None:
        globals()["COUNT"] += 1

    global COUNT
    COUNT = 3
    assert run(count, np.float64(2.0)) == 10.0
    assert COUNT == 5
    assert run(count, np.float64(2.0)) == 14.0


def test_closures_share_their_cells(run: Any) -> None:
    seen = []
    calls = 0
    make = np.zeros
    offset = np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        nonlocal calls
        calls += 1
        seen.append(x.shape)
        out = make(3)
        out += x[0] + offset
        return out

    np.testing.assert_array_equal(run(f, X), X[0] + offset)
    assert calls == 1 and seen == [(2, 3)]


class Filter:
    """Methods are traced, those that they call included."""

    def __init__(self, taps: Any):
        self.taps = taps
        self.inner = None

    def padded(self, x: Any) -> Any:
        out = np.zeros(len(x) + 2)
        out[1:-1] = x
        return out

    @staticmethod
    def blank(n: int) -> Any:
        return np.zeros(n)

    @property
    def width(self) -> Any:
        return np.array([float(len(self.taps))])

    def apply(self, x: Any) -> Any:
        padded = self.padded(x)
        out = self.blank(len(x))
        for k, tap in enumerate(self.taps):
            out += tap * padded[k : k + len(x)]
        return out if self.inner is None else self.inner.apply(out) * self.width

    __call__ = apply


def test_methods(run: Any) -> None:
    f = Filter([0.25, 0.5, 0.25])
    f.inner = Filter([1.0, 2.0, 1.0])
    before = dict(vars(Filter))
    x = np.arange(5.0)
    want = f.apply(x)
    np.testing.assert_array_equal(run(f.apply, x), want)
    np.testing.assert_array_equal(run(f, x), want)
    np.testing.assert_array_equal(run(lambda y: f.apply(y), x), want)
    np.testing.assert_array_equal(run(lambda g, y: g.apply(y), f, x), want)
    assert dict(vars(Filter)) == before


def test_classes_are_put_back_after_an_error(run: Any) -> None:
    before = dict(vars(Filter))
    f = Filter([1.0])

    def broken(x: Any) -> Any:
        f.apply(x)
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        run(broken, np.arange(3.0))
    assert dict(vars(Filter)) == before


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any = None

    def __post_init__(self) -> None:
        assert isinstance(self.weight, np.ndarray)

    def __call__(self, x: Any) -> Any:
        out = np.zeros(self.weight.shape[0])
        out += self.weight @ x
        return out if self.bias is None else out + self.bias


def test_dataclasses_are_arguments_with_methods(run: Any) -> None:
    layers = [Layer(np.eye(3) * 2, np.ones(3)), Layer(np.ones((2, 3)))]

    def network(layers: Any, x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return {"y": x, "layers": layers}

    got = run(network, layers, np.arange(3.0))
    np.testing.assert_array_equal(got["y"], network(layers, np.arange(3.0))["y"])
    assert isinstance(got["layers"][0], Layer) and got["layers"][0].weight is layers[0].weight


def test_random_numbers_are_refused(run: Any) -> None:
    rng = np.random.default_rng(0)
    for draw in (
        lambda x: x + np.random.rand(3),
        lambda x: x + rng.normal(size=3),
        lambda x: x + np.random.default_rng(1).random(3),
    ):
        with pytest.raises(TraceError, match="only once"):
            run(draw, np.zeros(3))
    assert run(lambda x: x + random.Random(0).random(), np.zeros(1)).shape == (1,)


def test_captured_arrays_are_copied_and_cannot_be_written(run: Any) -> None:
    with pytest.raises(ValueError, match="did not make"):
        run(lambda x: TABLE.__setitem__(0, x[0, 0]), X)
    assert TABLE[0] == 10.0


def test_leaked_values_are_refused(run: Any) -> None:
    kept: list[Any] = []

    def leak(x: Any) -> Any:
        kept.append(x * 2)
        return x

    run(leak, X)
    with pytest.raises(LeakError):
        kept[0] + 1
    with pytest.raises(LeakError, match=r"kept\.append"):
        run(lambda x: x + kept[0], X)
    with pytest.raises(LeakError):
        np.sum(kept[0])


def test_unsupported_functions_are_named(run: Any) -> None:
    with pytest.raises(TraceError, match=r"np\.roots is not supported"):
        run(lambda x: np.roots(x[0]), X)
    with pytest.raises(TraceError, match="elements are not known"):
        run(lambda x: HELD[0].asarray(x), X)


def test_threads_trace_one_after_another(run: Any) -> None:
    before = dict(vars(Filter))
    x = np.arange(5.0)
    want = Filter([0.5, 0.25]).apply(x)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: run(Filter([0.5, 0.25]).apply, x), range(24)))
    for got in results:
        np.testing.assert_array_equal(got, want)
    assert dict(vars(Filter)) == before


def test_functions_made_while_tracing_work_afterwards(run: Any) -> None:
    made: list[Any] = []

    def f(x: Any) -> Any:
        made.append(lambda y: np.sqrt(y) + np.zeros(2) + helper(y))
        return made[-1](x)

    x = np.array([4.0, 9.0])
    np.testing.assert_array_equal(run(f, x), made[0](x))
    assert isinstance(made[0](x), np.ndarray)
