"""Builds a graph equation by equation, for tests of one thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from loopwright.ir.graph import ops
from loopwright.ir.graph.nodes import ArrayType, Atom, Constant, Equation, Graph, Literal, Var
from loopwright.ir.graph.types import result_types
from loopwright.ir.source import Source


class Build:
    """Every method returns the variable that it defines."""

    def __init__(self) -> None:
        self.inputs: list[Var] = []
        self.constants: list[Constant] = []
        self.equations: list[Equation] = []

    def input(self, shape: Sequence[int], dtype: Any = "float32") -> Var:
        self.inputs.append(Var(ArrayType(tuple(shape), np.dtype(dtype))))
        return self.inputs[-1]

    def constant(self, array: Any) -> Var:
        array = np.array(array, order="C")
        array.setflags(write=False)
        self.constants.append(Constant(Var(ArrayType(array.shape, array.dtype)), array))
        return self.constants[-1].var

    def literal(self, value: Any, dtype: Any = "float32") -> Literal:
        return Literal(np.asarray(value).astype(dtype)[()])

    def full(self, value: Any, type_: ArrayType) -> Var:
        return self.op(ops.Broadcast(type_.shape, ()), self.literal(value, type_.dtype))

    def op(self, op: Any, *operands: Any, source: Source | None = None) -> Var:
        """Python numbers become literals of the first operand's dtype."""
        atoms: tuple[Atom, ...] = tuple(
            a if isinstance(a, Var | Literal) else self.literal(a, operands[0].type.dtype)
            for a in operands
        )
        types = result_types(op, tuple(a.type for a in atoms), source)
        self.equations.append(Equation(op, atoms, tuple(Var(t) for t in types), source))
        return self.equations[-1].outputs[0]

    def do(self, name: str, *operands: Any) -> Var:
        return self.op(ops.Elementwise(name), *operands)

    def graph(self, *outputs: Atom) -> Graph:
        return Graph(
            tuple(self.inputs), tuple(self.constants), tuple(self.equations), tuple(outputs)
        )
