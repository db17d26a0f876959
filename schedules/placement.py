"""Where a block is computed: compute_at, reverse_compute_at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ..ir.errors import ScheduleError
from ..ir.expr import index as ix
from ..ir.expr.nodes import Buffer, Index, Scope, Symbol
from ..ir.loop.nodes import Block, For, LoopKind, LoopProgram, Node
from ..ir.tensor.nodes import Axis, AxisKind, Definition
from . import find
from .find import BlockPlace, LoopName, LoopPlace
from .legality import kinds
from .regions import Interval, interval, read_indices, union, write_index
from .trees import fresh, nest, open_guards, put


def compute_at(program: LoopProgram, block: str, loop: LoopName) -> LoopProgram:
    """Moves a block into a loop of its readers, to compute there just what they need.

        for i: P(i)  for j: for k: C reads P[4*j + k]
        ->   for j: for i in 4: P(4*j + i)  for k: C

    Refused when: the block updates memory (moved_update) or writes a result of the kernel
    (moved_output); nobody in the loop reads it or somebody outside does (reader_outside); the loop
    is vectorised (inside_vector).
    """
    place = find.block(program, block)
    target = find.loop(program, loop)
    definition = place.block.definition
    _require_no_update(place.block)
    _require_no_vector(target, block)
    inside = find.below(target.loop)
    used = {b for o in definition.outputs for b in (p.block for p in find.readers(program, o))}
    if not used or not all(any(b is i for i in inside) for b in used):
        raise ScheduleError(
            f"{block} is not read only inside {target.loop.symbol.name!r}",
            definition.source,
            "name a loop around all its readers",
            code="reader_outside",
        )
    if any(buffer.scope is Scope.GLOBAL for buffer in definition.outputs):
        raise ScheduleError(
            f"{block} writes a result of the kernel, which must hold all of it",
            definition.source,
            "move its readers with reverse_compute_at instead",
            code="moved_output",
        )
    needed = _needed(definition, target)
    program = put(program, place.path)
    target = find.loop(program, target.loop.symbol)
    nodes = _rebuilt(place.block, needed, (*target.around, target.loop), target)
    first = next(
        k
        for k, node in enumerate(target.loop.body)
        if any(b is u for b in find.below(node) for u in used)
    )
    body = (*target.loop.body[:first], *nodes, *target.loop.body[first:])
    return put(program, target.path, replace(target.loop, body=body))


def reverse_compute_at(program: LoopProgram, block: str, loop: LoopName) -> LoopProgram:
    """Moves a block into a loop of what it reads, to consume there just what was made.

        for i: for k: P(4*i + k)  for j: C(j) reads P[j]
        ->   for i: for k: P(4*i + k)  for j in 4: C(4*i + j)

    Refused when: the block updates memory or takes other inputs made after the loop (input_late);
    nothing in the loop is read by it (no_producer); what it reads is not finished there, being
    summed over a loop around (unfinished); iterations of the loop do not map one to one to tiles
    of the block's axes (not_tiled); the loop is vectorised (inside_vector).
    """
    place = find.block(program, block)
    target = find.loop(program, loop)
    _require_no_update(place.block)
    _require_no_vector(target, block)
    around = (*target.around, target.loop)
    axes: dict[Symbol, Interval] = {}
    producers: list[BlockPlace] = []
    for buffer in find.reads(place.block.definition):
        writer = find.writer(program, buffer)
        if writer is None:
            if any(buffer in b.definition.outputs for b in find.below(program.body[0])):
                raise _late(place.block, buffer)
            continue
        if target.loop not in writer.around:
            if writer.path[0] >= target.path[0]:
                raise _late(place.block, buffer)
            continue
        producers.append(writer)
        _require_finished(writer, around)
        _invert(place.block, writer, buffer, around, axes)
    if not producers:
        raise ScheduleError(
            f"nothing that {block} reads is made in {target.loop.symbol.name!r}",
            place.block.definition.source,
            "name a loop around one of its producers",
            code="no_producer",
        )
    _require_tiled(place.block, axes, around)
    program = put(program, place.path)
    target = find.loop(program, target.loop.symbol)
    nodes = _rebuilt(place.block, axes, around, target)
    last = max(
        k
        for k, node in enumerate(target.loop.body)
        if any(b is p.block for b in find.below(node) for p in producers)
    )
    body = (*target.loop.body[: last + 1], *nodes, *target.loop.body[last + 1 :])
    return put(program, target.path, replace(target.loop, body=body))


def bare(index: Index) -> Symbol | None:
    """The symbol that an index consists of, if it is just one."""
    if index.const == 0 and len(index.terms) == 1:
        atom, c = index.terms[0]
        if c == 1 and isinstance(atom, Symbol):
            return atom
    return None


def _needed(definition: Definition, target: LoopPlace) -> dict[Symbol, Interval]:
    """The part of each axis that readers below the loop need in one iteration of it."""
    around = (*target.around, target.loop)
    found: list[list[Interval | None]] = [[] for _ in definition.index]
    for reader, loops in _inside(target.loop.body, ()):
        known = find.ranges((*around, *loops))
        for buffer in definition.outputs:
            for index in read_indices(reader, buffer, known):
                for d, part in enumerate(index):
                    found[d].append(interval(part, loops))
    needed: dict[Symbol, Interval] = {}
    for part, intervals in zip(definition.index, found, strict=True):
        symbol, both = bare(part), union(intervals)
        if symbol is not None and both is not None:
            needed[symbol] = both
    return needed


def _rebuilt(
    block: Block, parts: dict[Symbol, Interval], around: Sequence[For], target: LoopPlace
) -> tuple[Node, ...]:
    """The block in fresh loops over the given part of each axis (all of it where none is given)."""
    taken = [loop.symbol.name for loop in around]
    loops: list[For] = []
    bindings: list[Index] = []
    guard: list[Index] = []
    for axis in block.definition.axes:
        symbol = Symbol(fresh(axis.symbol.name, taken))
        taken.append(symbol.name)
        part = parts.get(axis.symbol)
        if part is None or part[1] >= axis.extent:
            loops.append(For(symbol, axis.extent, ()))
            bindings.append(ix.of(symbol))
            continue
        low, extent = part
        loops.append(For(symbol, extent, ()))
        binding = ix.add(low, ix.of(symbol))
        bindings.append(binding)
        guard += [binding, ix.subtract(ix.constant(axis.extent - 1), binding)]
    known = find.ranges((*around, *loops))
    moved = Block(block.definition, tuple(bindings), open_guards(guard, known))
    return nest(loops, moved)


def _inside(nodes: Sequence[Node], loops: tuple[For, ...]) -> list[tuple[Block, tuple[For, ...]]]:
    found: list[tuple[Block, tuple[For, ...]]] = []
    for node in nodes:
        if isinstance(node, Block):
            found.append((node, loops))
        else:
            found += _inside(node.body, (*loops, node))
    return found


def _require_no_update(block: Block) -> None:
    if block.definition.update:
        raise ScheduleError(
            f"{block.name} updates memory that others may read before and after it",
            block.definition.source,
            "leave it in its place",
            code="moved_update",
        )


def _require_no_vector(target: LoopPlace, block: str) -> None:
    for loop in (*target.around, target.loop):
        if loop.kind is LoopKind.VECTOR:
            raise ScheduleError(
                f"cannot put {block} inside the lanes of {loop.symbol.name!r}",
                None,
                "choose a loop outside the vectorised one",
                code="inside_vector",
            )


def _late(block: Block, buffer: Buffer) -> ScheduleError:
    return ScheduleError(
        f"{block.name} also reads {buffer.name}, which is made after that loop began",
        block.definition.source,
        "move the writer before the loop, or into it",
        code="input_late",
    )


def _require_finished(writer: BlockPlace, around: Sequence[For]) -> None:
    for loop in around:
        if kinds(writer.block, loop.symbol) & {AxisKind.REDUCE, AxisKind.SCAN}:
            raise ScheduleError(
                f"{writer.block.name} is not finished inside {loop.symbol.name!r}",
                writer.block.definition.source,
                "choose a loop outside its reduction",
                code="unfinished",
            )


def _invert(
    block: Block,
    writer: BlockPlace,
    buffer: Buffer,
    around: tuple[For, ...],
    axes: dict[Symbol, Interval],
) -> None:
    """Files the part of each axis of `block` that one iteration of the loops around makes."""
    inner = writer.around[len(around) :]
    written = write_index(writer.block, find.ranges(writer.around))
    free = {a.symbol for a in block.definition.axes if a.kind is not AxisKind.SCAN}
    for load_index in _raw_reads(block, buffer):
        for part, target in zip(load_index, written, strict=True):
            symbol = bare(part)
            if symbol is None or symbol not in free:
                continue
            made = interval(target, inner)
            if made is None or axes.setdefault(symbol, made) != made:
                raise _not_tiled(block)
            turns = [loop.extent for loop in inner if loop.symbol in ix.symbols(target)]
            if prod(turns) != made[1]:
                raise _not_tiled(block)


def _raw_reads(block: Block, buffer: Buffer) -> list[tuple[Index, ...]]:
    identity = tuple(ix.of(axis.symbol) for axis in block.definition.axes)
    return read_indices(replace(block, bindings=identity), buffer, _axis_ranges(block.definition))


def _axis_ranges(definition: Definition) -> dict[Symbol, tuple[int, int]]:
    return {axis.symbol: (0, max(axis.extent - 1, 0)) for axis in definition.axes}


def _require_tiled(block: Block, axes: dict[Symbol, Interval], around: tuple[For, ...]) -> None:
    """Each iteration of the loops around must be one tile of the block's axes, and none twice."""
    extents: dict[Symbol, Axis] = {axis.symbol: axis for axis in block.definition.axes}
    tiles = prod(-(-extents[s].extent // part[1]) for s, part in axes.items())
    if tiles != prod(loop.extent for loop in around):
        raise _not_tiled(block)


def _not_tiled(block: Block) -> ScheduleError:
    return ScheduleError(
        f"iterations of that loop are not tiles of {block.name}'s axes",
        block.definition.source,
        "choose a loop around whole tiles, or inline the block",
        code="not_tiled",
    )
