"""Convolutions and pools that broke comparable compilers; values by hand or by plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import loopwright as lw
from loopwright import nn

f32 = np.float32


def picture(*shape: int) -> np.ndarray:
    """Small integers in no simple pattern."""
    return (np.arange(np.prod(shape), dtype=f32).reshape(shape) * 7 % 17 - 6).astype(f32)


def pooled(x, window, strides, pads, ceil, include_pad):
    """Average pooling by its definition, one window after another."""
    sizes = []
    for n, k, s, (low, high) in zip(x.shape[2:], window, strides, pads, strict=True):
        total = n + low + high - k
        count = (-(-total // s) if ceil else total // s) + 1
        if ceil and (count - 1) * s >= n + low:
            count -= 1
        sizes.append(count)
    out = np.zeros((*x.shape[:2], *sizes), x.dtype)
    for i, j in itertools.product(*map(range, sizes)):
        starts = [i * strides[0] - pads[0][0], j * strides[1] - pads[1][0]]
        cells, inside = 1, []
        for start, k, n, (low, high) in zip(starts, window, x.shape[2:], pads, strict=True):
            end = min(start + k, n + high)
            cells *= end - max(start, -low)
            inside.append(slice(max(start, 0), min(start + k, n)))
        part = x[:, :, inside[0], inside[1]]
        divisor = cells if include_pad else part.shape[2] * part.shape[3]
        out[:, :, i, j] = part.sum(axis=(2, 3)) / f32(divisor)
    return out


@pytest.mark.parametrize("include_pad", [True, False])
@pytest.mark.parametrize("ceil", [True, False])
@pytest.mark.parametrize(
    ("shape", "window", "strides", "pads"),
    [
        ((1, 1, 1, 1), (1, 4), (1, 3), ((0, 0), (2, 2))),
        ((1, 2, 6, 6), (3, 3), (2, 2), ((1, 1), (1, 1))),
        ((1, 3, 2, 2), (3, 3), (3, 3), ((1, 1), (1, 1))),
        ((2, 5, 7, 9), (2, 3), (3, 2), ((1, 0), (0, 2))),
    ],
)
def test_average_divides_by_the_right_count(shape, window, strides, pads, ceil, include_pad):
    """pytorch 143720, 71549, 131272, onnx 4958: padding counted or not, and the last windows."""
    x = picture(*shape)
    got = lw.jit(
        lambda x: nn.avg_pool(
            x, window, strides=strides, pads=pads, ceil=ceil, count_include_pad=include_pad
        )
    )(x)
    np.testing.assert_allclose(got, pooled(x, window, strides, pads, ceil, include_pad), rtol=1e-6)


def test_padding_is_never_the_maximum() -> None:
    """Windows at the border of an all-negative picture."""
    x = -1 - picture(1, 2, 5, 5) ** 2
    got = lw.jit(lambda x: nn.max_pool(x, 3, strides=2, pads=1))(x)
    assert got.shape == (1, 2, 3, 3) and got.max() < 0
    x[0, 0, 2, 2] = np.nan
    got = lw.jit(lambda x: nn.max_pool(x, 3, strides=1, pads=1))(x)
    assert np.isnan(got[0, 0, 1:4, 1:4]).all() and np.isfinite(got[0, 1]).all()


def test_transposed_convolution_with_output_padding() -> None:
    """tvm 18635."""
    x, w = picture(1, 2, 4, 5), picture(2, 3, 3, 3)
    full = np.zeros((1, 3, 3 * 2 + 3 + 1, 4 * 2 + 3 + 1), f32)
    for i, j in itertools.product(range(3), range(3)):
        full[:, :, i : i + 7 : 2, j : j + 9 : 2] += np.einsum("nchw,co->nohw", x, w[:, :, i, j])
    got = lw.jit(lambda x, w: nn.conv_transpose(x, w, strides=2, pads=1, output_padding=1))(x, w)
    assert got.shape == (1, 3, 8, 10)
    np.testing.assert_allclose(got, full[:, :, 1:-1, 1:-1], rtol=1e-6)


def test_grouped_pointwise_convolution_keeps_groups_apart() -> None:
    """pytorch 19912."""
    x = np.array([0, 1, 0, 0, 0, 0], f32).reshape(1, 6, 1, 1)
    got = lw.jit(lambda x, w: nn.conv(x, w, groups=3))(x, np.ones((9, 2, 1, 1), f32))
    np.testing.assert_array_equal(got.ravel(), [1, 1, 1, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("channels", [1, 3, 8, 13, 16, 24])
def test_bias_and_a_single_factor_after_a_convolution(channels: int) -> None:
    """tvm 4508: a one-element operand lost in a blocked layout of channels."""
    x, w = picture(1, 3, 7, 6), picture(channels, 3, 3, 3)
    bias, factor = np.arange(channels, dtype=f32), np.array([0.25], f32)

    @lw.jit
    def layer(x, w, bias, factor):
        return np.maximum(nn.conv(x, w) + bias[:, None, None], 0) * factor

    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    plain = np.einsum("nchwij,ocij->nohw", windows, w)
    want = np.maximum(plain + bias[:, None, None], 0) * factor
    np.testing.assert_allclose(layer(x, w, bias, factor), want, rtol=1e-5)
