"""Which variables of a group become arrays, and which updates share one.

One walk over the equations, readers first. Each variable that stays inline is known by the
*paths* on which definitions read it: a definition starts a path, an operation that moves elements
lengthens it, and elementwise code between two arrays keeps it. So one path is one evaluation per
element; more are recomputation, allowed where it is cheaper than memory.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..graph import ops
from ..graph.nodes import Equation, Group, Var

CHEAP = frozenset(
    "neg abs sign floor ceil trunc round square not isnan isinf isfinite signbit add sub mul "
    "maximum minimum fmax fmin copysign and or xor shift_left shift_right eq ne lt le gt ge".split()
)
"""Elementwise operations of about one instruction; all others are costly."""

MOVES = (
    ops.Broadcast, ops.Reshape, ops.Transpose, ops.Slice, ops.Pad, ops.Concatenate, ops.Gather,
)  # fmt: skip
"""Inlined operations that read their operand elsewhere than at their own index."""

DENSE_MOVES = (ops.Broadcast, ops.Reshape, ops.Transpose, ops.Slice, ops.Cast)
"""What a product may read through: still plain loads."""

UPDATES = (ops.UpdateSlice, ops.Scatter)
DEFINED = (
    ops.Reduce, ops.ArgReduce, ops.Cumulative, ops.Sort, ops.DotGeneral, ops.Conv, ops.ConvBlocked,
    ops.Pool, *UPDATES,
)  # fmt: skip
"""Operations that are a definition of their own."""

_VIEW, _CHEAP, _COSTLY = 16, 4, 1  # how many paths a variable may be read on


@dataclass(slots=True)
class Arrays:
    """The decisions. `stored`: variables with an array of their own.

    `shared[v]` is the update's result whose array v is kept in; `readers[v]`: numbers of the
    equations in whose definitions v is read; `first_write[w]`: for a group output w that lives in
    a donated input's memory, the number of the equation that first writes there.
    """

    stored: set[Var] = field(default_factory=set)
    shared: dict[Var, Var] = field(default_factory=dict)
    readers: dict[Var, set[int]] = field(default_factory=dict)
    first_write: dict[Var, int] = field(default_factory=dict)


def arrays(group: Group) -> Arrays:
    """Decides for every variable of the group."""
    result = Arrays(stored=set(group.outputs))
    _share_updates(group, result)
    paths: dict[Var, set[int]] = {}
    expanded: set[Var] = set()
    dense: set[Var] = set()
    lengthened: dict[tuple[int, int, int], int] = {}
    for number in reversed(range(len(group.equations))):
        equation = group.equations[number]
        own = [v for v in equation.outputs if v in paths or v in result.stored]
        if not own:
            continue  # nobody reads it
        if _needs_array(equation, own, paths, expanded, dense, result):
            result.stored |= set(own)
            roots = {number}
            mine = {_path(lengthened, -1, number, -1)}
            wide = thick = False
        else:
            roots = set().union(*(result.readers.get(v, set()) for v in own))
            mine = set().union(*(paths[v] for v in own))
            wide = any(v in expanded for v in own)
            thick = any(v in dense for v in own)
        moves = isinstance(equation.op, MOVES + DEFINED)
        for k, operand in enumerate(equation.inputs):
            if not isinstance(operand, Var):
                continue
            if k == 0 and isinstance(equation.op, UPDATES) and in_place(group, result, equation):
                continue
            result.readers.setdefault(operand, set()).update(roots)
            there = {_path(lengthened, p, number, k) for p in mine} if moves else mine
            paths.setdefault(operand, set()).update(there)
            if wide or _expands(equation, k):
                expanded.add(operand)
            if thick or isinstance(equation.op, ops.DotGeneral | ops.Conv | ops.ConvBlocked):
                dense.add(operand)
            if isinstance(equation.op, ops.Sort):
                dense.add(operand)
    return result


def _path(known: dict[tuple[int, int, int], int], *step: int) -> int:
    return known.setdefault((step[0], step[1], step[2]), len(known))


def _needs_array(
    equation: Equation,
    own: list[Var],
    paths: dict[Var, set[int]],
    expanded: set[Var],
    dense: set[Var],
    so_far: Arrays,
) -> bool:
    if isinstance(equation.op, DEFINED) or any(v in so_far.stored for v in own):
        return True
    var = own[0]
    if var in dense and not isinstance(equation.op, DENSE_MOVES):
        return True
    limit = _limit(equation)
    return len(paths[var]) > limit or (limit == _COSTLY and var in expanded)


def _limit(equation: Equation) -> int:
    match equation.op:
        case ops.Elementwise(name):
            return _CHEAP if name in CHEAP else _COSTLY
        case ops.Select() | ops.Pad() | ops.Concatenate():
            return _CHEAP
        case ops.Gather():
            return _COSTLY
        case _:
            return _VIEW


def _expands(equation: Equation, k: int) -> bool:
    """Whether the equation reads elements of its operand k many times."""
    op, operand, result = equation.op, equation.inputs[k].type, equation.outputs[0].type
    match op:
        case ops.Pool(_, window, strides):
            return any(w > s for w, s in zip(window, strides, strict=True))
        case ops.Scatter():
            return operand.size < equation.inputs[-1].type.size
        case ops.Elementwise() | ops.Select() | ops.Broadcast() | ops.Gather():
            return operand.size < result.size
        case ops.Pad():
            return k == 1
        case _:
            return False


def in_place(group: Group, so_far: Arrays, equation: Equation) -> bool:
    """Whether an update finds its operand's content in the array that it writes."""
    operand, result = equation.inputs[0], equation.outputs[0]
    if not isinstance(operand, Var):
        return False
    if so_far.shared.get(operand) is result:
        return True
    root = home(so_far, result)
    return any(group.inputs[i] is operand and group.outputs[o] is root for i, o in group.donated)


def home(so_far: Arrays, var: Var) -> Var:
    """The variable whose array `var` is kept in."""
    while var in so_far.shared:
        var = so_far.shared[var]
    return var


def _share_updates(group: Group, result: Arrays) -> None:
    """Lets chains of updates work in one array, the last one's."""
    uses = Counter(v for e in group.equations for v in e.inputs if isinstance(v, Var))
    made = {v: e for e in group.equations for v in e.outputs}
    given = {group.outputs[o]: group.inputs[i] for i, o in group.donated}
    for number in reversed(range(len(group.equations))):
        equation = group.equations[number]
        target = equation.outputs[0]
        root = home(result, target)
        if root in given:
            result.first_write[root] = number
        if not isinstance(equation.op, UPDATES):
            continue
        operand = equation.inputs[0]
        if not isinstance(operand, Var) or operand not in made:
            continue
        free = uses[operand] == 1 and operand not in group.outputs
        if free and (root not in given or isinstance(made[operand].op, UPDATES)):
            result.shared[operand] = target
            result.stored.add(operand)
        elif root in given:
            result.stored.add(operand)
