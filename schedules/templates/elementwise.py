"""Nests without reduction: fused to long contiguous loops, in vectors, shared among workers."""

from __future__ import annotations

from ...ir.expr.nodes import Symbol
from ...ir.loop.nodes import LoopProgram
from ...ir.target import Target
from ...ir.tensor.nodes import Axis, Definition
from ..legality import independent
from ..loops import reorder, split_into
from . import access
from .steps import fuse_axes, share, vector_tile

TILE = 16
"""Rows of a tile that is read along another axis than it is written: a cache line of floats."""


def matches(definition: Definition) -> bool:
    """Whether points may be evaluated in any order, and none is a reduction."""
    plain = definition.combiner is None or definition.update
    return plain and independent(definition) and bool(access.points(definition) and definition.axes)


def schedule(program: LoopProgram, definition: Definition, target: Target) -> LoopProgram:
    """The plain nest of an elementwise definition, for one kernel-wide pass over memory."""
    block = definition.name
    runs = access.runs(definition, definition.axes)
    program, loops = fuse_axes(program, block, runs)
    lane = max(range(len(runs)), key=lambda k: (access.contiguity(definition, runs[k][-1]), k))
    outer = [loop for k, loop in enumerate(loops) if k != lane]
    crossed = _crossed(definition, runs, lane)
    if crossed is not None:
        program, high, low = split_into(program, loops[crossed], TILE)
        outer[outer.index(loops[crossed])] = high
        program, inner = _lanes(program, block, definition, loops[lane], target, (*outer, low))
        if inner is not None:
            program = reorder(program, *outer, inner, low)
    else:
        program, inner = _lanes(program, block, definition, loops[lane], target, tuple(outer))
    if access.worth_sharing([definition], target):
        among = outer if inner is None else [*outer, inner]
        program = share(program, block, among)
    return program


def _lanes(
    program: LoopProgram,
    block: str,
    definition: Definition,
    loop: Symbol,
    target: Target,
    outer: tuple[Symbol, ...],
) -> tuple[LoopProgram, Symbol | None]:
    """Puts a loop innermost and makes vectors of it."""
    program = reorder(program, *outer, loop)
    vectors = 2 if access.cycles(definition) < access.HEAVY else 1
    return vector_tile(program, loop, access.lanes(definition, target), vectors)


def _crossed(definition: Definition, runs: list[list[Axis]], lane: int) -> int | None:
    """The run along which some load is contiguous that is not so along the lanes, if long."""
    along = runs[lane][-1]
    for number, run in enumerate(runs):
        if number == lane or run[-1].extent < TILE:
            continue
        for found in access.accesses(definition):
            here, there = access.stride(found, run[-1]), access.stride(found, along)
            if here in (1, -1) and there is not None and abs(there) >= TILE:
                return number
    return None
