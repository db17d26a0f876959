"""Takes reshapes and small slices of a kernel's operands out of the kernel.

Outside they cost nothing: the plan passes another pointer. Inside they would tie the kernel to one
shape or position, so that equal work at 1,000 positions became 1,000 kernels.
"""

from __future__ import annotations

from collections import Counter

from ...visits import visit
from ..nodes import Equation, Group, Var
from ..ops import Reshape, Slice, UpdateSlice
from ..views import is_small_part, is_view

MAX_PIECES = 4
"""From more pieces of one array than this, the kernel reads the array itself."""


def is_view_group(group: Group) -> bool:
    """Whether the group only names memory of its operand."""
    return len(group.equations) == 1 and bool(group.inputs) and is_view(group.equations[0])


def hoist_views(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """The groups, with views of their operands made by groups of their own before them."""
    views = {g.equations[0]: g for g in groups if is_view_group(g)}
    exported = {v for g in groups if not is_view_group(g) for v in g.outputs}
    done: set[Equation] = set()
    result: list[Group] = []
    for group in groups:
        if is_view_group(group):
            hoisted = [group.equations[0]]
        else:
            hoisted = _hoistable(group, exported)
        for equation in hoisted:
            if equation in done:
                continue
            done.add(equation)
            (operand,) = (v for v in equation.inputs if isinstance(v, Var))
            made = Group("view", (operand,), (equation,), equation.outputs)
            result.append(views.get(equation, made))
        if not is_view_group(group):
            result.append(_without(group, set(hoisted)))
    return tuple(result)


def _hoistable(group: Group, exported: set[Var]) -> list[Equation]:
    outside = set(group.inputs)
    donated = {group.inputs[k] for k, _ in group.donated}
    updated = _updated_part(group)
    candidates: list[Equation] = []
    pieces: Counter[object] = Counter()
    for equation in visit("hoist", group.equations):
        if not is_view(equation) or equation.inputs[0] not in outside:
            continue
        if equation.outputs[0] in exported or equation.outputs[0] in group.outputs:
            continue
        if equation.op == updated:
            continue  # what an update reads of its own part is not taken from elsewhere
        if isinstance(equation.op, Reshape) and equation.inputs[0] in donated:
            continue  # a view of all that is updated would have to be a copy
        if not isinstance(equation.op, Reshape):
            if not is_small_part(equation):
                continue
            pieces[equation.inputs[0]] += 1
        outside.add(equation.outputs[0])
        candidates.append(equation)
    # a chain ends where one of its pieces stays inside
    kept: list[Equation] = []
    gone = {v for v in outside if v not in {e.outputs[0] for e in candidates}}
    for equation in candidates:
        many = not isinstance(equation.op, Reshape) and pieces[equation.inputs[0]] > MAX_PIECES
        if equation.inputs[0] in gone and not many:
            gone.add(equation.outputs[0])
            kept.append(equation)
    return kept


def _updated_part(group: Group) -> Slice | None:
    """The slice of its operand that a group updates in place."""
    root = group.equations[-1]
    if not group.donated or not isinstance(root.op, UpdateSlice):
        return None
    return Slice(root.op.starts, root.inputs[1].type.shape, root.op.steps)


def _without(group: Group, hoisted: set[Equation]) -> Group:
    if not hoisted:
        return group
    equations = tuple(e for e in group.equations if e not in hoisted)
    inside = {v for e in equations for v in e.outputs}
    inputs = tuple(
        dict.fromkeys(
            a for e in equations for a in e.inputs if isinstance(a, Var) and a not in inside
        )
    )
    donated = tuple((inputs.index(group.inputs[k]), out) for k, out in group.donated)
    return Group(group.name, inputs, equations, group.outputs, donated)
