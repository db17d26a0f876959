"""Which variables of a group become arrays, and which updates share one.

One walk over the equations, readers first. Each variable that stays inline is known by the
*paths* on which definitions read it: a definition starts a path, an operation that moves elements
lengthens it, and elementwise code between two arrays keeps it. So one path is one evaluation per
element; more are recomputation, allowed where it is cheaper than memory.
"""

from __future__ import annotations

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
    return _Walk(group).run()


class _Walk:
    """The walk's state: how each variable is read, as far as its readers were visited."""

    def __init__(self, group: Group):
        self.group = group
        self.result = Arrays(stored=set(group.outputs))
        self.given = {group.outputs[o]: group.inputs[i] for i, o in group.donated}
        self.paths: dict[Var, set[int]] = {}
        self.expanded: set[Var] = set()  # read many times an element
        self.dense: set[Var] = set()  # read by a product or a sort
        self.updates: dict[Var, list[int]] = {}  # equations that update the variable, last first
        self._lengthened: dict[tuple[int, int, int], int] = {}

    def run(self) -> Arrays:
        for number in reversed(range(len(self.group.equations))):
            equation = self.group.equations[number]
            for var in equation.outputs:
                self._decide_updates(var, equation)
            own = [v for v in equation.outputs if v in self.paths or v in self.result.stored]
            if own:
                self._visit(number, equation, own)
        for var in self.group.inputs:
            self._decide_updates(var, None)
        for number, equation in enumerate(self.group.equations):
            root = home(self.result, equation.outputs[0])
            if root in self.given and equation.outputs[0] in self.result.stored:
                self.result.first_write.setdefault(root, number)
        return self.result

    def _visit(self, number: int, equation: Equation, own: list[Var]) -> None:
        """Notes how the equation reads its operands."""
        result = self.result
        wide = thick = False
        if self._needs_array(equation, own):
            result.stored |= set(own)
            roots, paths = {number}, {self._path(-1, number, -1)}
        else:
            (var,) = own
            roots, paths = result.readers[var], self.paths[var]
            wide, thick = var in self.expanded, var in self.dense
        moves = isinstance(equation.op, MOVES + DEFINED)
        products = (ops.DotGeneral, ops.Conv, ops.ConvBlocked, ops.Sort)
        for k, operand in enumerate(equation.inputs):
            if not isinstance(operand, Var):
                continue
            if k == 0 and isinstance(equation.op, UPDATES):
                self.updates.setdefault(operand, []).append(number)
                continue
            there = {self._path(p, number, k) for p in paths} if moves else paths
            if isinstance(equation.op, ops.ArgReduce):  # may read its operand twice
                there = there | {self._path(-1, number, len(equation.inputs))}
            self._read(operand, roots, there)
            if wide or _expands(equation, k):
                self.expanded.add(operand)
            if thick or isinstance(equation.op, products):
                self.dense.add(operand)

    def _read(self, operand: Var, roots: set[int], paths: set[int]) -> None:
        self.result.readers.setdefault(operand, set()).update(roots)
        self.paths.setdefault(operand, set()).update(paths)

    def _path(self, before: int, number: int, k: int) -> int:
        return self._lengthened.setdefault((before, number, k), len(self._lengthened))

    def _decide_updates(self, var: Var, maker: Equation | None) -> None:
        """Lets the last update of a variable work in the variable's array, if nobody minds.

        All readers are known now. Every other update first copies the variable: one more reader.
        """
        result, group = self.result, self.group
        numbers = self.updates.get(var, [])
        for number in numbers[1:]:
            self._read(var, {number}, {self._path(-1, number, 0)})
        if not numbers:
            return
        number = numbers[0]
        target = group.equations[number].outputs[0]
        root = home(result, target)
        late = any(reader > number for reader in result.readers.get(var, ()))
        if maker is None:
            if self.given.get(root) is var:
                return
        elif var not in group.outputs and not late:
            if root not in self.given or isinstance(maker.op, UPDATES):
                result.shared[var] = target
                result.stored.add(var)
                return
        if root in self.given and maker is not None:
            result.stored.add(var)  # its own rule may read what the update overwrites
        self._read(var, {number}, {self._path(-1, number, 0)})

    def _needs_array(self, equation: Equation, own: list[Var]) -> bool:
        if isinstance(equation.op, DEFINED) or any(v in self.result.stored for v in own):
            return True
        (var,) = own
        if var in self.dense and not isinstance(equation.op, DENSE_MOVES):
            return True
        limit = _limit(equation)
        return len(self.paths[var]) > limit or (limit == _COSTLY and var in self.expanded)


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
