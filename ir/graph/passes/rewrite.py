"""The one walk of graph rewriting: equations in order, operands renamed, rules asked.

A rule takes the rewriter and an equation and gives the atom that replaces the equation's single
result, or None to keep it. Rules see operands already rewritten, so one walk over the graph sees
each equation once, and chains of rules end because every law makes its equation simpler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from ...source import Source
from ...visits import visit
from ..nodes import Atom, Constant, Equation, Graph, Literal, Var
from ..ops import Broadcast, GraphOp
from ..types import result_types

Rule: TypeAlias = Callable[["Rewriter", Equation], Atom | None]


class Rewriter:
    """A graph under construction: the equations kept so far, and what old variables became."""

    def __init__(self, graph: Graph, rule: Rule):
        self.graph = graph
        self.rule = rule
        self.constants = list(graph.constants)
        self.equations: list[Equation] = []
        self._makers: dict[Atom, Equation] = {}
        self._renamed: dict[Atom, Atom] = {}

    @cached_property
    def uses(self) -> Counter[Atom]:
        """How often each variable of the old graph is read."""
        counts = Counter(self.graph.outputs)
        for equation in self.graph.equations:
            counts.update(equation.inputs)
        return counts

    def run(self, name: str) -> Graph:
        """The rewritten graph; the very same graph if no rule changed anything."""
        for equation in visit(name, self.graph.equations):
            current = self._renew(equation)
            made = self.rule(self, current)
            if made is None:
                self._keep(current)
            else:
                self.rename(equation.outputs[0], made)
        if not self._renamed:
            return self.graph
        outputs = tuple([self.resolve(a) for a in self.graph.outputs])
        return Graph(self.graph.inputs, tuple(self.constants), tuple(self.equations), outputs)

    def resolve(self, atom: Atom) -> Atom:
        """What an atom of the old graph is called in the new one."""
        return self._renamed.get(atom, atom)

    def rename(self, var: Var, atom: Atom) -> None:
        """Uses of the old variable become uses of the atom."""
        self._renamed[var] = atom

    def maker(self, atom: Atom) -> Equation | None:
        """The equation of the new graph that makes the atom, if one does."""
        return self._makers.get(atom)

    def emit(self, op: GraphOp, inputs: Sequence[Atom], source: Source | None) -> Atom:
        """The result of a new equation, or what the rule makes of it."""
        operands = tuple(inputs)
        (type_,) = result_types(op, tuple([a.type for a in operands]), source)
        equation = Equation(op, operands, (Var(type_),), source)
        made = self.rule(self, equation)
        if made is not None:
            return made
        self._keep(equation)
        return equation.outputs[0]

    def spread(self, atom: Atom, shape: tuple[int, ...], source: Source | None) -> Atom:
        """A rank 0 atom as an array of that shape."""
        return self.emit(Broadcast(shape, ()), (atom,), source) if shape else atom

    def add_constant(self, constant: Constant) -> None:
        """A further constant of the new graph."""
        self.constants.append(constant)

    def _renew(self, equation: Equation) -> Equation:
        renamed = self._renamed
        if not any([a in renamed for a in equation.inputs]):
            return equation
        return replace(equation, inputs=tuple([renamed.get(a, a) for a in equation.inputs]))

    def _keep(self, equation: Equation) -> None:
        self.equations.append(equation)
        for var in equation.outputs:
            self._makers[var] = equation


def literal(value: object, dtype: np.dtype) -> Literal:
    """The value as a literal of that type."""
    scalar: Any = np.asarray(value).astype(dtype)[()]
    return Literal(scalar)


def scalar_of(rewriter: Rewriter, atom: Atom) -> Atom | None:
    """The rank 0 atom that all elements of `atom` equal, if it is known to be so."""
    if not atom.type.shape:
        return atom
    maker = rewriter.maker(atom)
    if maker is not None and isinstance(maker.op, Broadcast) and not maker.inputs[0].type.shape:
        return maker.inputs[0]
    return None


def literal_of(rewriter: Rewriter, atom: Atom) -> Literal | None:
    """The literal that all elements of `atom` equal, if it is known to be so."""
    scalar = scalar_of(rewriter, atom)
    return scalar if isinstance(scalar, Literal) else None
