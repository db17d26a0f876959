"""Calls of nested jitted functions become their equations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...errors import InternalError
from ...visits import visit
from ..nodes import Atom, Constant, Equation, Graph, Var
from ..ops import Call


def inline(graph: Graph) -> Graph:
    """`y = call[f] x` -> the equations of f with x for its inputs, each call with fresh variables.

    Constants of a graph that is called twice appear once. Linear in the equations of the result.
    """
    if not any(isinstance(e.op, Call) for e in graph.equations):
        return graph
    constants = list(graph.constants)
    shared: dict[Constant, Var] = {}
    equations: list[Equation] = []
    frames = [_Frame(graph)]
    while frames:
        frame = frames[-1]
        call = frame.copy_until_call(equations)
        if call is not None:
            frames.append(_open(frame, call, shared, constants))
            continue
        frames.pop()
        if frames:
            results = [frame.read(a) for a in frame.graph.outputs]
            frames[-1].names.update(zip(frame.returns, results, strict=True))
    outputs = tuple(frame.read(a) for a in graph.outputs)
    return Graph(graph.inputs, tuple(constants), tuple(equations), outputs)


@dataclass(slots=True)
class _Frame:
    """A graph being copied: what its variables are called outside, and what comes next."""

    graph: Graph
    returns: tuple[Var, ...] = ()
    fresh: bool = False
    names: dict[Atom, Atom] = field(default_factory=dict)
    rest: Iterator[Equation] = field(init=False)

    def __post_init__(self) -> None:
        self.rest = iter(visit("inline", self.graph.equations))

    def read(self, atom: Atom) -> Atom:
        return self.names.get(atom, atom)

    def copy_until_call(self, equations: list[Equation]) -> Equation | None:
        for equation in self.rest:
            if isinstance(equation.op, Call):
                return equation
            inputs = tuple([self.read(a) for a in equation.inputs])
            outputs = equation.outputs
            if self.fresh:
                outputs = tuple([Var(v.type) for v in outputs])
                self.names.update(zip(equation.outputs, outputs, strict=True))
            elif inputs == equation.inputs:
                equations.append(equation)
                continue
            equations.append(Equation(equation.op, inputs, outputs, equation.source))
        return None


def _open(
    frame: _Frame, call: Equation, shared: dict[Constant, Var], constants: list[Constant]
) -> _Frame:
    assert isinstance(call.op, Call)
    callee = call.op.graph
    if not isinstance(callee, Graph):
        raise InternalError(f"the call of {call.op.name} holds no graph", call.source)
    inner = _Frame(callee, call.outputs, fresh=True)
    arguments = [frame.read(a) for a in call.inputs]
    inner.names.update(zip(callee.inputs, arguments, strict=True))
    for constant in callee.constants:
        if constant not in shared:
            shared[constant] = Var(constant.var.type)
            constants.append(Constant(shared[constant], constant.array))
        inner.names[constant.var] = shared[constant]
    return inner
