"""The kernels that are measured: NumPy functions, their inputs, what they move and compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Workload:
    """A function written for any NumPy-like module, with inputs and the bytes it must move.

    `bound` names what limits it on a machine whose cores are fast enough: "memory" for one pass
    over inputs and outputs, else the arithmetic.
    """

    name: str
    function: Callable[..., Any]
    inputs: Callable[[], tuple[np.ndarray, ...]]
    nbytes: int
    bound: str
    goal: str = ""
    flops: int = 0


def chain(xp, x):
    return xp.tanh(2 * x + 1) * (1 / (1 + xp.exp(-x))) + xp.sqrt(xp.abs(x))


def softmax(xp, x):
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(xp, x, gamma, beta):
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * gamma + beta


def affine(xp, x):
    return 2 * x + 1


def total(xp, x):
    return x.sum()


def column_sum(xp, x):
    return x.sum(axis=0)


def transposed(xp, x):
    return x.T + 1


def stencil(xp, x):
    h, w = x.shape[0] - 2, x.shape[1] - 2
    s = x[:h, :w] + x[:h, 1 : w + 1] + x[:h, 2:]
    s = s + x[1 : h + 1, :w] + x[1 : h + 1, 1 : w + 1] + x[1 : h + 1, 2:]
    s = s + x[2:, :w] + x[2:, 1 : w + 1] + x[2:, 2:]
    return s * (1 / 9)


def distances(xp, a, b):
    difference = a[:, None, :] - b[None, :, :]
    return xp.sqrt((difference * difference).sum(axis=2))


def matmul(xp, a, b):
    return a @ b


def normal(*shapes: tuple[int, ...]) -> Callable[[], tuple[np.ndarray, ...]]:
    """A function that makes float32 arrays of these shapes."""

    def make() -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(0)
        return tuple(rng.standard_normal(shape, dtype=np.float32) for shape in shapes)

    return make


M = 1 << 20
ROWS = (4096, 1024)
EDGE = 2048

PAIR = ((1024, 16), (1024, 16))
SQUARES = ((1024, 1024), (1024, 1024))

WORKLOADS = (
    Workload(
        "tanh(2x+1)*sigmoid(x)+sqrt|x|, 4M", chain, normal((4 * M,)), 32 * M, "arithmetic", "2.8 ms"
    ),
    Workload("softmax 4096 x 1024", softmax, normal(ROWS), 32 * M, "arithmetic", "1.4 ms"),
    Workload(
        "layer norm 4096 x 1024",
        layer_norm,
        normal(ROWS, (1024,), (1024,)),
        32 * M,
        "memory",
        "0.8 ms",
    ),
    Workload("2x+1, 16M", affine, normal((16 * M,)), 128 * M, "memory", "4 ms"),
    Workload("sum, 4M", total, normal((4 * M,)), 16 * M, "memory"),
    Workload("column sum 4096 x 1024", column_sum, normal(ROWS), 16 * M, "memory"),
    Workload("x.T + 1, 2048 x 2048", transposed, normal((EDGE, EDGE)), 32 * M, "memory"),
    Workload("3x3 mean stencil, 2048 x 2048", stencil, normal((EDGE, EDGE)), 32 * M, "memory"),
    Workload(
        "distances 1024 x 1024 x 16", distances, normal(*PAIR), 4 * M, "arithmetic", flops=48 * M
    ),
    Workload("matmul 1024", matmul, normal(*SQUARES), 12 * M, "arithmetic", flops=2048 * M),
)


@dataclass(frozen=True, slots=True)
class ConvLayer:
    """A convolution of a residual network, batch 1, padded by half its kernel."""

    name: str
    size: int
    inputs: int
    outputs: int
    kernel: int
    stride: int

    @property
    def pad(self) -> int:
        """Zeros on each side."""
        return self.kernel // 2

    @property
    def flops(self) -> int:
        """Multiplications and additions, those with padding zeros counted."""
        out = (self.size + 2 * self.pad - self.kernel) // self.stride + 1
        return 2 * out * out * self.inputs * self.outputs * self.kernel**2


CONVOLUTIONS = (
    ConvLayer("C1 224, 3->64, 7, s2", 224, 3, 64, 7, 2),
    ConvLayer("C2 56, 64->64, 3", 56, 64, 64, 3, 1),
    ConvLayer("C3 56, 64->64, 1", 56, 64, 64, 1, 1),
    ConvLayer("C4 56, 64->128, 3, s2", 56, 64, 128, 3, 2),
    ConvLayer("C5 56, 64->128, 1, s2", 56, 64, 128, 1, 2),
    ConvLayer("C6 28, 128->128, 3", 28, 128, 128, 3, 1),
    ConvLayer("C7 28, 128->256, 3, s2", 28, 128, 256, 3, 2),
    ConvLayer("C8 28, 128->256, 1, s2", 28, 128, 256, 1, 2),
    ConvLayer("C9 14, 256->256, 3", 14, 256, 256, 3, 1),
    ConvLayer("C10 14, 256->512, 3, s2", 14, 256, 512, 3, 2),
    ConvLayer("C11 14, 256->512, 1, s2", 14, 256, 512, 1, 2),
    ConvLayer("C12 7, 512->512, 3", 7, 512, 512, 3, 1),
)
