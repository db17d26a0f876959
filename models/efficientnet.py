"""EfficientNet-Lite 0, 1 and 2 (ImageNet-1k) as a pure function of parameters and pictures.

The Lite networks have no squeeze-and-excitation and use ReLU6. Convolutions pad as TensorFlow's
SAME does, with the odd cell at the end, so that a network runs at any resolution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..ir.errors import ArgumentError, DataError
from ..tracer import nn
from .network import Network
from .weights import efficientnet_lite_state

Params: TypeAlias = dict[str, Any]
State: TypeAlias = dict[str, npt.NDArray[np.generic]]

EPSILON = 1e-3


@dataclass(frozen=True, slots=True)
class Stage:
    """Inverted-residual blocks in a row; the first one may have a stride and change the width."""

    repeats: int
    kernel: int
    stride: int
    expand: int
    inputs: int
    outputs: int


STAGES = (
    Stage(1, 3, 1, 1, 32, 16),
    Stage(2, 3, 2, 6, 16, 24),
    Stage(2, 5, 2, 6, 24, 40),
    Stage(3, 3, 2, 6, 40, 80),
    Stage(3, 5, 1, 6, 80, 112),
    Stage(4, 5, 2, 6, 112, 192),
    Stage(1, 3, 1, 6, 192, 320),
)
"""Lite0. The larger ones scale the widths and, but for the first and last stage, the repeats."""

WIDTH = {0: 1.0, 1: 1.0, 2: 1.1}
DEPTH = {0: 1.0, 1: 1.1, 2: 1.2}
RESOLUTION = {0: 224, 1: 240, 2: 260}
STEM, HEAD = 32, 1280


@dataclass(frozen=True, slots=True)
class Block:
    """An inverted-residual block: expand 1x1, depthwise, project 1x1, and the input added."""

    kernel: int
    stride: int
    expand: int
    inputs: int
    outputs: int

    @property
    def residual(self) -> bool:
        """Whether the input is added to the result."""
        return self.stride == 1 and self.inputs == self.outputs


def scaled_width(channels: int, factor: float) -> int:
    """`channels` times the factor, to the nearest multiple of 8 that loses at most a tenth."""
    wanted = channels * factor
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * wanted else rounded


def blocks(variant: int) -> tuple[Block, ...]:
    """The blocks of EfficientNet-Lite `variant`, in order; `ArgumentError` for an unknown one."""
    if variant not in WIDTH:
        raise ArgumentError(
            f"there is no pretrained EfficientNet-Lite{variant}", fix="choose 0, 1 or 2"
        )
    made: list[Block] = []
    for index, stage in enumerate(STAGES):
        inputs = scaled_width(stage.inputs, WIDTH[variant]) if index else STEM
        outputs = scaled_width(stage.outputs, WIDTH[variant])
        fixed = index in (0, len(STAGES) - 1)
        repeats = stage.repeats if fixed else math.ceil(stage.repeats * DEPTH[variant])
        for repeat in range(repeats):
            first = repeat == 0
            made.append(
                Block(
                    stage.kernel,
                    stage.stride if first else 1,
                    stage.expand,
                    inputs if first else outputs,
                    outputs,
                )
            )
    return tuple(made)


def _conv(p: Params, x: Any, stride: int = 1, groups: int = 1) -> Any:
    """Convolution without bias, then batch normalisation with the statistics of training."""
    y = nn.conv(x, p["weight"], strides=stride, pads="same", groups=groups)
    return nn.batch_norm(y, p["mean"], p["variance"], p["gamma"], p["beta"], eps=EPSILON)


def _block(p: Params, block: Block, x: Any) -> Any:
    y = x
    if block.expand != 1:
        y = nn.relu6(_conv(p["expand"], y))
    y = nn.relu6(_conv(p["depthwise"], y, block.stride, groups=y.shape[1]))
    y = _conv(p["project"], y)
    return y + x if block.residual else y


def forward(variant: int = 0) -> Callable[[Params, Any], Any]:
    """The pure function `apply(params, x)` of EfficientNet-Lite `variant`, which gives logits.

    `x` is float32[N, 3, H, W] as `vision.preprocess` makes it (RGB, (byte - 127) / 128), H and W
    any size from 32; the result is float32[N, 1000].
    """
    layout = blocks(variant)

    def apply(params: Params, x: Any) -> Any:
        y = nn.relu6(_conv(params["stem"], x, stride=2))
        for p, block in zip(params["blocks"], layout, strict=True):
            y = _block(p, block, y)
        y = nn.relu6(_conv(params["head"], y))
        classifier = params["classifier"]
        return nn.linear(nn.global_avg_pool(y), classifier["weight"], classifier["bias"])

    return apply


def parameters(state: State, variant: int) -> Params:
    """The parameter tree of `apply` from the named tensors of a state dict."""

    def conv(weight: str, norm: str) -> Params:
        return {
            "weight": state[f"{weight}.weight"],
            "gamma": state[f"{norm}.weight"],
            "beta": state[f"{norm}.bias"],
            "mean": state[f"{norm}.running_mean"],
            "variance": state[f"{norm}.running_var"],
        }

    made = []
    for index, block in enumerate(blocks(variant)):
        prefix = f"_blocks.{index}"
        tree = {
            "depthwise": conv(f"{prefix}._depthwise_conv", f"{prefix}._bn1"),
            "project": conv(f"{prefix}._project_conv", f"{prefix}._bn2"),
        }
        if block.expand != 1:
            tree["expand"] = conv(f"{prefix}._expand_conv", f"{prefix}._bn0")
        made.append(tree)
    return {
        "stem": conv("_conv_stem", "_bn0"),
        "blocks": made,
        "head": conv("_conv_head", "_bn1"),
        "classifier": {"weight": state["_fc.weight"], "bias": state["_fc.bias"]},
    }


def random_parameters(variant: int, seed: int = 0) -> Params:
    """Parameters of the right shapes without a download, for tests and timings."""
    rng = np.random.default_rng(seed)

    def conv(outputs: int, inputs: int, kernel: int) -> Params:
        deviation = math.sqrt(2.0 / (inputs * kernel * kernel))
        weight = rng.normal(0.0, deviation, (outputs, inputs, kernel, kernel))
        return {
            "weight": weight.astype(np.float32),
            "gamma": rng.uniform(0.8, 1.2, outputs).astype(np.float32),
            "beta": rng.normal(0.0, 0.1, outputs).astype(np.float32),
            "mean": rng.normal(0.0, 0.1, outputs).astype(np.float32),
            "variance": rng.uniform(0.5, 1.5, outputs).astype(np.float32),
        }

    made = []
    for block in blocks(variant):
        inner = block.inputs * block.expand
        tree = {
            "depthwise": conv(inner, 1, block.kernel),
            "project": conv(block.outputs, inner, 1),
        }
        if block.expand != 1:
            tree["expand"] = conv(inner, block.inputs, 1)
        made.append(tree)
    return {
        "stem": conv(STEM, 3, 3),
        "blocks": made,
        "head": conv(HEAD, blocks(variant)[-1].outputs, 1),
        "classifier": {
            "weight": rng.normal(0.0, 0.03, (1000, HEAD)).astype(np.float32),
            "bias": np.zeros(1000, np.float32),
        },
    }


def efficientnet_lite(variant: int = 0) -> Network:
    """EfficientNet-Lite 0, 1 or 2 with its pretrained ImageNet-1k weights.

    `ArgumentError` for another variant, `DataError` if the package with the weights is missing
    (the message says what to install) or its file is damaged.
    """
    name = f"efficientnet-lite{variant}"
    blocks(variant)
    state = efficientnet_lite_state(variant)
    try:
        params = parameters(state, variant)
    except KeyError as missing:
        raise DataError(f"the weights of {name} lack the tensor {missing}") from None
    return Network(name, forward(variant), params, RESOLUTION[variant])
