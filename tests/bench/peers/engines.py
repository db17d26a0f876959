"""Inference engines that run ONNX graphs, on a stated number of threads."""

from __future__ import annotations

from collections.abc import Callable

import harness
import numpy as np
from harness import Contender

Inputs = dict[str, np.ndarray]


def onnxruntime_session(model: bytes, threads: int) -> Callable[[Inputs], np.ndarray]:
    """ONNX Runtime on the CPU: a function from inputs to the first output."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)[0]


def openvino_request(model: bytes, inputs: Inputs, threads: int) -> Callable[[], object]:
    """OpenVINO on the CPU in float32, compiled for the inputs' shapes."""
    import openvino

    core = openvino.Core()
    network = core.read_model(model)
    network.reshape({name: list(array.shape) for name, array in inputs.items()})
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = core.compile_model(network, "CPU", settings).create_infer_request()
    return lambda: request.infer(inputs, share_inputs=True, share_outputs=True)[0]


def contenders(model: bytes, inputs: Inputs, threads: int) -> list[Contender]:
    """The engines that are installed, on one model."""
    found = []
    if harness.peer("onnxruntime"):
        session = onnxruntime_session(model, threads)
        found.append(Contender("onnxruntime", lambda: session(inputs)))
    if harness.peer("openvino"):
        found.append(Contender("openvino", openvino_request(model, inputs, threads)))
    return found
