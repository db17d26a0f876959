"""Reductions in parts: rfactor."""

from __future__ import annotations

from dataclasses import replace

from ..ir.errors import ScheduleError
from ..ir.expr import index as ix
from ..ir.expr.nodes import Buffer, Index, Load, Scope, Symbol
from ..ir.expr.values import rewrite_with_index
from ..ir.loop.nodes import Block, For, LoopProgram
from ..ir.tensor.nodes import Axis, AxisKind, Definition
from . import find
from .find import BlockPlace, LoopName, LoopPlace
from .legality import kinds, may_reassociate
from .trees import fresh, nest, put


def rfactor(
    program: LoopProgram,
    *loops: LoopName,
    scope: Scope = Scope.REGISTER,
    at: LoopName | None = None,
) -> LoopProgram:
    """Makes reduce loops spatial: a partial result for each of their turns, then their sum.

        for i: for k.o: for k.i: s[i] += v(i, 8*k.o + k.i)
        ->   for i: { for k.o: for k.i: s.part[i, k.i] += v(i, 8*k.o + k.i)
                      for k.i: s[i] += s.part[i, k.i] }

    The old block, in clones of the factored loops (and of spatial loops inside), comes after the
    outermost reduce loop, or last in the loop `at`, where it adds the partial results of each turn
    of the loops around to what is there. The partial block is called `NAME.part`. Refused when:
    the loops are not around one block (rfactor_block) or not bound to its reduce axes alone
    (rfactor_axis); the terms may not be regrouped (reorder_reduce); the block updates memory
    (cached_update); a partial result is not finished in `at` (unfinished).
    """
    targets = [find.loop(program, name) for name in loops]
    block = _only_block(targets)
    place = find.block(program, block.name)
    definition = block.definition
    for target in targets:
        if target.loop not in place.around or kinds(block, target.loop.symbol) != {AxisKind.REDUCE}:
            raise ScheduleError(
                f"{target.loop.symbol.name!r} is no loop of a reduce axis of {block.name}",
                definition.source,
                "name loops that only reduce axes are bound to",
                code="rfactor_axis",
            )
    if not may_reassociate(definition):
        raise ScheduleError(
            f"the terms of {block.name} may not be regrouped (precision 'highest')",
            definition.source,
            "allow it by precision='default'",
            code="reorder_reduce",
        )
    if definition.update:
        raise ScheduleError(
            f"{block.name} updates what its output holds already",
            definition.source,
            "rfactor reductions that start from their identity",
            code="cached_update",
        )
    chosen = tuple(t.loop for t in sorted(targets, key=lambda t: len(t.path)))
    taken = [p.block.name for p in find.blocks(program)]
    part_name = fresh(f"{block.name}.part", taken)
    suffix = part_name.removeprefix(block.name)
    parts = tuple(
        Buffer(f"{o.name}{suffix}", (*o.shape, *(loop.extent for loop in chosen)), o.dtype, scope)
        for o in definition.outputs
    )
    partial = _partial(place.block, place.around, chosen, part_name, parts)
    depth = _depth(place, chosen, None if at is None else find.loop(program, at).loop)
    final = _final(place.block, place.around, depth, chosen, parts)
    program = put(program, place.path, partial)
    path = place.path[: depth + 1]
    top = find.node(program, path)
    return put(program, path, top, *final)


def _depth(place: BlockPlace, chosen: tuple[For, ...], at: For | None) -> int:
    """How many of the loops around the block the final reduction shares."""
    block, around = place.block, place.around
    reduced = [k for k, o in enumerate(around) if AxisKind.REDUCE in kinds(block, o.symbol)]
    if at is None:
        return reduced[0]
    if at not in around:
        raise ScheduleError(
            f"{at.symbol.name!r} is not around {block.name}",
            block.definition.source,
            "loops: " + ", ".join(loop.symbol.name for loop in around),
            code="unknown_loop",
        )
    depth = around.index(at) + 1
    if any(k < depth and around[k] not in chosen for k in reduced):
        raise ScheduleError(
            f"a partial result of {block.name} is not finished inside {at.symbol.name!r}",
            block.definition.source,
            "factor the reduce loops around it too",
            code="unfinished",
        )
    return depth


def _only_block(targets: list[LoopPlace]) -> Block:
    found = {id(b): b for t in targets for b in find.below(t.loop)}
    if len(found) != 1:
        raise ScheduleError(
            "rfactor takes loops around one block",
            None,
            "give the block loops of its own first",
            code="rfactor_block",
        )
    return next(iter(found.values()))


