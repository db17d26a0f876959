"""The whole road from a graph to a function in memory.

    graph -> passes -> groups -> (per new workload: tensor -> loop -> schedule -> flat -> LLVM)
          -> plan -> one native function that calls the kernels

Kernels are shared by workload key in memory, by content on disk.
"""

from __future__ import annotations

import hashlib
import importlib
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backends.llvm import host, runtime
from ..backends.llvm.cache import DiskCache, entry_key, folder_from_environment
from ..backends.llvm.orc import Library
from ..backends.llvm.plan import arena_bytes, emit_plan, launches
from ..ir.errors import BoundsError, LoopwrightError, OutOfMemoryError
from ..ir.graph.constants import ConstantStore
from ..ir.graph.nodes import Graph, Group, GroupedGraph, Var
from ..ir.graph.ops import Precision
from ..ir.graph.passes.clean import drop_dead
from ..ir.graph.passes.fuse import group
from ..ir.graph.passes.layout import block_layout
from ..ir.graph.passes.pipeline import optimise
from ..ir.graph.passes.results import Layout, free_layouts
from ..ir.lowering.plan import build as build_plan
from ..ir.plan.nodes import Launch, Plan
from ..ir.target import Target

Array = npt.NDArray[Any]
Strides = Mapping[Var, tuple[int, ...]]

# Work below this many nanoseconds is not worth handing the interpreter lock over.
RELEASE_GIL_NS = 20_000.0


