"""Layers against direct definitions and JAX, inside and outside of a trace."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from loopwright.ir.errors import ShapeError
from loopwright.ir.graph.ops import Conv
from loopwright.tracer import nn
from loopwright.tracer.staging import ArraySpec, trace

RNG = np.random.default_rng(11)


def image(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def close(got: Any, want: Any, tolerance: float = 2e-5) -> None:
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((2, 3, 7, 8), (4, 3, 3, 3), {}),
        ((1, 3, 7, 8), (4, 3, 3, 3), {"strides": 2, "pads": 1}),
        ((1, 4, 9, 9), (6, 2, 3, 2), {"groups": 2, "dilation": (2, 3), "pads": ((1, 0), (0, 2))}),
        ((1, 5, 6, 6), (5, 1, 3, 3), {"groups": 5, "pads": "same", "strides": (2, 1)}),
        ((1, 2, 11), (3, 2, 4), {"pads": "valid", "strides": 3}),
        ((1, 2, 4, 5, 6), (2, 2, 2, 2, 2), {"pads": (1, 0, 1)}),
    ],
)
def test_conv(x: Any, w: Any, options: Any, run: Any, oracle: Any) -> None:
    a, b = image(*x), image(*w)
    rank = len(x) - 2

    def each(name: str) -> Any:
        value = options.get(name, 1)
        return value if isinstance(value, tuple) else (value,) * rank

    pads = options.get("pads", 0)
    if isinstance(pads, int):
        pads = (pads,) * rank
    if isinstance(pads, tuple):
        pads = [p if isinstance(p, tuple) else (p, p) for p in pads]
    want = oracle.lax.conv_general_dilated(
        a, b, each("strides"), pads.upper() if isinstance(pads, str) else pads,
        rhs_dilation=each("dilation"), feature_group_count=options.get("groups", 1),
    )  # fmt: skip
    close(run(lambda p, q: nn.conv(p, q, **options), a, b), want)
    close(nn.conv(a, b, **options), want)


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, (6, 7)),
        ({"strides": 2, "pads": 1, "output_padding": 1}, (8, 10)),
        ({"strides": (2, 3), "groups": 2, "dilation": 2}, (11, 17)),
    ],
)
def test_conv_transpose(options: Any, size: Any, run: Any) -> None:
    x, w = image(2, 4, 4, 5), image(4, 3, 3, 3)
    groups = options.get("groups", 1)

    def pair(name: str, default: int) -> Any:
        value = options.get(name, default)
        return value if isinstance(value, tuple) else (value, value)

    (sy, sx), (dy, dx) = pair("strides", 1), pair("dilation", 1)
    low, extra = pair("pads", 0), pair("output_padding", 0)
    full = np.zeros((2, 3 * groups, 3 * sy + 2 * dy + 1 + extra[0], 4 * sx + 2 * dx + 1 + extra[1]))
    each = 4 // groups
    for c in range(4):
        g = c // each
        for i in range(3):
            for j in range(3):
                part = full[:, 3 * g : 3 * g + 3, i * dy : i * dy + 3 * sy + 1 : sy,
                            j * dx : j * dx + 4 * sx + 1 : sx]  # fmt: skip
                part += x[:, c, None] * w[c, :, i, j, None, None]
    want = full[:, :, low[0] : full.shape[2] - low[0], low[1] : full.shape[3] - low[1]]
    assert want.shape[2:] == size
    close(run(lambda a, b: nn.conv_transpose(a, b, **options), x, w), want.astype(np.float32))


def test_conv_of_mixed_types_keeps_its_operands() -> None:
    x = ArraySpec((1, 2, 5, 5), np.dtype(np.int8))
    w = ArraySpec((3, 2, 3, 3), np.dtype(np.int8))
    staged = trace(lambda a, b: nn.conv(a, b, preferred_element_type=np.int32), (x, w), {})
    (equation,) = [e for e in staged.graph.equations if isinstance(e.op, Conv)]
    assert [v.type.dtype for v in equation.inputs] == [np.int8, np.int8]
    assert equation.outputs[0].type.dtype == np.int32


def pool(x: Any, k: int, s: int, p: int, f: Any) -> Any:
    n, c, h, w = x.shape
    places = [(m + 2 * p - k) // s + 1 for m in (h, w)]
    out = np.zeros((n, c, *places), x.dtype)
    for i in range(places[0]):
        for j in range(places[1]):
            y, z = i * s - p, j * s - p
            part = x[:, :, max(y, 0) : min(y + k, h), max(z, 0) : min(z + k, w)]
            out[:, :, i, j] = f(part)
    return out


@pytest.mark.parametrize(("k", "s", "p"), [(2, 2, 0), (3, 2, 1), (3, 1, 1)])
def test_pooling(k: int, s: int, p: int, run: Any) -> None:
    x = image(2, 3, 8, 7)
    x[0, 0, 3, 3] = np.nan
    options = {"strides": s, "pads": p}
    close(run(lambda a: nn.max_pool(a, k, **options), x), pool(x, k, s, p, lambda v: v.max((2, 3))))
    inside = pool(x, k, s, p, lambda v: v.mean((2, 3)))
    close(run(lambda a: nn.avg_pool(a, k, **options, count_include_pad=False), x), inside)
    whole = pool(x, k, s, p, lambda v: v.sum((2, 3)) / np.float32(k * k))
    close(run(lambda a: nn.avg_pool(a, k, **options), x), whole)


def test_pooling_with_ceil_counts_only_declared_cells(run: Any) -> None:
    x = np.ones((1, 1, 5, 5), np.float32)
    got = run(lambda a: nn.avg_pool(a, 2, strides=2, ceil=True), x)
    close(got, np.ones((1, 1, 3, 3), np.float32))
    assert nn.max_pool(x, 3, strides=3, pads=1, ceil=True).shape == (1, 1, 2, 2)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_activations_keep_the_type(dtype: Any, run: Any) -> None:
    x = np.linspace(-8, 8, 33).astype(dtype)
    wide = x.astype(np.float64)
    erf = np.vectorize(math.erf)
    half = wide / 2 * (1 + erf(wide / np.sqrt(2)))
    expected = {
        nn.relu: np.maximum(wide, 0),
        nn.relu6: np.clip(wide, 0, 6),
        nn.leaky_relu: np.where(wide > 0, wide, wide * 0.01),
        nn.elu: np.where(wide > 0, wide, np.expm1(wide)),
        nn.sigmoid: 1 / (1 + np.exp(-wide)),
        nn.silu: wide / (1 + np.exp(-wide)),
        nn.hard_sigmoid: np.clip(wide + 3, 0, 6) / 6,
        nn.hard_swish: wide * np.clip(wide + 3, 0, 6) / 6,
        nn.softplus: np.log1p(np.exp(wide)),
        nn.erf: erf(wide),
        nn.gelu: half,
        nn.softmax: np.exp(wide) / np.exp(wide).sum(),
        nn.log_softmax: wide - np.log(np.exp(wide).sum()),
    }
    tolerance = {2: 4e-2, 4: 2e-5, 8: 1e-12}[np.dtype(dtype).itemsize]
    for function, want in expected.items():
        got = run(function, x)
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(float), want, rtol=tolerance, atol=tolerance)


def test_softmax_of_large_numbers_and_nan(run: Any) -> None:
    x = np.array([[1e4, 1e4], [-np.inf, 0], [np.nan, 1]])
    got = run(nn.softmax, x)
    np.testing.assert_array_equal(got[:2], [[0.5, 0.5], [0, 1]])
    assert np.isnan(got[2]).all()
    total = run(nn.logsumexp, np.array([-np.inf, -np.inf]))
    assert total == -np.inf


def test_normalisations(run: Any) -> None:
    x, g, b = image(4, 6), image(6), image(6)
    mean, var = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    close(run(lambda *a: nn.layer_norm(*a), x, g, b), (x - mean) / np.sqrt(var + 1e-5) * g + b)
    square = np.mean(x * x, 1, keepdims=True)
    close(run(lambda *a: nn.rms_norm(*a), x, g), x / np.sqrt(square + 1e-6) * g)
    y, m, v = image(2, 6, 3, 3), image(6), np.abs(image(6))
    each = [a[:, None, None] for a in (m, v, g, b)]
    want = (y - each[0]) / np.sqrt(each[1] + 1e-5) * each[2] + each[3]
    close(run(lambda *a: nn.batch_norm(*a), y, m, v, g, b), want)
    close(run(nn.global_avg_pool, y), y.mean((2, 3)))
    close(run(nn.linear, x, image(3, 6) * 0 + 1, np.zeros(3, np.float32)),
          np.repeat(x.sum(1, keepdims=True), 3, 1))  # fmt: skip
    close(run(lambda k: nn.one_hot(k, 3), np.array([2, 0])), np.eye(3, dtype=np.float32)[[2, 0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nn.conv(x, np.ones((4, 2, 3, 3), np.float32)),
        lambda x: nn.conv(x, np.ones((4, 3, 3), np.float32)),
        lambda x: nn.conv(x, np.ones((4, 3, 3, 3), np.float32), strides=(1, 2, 3)),
        lambda x: nn.conv(x, np.ones((4, 3, 3, 3), np.float32), pads="odd"),
        lambda x: nn.conv(x[0, 0, 0], np.ones(3, np.float32)),
        lambda x: nn.conv(x, np.ones((4, 3, 3, 3), np.float32), groups=0),
        lambda x: nn.max_pool(x, (2, 2, 2)),
        lambda x: nn.avg_pool(x[0, 0], 2),
        lambda x: nn.linear(x, np.ones(3, np.float32)),
    ],
)
def test_bad_shapes_are_refused(call: Any, run: Any) -> None:
    with pytest.raises(ShapeError, match=r"test_nn\.py"):
        run(call, image(1, 3, 5, 5))
