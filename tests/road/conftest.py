"""Runs a graph as native code, and kernels at every level; lets tests import `random_graphs`."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from loopwright.backends.llvm.cache import DiskCache
from loopwright.driver.compiler import STORE, Executable, Options, compile_graph
from loopwright.ir import dtypes as dt
from loopwright.ir.graph.nodes import Graph
from loopwright.ir.plan.nodes import Place

GUARD = 64  # elements on either side of each result, which nothing may touch


@pytest.fixture(scope="session", autouse=True)
def no_disk_cache() -> None:
    """What these tests compile is compiled anew."""
    STORE.disk = DiskCache(None)


@dataclass
class Run:
    """What a native run gave."""

    status: int
    results: list[np.ndarray]
    executable: Executable


def fenced(shape: Sequence[int], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """An array in the middle of a larger one of marked bytes, and those bytes."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    fence = GUARD * 16
    raw = np.full(size + 2 * fence + 64, 0xA5, np.uint8)
    start = fence + (-(raw.ctypes.data + fence)) % 64
    return raw[start : start + size].view(dtype).reshape(shape), raw


def run(
    graph: Graph,
    arrays: Sequence[np.ndarray],
    written: Sequence[tuple[int, int]] = (),
    options: Options | None = None,
) -> Run:
    """Compiles and runs a graph; results lie between fences that are checked afterwards."""
    made = compile_graph(graph, written, {}, options or Options())
    given = [np.array(a, order="C") for a in arrays]
    before = [a.copy() for a in given]
    fresh: dict[int, np.ndarray] = {}
    fences = []
    for slot in made.plan.results:
        if slot.place is Place.RESULT and slot.position not in fresh:
            array, raw = fenced(slot.type.shape, slot.type.dtype)
            fresh[slot.position] = array
            fences.append((array, raw, raw.copy()))
    memory = [*given, *(fresh[k] for k in sorted(fresh)), *made.constants]
    pointers = (ctypes.c_void_p * max(1, len(memory)))(*[a.ctypes.data for a in memory])
    arena, _ = fenced((made.arena_bytes,), dt.UINT8)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(made.address)
    status = function(ctypes.addressof(pointers), arena.ctypes.data)
    for array, raw, marked in fences:
        inside = np.zeros(raw.size, np.bool_)
        start = array.ctypes.data - raw.ctypes.data
        inside[start : start + array.nbytes] = True
        assert (raw[~inside] == marked[~inside]).all(), "a kernel wrote outside of its result"
    overwritten = {k for k, _ in written}
    for k, (old, new) in enumerate(zip(before, given, strict=True)):
        assert k in overwritten or old.tobytes() == new.tobytes(), "an argument was changed"
    results = []
    for slot, layout in zip(made.plan.results, made.layouts, strict=True):
        array = fresh[slot.position] if slot.place is Place.RESULT else given[slot.position]
        results.append(array if layout is None else array.transpose(layout))
    return Run(status, results, made)


@pytest.fixture(scope="session")
def native() -> Any:
    return run