@dataclass(frozen=True, slots=True)
class Options:
    """What a compilation depends on beside the function and its arguments."""

    target: Target = field(default_factory=Target)
    precision: Precision = "default"
    fast_math: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """All fields as text, for cache keys."""
        return f"{host.fingerprint(self.target)}|{self.target}|{sorted(self.fast_math)}"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Kernel:
    """Machine code of one workload. `library` keeps `address` mapped."""

    key: str
    symbol: str
    address: int
    scratch_bytes: int
    nanoseconds: float
    library: Library


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Executable:
    """A compiled graph: `address` is `i32 plan(ptr args, ptr arena)`."""

    address: int
    arena_bytes: int
    plan: Plan
    layouts: tuple[Layout, ...]  # of the plan's results
    groups: tuple[Group, ...]  # by launch number
    kernels: tuple[Kernel, ...]
    constants: tuple[Array, ...]
    releases_gil: bool
    library: Library

    def describe(self) -> list[str]:
        """A line for each kernel of the plan."""
        names = Counter(g.name for g in self.groups)
        lines = [f"{name}" + (f" x {n}" if n > 1 else "") for name, n in names.items()]
        return [f"kernels: {len(self.kernels)}, launches: {len(self.groups)}", *lines]

    def error(self, status: int) -> LoopwrightError:
        """The exception that a status of the plan stands for."""
        if status < 0:
            return OutOfMemoryError("there is not enough memory for the function's temporaries")
        launch, code = divmod(status, 4096)
        equation = self.groups[launch].equations[code - 1]
        return BoundsError(
            "an index is outside its axis",
            equation.source,
            'keep indices within the axis, or choose mode="clip", "wrap" or "fill"',
        )


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A graph after all passes, cut into kernels, and the layout of each of its results."""

    grouped: GroupedGraph
    layouts: tuple[Layout, ...]


def prepare(
    graph: Graph,
    options: Options,
    written: Sequence[tuple[int, int]] = (),
    spare: Sequence[int] = (),
) -> Prepared:
    """Runs the passes and cuts the graph into kernels; see `compile_graph`."""
    graph = optimise(graph, precision=options.precision, store=CONSTANTS)
    if options.precision == "default":
        blocked = block_layout(graph, options.target)
        if blocked is not graph:
            graph = optimise(blocked, precision=options.precision, store=CONSTANTS)
    graph, layouts = free_layouts(graph, {output for _, output in written})
    graph = drop_dead(graph)
    return Prepared(group(graph, (*(i for i, _ in written), *spare)), layouts)


@cache
def _levels() -> ModuleType:
    """The way down from a group to LLVM, loaded by the first kernel that is not on disk."""
    return importlib.import_module(".levels", __package__)


class KernelStore:
    """The kernels in use in this process by workload, and objects on disk.

    The caller serialises compilations.
    """

    def __init__(self, disk: DiskCache):
        self.disk = disk
        self.kernels: weakref.WeakValueDictionary[str, Kernel] = weakref.WeakValueDictionary()
        self.built = 0  # kernels that went through code generation in this process

    def get(self, wanted: Mapping[str, tuple[Group, Strides]], options: Options) -> list[Kernel]:
        """The kernels of these workload keys; the missing ones are loaded or built together."""
        found = {key: self.kernels.get(self._name(key, options)) for key in wanted}
        missing = {key: self._name(key, options) for key, kernel in found.items() if not kernel}
        if missing:
            found.update(self._load(missing, wanted, options))
        return [kernel for kernel in found.values() if kernel is not None]

    def _name(self, key: str, options: Options) -> str:
        return "k" + hashlib.sha256(f"{key}|{options.key}".encode()).hexdigest()[:24]

    def _load(
        self,
        missing: Mapping[str, str],
        wanted: Mapping[str, tuple[Group, Strides]],
        options: Options,
    ) -> dict[str, Kernel]:
        objects: dict[str, tuple[int, float, bytes]] = {}
        for key, name in missing.items():
            entry = entry_key("kernel", name)
            found = self.disk.get(entry)
            if found is None:
                group, strides = wanted[key]
                made = _levels().lower_levels(group, strides, name, options)
                code = host.compile_object(made.llvm, options.target)
                self.built += 1
                found = _pack(made.flat.shared_bytes, made.nanoseconds, code)
                self.disk.put(entry, found)
            objects[name] = _unpack(found)
        library = Library(
            [code for _, _, code in objects.values()], objects, runtime.load(compile_glue).addresses
        )
        kernels: dict[str, Kernel] = {}
        for key, name in missing.items():
            scratch, cost, _ = objects[name]
            kernels[key] = Kernel(key, name, library[name], scratch, cost, library)
            self.kernels[name] = kernels[key]
        return kernels


def _pack(scratch_bytes: int, nanoseconds: float, code: bytes) -> bytes:
    head = np.array([scratch_bytes], np.int64).tobytes() + np.array([nanoseconds]).tobytes()
    return head + code


def _unpack(entry: bytes) -> tuple[int, float, bytes]:
    scratch = int(np.frombuffer(entry, np.int64, 1)[0])
    return scratch, float(np.frombuffer(entry, np.float64, 1, 8)[0]), entry[16:]


def compile_graph(
    graph: Graph,
    written: Sequence[tuple[int, int]],
    strides: Mapping[int, tuple[int, ...]],
    options: Options,
    spare: Sequence[int] = (),
) -> Executable:
    """The graph as native code.

    `written`: (input, output) pairs whose output goes back into the caller's array. `strides` (in
    elements) of inputs that are not C-contiguous. `spare`: further inputs that may be overwritten.
    """
    prepared = prepare(graph, options, written, spare)
    plan = build_plan(prepared.grouped, written, strides, spare)
    listed = tuple(launches(plan.steps))
    wanted: dict[str, tuple[Group, Strides]] = {}
    for launch in listed:
        wanted.setdefault(launch.key, (launch.group, launch_strides(launch)))
    kernels = dict(zip(wanted, STORE.get(wanted, options), strict=True))
    scratch = {key: kernel.scratch_bytes for key, kernel in kernels.items()}
    symbols = {key: kernel.symbol for key, kernel in kernels.items()}
    text = emit_plan(plan, symbols, scratch, PLAN_SYMBOL)
    library = Library(
        [compile_glue(text)],
        [PLAN_SYMBOL],
        {kernel.symbol: kernel.address for kernel in kernels.values()},
    )
    return Executable(
        library[PLAN_SYMBOL],
        arena_bytes(plan, scratch),
        plan,
        prepared.layouts,
        tuple(launch.group for launch in listed),
        tuple(kernels.values()),
        tuple(np.ascontiguousarray(c.array) for c in plan.constants),
        sum(kernels[launch.key].nanoseconds for launch in listed) > RELEASE_GIL_NS,
        library,
    )


def launch_strides(launch: Launch) -> Strides:
    """The strides of a launch's inputs that are arguments and not C-contiguous."""
    return {
        var: slot.strides
        for var, slot in zip(launch.group.inputs, launch.slots, strict=False)
        if slot.strides is not None
    }


def compile_glue(text: str) -> bytes:
    """Machine code of text that only calls other code, kept on disk like kernels."""
    entry = entry_key("glue", host.fingerprint(Target()), text)
    found = STORE.disk.get(entry)
    if found is None:
        found = runtime.compile_glue(text)
        STORE.disk.put(entry, found)
    return found


CONSTANTS = ConstantStore()
STORE = KernelStore(DiskCache(folder_from_environment()))
PLAN_SYMBOL = "plan"
