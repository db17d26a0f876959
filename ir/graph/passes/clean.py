"""Equations whose results nobody reads go; equations that compute the same become one."""

from __future__ import annotations

from collections.abc import Hashable

from ...visits import visit
from ..nodes import Atom, Equation, Graph, Literal
from ..ops import Call, Elementwise
from .rewrite import Rewriter

COMMUTATIVE = frozenset(("add", "mul", "and", "or", "xor", "eq", "ne"))
"""Elementwise operations that give the same bits when their operands are exchanged."""


def clean(graph: Graph) -> Graph:
    """Common subexpressions once, then nothing dead; keeps the first of equal equations."""
    return drop_dead(share(graph))


def share(graph: Graph) -> Graph:
    """`a = op x; b = op x` -> `a = op x`, with b renamed to a.

    Equal means: one operation with equal fields, operands that are one variable or literals of one
    dtype with the same bits (so -0.0 is not 0.0, and a NaN equals itself). Constants that hold one
    array are one.
    """
    seen: dict[Hashable, Equation] = {}
    arrays: dict[int, Atom] = {}

    def rule(rewriter: Rewriter, equation: Equation) -> Atom | None:
        if isinstance(equation.op, Call):
            return None
        first = seen.setdefault(_key(equation), equation)
        return None if first is equation else first.outputs[0]

    rewriter = Rewriter(graph, rule)
    for constant in graph.constants:
        first = arrays.setdefault(id(constant.array), constant.var)
        if first is not constant.var:
            rewriter.rename(constant.var, first)
    return rewriter.run("share")


def _key(equation: Equation) -> Hashable:
    operands = [_atom_key(a) for a in equation.inputs]
    op = equation.op
    if isinstance(op, Elementwise) and op.name in COMMUTATIVE:
        operands.sort(key=_rank)
    return (op, *operands)


def _atom_key(atom: Atom) -> Hashable:
    if isinstance(atom, Literal):
        return (atom.value.dtype, atom.value.tobytes())
    return id(atom)


def _rank(key: Hashable) -> int:
    return key if isinstance(key, int) else 0


def drop_dead(graph: Graph) -> Graph:
    """Without the equations and constants that no output depends on."""
    needed: set[Atom] = set(graph.outputs)
    kept: list[Equation] = []
    for equation in visit("drop_dead", reversed(graph.equations)):
        if any([v in needed for v in equation.outputs]):
            kept.append(equation)
            needed.update(equation.inputs)
    constants = tuple([c for c in graph.constants if c.var in needed])
    if len(kept) == len(graph.equations) and len(constants) == len(graph.constants):
        return graph
    kept.reverse()
    return Graph(graph.inputs, constants, tuple(kept), graph.outputs)
