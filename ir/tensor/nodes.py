"""Level 2, the tensor program: one pure definition per array; no order, no memory.

    program    ::= name(param, ...) { definition ... }
    definition ::= for axis in extent, ...: buffer[index, ...] = value                 elementwise
                 | for ...: buffer[index, ...] = combiner(reduce axes) value           reduction
                 | for ...: buffer[index, ...] combiner= value                         update

A definition says what each element is; axes are spatial (free), reduced, or scanned (ordered: the
value may read the definition's own output at an earlier position of that axis).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..expr.nodes import Buffer, Combiner, Index, Symbol, Value
from ..source import Source


class AxisKind(Enum):
    """How the iterations of an axis relate."""

    SPATIAL = "spatial"
    REDUCE = "reduce"
    SCAN = "scan"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Axis:
    """An iteration axis: `symbol` takes the values 0 .. extent-1."""

    symbol: Symbol
    extent: int
    kind: AxisKind = AxisKind.SPATIAL


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Definition:
    """What the elements of one array (or of a tuple of arrays) are.

    - No combiner: `outputs[k][index] = values[k]` for all points of the axes.
    - Combiner: `outputs[k][index]` is the combination, over the reduce axes, of `values[k]`,
      starting from the combiner's identity.
    - `update`: the outputs hold something already. Without combiner, points are assigned in the
      order of the axes (last wins); with one, values are combined into what is there. Elements
      that no point names keep what they held. `index` may contain dynamic atoms.
    - `domain`: points where any of these is negative take no part (the sum over a restricted
      domain: `0 * inf` outside never happens).
    - `exact_order`: the reduction is done in axis order with one accumulator and no contraction
      (precision "highest"); otherwise it may be split and use fused multiply-add.
    - `private`: `index` is injective over the spatial axes unless `update` is set.
    """

    name: str
    axes: tuple[Axis, ...]
    outputs: tuple[Buffer, ...]
    index: tuple[Index, ...]
    values: tuple[Value, ...]
    combiner: Combiner | None = None
    domain: tuple[Index, ...] = ()
    update: bool = False
    exact_order: bool = False
    source: Source | None = None


class Role(Enum):
    """What a kernel does with a parameter."""

    INPUT = "input"
    OUTPUT = "output"
    INOUT = "inout"  # holds a value on entry, updated in place


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Param:
    """A parameter of the kernel, in the order of its `args` array."""

    buffer: Buffer
    role: Role


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TensorProgram:
    """The definitions of one fused kernel, each after those it reads."""

    name: str
    params: tuple[Param, ...]
    definitions: tuple[Definition, ...]