def _partial(
    block: Block,
    around: tuple[For, ...],
    chosen: tuple[For, ...],
    name: str,
    parts: tuple[Buffer, ...],
) -> Block:
    """The block over its spatial axes, one axis per factored loop and one per other reduce loop."""
    definition = block.definition
    known: dict[Symbol, tuple[int, int]] = {}
    spatial = [a for a in definition.axes if a.kind is not AxisKind.REDUCE]
    bound = {a.symbol: b for a, b in zip(definition.axes, block.bindings, strict=True)}
    fresh_axes = {a.symbol: Axis(Symbol(a.symbol.name), a.extent, a.kind) for a in spatial}
    loop_axes = {
        loop.symbol: Axis(
            Symbol(loop.symbol.name),
            loop.extent,
            AxisKind.SPATIAL if loop in chosen else AxisKind.REDUCE,
        )
        for loop in around
        if AxisKind.REDUCE in kinds(block, loop.symbol)
    }
    for axis in (*fresh_axes.values(), *loop_axes.values()):
        known[axis.symbol] = (0, max(axis.extent - 1, 0))
    over_axes = {symbol: ix.of(axis.symbol) for symbol, axis in loop_axes.items()}
    mapping: dict[Symbol, Index] = {s: ix.of(axis.symbol) for s, axis in fresh_axes.items()}
    for axis in definition.axes:
        if axis.kind is AxisKind.REDUCE:
            mapping[axis.symbol] = ix.substitute(bound[axis.symbol], over_axes, known)
    kept: list[Index] = []
    domain = [ix.substitute(d, mapping, known) for d in definition.domain]
    for guard in block.guard:
        inside = ix.symbols(guard)
        if not inside & loop_axes.keys():
            kept.append(guard)
        elif inside <= loop_axes.keys():
            domain.append(ix.substitute(guard, over_axes, known))
        else:
            raise ScheduleError(
                f"a guard of {block.name} ties a reduce loop to a spatial one",
                definition.source,
                "rfactor before the tiles that need it are made",
                code="rfactor_axis",
            )
    order = [loop_axes[loop.symbol] for loop in around if loop.symbol in loop_axes]
    factored = [loop_axes[loop.symbol] for loop in chosen]
    reduced = [a for a in order if a.kind is AxisKind.REDUCE]
    axes = (*fresh_axes.values(), *factored, *reduced)
    values, index = rewrite_with_index(
        definition.values, definition.index, mapping=mapping, ranges=known
    )
    back = {axis.symbol: ix.of(symbol) for symbol, axis in loop_axes.items()}
    bindings = (
        *(bound[a.symbol] for a in spatial),
        *(back[a.symbol] for a in (*factored, *reduced)),
    )
    partial = replace(
        definition,
        name=name,
        axes=axes,
        outputs=parts,
        index=(*index, *(ix.of(a.symbol) for a in factored)),
        values=values,
        domain=tuple(dict.fromkeys(d for d in domain if ix.bounds(d, known)[0] < 0)),
        combiner=definition.combiner if reduced else None,
    )
    if not reduced and partial.domain:
        raise ScheduleError(
            f"every reduce loop of {block.name} would become spatial, with a restricted domain",
            definition.source,
            "leave one reduce loop",
            code="rfactor_axis",
        )
    return Block(partial, bindings, tuple(kept))


def _final(
    block: Block,
    around: tuple[For, ...],
    depth: int,
    chosen: tuple[For, ...],
    parts: tuple[Buffer, ...],
) -> tuple[For | Block, ...]:
    """The old definition as a reduction of the partial results."""
    definition = block.definition
    spatial = [
        (a, b)
        for a, b in zip(definition.axes, block.bindings, strict=True)
        if a.kind is not AxisKind.REDUCE
    ]
    used = frozenset(s for _, b in spatial for s in ix.symbols(b))
    cloned = [
        loop for loop in around[depth:] if loop.symbol in used or any(loop is c for c in chosen)
    ]
    renamed = {loop.symbol: Symbol(loop.symbol.name) for loop in cloned}
    loops = [replace(loop, symbol=renamed[loop.symbol]) for loop in cloned]
    known = find.ranges((*around[:depth], *loops))
    turn = {loop.symbol: renamed.get(loop.symbol, loop.symbol) for loop in chosen}
    to_clone = {old: ix.of(new) for old, new in renamed.items()}
    axes = tuple(Axis(Symbol(a.symbol.name), a.extent, a.kind) for a, _ in spatial)
    reduced = tuple(Axis(Symbol(loop.symbol.name), loop.extent, AxisKind.REDUCE) for loop in chosen)
    to_axis = {a.symbol: ix.of(n.symbol) for (a, _), n in zip(spatial, axes, strict=True)}
    index = tuple(ix.substitute(i, to_axis) for i in definition.index)
    at = (*index, *(ix.of(a.symbol) for a in reduced))
    final = Definition(
        definition.name,
        (*axes, *reduced),
        definition.outputs,
        index,
        tuple(Load(part, at) for part in parts),
        definition.combiner,
        exact_order=definition.exact_order,
        source=definition.source,
    )
    reduce_symbols = frozenset(
        loop.symbol for loop in around if AxisKind.REDUCE in kinds(block, loop.symbol)
    )
    guard = tuple(
        ix.substitute(g, to_clone, known) for g in block.guard if not ix.symbols(g) & reduce_symbols
    )
    bindings = (
        *(ix.substitute(b, to_clone, known) for _, b in spatial),
        *(ix.of(turn[loop.symbol]) for loop in chosen),
    )
    return nest(loops, Block(final, bindings, guard))
