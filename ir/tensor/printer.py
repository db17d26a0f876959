"""Tensor programs as text.

    program    ::= kernel name(param, ...) [scratch buffer] ... definition ...
    param      ::= [out | inout] name: dtype[extents]
    definition ::= for axis in extent, ...: left = value [where index >= 0 ...]
    left       ::= buffer[index, ...], ...     `= sum(axes)` reduces, `<-` and `sum<-` update

Axis kinds show where they matter: reduced ones stand in brackets after the combiner, scanned ones
are marked `scan`. Shared values are named by `let` lines inside the definition.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..expr.nodes import Buffer
from ..expr.printer import Text, print_buffer, print_together
from .nodes import Axis, AxisKind, Definition, Param, Role, TensorProgram

_ROLES = {Role.INPUT: "", Role.OUTPUT: "out ", Role.INOUT: "inout "}


def print_program(program: TensorProgram) -> str:
    """The whole program."""
    lines = [print_header(program.name, program.params)]
    inside = [b for d in program.definitions for b in d.outputs]
    lines += print_scratch(program.params, inside)
    lines += [print_definition(d) for d in program.definitions]
    return "\n".join(lines)


def print_header(name: str, params: Sequence[Param]) -> str:
    """The first line: the kernel and its parameters."""
    shown = (_ROLES[p.role] + print_buffer(p.buffer) for p in params)
    return f"kernel {name}({', '.join(shown)})"


def print_scratch(params: Sequence[Param], written: Sequence[Buffer]) -> list[str]:
    """A line for each buffer that is written but is no parameter."""
    outside = {p.buffer for p in params}
    inside = dict.fromkeys(b for b in written if b not in outside)
    return [f"{b.scope.value} {print_buffer(b)}" for b in inside]


def print_definition(definition: Definition) -> str:
    """One definition."""
    text = print_together(definition.values, (*definition.index, *definition.domain))
    axes = ", ".join(_axis(a) for a in definition.axes)
    head = f"for {axes}: " if axes else ""
    rank = len(definition.index)
    line = statement(definition, text, f"= {_combiner(definition)}")
    domain = "".join(f"\n  where {c} >= 0" for c in text.positions[rank:])
    if not text.lets:
        return head + line + domain
    lets = "".join(f"\n  let {name} = {value}" for name, value in text.lets)
    return f"{head.rstrip() or 'once:'}{lets}\n  {line}" + domain.replace("\n", "\n  ")


def statement(definition: Definition, text: Text, sign: str) -> str:
    """`left sign value`; `sign` is that of a definition which is no update."""
    index = ", ".join(text.positions[: len(definition.index)])
    left = ", ".join(f"{b.name}[{index}]" for b in definition.outputs)
    if definition.update:
        combiner = definition.combiner
        sign = f"{combiner.name if combiner is not None else ''}<-"
    return f"{left} {sign.strip()} {', '.join(text.values)}"


def reduced(definition: Definition) -> str:
    """The names of the reduced axes."""
    return ", ".join(a.symbol.name for a in definition.axes if a.kind is AxisKind.REDUCE)


def _axis(axis: Axis) -> str:
    scan = " scan" if axis.kind is AxisKind.SCAN else ""
    return f"{axis.symbol.name} in {axis.extent}{scan}"


def _combiner(definition: Definition) -> str:
    if definition.combiner is None:
        return ""
    order = "exact " if definition.exact_order else ""
    return f"{order}{definition.combiner.name}({reduced(definition)})"
