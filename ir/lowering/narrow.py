"""Kernels that update a small part of an array, made to see that part alone.

So the kernel does not depend on where the part lies: equal updates at many places share it.
"""

from __future__ import annotations

from dataclasses import replace

from ..graph.nodes import Atom, Equation, Group, Var
from ..graph.ops import Slice, UpdateSlice
from ..graph.views import is_small_part


def narrow(group: Group) -> tuple[Group, Equation] | None:
    """The group on the updated part only, and the slice equation that is this part.

        y = update_slice[starts, steps] x, f(x[part])   ->   y' = update_slice[0, 1] x', f(x')

    None if the group is no such update, or reads its operand in another way.
    """
    root = group.equations[-1]
    if len(group.donated) != 1 or not isinstance(root.op, UpdateSlice) or not is_small_part(root):
        return None
    ((position, _),) = group.donated
    whole, type_ = group.inputs[position], root.inputs[1].type
    part, result = Var(type_), Var(type_)
    if root.inputs[1] is whole:
        return None
    op = Slice(root.op.starts, type_.shape, root.op.steps)
    names: dict[Atom, Atom] = {}
    equations: list[Equation] = []
    for equation in group.equations[:-1]:
        if whole in equation.inputs:
            if equation.op != op:
                return None
            names[equation.outputs[0]] = part
            continue
        equations.append(_renamed(equation, names))
    rank = len(type_.shape)
    value = names.get(root.inputs[1], root.inputs[1])
    update = UpdateSlice((0,) * rank, (1,) * rank)
    equations.append(Equation(update, (part, value), (result,), root.source))
    inputs = tuple(part if v is whole else v for v in group.inputs)
    narrowed = Group(group.name, inputs, tuple(equations), (result,), ((position, 0),))
    return narrowed, Equation(op, (whole,), (part,), root.source)


def _renamed(equation: Equation, names: dict[Atom, Atom]) -> Equation:
    if not any(a in names for a in equation.inputs):
        return equation
    return replace(equation, inputs=tuple(names.get(a, a) for a in equation.inputs))
