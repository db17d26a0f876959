"""EfficientNet-Lite0 beside inference engines, batch 1, at several resolutions.

    python tests/bench/network.py [--threads N] [--variant 0|1|2]

All hold constant weights with batch normalisation folded or foldable; input and output are NumPy
arrays; logits are compared first. Random weights stand in where the pretrained ones are missing.
"""

from __future__ import annotations

import argparse
import sys

import harness
import numpy as np
from harness import Contender, Row

import loopwright as lw
from loopwright.errors import DataError
from loopwright.models import efficientnet

RESOLUTIONS = (160, 193, 224, 260)


def parameters(variant: int) -> efficientnet.Params:
    """Pretrained parameters, or random ones with a word about it."""
    try:
        params: efficientnet.Params = efficientnet.efficientnet_lite(variant).params
        return params
    except DataError as missing:
        print(f"(random weights: {missing})")
        return efficientnet.random_parameters(variant)


def rows(variant: int, threads: int) -> list[Row]:
    """One row for each resolution."""
    params = parameters(variant)
    ours = lw.bind(efficientnet.forward(variant), params)
    model = None
    if harness.peer("onnx"):
        from peers import engines, onnx_network

        model = onnx_network.build(params, efficientnet.blocks(variant))
    made = []
    for resolution in RESOLUTIONS:
        rng = np.random.default_rng(resolution)
        x = rng.uniform(-1, 1, (1, 3, resolution, resolution)).astype(np.float32)
        found = [Contender("loopwright", lambda x=x: ours(x))]
        if model is not None:
            found += engines.contenders(model, {"x": x}, threads)
        compare(found)
        goal = "goal: within 1.6 times onnxruntime" if resolution == 224 else ""
        made.append(harness.measure(f"resolution {resolution}", found, goal=goal))
    return made


def compare(found: list[Contender]) -> None:
    """All contenders' logits agree, or the run ends."""
    results = {c.name: np.asarray(c.call()) for c in found if callable(c.call)}
    first = results["loopwright"]
    for name, other in results.items():
        error = np.abs(other - first).max() / np.abs(first).max()
        if not error < 1e-3:
            sys.exit(f"{name} and loopwright differ by {error:.2e} of the largest logit")


def run(threads: int) -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--variant", type=int, default=0, choices=(0, 1, 2))
    options = parser.parse_args()
    lw.set_threads(threads)
    harness.heading(threads)
    harness.table(f"EfficientNet-Lite{options.variant}", rows(options.variant, threads))


if __name__ == "__main__":
    harness.each_thread_count(run)
