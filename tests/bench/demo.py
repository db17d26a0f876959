"""What `make demo` shows: a pretrained network names a photograph, timed beside ONNX Runtime.

python tests/bench/demo.py [PHOTO] [--resolution R] [--threads N]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import harness
import numpy as np
from harness import Contender

import loopwright as lw
from loopwright.errors import LoopwrightError
from loopwright.models import efficientnet, efficientnet_lite
from loopwright.vision import pictures
from loopwright.vision.classes import best_classes
from loopwright.vision.preprocess import network_input


def show(photo: str, resolution: int, threads: int) -> None:
    """Classifies one photograph with both, prints the classes and the times."""
    lw.set_threads(threads)
    network = efficientnet_lite(0)
    x = network_input(pictures.read_photograph(photo), resolution)
    start = time.perf_counter()
    ours = lw.bind(network.apply, network.params)
    logits = np.asarray(ours(x))[0]
    first = time.perf_counter() - start
    print(f"{Path(photo).name} at {resolution} x {resolution}, EfficientNet-Lite0:")
    for name, probability in best_classes(logits):
        print(f"  {probability:6.1%}  {name}")

    contenders = [Contender("loopwright", lambda: ours(x))]
    if harness.peer("onnx") and harness.peer("onnxruntime"):
        from peers import engines, onnx_network

        model = onnx_network.build(network.params, efficientnet.blocks(0))
        session = engines.onnxruntime_session(model, threads)
        error = np.abs(session({"x": x})[0] - logits).max() / np.abs(logits).max()
        print(f"largest difference to onnxruntime: {error:.1e} of the largest logit")
        contenders.append(Contender("onnxruntime", lambda: session({"x": x})))
    row = harness.measure(f"{threads} thread{'s' if threads > 1 else ''}", contenders)
    print(f"first call, with compilation: {harness.duration(first)}")
    harness.table("warm call", [row])


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photo", nargs="?", default=str(pictures.SHIPPED))
    parser.add_argument("--resolution", type=int, default=224)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print(harness.processor())
    try:
        show(options.photo, options.resolution, options.threads)
    except LoopwrightError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
