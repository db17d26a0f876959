"""Blocks and loops of a loop program, by name and by symbol.

A loop is called `block/loop`, or by its bare name where only one loop has it. Of several loops of
one name around a block, the innermost is meant. Primitives also take the loop's symbol itself,
which is never ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from ..ir.errors import ScheduleError
from ..ir.expr.index import dynamics
from ..ir.expr.nodes import Buffer, Symbol
from ..ir.expr.values import loads
from ..ir.loop.nodes import Block, For, LoopProgram, Node
from ..ir.tensor.nodes import Definition

Path: TypeAlias = tuple[int, ...]
LoopName: TypeAlias = str | Symbol


@dataclass(frozen=True, slots=True, eq=False)
class LoopPlace:
    """A loop, its position (child numbers from the root) and the loops around it."""

    loop: For
    path: Path
    around: tuple[For, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BlockPlace:
    """A block, its position and the loops around it, outermost first."""

    block: Block
    path: Path
    around: tuple[For, ...]


def places(program: LoopProgram) -> Iterator[LoopPlace | BlockPlace]:
    """Every loop and block in program order, a loop before what is inside it."""
    yield from _places(program.body, (), ())


def _places(
    nodes: tuple[Node, ...], path: Path, around: tuple[For, ...]
) -> Iterator[LoopPlace | BlockPlace]:
    for number, node in enumerate(nodes):
        if isinstance(node, For):
            yield LoopPlace(node, (*path, number), around)
            yield from _places(node.body, (*path, number), (*around, node))
        else:
            yield BlockPlace(node, (*path, number), around)


def blocks(program: LoopProgram) -> list[BlockPlace]:
    """Every block in program order."""
    return [p for p in places(program) if isinstance(p, BlockPlace)]


def block(program: LoopProgram, name: str) -> BlockPlace:
    """The block of that name; `ScheduleError` (unknown_block) if there is none."""
    found = blocks(program)
    for place in found:
        if place.block.name == name:
            return place
    raise ScheduleError(
        f"there is no block {name!r} in {program.name}",
        None,
        "blocks: " + ", ".join(p.block.name for p in found),
        code="unknown_block",
    )


def loop(program: LoopProgram, name: LoopName) -> LoopPlace:
    """The loop of that name or symbol; `ScheduleError` (unknown_loop, ambiguous_loop) otherwise."""
    if isinstance(name, Symbol):
        way = _loop_of(program.body, name)
        if not way:
            raise _unknown(program, name.name)
        return LoopPlace(way[-1][1], tuple(k for k, _ in way), tuple(o for _, o in way[:-1]))
    owner, slash, bare = name.rpartition("/")
    if slash:
        around = block(program, owner)
        for depth in reversed(range(len(around.around))):
            if around.around[depth].symbol.name == bare:
                return LoopPlace(
                    around.around[depth], around.path[: depth + 1], around.around[:depth]
                )
        raise _unknown(program, name)
    found = [p for p in places(program) if isinstance(p, LoopPlace) and p.loop.symbol.name == bare]
    if len(found) > 1:
        raise ScheduleError(
            f"{len(found)} loops of {program.name} are called {bare!r}",
            None,
            "say which by its block: " + ", ".join(_long_names(program, bare)),
            code="ambiguous_loop",
        )
    if not found:
        raise _unknown(program, name)
    return found[0]


def _loop_of(nodes: tuple[Node, ...], symbol: Symbol) -> list[tuple[int, For]]:
    """The way down to a loop: (child number, loop) from the root, empty if there is none."""
    for number, node in enumerate(nodes):
        if isinstance(node, For):
            if node.symbol is symbol:
                return [(number, node)]
            inner = _loop_of(node.body, symbol)
            if inner:
                return [(number, node), *inner]
    return []


def _long_names(program: LoopProgram, bare: str) -> list[str]:
    return [
        f"{p.block.name}/{bare}"
        for p in blocks(program)
        if any(around.symbol.name == bare for around in p.around)
    ]


def _unknown(program: LoopProgram, name: str) -> ScheduleError:
    names = [f"{p.block.name}/{around.symbol.name}" for p in blocks(program) for around in p.around]
    return ScheduleError(
        f"there is no loop {name!r} in {program.name}",
        None,
        "loops: " + (", ".join(names) or "none"),
        code="unknown_loop",
    )


def node(program: LoopProgram, path: Path) -> Node:
    """The node at a position."""
    body = program.body
    for number in path[:-1]:
        inner = body[number]
        assert isinstance(inner, For)
        body = inner.body
    return body[path[-1]]


def below(node: Node) -> list[Block]:
    """The blocks in a node, in program order."""
    if isinstance(node, Block):
        return [node]
    return [b for inner in node.body for b in below(inner)]


def loops_below(node: Node) -> list[For]:
    """The loops in a node (itself included), outer before inner."""
    if isinstance(node, Block):
        return []
    return [node, *(loop for inner in node.body for loop in loops_below(inner))]


@lru_cache(maxsize=256)
def reads(definition: Definition) -> frozenset[Buffer]:
    """The buffers that a definition reads."""
    inside = [d.value for i in definition.index for d in dynamics(i)]
    return frozenset(load.buffer for load in loads((*definition.values, *inside)))


def writer(program: LoopProgram, buffer: Buffer) -> BlockPlace | None:
    """The only block that writes the buffer; None if there is none or several."""
    found = [p for p in blocks(program) if buffer in p.block.definition.outputs]
    return found[0] if len(found) == 1 else None


def readers(program: LoopProgram, buffer: Buffer) -> list[BlockPlace]:
    """The blocks that read the buffer."""
    return [p for p in blocks(program) if buffer in reads(p.block.definition)]


def ranges(around: tuple[For, ...]) -> Mapping[Symbol, tuple[int, int]]:
    """The values that the symbols of these loops take (an empty loop counts as one turn)."""
    return {loop.symbol: (0, max(loop.extent - 1, 0)) for loop in around}
