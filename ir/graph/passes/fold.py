"""Equations on constants are computed once, at compile time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ...errors import BoundsError, OutOfMemoryError
from ...expr.rounding import Array
from .. import ops
from ..constants import ConstantStore
from ..interpreter import evaluate
from ..nodes import ArrayType, Atom, Constant, Equation, Graph, Literal, Var
from ..printer import print_op
from .rewrite import Rewriter

SMALL = 64 << 10
"""Bytes that a folded constant may always have; a larger one may not exceed its operands."""

MAX_PIECES = 16
"""A constant that is read in more slices than this stays whole."""

MAX_WORK = 1 << 28
"""Multiplications that folding may do for one equation."""


def fold(graph: Graph, store: ConstantStore) -> Graph:
    """`y = op constants` -> a constant y, or a literal where y has rank 0.

    Kept as they are: broadcasts and iotas (cheaper computed than read) unless their reader folds,
    results larger than `SMALL` and than their operands together (for pads: than twice those),
    equations whose indices are out of bounds (they fail when the function runs), calls, and many
    slices of one constant, which as places in one array keep the turns of an unrolled loop alike.
    Arrays come from `store`, so that equal work is done once. A gather or scatter whose constant
    indices are inside need not check.
    """
    return _Folder(store).run(graph)


class _Folder:
    def __init__(self, store: ConstantStore):
        self.store = store
        self.arrays: dict[Atom, Array] = {}  # constants of the new graph
        self.pieces: Counter[Atom] = Counter()  # how many slices are made of each array
        self.lazy: dict[Atom, Array] = {}  # views: small broadcasts and iotas of known operands

    def run(self, graph: Graph) -> Graph:
        rewriter = Rewriter(graph, self.rule)
        self.pieces.update(e.inputs[0] for e in graph.equations if isinstance(e.op, ops.Slice))
        for constant in graph.constants:
            if constant.array.ndim:
                self.arrays[constant.var] = constant.array
            else:
                rewriter.rename(constant.var, _literal(constant.array))
        return rewriter.run("fold")

    def rule(self, rewriter: Rewriter, equation: Equation) -> Atom | None:
        op = equation.op
        if isinstance(op, ops.Gather | ops.Scatter) and op.mode == "raise":
            checked = self.check_indices(rewriter, equation, op)
            if checked is not None:
                return checked
        if isinstance(op, ops.Call) or not all([self.is_known(a) for a in equation.inputs]):
            return None
        (result,) = equation.outputs
        if isinstance(op, ops.Iota | ops.Broadcast):
            if result.type.nbytes <= SMALL:
                operands = [np.asarray(self.operand(a)) for a in equation.inputs]
                (self.lazy[result],) = evaluate(equation, operands)
            return None
        if isinstance(op, ops.Slice) and self.pieces[equation.inputs[0]] > MAX_PIECES:
            return None
        if _work(equation) > MAX_WORK or not self.is_bounded(equation, result):
            return None
        try:
            return self.constant(rewriter, equation, result)
        except (BoundsError, OutOfMemoryError):
            return None

    def is_known(self, atom: Atom) -> bool:
        return isinstance(atom, Literal) or atom in self.arrays or atom in self.lazy

    def is_bounded(self, equation: Equation, result: Var) -> bool:
        """Constants may shrink or be small."""
        size = result.type.nbytes
        if isinstance(equation.op, ops.Pad):  # channels filled up to whole blocks
            size //= 2
        read = sum(self.arrays[a].nbytes for a in set(equation.inputs) if a in self.arrays)
        return size <= max(SMALL, read)

    def check_indices(
        self, rewriter: Rewriter, equation: Equation, op: ops.Gather | ops.Scatter
    ) -> Atom | None:
        """gather[raise](x, constants inside) -> gather[clip](x, the same, counted from 0)."""
        operand, *indices = equation.inputs[: 1 + len(op.axes)]
        if not all([self.is_known(a) for a in indices]):
            return None
        counted: list[Atom] = []
        for axis, atom in zip(op.axes, indices, strict=True):
            extent = operand.type.shape[axis]
            places = np.asarray(self.operand(atom))
            if not ((places >= -extent) & (places < extent)).all():
                return None
            counted.append(self.counted(rewriter, atom, places, extent))
        rest = equation.inputs[1 + len(indices) :]
        inside = replace(op, mode="clip")
        return rewriter.emit(inside, (operand, *counted, *rest), equation.source)

    def counted(self, rewriter: Rewriter, atom: Atom, places: Array, extent: int) -> Atom:
        """The index with negative places counted from the start."""
        if not (places < 0).any():
            return atom
        wide = places.astype(np.int64)
        positive = np.where(wide < 0, wide + extent, wide)
        if not positive.ndim:
            return _literal(positive)
        return self.add(rewriter, self.store.intern(positive))

    def add(self, rewriter: Rewriter, array: Array) -> Var:
        """A constant of the new graph."""
        var = Var(ArrayType(array.shape, array.dtype))
        self.arrays[var] = array
        rewriter.add_constant(Constant(var, array))
        return var

    def constant(self, rewriter: Rewriter, equation: Equation, result: Var) -> Atom:
        operands = [self.operand(a) for a in equation.inputs]

        def compute() -> Array:
            return evaluate(equation, [np.asarray(x) for x in operands])[0]

        if not result.type.shape:
            return _literal(compute())
        var = self.add(rewriter, self.store.derive(print_op(equation.op), operands, compute))
        self.pieces[var] = self.pieces[result]
        return var

    def operand(self, atom: Atom) -> Array | np.generic:
        if isinstance(atom, Literal):
            return atom.value
        return self.arrays[atom] if atom in self.arrays else self.lazy[atom]


def _literal(array: Array) -> Literal:
    value: Any = array[()]
    return Literal(value)


def _work(equation: Equation) -> int:
    """Multiplications of a product; other operations are as cheap as their operands are large."""
    (result,) = equation.outputs
    match equation.op:
        case ops.DotGeneral(contract):
            shape = equation.inputs[0].type.shape
            return result.type.size * prod(shape[k] for k in contract[0])
        case ops.Conv() | ops.ConvBlocked():
            weights = equation.inputs[1].type
            return result.type.size * prod(weights.shape[1:])
        case _:
            return 0
