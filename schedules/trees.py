"""Edits of the loop tree that know nothing of meaning: primitives are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..ir.expr import index as ix
from ..ir.expr.nodes import Index, Symbol
from ..ir.loop.nodes import Block, For, LoopProgram, Node
from .find import Path, ranges


def put(program: LoopProgram, path: Path, *nodes: Node) -> LoopProgram:
    """The program with the node at `path` replaced by `nodes`; loops left empty disappear."""
    return replace(program, body=_put(program.body, path, nodes))


def _put(body: tuple[Node, ...], path: Path, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    number, *rest = path
    if not rest:
        return (*body[:number], *nodes, *body[number + 1 :])
    parent = body[number]
    assert isinstance(parent, For)
    inner = _put(parent.body, tuple(rest), nodes)
    kept = (replace(parent, body=inner),) if inner else ()
    return (*body[:number], *kept, *body[number + 1 :])


def map_blocks(node: Node, edit: Callable[[Block], Block]) -> Node:
    """The node with every block edited."""
    if isinstance(node, Block):
        return edit(node)
    return replace(node, body=tuple(map_blocks(inner, edit) for inner in node.body))


def map_program(program: LoopProgram, edit: Callable[[Block], Block]) -> LoopProgram:
    """The program with every block edited."""
    return replace(program, body=tuple(map_blocks(node, edit) for node in program.body))


def rebind(
    nodes: Iterable[Node],
    mapping: Mapping[Symbol, Index],
    around: tuple[For, ...],
    guard: tuple[Index, ...] = (),
) -> tuple[Node, ...]:
    """The nodes with loop symbols replaced in bindings and guards, and a further guard.

    `around` are the loops around the nodes, those of the new symbols included.
    """
    return tuple(_rebind(node, mapping, around, guard) for node in nodes)


def _rebind(
    node: Node, mapping: Mapping[Symbol, Index], around: tuple[For, ...], guard: tuple[Index, ...]
) -> Node:
    if isinstance(node, For):
        inner = (*around, node)
        return replace(node, body=tuple(_rebind(n, mapping, inner, guard) for n in node.body))
    known = ranges(around)
    bindings = tuple(ix.substitute(b, mapping, known) for b in node.bindings)
    old = (ix.substitute(g, mapping, known) for g in node.guard)
    return replace(node, bindings=bindings, guard=open_guards((*old, *guard), known))


def rename(
    nodes: Iterable[Node], around: tuple[For, ...], taken: frozenset[str]
) -> tuple[Node, ...]:
    """The nodes with loops renamed whose names loops around them already have."""
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Block):
            result.append(node)
            continue
        name = fresh(node.symbol.name, taken)
        if name != node.symbol.name:
            loop = replace(node, symbol=Symbol(name))
            mapping = {node.symbol: ix.of(loop.symbol)}
            node = replace(loop, body=rebind(node.body, mapping, (*around, loop)))
        body = rename(node.body, (*around, node), taken | {name})
        result.append(replace(node, body=body))
    return tuple(result)


def open_guards(
    conditions: Iterable[Index], known: Mapping[Symbol, tuple[int, int]]
) -> tuple[Index, ...]:
    """The distinct conditions that can fail."""
    return tuple(c for c in dict.fromkeys(conditions) if ix.bounds(c, known)[0] < 0)


def nest(loops: Iterable[For], *body: Node) -> tuple[Node, ...]:
    """Loops (outermost first; their own bodies are ignored) around `body`."""
    for loop in reversed(tuple(loops)):
        body = (replace(loop, body=body),)
    return body


def fresh(name: str, taken: Iterable[str]) -> str:
    """The name, or the first of name_1, name_2, ... that is not taken."""
    used = set(taken)
    if name not in used:
        return name
    number = 1
    while f"{name}_{number}" in used:
        number += 1
    return f"{name}_{number}"
