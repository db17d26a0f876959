"""Steps that several templates take."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.errors import ScheduleError
from ...ir.expr.nodes import Symbol
from ...ir.loop.nodes import For, LoopKind, LoopProgram
from ...ir.tensor.nodes import Axis
from .. import find
from ..loops import fuse_into, merge, split_into
from ..marks import parallel, partition, unroll, vectorize
from ..placement import bare
from ..reduction import rfactor

SHARES = 16
"""A parallel loop of this many turns spreads well over the workers."""


def loops_of(program: LoopProgram, block: str) -> dict[Symbol, Symbol]:
    """The loop of each axis of a block whose axes are bound to bare loops."""
    place = find.block(program, block)
    found: dict[Symbol, Symbol] = {}
    for axis, binding in zip(place.block.definition.axes, place.block.bindings, strict=True):
        symbol = bare(binding)
        if symbol is not None:
            found[axis.symbol] = symbol
    return found


def extent(program: LoopProgram, loop: Symbol) -> int:
    """The number of turns of a loop."""
    return find.loop(program, loop).loop.extent


def fuse_all(program: LoopProgram, loops: Sequence[Symbol]) -> tuple[LoopProgram, Symbol]:
    """One loop of several, each the whole body of the one before."""
    fused = loops[0]
    for loop in loops[1:]:
        program, fused = fuse_into(program, fused, loop)
    return program, fused


def fuse_axes(
    program: LoopProgram, block: str, runs: Sequence[Sequence[Axis]]
) -> tuple[LoopProgram, list[Symbol]]:
    """One loop for each run of neighbouring axes of a plain nest."""
    loops = loops_of(program, block)
    fused = []
    for run in runs:
        program, loop = fuse_all(program, [loops[axis.symbol] for axis in run])
        fused.append(loop)
    return program, fused


def vector_tile(
    program: LoopProgram, loop: Symbol, lanes: int, vectors: int
) -> tuple[LoopProgram, Symbol | None]:
    """Lanes, and vectors written out, of an innermost loop; the loop that is left, if one is.

    A short loop becomes one vector of as many lanes as it has turns.
    """
    turns = extent(program, loop)
    if turns <= lanes:
        return vectorize(program, loop), None
    vectors = max(1, min(vectors, turns // lanes))
    program, outer, rest = split_into(program, loop, lanes * vectors)
    program = partition(program, outer)
    if vectors > 1:
        program, middle, rest = split_into(program, rest, lanes)
        program = unroll(program, middle)
    return vectorize(program, rest), outer


def lane_sums(program: LoopProgram, block: str, loop: Symbol, lanes: int, ways: int) -> LoopProgram:
    """Splits the innermost reduce loop over `ways` vectors of partial results.

    Leaves a short loop, or one whose terms may not be regrouped, as it is.
    """
    turns = extent(program, loop)
    if turns < 2 * lanes:
        return program
    ways = max(1, min(ways, turns // lanes))
    program, outer, rest = split_into(program, loop, lanes * ways)
    program, way, lane = split_into(program, rest, lanes)
    try:
        program = rfactor(program, way, lane)
    except ScheduleError:
        return program
    program = partition(program, outer)
    program = vectorize(program, lane)
    program = unroll(program, way)
    # The partial vectors are added to one vector, and its lanes to the result.
    last, lane = (place.symbol for place in find.block(program, block).around[-2:])
    program = rfactor(program, lane)
    program = vectorize(program, lane)
    program = unroll(program, last)
    return vectorize(program, find.block(program, block).around[-1].symbol)


def share(program: LoopProgram, block: str, among: Sequence[Symbol]) -> LoopProgram:
    """Makes the outermost loops of a block one parallel loop, long enough to spread well.

    A loop that is to be cut is not fused: its number would no longer be seen in the guards.
    """
    free = []
    for loop in find.block(program, block).around:
        if loop.symbol not in among or loop.kind is not LoopKind.SERIAL:
            break
        free.append(loop)
    if not free:
        return program
    fused, turns, cut = free[0].symbol, free[0].extent, free[0].partition
    for loop in free[1:]:
        if turns >= SHARES or (turns > 1 and (cut or loop.partition)):
            break
        program, fused = fuse_into(program, fused, loop.symbol)
        turns *= loop.extent
        cut = loop.partition
    if turns > 1:
        program = parallel(program, fused)
    return partition(program, fused) if cut else program


def merge_neighbours(program: LoopProgram, inside: Symbol | None) -> LoopProgram:
    """Merges neighbouring loops in a loop (or at the top) wherever that is legal, also deeper."""
    number = 0
    while True:
        body = program.body if inside is None else find.loop(program, inside).loop.body
        if number + 1 >= len(body):
            return program
        first, second = body[number], body[number + 1]
        if not (isinstance(first, For) and isinstance(second, For)):
            number += 1
            continue
        try:
            program = merge(program, first.symbol, second.symbol)
        except ScheduleError:
            number += 1
            continue
        program = merge_neighbours(program, first.symbol)
