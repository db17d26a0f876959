"""Fusion: cuts a graph into groups, each of which becomes one kernel.

Equations are visited once, last first. Each joins the group of its consumers if no question of
`fusion.py` objects, else it starts a group. Groups are numbered as they start, and an operand's
group never has a smaller number than its consumer's: so reversing the numbers gives an order, and
no cycle can arise. Equations that only move elements are repeated in each group that needs them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ...visits import visit
from ..nodes import Atom, Equation, Graph, Group, GroupedGraph, Var
from ..ops import Bitcast, Broadcast, Cast, Iota, Reshape, Scatter, Slice, Transpose, UpdateSlice
from ..views import disturbs, is_view
from .fusion import (
    Candidate,
    Context,
    Contexts,
    Forming,
    Kind,
    describe,
    kind,
    objection,
    operand_contexts,
    row_of,
)
from .hoist import hoist_views

MAX_REPEATS = 4
"""Total repeated equations allowed, as a multiple of the graph's own."""


def group(graph: Graph, written: Iterable[int] = ()) -> GroupedGraph:
    """The graph as groups, in an order that respects their uses.

    `written`: numbers of the inputs that the function may overwrite once their old value is dead.
    Each live equation is in one group; broadcasts, reshapes, transposes, slices, casts and iotas
    may be repeated in several. Groups with an update-slice or scatter have its operand `donated`.
    """
    return _Fusion(graph, frozenset(written)).run()


class _Fusion:
    """The state of one run: where each equation went, and what is still to be met."""

    def __init__(self, graph: Graph, written: frozenset[int]):
        self.graph = graph
        self.groups: list[Forming] = []
        self.consumers: dict[Var, list[tuple[Equation, int]]] = defaultdict(list)
        self.homes: dict[Equation, Forming] = {}
        self.placed: dict[Equation, list[Forming]] = {}
        self.results = {v for v in graph.outputs if isinstance(v, Var)}
        fixed = {v for k, v in enumerate(graph.inputs) if k not in written}
        self.fixed = fixed | {c.var for c in graph.constants}
        self.overwritten: dict[Var, int] = {}  # the last group that updates the variable in place
        self.latest: dict[tuple[int, ...], Forming] = {}  # by shape, for results side by side
        self.repeats = MAX_REPEATS * len(graph.equations) + 64
        self.riders = _riders(graph, self.results)

    def run(self) -> GroupedGraph:
        for equation in self.graph.equations:
            for position, atom in enumerate(equation.inputs):
                if isinstance(atom, Var):
                    self.consumers[atom].append((equation, position))
        for equation in visit("fuse", reversed(self.graph.equations)):
            self.place(equation)
        groups = hoist_views(self.finish())
        return GroupedGraph(self.graph.inputs, self.graph.constants, groups, self.graph.outputs)

    def place(self, equation: Equation) -> None:
        """Puts the equation into the groups that want it, or into one of its own."""
        needs = self.needs(equation)
        exported = any(v in self.results for v in equation.outputs)
        if not needs and not exported:
            return  # dead
        floor = self.floor(equation)
        if _is_repeatable(equation) and self.repeats > 0:
            joined = [
                g
                for g, contexts in needs.items()
                if g.number >= floor
                and objection(self.candidate(equation, g, contexts, False)) is None
            ]
            for g in joined:
                self.join(equation, g, needs[g])
            self.repeats -= len(joined)
            if len(joined) == len(needs) and not exported:
                self.homes[equation] = joined[0]
                return
        elif needs:
            last = max(needs, key=lambda g: g.number)
            leaves = exported or len(needs) > 1
            candidate = self.candidate(equation, last, needs[last], leaves)
            if last.number >= floor and objection(candidate) is None:
                self.join(equation, last, needs[last])
                self.homes[equation] = last
                if leaves:
                    last.outputs.extend(equation.outputs)
                return
        if not self.join_beside(equation, needs, floor):
            self.start(equation)

    def needs(self, equation: Equation) -> dict[Forming, Contexts]:
        """The groups that consume the equation's results, and where in them."""
        found: dict[Forming, set[Context]] = {}
        memory: set[Forming] = set()
        for var in equation.outputs:
            for consumer, position in visit("fuse.uses", self.consumers[var]):
                for g in self.placed.get(consumer, ()):
                    own = g.contexts[consumer.outputs[0]]
                    contexts = operand_contexts(consumer, position, own)
                    if not contexts:
                        memory.add(g)
                    found.setdefault(g, set()).update(contexts)
        return {g: frozenset() if g in memory else frozenset(c) for g, c in found.items()}

    def candidate(
        self, equation: Equation, g: Forming, contexts: Contexts, exported: bool
    ) -> Candidate:
        return Candidate(equation, g, contexts, exported, equation in self.riders)

    def floor(self, equation: Equation) -> int:
        """The smallest number of a group that still runs before its operands are overwritten.

        The updating group itself is allowed: a question of its own looks at it.
        """
        numbers = [self.overwritten.get(a, 0) for a in equation.inputs if isinstance(a, Var)]
        return max(numbers, default=0)

    def join(self, equation: Equation, g: Forming, contexts: Contexts) -> None:
        g.members.append(equation)
        self.placed.setdefault(equation, []).append(g)
        for var in equation.outputs:
            g.contexts[var] = contexts
        g.reads.update(a for a in equation.inputs if isinstance(a, Var))
        match kind(equation.op):
            case Kind.CONTRACTION:
                g.contraction = True
            case Kind.REDUCTION:
                row = (equation.outputs[0].type.size, equation.inputs[0].type.size)
                g.rows = row_of(equation) or row

    def join_beside(self, equation: Equation, needs: dict[Forming, Contexts], floor: int) -> bool:
        """Joins a group that computes another result of the same shape from the same array."""
        shape = equation.outputs[0].type.shape
        g = self.latest.get(shape)
        if g is None or g in needs or equation in self.riders:
            return False
        if g.number < max([floor, *(n.number for n in needs)]):
            return False
        shares = any(isinstance(a, Var) and a in g.reads for a in equation.inputs)
        here = frozenset({Context(shape)})
        elementwise = kind(equation.op) is Kind.ELEMENTWISE
        if not (elementwise and shares and g.plain):
            return False
        if objection(self.candidate(equation, g, here, True)) is not None:
            return False
        self.join(equation, g, here)
        g.outputs.extend(equation.outputs)
        self.homes[equation] = g
        return True

    def start(self, equation: Equation) -> None:
        shape = equation.outputs[0].type.shape
        view = is_view(equation) and self.is_memory(equation)
        g = Forming(len(self.groups), equation, shape, view, outputs=list(equation.outputs))
        self.groups.append(g)
        self.homes[equation] = g
        self.join(equation, g, frozenset({Context(shape)}))
        if kind(equation.op) is Kind.ELEMENTWISE:
            self.latest[shape] = g
        updated = g.updated
        if updated is not None and updated not in self.fixed:
            self.overwritten.setdefault(updated, g.number)

    def is_memory(self, equation: Equation) -> bool:
        """Whether a view of the operand is worth it: a slice may instead compute a part only."""
        return isinstance(equation.op, Reshape) or equation.inputs[0] in self.fixed

    def finish(self) -> tuple[Group, ...]:
        """The groups in running order, with their inputs and outputs."""
        wanted = set(self.results)
        for g in self.groups:
            g.members.reverse()
            inside = {v for e in g.members for v in e.outputs}
            wanted.update(g.reads - inside)
        finished = []
        names: dict[str, int] = defaultdict(int)
        for g in reversed(self.groups):
            home = [v for e in g.members if self.homes[e] is g for v in e.outputs]
            outputs = tuple(v for v in home if v in wanted)
            equations = _ordered(g.members, outputs)
            inputs = _inputs(equations)
            title = describe(equations)
            number = names[title]
            names[title] += 1
            name = f"{title}_{number}" if number else title
            donated = _donated(equations, inputs, outputs)
            finished.append(Group(name, inputs, equations, outputs, donated))
        return tuple(finished)


