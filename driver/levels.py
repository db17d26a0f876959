"""One kernel through every level, by its default schedule."""

from __future__ import annotations

from dataclasses import dataclass

from ..backends.llvm.emit import emit_kernel
from ..ir.flat.cost import estimate
from ..ir.flat.nodes import FlatProgram
from ..ir.graph.nodes import Group
from ..ir.loop.nodes import LoopProgram
from ..ir.lowering.flatten import flatten
from ..ir.lowering.loops import build
from ..ir.lowering.tensors import lower_group
from ..ir.tensor.nodes import TensorProgram
from ..schedules.templates.default import schedule
from .compiler import Options, Strides


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """One kernel at every level of the program."""

    tensor: TensorProgram
    plain: LoopProgram
    loop: LoopProgram
    flat: FlatProgram
    llvm: str

    @property
    def nanoseconds(self) -> float:
        """A rough estimate of the kernel's serial time."""
        return estimate(self.flat)


def lower_levels(group: Group, strides: Strides, name: str, options: Options) -> Levels:
    """One kernel through every level, by its default schedule."""
    tensor = lower_group(group, strides)
    plain = build(tensor)
    loop = schedule(plain, options.target)
    flat = flatten(LoopProgram(name, loop.params, loop.body), options.fast_math)
    return Levels(tensor, plain, loop, flat, emit_kernel(flat, options.target))
