"""Level 1, the graph: let-bound equations over typed arrays.

    graph    ::= (var : type, ...) [constants] { equation ... } -> (atom, ...)
    equation ::= var : type, ... = op(atom, ...)
    atom     ::= var | literal
    type     ::= dtype[extent, ...]

An `op` (see `ops.py`) is a small frozen value: structural `match` reads it. Equations and variables
have identity; sharing makes the graph a DAG, so nothing walks it recursively.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..source import Source
from .ops import GraphOp


@dataclass(frozen=True, slots=True)
class ArrayType:
    """Static shape and element type."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        result = 1
        for extent in self.shape:
            result *= extent
        return result

    @property
    def nbytes(self) -> int:
        """The bytes of a contiguous array of this type."""
        return self.size * self.dtype.itemsize


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Var:
    """A named array; compares by identity. Printers choose the name."""

    type: ArrayType


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Literal:
    """A scalar known at trace time: a NumPy scalar, rank 0."""

    value: np.generic

    @property
    def type(self) -> ArrayType:
        """Rank 0, the scalar's dtype."""
        return ArrayType((), self.value.dtype)


Atom: TypeAlias = Var | Literal


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant:
    """An array known at trace time. `array` is private to the graph, contiguous, read-only."""

    var: Var
    array: npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Equation:
    """`outputs = op(inputs)`, written by the user at `source`."""

    op: GraphOp
    inputs: tuple[Atom, ...]
    outputs: tuple[Var, ...]
    source: Source | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph:
    """A function: each variable is defined once, before its uses."""

    inputs: tuple[Var, ...]
    constants: tuple[Constant, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group:
    """Equations that become one kernel: reads `inputs`, makes `outputs`; the rest stays inside.

    `donated`: pairs (input position, output position) where the kernel updates the input's memory
    in place and hands it on as that output (update-slice, scatter).
    """

    name: str
    inputs: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Var, ...]
    donated: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupedGraph:
    """A graph cut into kernels; `groups` in an order that respects their uses."""

    inputs: tuple[Var, ...]
    constants: tuple[Constant, ...]
    groups: tuple[Group, ...]
    outputs: tuple[Atom, ...]
