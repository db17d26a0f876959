"""Single layers as ONNX graphs."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from workloads import ConvLayer


def conv(layer: ConvLayer, weight: np.ndarray) -> bytes:
    """A convolution with constant weights: input `x`, output `y`."""
    x = helper.make_tensor_value_info(
        "x", TensorProto.FLOAT, [1, layer.inputs, layer.size, layer.size]
    )
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node(
        "Conv",
        ["x", "w"],
        ["y"],
        kernel_shape=[layer.kernel] * 2,
        strides=[layer.stride] * 2,
        pads=[layer.pad] * 4,
    )
    graph = helper.make_graph([node], "conv", [x], [y], [numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    return bytes(model.SerializeToString())
