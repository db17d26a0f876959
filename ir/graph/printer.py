"""Graphs as text.

    graph    ::= "graph" name? "(" binder, ... ")" "{" line ... "}"
    line     ::= "constant" binder
               | binder, ... "=" op atom ...             ["#" file ":" line]
               | "group" name "(" var, ... ")" "->" "(" var, ... ")" ["updates" var "as" var, ...]
                     "{" line ... "}"
               | "return" atom, ...
    binder   ::= var ":" type
    type     ::= dtype "[" extent, ... "]"
    op       ::= name | name "[" field "=" value, ... "]"
    atom     ::= var | number ":" dtype

Variables are named a, b, ..., z, aa, ... in the order of their definition, so equal graphs print
equally. An elementwise operation prints as its name; fields at their default are left out. Graphs
that are called are printed below the one that calls them, each once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields

from . import ops
from .nodes import ArrayType, Atom, Equation, Graph, Group, GroupedGraph, Literal, Var


def print_graph(graph: Graph | GroupedGraph, *, sources: bool = False) -> str:
    """The graph by the grammar above; with `sources`, each line says where it was written."""
    printer = _Printer(sources)
    lines = list(printer.graph("graph", graph))
    while printer.waiting:
        name, called = printer.waiting.pop(0)
        lines += ["", *printer.graph(f"graph {name}", called)]
    return "\n".join(lines)


def print_equations(equations: Iterable[Equation], *, sources: bool = False) -> str:
    """Equations alone, one a line; free variables are named as they come."""
    printer = _Printer(sources)
    return "\n".join(printer.equation(e) for e in equations)


def print_type(type_: ArrayType) -> str:
    """`float32[2,3]`."""
    return f"{type_.dtype}[{','.join(map(str, type_.shape))}]"


def print_op(op: ops.GraphOp) -> str:
    """The operation with its fields."""
    return _Printer(False).op(op)


def short_name(number: int) -> str:
    """a, ..., z, aa, ab, ..., for 0, 1, ...."""
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(ord("a") + digit) + name
    return name


class _Printer:
    def __init__(self, sources: bool):
        self.sources = sources
        self.names: dict[Var, str] = {}
        self.called: dict[object, str] = {}
        self.waiting: list[tuple[str, Graph]] = []

    def name(self, var: Var) -> str:
        return self.names.setdefault(var, short_name(len(self.names)))

    def atom(self, atom: Atom) -> str:
        if isinstance(atom, Literal):
            return f"{atom.value!s}:{atom.value.dtype}"
        return self.name(atom)

    def binder(self, var: Var) -> str:
        return f"{self.name(var)}: {print_type(var.type)}"

    def graph(self, head: str, graph: Graph | GroupedGraph) -> Iterator[str]:
        yield f"{head} ({', '.join(map(self.binder, graph.inputs))}) {{"
        for constant in graph.constants:
            yield f"  constant {self.binder(constant.var)}"
        if isinstance(graph, Graph):
            for equation in graph.equations:
                yield "  " + self.equation(equation)
        else:
            for group in graph.groups:
                yield from self.group(group)
        yield f"  return {', '.join(map(self.atom, graph.outputs))}".rstrip()
        yield "}"

    def group(self, group: Group) -> Iterator[str]:
        body = ["    " + self.equation(e) for e in group.equations]
        reads, makes = (", ".join(map(self.name, vs)) for vs in (group.inputs, group.outputs))
        updates = ", ".join(
            f"{self.name(group.inputs[i])} as {self.name(group.outputs[k])}"
            for i, k in group.donated
        )
        tail = f" updates {updates}" if updates else ""
        yield f"  group {group.name} ({reads}) -> ({makes}){tail} {{"
        yield from body
        yield "  }"

    def equation(self, equation: Equation) -> str:
        operands = [self.atom(a) for a in equation.inputs]
        made = ", ".join(map(self.binder, equation.outputs))
        text = " ".join([made, "=", self.op(equation.op), *operands])
        if self.sources and equation.source is not None:
            place = f"{os.path.basename(equation.source.file)}:{equation.source.line}"
            return f"{text}  # {place}"
        return text

    def op(self, op: ops.GraphOp) -> str:
        if isinstance(op, ops.Elementwise):
            return op.name
        if isinstance(op, ops.Call):
            return f"call[{self._callee(op)}]"
        shown = [
            f"{f.name}={_value(getattr(op, f.name))}"
            for f in fields(op)
            if f.default is MISSING or getattr(op, f.name) != f.default
        ]
        inside = f"[{', '.join(shown)}]" if shown else ""
        return _snake(type(op).__name__) + inside

    def _callee(self, op: ops.Call) -> str:
        if op.graph not in self.called:
            taken = set(self.called.values())
            name, number = op.name, 1
            while name in taken:
                name, number = f"{op.name}_{number}", number + 1
            self.called[op.graph] = name
            if isinstance(op.graph, Graph):
                self.waiting.append((name, op.graph))
        return self.called[op.graph]


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and k else c.lower() for k, c in enumerate(name))


def _value(value: object) -> str:
    return str(value).replace(" ", "") if isinstance(value, tuple) else str(value)
