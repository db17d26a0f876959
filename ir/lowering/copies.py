"""Groups that copy, for memory that a plain copy of bytes cannot serve."""

from __future__ import annotations

from ..graph.nodes import ArrayType, Equation, Group, Var
from ..graph.ops import Reshape, UpdateSlice


def copy_group(type_: ArrayType) -> Group:
    """A kernel that copies an array."""
    source, target = Var(type_), Var(type_)
    equation = Equation(Reshape(type_.shape), (source,), (target,))
    return Group("copy", (source,), (equation,), (target,))


def assign_group(type_: ArrayType) -> Group:
    """A kernel that overwrites all of its first operand with its second."""
    target, source, result = Var(type_), Var(type_), Var(type_)
    rank = len(type_.shape)
    equation = Equation(UpdateSlice((0,) * rank, (1,) * rank), (target, source), (result,))
    return Group("assign", (target, source), (equation,), (result,), ((0, 0),))
