"""From blocks to statements: bindings substituted, reduction initialisation made explicit.

The first step from the loop to the flat level. Buffers are still logical arrays here; `storage.py`
places them and `flatten.py` puts the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..expr import index as ix
from ..expr.nodes import Buffer, Combiner, Index, Symbol, Value
from ..expr.values import rewrite_with_index
from ..loop import nodes as l
from ..source import Source
from ..tensor.nodes import AxisKind

Ranges: TypeAlias = dict[Symbol, tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Statement:
    """`outputs[k][index] = values[k]`, combined with what is there if a combiner is given."""

    outputs: tuple[Buffer, ...]
    index: tuple[Index, ...]
    values: tuple[Value, ...]
    combiner: Combiner | None
    guard: tuple[Index, ...]
    contract: bool
    source: Source | None
    stream: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Nest:
    """A loop around statements."""

    symbol: Symbol
    extent: int
    kind: l.LoopKind
    partition: bool
    body: tuple[Node, ...]


Node: TypeAlias = Nest | Statement
Path: TypeAlias = tuple[l.For, ...]


def statements(program: l.LoopProgram) -> tuple[Node, ...]:
    """The program's loops around statements, every reduction with its initialisation."""
    before: dict[int, list[Node]] = {}
    _collect(program.body, (), before)
    return _convert(program.body, {}, before)


def _collect(nodes: Iterable[l.Node], path: Path, before: dict[int, list[Node]]) -> None:
    """Files each reduction's initialisation under the node it must precede."""
    for node in nodes:
        if isinstance(node, l.For):
            _collect(node.body, (*path, node), before)
        elif node.definition.combiner is not None and not node.definition.update:
            depth = _init_depth(node, path)
            place = path[depth] if depth < len(path) else node
            before.setdefault(id(place), []).append(_initialise(node, path, depth))


def _convert(
    nodes: Iterable[l.Node], ranges: Ranges, before: Mapping[int, list[Node]]
) -> tuple[Node, ...]:
    result: list[Node] = []
    for node in nodes:
        result.extend(before.get(id(node), ()))
        if isinstance(node, l.For):
            body = _convert(node.body, {**ranges, node.symbol: (0, node.extent - 1)}, before)
            result.append(Nest(node.symbol, node.extent, node.kind, node.partition, body))
        else:
            result.append(_statement(node, ranges))
    return tuple(result)


def _bound_symbols(block: l.Block, kinds: tuple[AxisKind, ...]) -> frozenset[Symbol]:
    """The loop symbols that the block's axes of these kinds are bound to."""
    found: frozenset[Symbol] = frozenset()
    for axis, binding in zip(block.definition.axes, block.bindings, strict=True):
        if axis.kind in kinds:
            found |= ix.symbols(binding)
    return found


def _init_depth(block: l.Block, path: Path) -> int:
    """The position on the path of the outermost loop that a reduce axis is bound to."""
    reduce = _bound_symbols(block, (AxisKind.REDUCE,))
    return next((k for k, loop in enumerate(path) if loop.symbol in reduce), len(path))


def _initialise(block: l.Block, path: Path, depth: int) -> Node:
    """`output = identity` over clones of the spatial loops from `depth` inwards."""
    definition = block.definition
    assert definition.combiner is not None
    reduce = _bound_symbols(block, (AxisKind.REDUCE,))
    spatial = _bound_symbols(block, (AxisKind.SPATIAL, AxisKind.SCAN))
    cloned = [loop for loop in path[depth:] if loop.symbol in spatial]
    fresh = {loop.symbol: Symbol(loop.symbol.name) for loop in cloned}
    ranges: Ranges = {loop.symbol: (0, loop.extent - 1) for loop in path[:depth]}
    ranges |= {fresh[loop.symbol]: (0, loop.extent - 1) for loop in cloned}
    to_fresh = {old: ix.of(new) for old, new in fresh.items()}
    axes = {
        axis.symbol: ix.substitute(binding, to_fresh, ranges)
        for axis, binding in zip(definition.axes, block.bindings, strict=True)
        if axis.kind is not AxisKind.REDUCE
    }
    guard = tuple(
        ix.substitute(g, to_fresh, ranges) for g in block.guard if not ix.symbols(g) & reduce
    )
    node: Node = Statement(
        definition.outputs,
        tuple(ix.substitute(i, axes, ranges) for i in definition.index),
        definition.combiner.identity,
        None,
        guard,
        False,
        definition.source,
    )
    for loop in reversed(cloned):
        kind = l.LoopKind.SERIAL if loop.kind is l.LoopKind.PARALLEL else loop.kind
        node = Nest(fresh[loop.symbol], loop.extent, kind, loop.partition, (node,))
    return node


def _statement(block: l.Block, ranges: Ranges) -> Statement:
    definition = block.definition
    axes = {
        axis.symbol: binding for axis, binding in zip(definition.axes, block.bindings, strict=True)
    }
    values, indices = rewrite_with_index(
        definition.values,
        (*definition.index, *definition.domain),
        mapping=axes,
        ranges=ranges,
        conditions=block.guard,
    )
    rank = len(definition.index)
    return Statement(
        definition.outputs,
        indices[:rank],
        values,
        definition.combiner,
        tuple(dict.fromkeys((*block.guard, *indices[rank:]))),
        definition.combiner is not None and not definition.exact_order,
        definition.source,
        block.stream,
    )
