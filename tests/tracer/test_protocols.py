"""NumPy's own functions, called where no clone reaches them, understand traced values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright.tracer.arrays as lnp
from loopwright.ir.errors import TraceError
from loopwright.tracer.modules import stand_in
from loopwright.tracer.ufuncs import UFUNCS

HIDDEN = {"np": np}
"""NumPy out of the clone's sight."""

A = np.random.default_rng(3).normal(size=(3, 4))


@pytest.mark.parametrize(
    "function",
    [
        lambda n, x: n.maximum(x, 0) + n.sin(x),
        lambda n, x: n.sum(n.exp(x), axis=1, keepdims=True),
        lambda n, x: n.where(x > 0, x, -1.0),
        lambda n, x: n.concatenate([x, n.ones((1, 4))]),
        lambda n, x: n.add.reduce(x, axis=1),
        lambda n, x: n.minimum.accumulate(x, axis=0),
        lambda n, x: n.multiply.outer(x[0], x[1]),
        lambda n, x: n.linalg.norm(x, axis=0),
        lambda n, x: n.einsum("ij,kj->ik", x, x),
        lambda n, x: n.zeros_like(x) + n.float64(2) * x + n.arange(4),
        lambda n, x: n.divmod(x, 0.3)[1],
        lambda n, x: n.multiply(x, 2, out=n.zeros_like(x)),
        lambda n, x: n.add(x, 1, out=n.zeros_like(x), where=x > 0),
        lambda n, x: n.array([1.0, 2.0, 3.0])[:, None] * x,
        lambda n, x: n.clip(x, -1, 1).mean() + n.percentile(x, 20),
        lambda n, x: n.ones(3) @ x,
        lambda n, x: n.asarray(x.shape) * n.int64(2) + x[0, :2],
    ],
)
def test_hidden_numpy(function: Any, run: Any) -> None:
    got, want = run(lambda x: function(HIDDEN["np"], x), A), function(np, A)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_at_and_copyto_write(run: Any) -> None:
    def f(x: Any, k: Any) -> None:
        n = HIDDEN["np"]
        n.add.at(x, k, 1.0)
        n.copyto(x[0], x[1])
        n.fill_diagonal(x, 9)

    ours, theirs, k = A.copy(), A.copy(), np.array([0, 2, 0])
    run(f, ours, k)
    f(theirs, k)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda n, x: n.fft.fft(x), "np.fft is not supported"),
        (lambda n, x: n.asarray(x), "cannot become a NumPy array"),
        (lambda n, x: n.array([x[0], x[1]]), "cannot become a NumPy array"),
        (lambda n, x: n.add(x, 1, out=n.zeros((3, 4))), "did not make"),
        (lambda n, x: n.add.reduceat(x, [0, 1]), "reduceat"),
        (lambda n, x: n.subtract.reduce(x), "subtract.reduce"),
        (lambda n, x: n.unique(x), "np.unique is not supported"),
        (lambda n, x: n.gcd(x.astype(int), 3), "np.gcd is not supported"),
        (lambda n, x: n.mean(x[x > 0], where=x > 1), "depends on the data"),
        (lambda n, x: n.sort(x[x > 0]), "depends on the data"),
    ],
)
def test_what_is_not_supported_says_so(function: Any, message: str, run: Any) -> None:
    with pytest.raises((TraceError, TypeError)) as caught:
        run(lambda x: function(HIDDEN["np"], x), A)
    assert message in str(caught.value)


def test_arrays_from_outside_take_no_traced_elements(run: Any) -> None:
    with pytest.raises(ValueError) as caught:  # NumPy's own error, of which ours is the cause
        run(lambda x: HIDDEN["np"].zeros(3).__setitem__(0, x[0, 0]), A)
    assert isinstance(caught.value.__cause__, TraceError)


def test_array_namespace(run: Any) -> None:
    def f(x: Any) -> Any:
        xp = x.__array_namespace__()
        assert xp is lnp
        return xp.permute_dims(xp.concat([x, x]), (1, 0)) + xp.astype(x, x.dtype).sum()

    np.testing.assert_allclose(run(f, A), np.concatenate([A, A]).T + A.sum())


def test_the_namespace_passes_types_on() -> None:
    assert lnp.pi == np.pi and lnp.newaxis is None and lnp.finfo(lnp.float32).bits == 32
    assert np.dtype(lnp.int16) == np.int16 and lnp.float32 == np.float32
    assert lnp.float64(3) == 3.0 and isinstance(np.float32(1), lnp.float32)
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = lnp.no_such_function


def test_outside_of_a_trace_arrays_are_written_in_place() -> None:
    x = np.zeros(4)
    lnp.copyto(x, [1, 2, 3, 4])
    lnp.add.at(x, np.array([0, 0]), 1)
    assert lnp.multiply(x, 2, out=x) is x
    np.testing.assert_array_equal(x, [6, 4, 6, 8])
    view = np.zeros((2, 3)).T
    lnp.fill_diagonal(view, 1)
    assert view.sum() == 2
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        lnp.copyto(x, 0)


def test_every_function_stands_for_numpys() -> None:
    for name in lnp.__all__:
        if callable(getattr(lnp, name)) and hasattr(np, name):
            assert stand_in(getattr(np, name)) is getattr(lnp, name), name
    for name in lnp.linalg.__all__:
        assert stand_in(getattr(np.linalg, name)) is getattr(lnp.linalg, name), name
    for name, ufunc in UFUNCS.items():
        assert stand_in(getattr(np, name)).__name__ == ufunc.__name__
