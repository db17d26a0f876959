"""Loopwright for runners of shared cases: `adapter()` gives (namespace, decorator, features).

The namespace has NumPy's names and `ext`, with the layers that NumPy lacks: x is NCHW, convolution
weights OIHW, transposed ones (C, O / groups, kh, kw); pads are (low, high) pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loopwright as lw
import loopwright.numpy as lnp
from loopwright import nn

Pair = tuple[int, int]
Pads = tuple[Pair, Pair]
NONE: Pads = ((0, 0), (0, 0))


class Layers:
    """Convolutions and pools in the argument order of the cases."""

    erf = staticmethod(nn.erf)

    @staticmethod
    def conv2d(
        x: Any,
        w: Any,
        stride: Pair = (1, 1),
        pads: Pads = NONE,
        dilation: Pair = (1, 1),
        groups: int = 1,
    ) -> Any:
        return nn.conv(x, w, strides=stride, pads=pads, dilation=dilation, groups=groups)

    @staticmethod
    def conv2d_transpose(
        x: Any,
        w: Any,
        stride: Pair = (1, 1),
        pads: Pads = NONE,
        out_pad: Pair = (0, 0),
        groups: int = 1,
    ) -> Any:
        return nn.conv_transpose(
            x, w, strides=stride, pads=pads, output_padding=out_pad, groups=groups
        )

    @staticmethod
    def max_pool2d(x: Any, k: Pair, stride: Pair, pads: Pads = NONE, ceil: bool = False) -> Any:
        return nn.max_pool(x, k, strides=stride, pads=pads, ceil=ceil)

    @staticmethod
    def avg_pool2d(
        x: Any,
        k: Pair,
        stride: Pair,
        pads: Pads = NONE,
        ceil: bool = False,
        include_pad: bool = True,
    ) -> Any:
        return nn.avg_pool(
            x, k, strides=stride, pads=pads, ceil=ceil, count_include_pad=include_pad
        )


class Namespace:
    """`loopwright.numpy` and the layers."""

    ext = Layers

    def __getattr__(self, name: str) -> Any:
        return getattr(lnp, name)


def adapter() -> tuple[Namespace, Callable[..., Any], set[str]]:
    """What a runner needs: (namespace, decorator, features)."""
    return Namespace(), lw.jit, {"conv", "pool", "erf", "int64", "float64", "bfloat16"}
