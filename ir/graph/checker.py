"""The rules that every graph, and every graph cut into groups, keeps.

- Each variable is defined once (as an input, a constant or an equation's output) before its uses.
- Outputs of an equation have the types that the operation's rule gives for its operands.
- A constant's array has its variable's type, is C-contiguous and read-only.
- A literal is a NumPy scalar of a supported type.
- A group reads only its inputs and what it makes itself; each of its outputs is made in it, and
  handed out by no other group. Donated inputs have the type of their output.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..errors import InternalError, LoopwrightError
from ..visits import visit
from .nodes import Atom, Equation, Graph, GroupedGraph, Literal, Var
from .printer import print_equations, print_type
from .types import result_types

_AROUND = 5


def check(graph: Graph, trusted: set[Equation] | None = None) -> None:
    """Raises InternalError, quoting the equations around the fault, unless the graph is sound.

    Linear in equations and operands. `trusted` equations were checked before: only their place is
    looked at, since types never change; the others are added to it.
    """
    trusted = set() if trusted is None else trusted
    defined = _start(graph)
    _check_equations(graph.equations, defined, trusted)
    _check_outputs(graph.outputs, defined)


def check_groups(grouped: GroupedGraph) -> None:
    """Raises InternalError unless the graph cut into groups is sound; linear."""
    defined = _start(grouped)
    trusted: set[Equation] = set()
    for group in grouped.groups:
        try:
            _check_outputs(group.inputs, defined)
            inside: set[Atom] = set(group.inputs)
            _check_equations(group.equations, inside, trusted)
            _check_outputs(group.outputs, inside - set(group.inputs))
            for var in group.outputs:
                _define(var, defined, "an output")
            for source, target in group.donated:
                if group.inputs[source].type != group.outputs[target].type:
                    raise InternalError(f"donated input {source} differs in type")
        except InternalError as fault:
            raise InternalError(f"in group {group.name}: {fault.what}", fault.where) from None
    _check_outputs(grouped.outputs, defined)


def _start(graph: Graph | GroupedGraph) -> set[Atom]:
    """The inputs and constants, checked."""
    defined: set[Atom] = set()
    for var in graph.inputs:
        _define(var, defined, "an input")
    for constant in graph.constants:
        array = constant.array
        _define(constant.var, defined, "a constant")
        if (array.shape, array.dtype) != (constant.var.type.shape, constant.var.type.dtype):
            raise InternalError(
                f"a constant of type {print_type(constant.var.type)} holds an array of dtype "
                f"{array.dtype} and shape {array.shape}"
            )
        if array.flags.writeable or not array.flags.c_contiguous:
            raise InternalError("a constant's array has to be C-contiguous and read-only")
    return defined


def _check_equations(
    equations: Sequence[Equation], defined: set[Atom], trusted: set[Equation]
) -> None:
    for number, equation in enumerate(visit("check", equations)):
        fault = _fault(equation, defined, equation in trusted)
        if fault is not None:
            raise InternalError(fault + "\n" + _quote(equations, number), equation.source)
        trusted.add(equation)


def _check_outputs(atoms: Sequence[Atom], defined: set[Atom]) -> None:
    for atom in atoms:
        if atom not in defined and (fault := _undefined(atom)):
            raise InternalError(f"a result or operand: {fault}")


def _define(var: Var, defined: set[Atom], what: str) -> None:
    if var in defined:
        raise InternalError(f"{what} is a variable that is defined already")
    if not dtypes.supported(var.type.dtype):
        raise InternalError(f"{what} has the unsupported dtype {var.type.dtype}")
    defined.add(var)


def _undefined(atom: Atom) -> str | None:
    if not isinstance(atom, Literal):
        return f"a variable of type {print_type(atom.type)} is used before it is defined"
    if not isinstance(atom.value, np.generic) or not dtypes.supported(atom.value.dtype):
        return f"the literal {atom.value!r} is not a NumPy scalar of a supported type"
    return None


def _fault(equation: Equation, defined: set[Atom], trusted: bool) -> str | None:
    for atom in equation.inputs:
        if atom not in defined and (fault := _undefined(atom)):
            return fault
    for var in equation.outputs:
        if var in defined:
            return f"a variable of type {print_type(var.type)} is defined twice"
        defined.add(var)
    if trusted:
        return None
    for var in equation.outputs:
        if any(type(extent) is not int or extent < 0 for extent in var.type.shape):
            return f"{var.type.shape} is not a shape of whole numbers"
    try:
        hash(equation.op)
        wanted = result_types(equation.op, tuple([atom.type for atom in equation.inputs]))
    except LoopwrightError as refusal:
        return refusal.what
    except (TypeError, ValueError) as error:
        return f"the fields of the operation are not sound: {error}"
    found = tuple([var.type for var in equation.outputs])
    if found != wanted:
        show = [", ".join(map(print_type, types)) for types in (found, wanted)]
        return f"an output is bound as {show[0]}, but the operation gives {show[1]}"
    return None


def _quote(equations: Sequence[Equation], number: int) -> str:
    first = max(0, number - _AROUND)
    lines = print_equations(equations[first : number + _AROUND + 1]).split("\n")
    return "\n".join(("> " if first + k == number else "  ") + s for k, s in enumerate(lines))
