"""Loop programs as text: the loop tree, two spaces a level.

    program ::= kernel name(param, ...) [scratch buffer] ... node ...
    node    ::= for loop in extent [kind] [partition]: node ... | block
    block   ::= let name = value ... statement [with axis = index, ...] [where index >= 0] ...

A statement is `buffer[index, ...] = value`, `+=(axes)` or `max=(axes)` for a reduction, `<-` or
`sum<-` for an update; it speaks of the definition's axes. `with` gives the axes that are not
simply the loop of their name; `where` first the definition's domain (over axes), then, after
`guard`, the block's guard (over loops).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..expr.nodes import Buffer
from ..expr.printer import print_index, print_together
from ..tensor.nodes import Definition
from ..tensor.printer import print_header, print_scratch, reduced, statement
from .nodes import Block, For, LoopKind, LoopProgram, Node


def print_program(program: LoopProgram) -> str:
    """The whole program."""
    lines = [print_header(program.name, program.params)]
    lines += print_scratch(program.params, list(_written(program.body)))
    lines += _nodes(program.body, 0)
    return "\n".join(lines)


def _written(nodes: Sequence[Node]) -> Iterator[Buffer]:
    for node in nodes:
        if isinstance(node, Block):
            yield from node.definition.outputs
        else:
            yield from _written(node.body)


def _nodes(nodes: Sequence[Node], depth: int) -> list[str]:
    lines = []
    for node in nodes:
        if isinstance(node, Block):
            lines += ["  " * depth + line for line in _block(node)]
        else:
            lines.append("  " * depth + _for(node))
            lines += _nodes(node.body, depth + 1)
    return lines


def _for(loop: For) -> str:
    kind = f" {loop.kind.value}" if loop.kind is not LoopKind.SERIAL else ""
    partition = " partition" if loop.partition else ""
    return f"for {loop.symbol.name} in {loop.extent}{kind}{partition}:"


def _block(block: Block) -> list[str]:
    definition = block.definition
    text = print_together(definition.values, (*definition.index, *definition.domain))
    lines = [f"let {name} = {value}" for name, value in text.lets]
    lines.append(statement(definition, text, _sign(definition)))
    bound = []
    for axis, binding in zip(definition.axes, block.bindings, strict=True):
        shown = print_index(binding)
        if shown != axis.symbol.name:
            bound.append(f"{axis.symbol.name} = {shown}")
    if bound:
        lines.append(f"  with {', '.join(bound)}")
    lines += [f"  where {c} >= 0" for c in text.positions[len(definition.index) :]]
    lines += [f"  guard {print_index(c)} >= 0" for c in block.guard]
    return lines


def _sign(definition: Definition) -> str:
    if definition.combiner is None:
        return "="
    name = "+" if definition.combiner.name == "sum" else definition.combiner.name
    order = "exact " if definition.exact_order else ""
    return f"{order}{name}=({reduced(definition)})"
