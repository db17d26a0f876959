"""Empty arrays, rank 0, NumPy scalars and Python numbers: values, types, and what is a scalar."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from loopwright.tracer.trees import flatten

E = np.zeros((0, 3))
V = np.zeros(0)
S = np.float64(2.5)
Z = np.array(1.5)
B = np.arange(6.0).reshape(2, 3)
N = np.arange(3)

CASES = {
    "empty": (
        E,
        lambda x: (x + 1, x.sum(0), x.sum(), x.mean(0), np.sort(x, 0), x.T @ x, x @ x.T),
        lambda x: (np.concatenate([x, x]), x.reshape(3, 0), np.take(x, [0, 1], 1)),
        lambda x: (np.where(x > 0, x, 0), np.einsum("ij,ij->j", x, x), x[..., 0], x[::-1, ::2]),
    ),
    "empty vector": (
        V,
        lambda x: (np.cumsum(x), np.pad(x, 1), np.roll(x, 1), x[::-1], np.prod(x), np.any(x)),
        lambda x: (np.all(x), np.diff(x), x.std(), np.repeat(x, 2), np.tile(x, 2), np.outer(x, x)),
        lambda x: (np.linalg.norm(x), np.insert(x, 0, 1.0), np.append(x, 1), x[[]]),
    ),
    "scalar": (
        S,
        lambda x: (x + 1, x.sum(), np.sqrt(x), x[()], x[None], x.reshape(1, 1), x.astype(int)),
        lambda x: (np.atleast_1d(x), np.stack([x, x]), np.array(x), np.asarray(x), x.T, x.copy()),
        lambda x: (np.zeros_like(x), np.broadcast_to(x, (2,)), np.squeeze(x), np.round(x, 1)),
        lambda x: (np.clip(x, 0, 1), np.where(x > 1, x, 0), np.argmax(x), np.dot(x, x)),
        lambda x: (np.full(3, x), np.full((), x), np.ones(()) + x, np.ravel(x), np.hstack([x, x])),
        lambda x: (np.array([x, 1]), np.array([[x, 1], [2, x]]), np.isclose(x, 2.5), x == 2.5),
        lambda x: (np.float32(x) + 1, np.cumsum(x), round(x), x.round(), divmod(x, 2)),
    ),
    "rank 0": (
        Z,
        lambda x: (x[...], x[()], x.copy(), +x, x * 1, x.mean(), x.flatten(), np.zeros_like(x)),
    ),
    "float": (3.5, lambda x: (np.sum(x), x * 2, np.maximum(x, 2), round(x), round(x, 1), x // 1)),
    "int": (5, lambda x: (np.sqrt(x), abs(x), ~x, x / 2, x**2, 2**x, x % 3, np.ones(2) * x)),
    "bool": (True, lambda x: (-x, x + x, x & False, x == 1, np.ones(2) * x, np.logical_not(x))),
    "matrix": (
        B,
        lambda x: (np.median(x, 0), np.max(x, axis=(), keepdims=True), x.sum(axis=()), [*x]),
        lambda x: (list(reversed(x)), sum(x), max(x[0]), min(x[1]), divmod(x, 2), pow(x, 2)),
        lambda x: (x[::-1][:0].sum(), np.ascontiguousarray(x.T), np.cov(x), np.trace(x), x[[]]),
    ),
    "integers": (
        N,
        lambda x: (x[1], x[1, ...], x[..., 1], x[[1]][0], x[np.array(1)], x[x[0]], x[x], 2**x),
        lambda x: (x[0].astype(np.float32) * 2.5, np.percentile(x, 50), np.interp(1.5, x, x * 2)),
        lambda x: (np.interp(x, [0.0], [3.0]), np.bincount(x, minlength=5), x.T.sum(), -x[2]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_edges(name: str, run: Any) -> None:
    x, *functions = CASES[name]
    for function in functions:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            want = flatten(function(x))[0]
        got = flatten(run(function, x))[0]
        assert len(got) == len(want)
        for k, (g, w) in enumerate(zip(got, want, strict=True)):
            a, b = np.asarray(g), np.asarray(w)
            assert (a.dtype, a.shape) == (b.dtype, b.shape), k
            assert isinstance(g, np.ndarray) == isinstance(w, np.ndarray), k
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_an_empty_mask_that_is_known_selects_nothing(run: Any) -> None:
    assert run(lambda x: x[np.zeros(3, bool)], N).shape == (0,)