def _ordered(members: list[Equation], outputs: tuple[Var, ...]) -> tuple[Equation, ...]:
    """The equations by a walk from the outputs, operands first.

    So the order depends on the group alone, not on what stood between its equations, and equal
    groups have equal keys.
    """
    makers = {v: e for e in members for v in e.outputs}
    result: dict[Equation, None] = {}
    stack = [(makers[v], False) for v in reversed(outputs)]
    while stack:
        equation, ready = stack.pop()
        if equation in result:
            continue
        if ready:
            result[equation] = None
            continue
        stack.append((equation, True))
        operands = [makers[a] for a in equation.inputs if isinstance(a, Var) and a in makers]
        stack.extend((e, False) for e in reversed(operands) if e not in result)
    return tuple(result)


def _inputs(equations: tuple[Equation, ...]) -> tuple[Var, ...]:
    inside = {v for e in equations for v in e.outputs}
    reads = (a for e in equations for a in e.inputs if isinstance(a, Var) and a not in inside)
    return tuple(dict.fromkeys(reads))


def _donated(
    equations: tuple[Equation, ...], inputs: tuple[Var, ...], outputs: tuple[Var, ...]
) -> tuple[tuple[int, int], ...]:
    """The operand of the group's update, unless a copy is better.

    A large update that reads neighbours of what it writes (a stencil) would need its values held
    back; reading the old array and writing a new one moves less.
    """
    root = equations[-1]
    operand: Atom | None = root.inputs[0] if root.inputs else None
    if not isinstance(root.op, UpdateSlice | Scatter) or not isinstance(operand, Var):
        return ()
    if 2 * root.inputs[-1].type.size >= operand.type.size:
        readers = [e for e in equations[:-1] if operand in e.inputs]
        if any(disturbs(root, e) for e in readers):
            return ()
    return ((inputs.index(operand), outputs.index(root.outputs[0])),)


def _is_repeatable(equation: Equation) -> bool:
    """Whether doing it again costs less than a trip through memory."""
    match equation.op:
        case Broadcast() | Reshape() | Transpose() | Slice() | Iota() | Bitcast():
            return True
        case Cast(dtype):
            return equation.inputs[0].type.dtype.itemsize <= dtype.itemsize
        case _:
            return False


def _riders(graph: Graph, results: set[Var]) -> set[Equation]:
    """Elementwise equations that could be computed in the epilogue of a contraction."""
    uses: dict[Var, int] = defaultdict(int)
    for equation in graph.equations:
        for atom in equation.inputs:
            if isinstance(atom, Var):
                uses[atom] += 1
    carried: set[Var] = set()
    riders: set[Equation] = set()
    for equation in graph.equations:
        result = equation.outputs[0]
        match kind(equation.op):
            case Kind.CONTRACTION:
                carried.add(result)
            case Kind.ELEMENTWISE:
                for atom in equation.inputs:
                    if isinstance(atom, Var) and atom in carried and atom not in results:
                        if uses[atom] == equation.inputs.count(atom):
                            if atom.type.shape == result.type.shape:
                                carried.add(result)
                                riders.add(equation)
    return riders
