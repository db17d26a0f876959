"""What the resolutions of one network share: machine code, and the memory of constants.

Counted in a process of its own, whose disk cache is empty.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import loopwright as lw
from loopwright.driver import compiler
from loopwright.ir.plan.nodes import Place
from loopwright.models import efficientnet

params = efficientnet.random_parameters(0)
net = lw.bind(efficientnet.forward(0), params)
inputs = [np.zeros((1, 3, r, r), np.float32) for r in (160, 193, 224, 260)]
for x in inputs:
    net(x)
made = [s.executable for s in net.specialisations]
kernels = {k.key for e in made for k in e.kernels}
launches = {step.key for e in made for step in compiler.launches(e.plan.steps)}
print("signatures", len(made))
print("keys", len(launches))
print("kernels", len(kernels))
print("built", compiler.STORE.built)
print("addresses", len({k.address for e in made for k in e.kernels}))

arrays = {id(a): a for e in made for a in e.constants}
contents = {(a.dtype.str, a.shape, a.tobytes()) for a in arrays.values()}
print("arrays", len(arrays))
print("contents", len(contents))
print("megabytes", sum(a.nbytes for a in arrays.values()) / 1e6)

def size(tree):
    if isinstance(tree, dict):
        return sum(map(size, tree.values()))
    return sum(map(size, tree)) if isinstance(tree, list) else tree.nbytes

print("parameters", size(params) / 1e6)
idle = [
    step.key
    for e in made
    for step in compiler.launches(e.plan.steps)
    if all(slot.place is Place.CONSTANT for slot in step.slots[: len(step.group.inputs)])
]
print("packing", len(idle))
for x in inputs:
    net(x)
print("rebuilt", compiler.STORE.built + len(net.specialisations) - len(made))
"""


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """What the program counts."""
    import loopwright

    place = str(Path(loopwright.__file__).parents[1])
    paths = filter(None, (place, os.environ.get("PYTHONPATH")))
    cache = tmp_path_factory.mktemp("cache")
    env = {**os.environ, "LOOPWRIGHT_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def test_one_kernel_for_each_workload(counts: dict[str, float]) -> None:
    """Code is generated once for a key, whichever layer or resolution asks for it."""
    assert counts["signatures"] == 4
    assert counts["built"] == counts["kernels"] == counts["keys"] == counts["addresses"]


def test_one_copy_of_each_constant(counts: dict[str, float]) -> None:
    """No two arrays of one content; and no more memory than the weights and one packing each."""
    assert counts["arrays"] == counts["contents"]
    assert counts["megabytes"] <= 2 * counts["parameters"]


def test_warm_calls_do_no_packing(counts: dict[str, float]) -> None:
    """No kernel of a plan reads constants alone, and a second call compiles nothing."""
    assert counts["packing"] == 0
    assert counts["rebuilt"] == counts["built"]
