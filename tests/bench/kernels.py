"""Kernels beside peers: elementwise chains, reductions, memory movers, matmul, convolutions.

    python tests/bench/kernels.py [--threads N] [--only TEXT] [--torch-compile]

Every result is compared with a float64 reference first. A peer keeps its inputs in its own arrays
and makes a fresh result on each call, as we do. A convolution's weights are constants for all;
input and output have the plain layout, and each call is timed as a user makes it.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import timeit
from collections.abc import Callable
from typing import Any

import harness
import numpy as np
from harness import Contender, Row
from workloads import CONVOLUTIONS, WORKLOADS, ConvLayer, Workload

import loopwright as lw


def copy_bandwidth() -> float:
    """Bytes a second of copying 64 MiB, read and written bytes counted."""
    source, target = np.ones(1 << 24, np.float32), np.ones(1 << 24, np.float32)
    best = min(timeit.repeat(lambda: np.copyto(target, source), number=1, repeat=20))
    return 2 * source.nbytes / best


def contenders(work: Workload, torch_compile: bool) -> list[Contender]:
    """Every library's way to run a workload."""
    inputs = work.inputs()

    def plain(*arrays: Any) -> Any:
        return work.function(np, *arrays)

    ours = lw.jit(plain)
    found = [
        Contender("loopwright", lambda: ours(*inputs)),
        Contender("numpy", lambda: plain(*inputs)),
    ]
    if harness.peer("numba") and work.name[:6] != "matmul":
        from peers import numba_kernels

        loops = getattr(numba_kernels, work.function.__name__)
        found.append(Contender("numba", lambda: loops(*inputs)))
    if jax := harness.peer("jax"):
        compiled = jax.jit(lambda *arrays: work.function(jax.numpy, *arrays))
        theirs = [jax.numpy.asarray(a) for a in inputs]
        found.append(Contender("jax", lambda: compiled(*theirs).block_until_ready()))
    if torch := harness.peer("torch"):
        torch.set_grad_enabled(False)
        tensors = [torch.from_numpy(a) for a in inputs]
        eager = torch_function(torch, work)
        found.append(Contender("torch", lambda: eager(*tensors)))
        if torch_compile:
            fused = torch.compile(eager)
            found.append(Contender("torch.compile", lambda: fused(*tensors)))
    return found


def torch_function(torch: Any, work: Workload) -> Callable[..., Any]:
    """The workload as a torch user writes it, with the library's own layers where it has them."""
    functional = torch.nn.functional
    special: dict[str, Callable[..., Any]] = {
        "chain": lambda x: torch.tanh(2 * x + 1) * torch.sigmoid(x) + torch.sqrt(torch.abs(x)),
        "softmax": lambda x: torch.softmax(x, 1),
        "layer_norm": lambda x, g, b: functional.layer_norm(x, (x.shape[1],), g, b, 1e-5),
        "distances": torch.cdist,
        "transposed": lambda x: (x.T + 1).contiguous(),
        "stencil": lambda x: functional.avg_pool2d(x[None], 3, 1)[0],
    }
    return special.get(work.function.__name__, lambda *arrays: work.function(torch, *arrays))


def check(case: str, found: list[Contender], reference: np.ndarray, tolerance: float) -> None:
    """Each contender's result against the reference; a wrong one ends the run."""
    for contender in found:
        assert callable(contender.call)
        got = np.asarray(contender.call(), dtype=np.float64).reshape(reference.shape)
        error = np.abs(got - reference).max() / np.abs(reference).max()
        if not error < tolerance:
            sys.exit(f"{case}: {contender.name} is wrong by {error:.2e} of the largest element")


def workload_row(work: Workload, bandwidth: float, peak: float, torch_compile: bool) -> Row:
    """Measures one workload and says how near the limit we come."""
    found = contenders(work, torch_compile)
    reference = np.asarray(work.function(np, *(a.astype(np.float64) for a in work.inputs())))
    check(work.name, found, reference, 1e-4)
    row = harness.measure(work.name, found)
    ours = row.median("loopwright")
    notes = [f"goal {work.goal}"] if work.goal else []
    if work.bound == "memory":
        notes.append(f"{work.nbytes / ours / bandwidth:.0%} of copy bandwidth")
    if work.flops:
        notes.append(f"{work.flops / ours / 1e9 / peak:.0%} of peak")
    return dataclasses.replace(row, goal=", ".join(notes))


def conv_contenders(layer: ConvLayer, threads: int) -> tuple[list[Contender], np.ndarray]:
    """Every library's way to run a convolution, and a float64 reference."""
    from loopwright.tracer import nn

    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, layer.inputs, layer.size, layer.size), dtype=np.float32)
    w = rng.standard_normal(
        (layer.outputs, layer.inputs, layer.kernel, layer.kernel), dtype=np.float32
    )
    stride, pad = (layer.stride, layer.stride), ((layer.pad, layer.pad),) * 2

    @lw.jit
    def ours(x: Any) -> Any:
        return nn.conv(x, w, strides=stride, pads=pad)

    found = [Contender("loopwright", lambda: ours(x))]
    if torch := harness.peer("torch"):
        torch.set_grad_enabled(False)
        tx, tw = torch.from_numpy(x), torch.from_numpy(w)
        conv = torch.nn.functional.conv2d
        found.append(Contender("torch", lambda: conv(tx, tw, None, layer.stride, layer.pad)))
    if jax := harness.peer("jax"):
        compiled = jax.jit(lambda x: jax.lax.conv_general_dilated(x, w, stride, pad))
        jx = jax.numpy.asarray(x)
        found.append(Contender("jax", lambda: compiled(jx).block_until_ready()))
    if harness.peer("onnx"):
        from peers import engines, onnx_layers

        found += engines.contenders(onnx_layers.conv(layer, w), {"x": x}, threads)
    return found, reference_conv(x, w, layer)


def reference_conv(x: np.ndarray, w: np.ndarray, layer: ConvLayer) -> np.ndarray:
    """The convolution in float64."""
    p, s, k = layer.pad, layer.stride, layer.kernel
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (p, p), (p, p)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (k, k), axis=(2, 3))[:, :, ::s, ::s]
    return np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float64), optimize=True)


def conv_row(layer: ConvLayer, threads: int, peak: float) -> Row:
    """Measures one convolution."""
    found, reference = conv_contenders(layer, threads)
    check(layer.name, found, reference, 1e-4)
    row = harness.measure(layer.name, found)
    rate = layer.flops / row.median("loopwright") / 1e9
    return dataclasses.replace(row, goal=f"{rate:.0f} GFLOP/s, {rate / peak:.0%} of peak")


def run(threads: int) -> None:
    """Measures and prints both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="measure what has this text in its name")
    parser.add_argument("--torch-compile", action="store_true", help="also torch.compile (slow)")
    options = parser.parse_args()
    lw.set_threads(threads)
    harness.heading(threads)
    bandwidth, peak = copy_bandwidth(), harness.fma_peak() * threads
    print(f"copy bandwidth {bandwidth / 1e9:.1f} GB/s (read and written)")
    works = [w for w in WORKLOADS if options.only in w.name]
    layers = [c for c in CONVOLUTIONS if options.only in c.name]
    if works:
        rows = [workload_row(w, bandwidth, peak, options.torch_compile) for w in works]
        harness.table("Kernels", rows)
    if layers:
        harness.table("Convolutions, batch 1", [conv_row(c, threads, peak) for c in layers])


if __name__ == "__main__":
    harness.each_thread_count(run)
