"""What the first call costs: imports, compilation, loading from the disk cache, long programs.

    python tests/bench/firstcall.py [--long]

Every figure comes from fresh processes, by turns with the peers', five rounds; the median is
shown. Each process has a cache folder of its own unless it measures the cache. `--long` adds the
chain of 50,000 operations.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import harness

ROUNDS = 5

IMPORT = """
import time
import numpy
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""

SMALL = """
import time
import numpy as np
{setup}
def f(x, y):
    return {xp}.sqrt(x * x + y * y) * 0.5 + 1
a = np.linspace(0, 1, 1000, dtype=np.float32)
g = {jit}(f)
start = time.perf_counter()
np.asarray(g(a, a))
print(time.perf_counter() - start)
"""

NETWORK_DATA = """
import time
import numpy as np
from loopwright.models import efficientnet
params = efficientnet.random_parameters(0)
x = np.random.default_rng(0).uniform(-1, 1, (1, 3, 224, 224)).astype(np.float32)
"""

NETWORK = (
    NETWORK_DATA
    + """
import loopwright as lw
start = time.perf_counter()
net = lw.bind(efficientnet.forward(0), params)
net(x)
print(time.perf_counter() - start)
"""
)

NETWORK_ONNXRUNTIME = (
    NETWORK_DATA
    + """
from peers import engines, onnx_network
model = onnx_network.build(params, efficientnet.blocks(0))
import onnxruntime
start = time.perf_counter()
engines.onnxruntime_session(model, 2)({"x": x})
print(time.perf_counter() - start)
"""
)

CHAIN = """
import time
import numpy as np
{setup}
def chain(x):
    for k in range({length}):
        x = x + 1 if k % 2 else x * 1.0001
    return x
g = {jit}(chain)
start = time.perf_counter()
np.asarray(g(np.ones(8, np.float32)))
print(time.perf_counter() - start)
"""

DOUBLINGS = """
import time
import numpy as np
{setup}
def doubled(x):
    for _ in range(60):
        x = x + x
    return x
g = {jit}(doubled)
start = time.perf_counter()
np.asarray(g(np.ones(8, np.float32)))
print(time.perf_counter() - start)
"""

COMPILERS = {
    "loopwright": {"setup": "import loopwright as lw", "jit": "lw.jit", "xp": "np"},
    "numba": {"setup": "import numba", "jit": "numba.njit", "xp": "np"},
    "jax": {"setup": "import jax, jax.numpy as jnp", "jit": "jax.jit", "xp": "jnp"},
}


def seconds(program: str, cache: str) -> float:
    """What a program prints when it runs in a fresh process with this cache folder."""
    env = {k: v for k, v in os.environ.items() if k not in harness.DROPPED}
    env["LOOPWRIGHT_CACHE_DIR"] = cache
    env["PYTHONPATH"] = os.pathsep.join(
        filter(None, (os.path.dirname(os.path.abspath(__file__)), env.get("PYTHONPATH")))
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    return float(done.stdout.split()[-1])


def race(case: str, programs: dict[str, str], goal: str = "", warm: bool = False) -> harness.Row:
    """Runs the programs by turns. `warm`: one cache folder for all rounds, filled beforehand."""
    taken: dict[str, list[float]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as kept:
        if warm:
            for program in programs.values():
                seconds(program, kept)
        for _ in range(ROUNDS):
            for name, program in programs.items():
                with tempfile.TemporaryDirectory() as fresh:
                    taken[name].append(seconds(program, kept if warm else fresh))
    print(
        f"  {case}: "
        + ", ".join(f"{n} {harness.duration(statistics.median(t))}" for n, t in taken.items())
    )
    least = {n: min(t) for n, t in taken.items()}
    return harness.Row(case, {n: tuple(t) for n, t in taken.items()}, least, goal)


def chain(length: int) -> str:
    """The program that compiles a chain of so many operations."""
    return CHAIN.format(**COMPILERS["loopwright"], length=length)


def rows(options: argparse.Namespace) -> Sequence[harness.Row]:
    """All cases."""
    present = {n: v for n, v in COMPILERS.items() if n == "loopwright" or harness.peer(n)}

    def each(template: str, without: tuple[str, ...] = (), **values: object) -> dict[str, str]:
        return {
            name: template.format(**words, **values)
            for name, words in present.items()
            if name not in without
        }

    imports = {name: IMPORT.format(module=name) for name in present}
    made = [
        race("import, beyond NumPy's", imports, "goal 0.15 s"),
        race("small function, no cache", each(SMALL), "goal 60 ms"),
        race("small function, disk cache", each(SMALL, ("numba", "jax")), warm=True),
    ]
    network = {"loopwright": NETWORK}
    if harness.peer("onnxruntime") and harness.peer("onnx"):
        network["onnxruntime"] = NETWORK_ONNXRUNTIME
    made += [
        race("EfficientNet-Lite0, no cache", network, "goal 2 s"),
        race("EfficientNet-Lite0, disk cache", {"loopwright": NETWORK}, "goal 0.3 s", warm=True),
        race("60 doublings", each(DOUBLINGS, ("numba",))),
        race(
            "chain of 5,000", {"loopwright": CHAIN.format(**COMPILERS["loopwright"], length=5000)}
        ),
    ]
    if options.long:
        chain = CHAIN.format(**COMPILERS["loopwright"], length=50_000)
        made.append(race("chain of 50,000", {"loopwright": chain}, "goal 20 s"))
    return made


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", help="also the chain of 50,000 operations")
    options = parser.parse_args()
    harness.heading(len(os.sched_getaffinity(0)))
    harness.table("First calls, each in a fresh process", rows(options))


if __name__ == "__main__":
    main()
