"""EfficientNet-Lite as an ONNX graph, for the engines that read one.

Batch normalisation is folded into the convolutions, height and width are symbolic: what a careful
user would deploy. Built from the same parameters that our function takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from loopwright.models.efficientnet import EPSILON, Block

OPSET = 13


class Builder:
    """Nodes and initialisers of a graph under construction."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: np.ndarray) -> str:
        """The name of a new initialiser."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The name of a new node's result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def conv(self, x: str, p: dict[str, Any], stride: int = 1, groups: int = 1) -> str:
        """Convolution with its batch normalisation folded in, padded as SAME_UPPER."""
        scale = np.float64(p["gamma"]) / np.sqrt(np.float64(p["variance"]) + EPSILON)
        weight = p["weight"] * scale[:, None, None, None]
        bias = np.float64(p["beta"]) - np.float64(p["mean"]) * scale
        return self.node(
            "Conv",
            x,
            self.constant(weight.astype(np.float32)),
            self.constant(bias.astype(np.float32)),
            kernel_shape=weight.shape[2:],
            strides=[stride, stride],
            group=groups,
            auto_pad="SAME_UPPER",
        )


def build(params: dict[str, Any], layout: tuple[Block, ...]) -> bytes:
    """The serialised model: input `x` float32[1, 3, H, W], output `logits` float32[1, 1000]."""
    b = Builder()
    zero, six = b.constant(np.float32(0)), b.constant(np.float32(6))

    def relu6(x: str) -> str:
        return b.node("Clip", x, zero, six)

    y = relu6(b.conv("x", params["stem"], stride=2))
    for p, block in zip(params["blocks"], layout, strict=True):
        start = y
        if block.expand != 1:
            y = relu6(b.conv(y, p["expand"]))
        y = relu6(b.conv(y, p["depthwise"], block.stride, block.inputs * block.expand))
        y = b.conv(y, p["project"])
        if block.residual:
            y = b.node("Add", y, start)
    y = relu6(b.conv(y, params["head"]))
    y = b.node("Flatten", b.node("GlobalAveragePool", y))
    classifier = params["classifier"]
    weight, bias = b.constant(classifier["weight"]), b.constant(classifier["bias"])
    b.nodes.append(helper.make_node("Gemm", [y, weight, bias], ["logits"], transB=1))

    shapes = {"x": [1, 3, "height", "width"], "logits": [1, 1000]}
    ends = {k: helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in shapes.items()}
    graph = helper.make_graph(
        b.nodes, "efficientnet-lite", [ends["x"]], [ends["logits"]], b.constants
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
