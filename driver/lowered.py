"""A function at every level of the program, for reading."""

from __future__ import annotations

from functools import cached_property

from ..backends.llvm.host import assembly
from ..backends.llvm.plan import launches
from ..ir.flat.printer import print_program as print_flat
from ..ir.graph.nodes import GroupedGraph
from ..ir.graph.printer import print_graph
from ..ir.loop.printer import print_program as print_loop
from ..ir.lowering.plan import build as build_plan
from ..ir.plan.nodes import Plan
from ..ir.plan.printer import print_plan
from ..ir.tensor.printer import print_program as print_tensor
from ..tracer.staging import Staged
from .compiler import Options, launch_strides, prepare
from .levels import Levels, lower_levels


class Lowered:
    """The levels of a traced function as text; each is computed when it is first asked for."""

    def __init__(self, staged: Staged, options: Options):
        self.staged = staged
        self.options = options

    @cached_property
    def traced(self) -> str:
        """The graph as traced, before any pass."""
        return print_graph(self.staged.graph)

    @cached_property
    def _grouped(self) -> GroupedGraph:
        return prepare(self.staged.graph, self.options, self.staged.written).grouped

    @cached_property
    def graph(self) -> str:
        """The graph after all passes, cut into kernels."""
        return print_graph(self._grouped)

    @cached_property
    def _plan(self) -> Plan:
        return build_plan(self._grouped, self.staged.written, {})

    @cached_property
    def kernels(self) -> dict[str, Levels]:
        """The levels of each distinct kernel, by its symbol in the LLVM text."""
        found: dict[str, Levels] = {}
        seen: set[str] = set()
        for launch in launches(self._plan.steps):
            if launch.key not in seen:
                seen.add(launch.key)
                name = f"{launch.group.name}_{launch.key[:6]}"
                name = "".join(c if c.isalnum() else "_" for c in name)
                found[name] = lower_levels(launch.group, launch_strides(launch), name, self.options)
        return found

    def _joined(self, texts: list[str]) -> str:
        return "\n\n".join(texts)

    @cached_property
    def tensors(self) -> str:
        """The kernels as pure definitions."""
        return self._joined([print_tensor(k.tensor) for k in self.kernels.values()])

    @cached_property
    def loops(self) -> str:
        """The kernels as scheduled loops."""
        return self._joined([print_loop(k.loop) for k in self.kernels.values()])

    @cached_property
    def flat(self) -> str:
        """The kernels as emitters read them."""
        return self._joined([print_flat(k.flat) for k in self.kernels.values()])

    @cached_property
    def plan(self) -> str:
        """The whole function as kernel calls."""
        return print_plan(self._plan)

    @cached_property
    def llvm(self) -> str:
        """The kernels' LLVM text."""
        return self._joined([k.llvm for k in self.kernels.values()])

    @cached_property
    def asm(self) -> str:
        """The kernels' machine code as assembly."""
        return self._joined([assembly(k.llvm, self.options.target) for k in self.kernels.values()])
