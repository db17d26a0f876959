"""Level 3, the loop program: definitions as blocks in an immutable loop tree.

    program ::= name(param, ...) { node ... }
    node    ::= for symbol in extent [kind]: node ... | block
    block   ::= definition with axis = index, ... [where index >= 0, ...]

Loops only say order and place. A block is still one pure definition: `bindings` give each of its
axes as an index over the loops around it, and `guard` says which iterations of imperfect tiles
take part. Schedule primitives rewrite loops, bindings and guards; the definition's value changes
only when a buffer is replaced by a cached one. Storage is derived in lowering.

Initialisation of a reduction is implied: before the outermost loop around the block that a
reduce axis is bound to.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ..expr.nodes import Index, Symbol
from ..tensor.nodes import Definition, Param


class LoopKind(Enum):
    """How the iterations of a loop are carried out."""

    SERIAL = "serial"
    UNROLL = "unroll"  # written out by the emitter
    VECTOR = "vector"  # the lanes of vector instructions; innermost but for UNROLL loops
    PARALLEL = "parallel"  # split over the workers of the thread pool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class For:
    """Runs `body` once for each value of `symbol` in [0, extent).

    `partition`: lowering may cut the loop where a guard inside it changes state.
    """

    symbol: Symbol
    extent: int
    body: tuple[Node, ...]
    kind: LoopKind = LoopKind.SERIAL
    partition: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Block:
    """One definition, with its axes bound to the loops around it.

    `stream`: its results are not read soon, so they should go past the caches.
    """

    definition: Definition
    bindings: tuple[Index, ...]
    guard: tuple[Index, ...] = ()
    stream: bool = False

    @property
    def name(self) -> str:
        """The definition's name, unique in its program."""
        return self.definition.name


Node: TypeAlias = For | Block


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoopProgram:
    """A kernel as loops around blocks."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Node, ...]
